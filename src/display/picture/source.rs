//! Sources of pictures: the data of a value, a `data:` URL, a local file.
//!
//! In: base64 or text of a MIME bundle, or the target of `![…](…)` in an answer. Out: a [`PictureSource`].
//! Invariants: nothing is fetched; only regular files are read, up to the size limit of pictures. Documents: RFC
//! 2397 (`data:`), RFC 8089 (`file:`).

use std::io::Read;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};

use crate::output::picture_type;
use crate::picture::MOST_BYTES;

/// Accepts base64 with and without padding, since encoders differ.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

const SVG: &str = "image/svg+xml";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::display) enum PictureSource {
    File(Vec<u8>),
    /// SVG source.
    Drawing(String),
}

impl PictureSource {
    /// Reads the data of a bundle: base64 of a file, or SVG source.
    pub(in crate::display) fn from_bundle(mime: &str, data: &str) -> Self {
        if mime == SVG {
            return PictureSource::Drawing(data.to_owned());
        }
        PictureSource::File(LENIENT.decode(data).unwrap_or_default())
    }

    /// Reads `target` when it is a local picture; relative paths start from `cwd`.
    pub(super) fn resolve(target: &str, cwd: Option<&Path>) -> Option<Self> {
        let target = target.trim();
        if let Some(rest) = strip_scheme(target, "data:") {
            return from_data_url(rest);
        }
        let path = match strip_scheme(target, "file:") {
            Some(rest) => {
                let path = rest.strip_prefix("//").unwrap_or(rest);
                let path = path.strip_prefix("localhost").unwrap_or(path);
                PathBuf::from(unescaped(path))
            }
            None if has_scheme(target) || target.is_empty() => return None,
            None => PathBuf::from(target),
        };
        let path = match cwd {
            Some(cwd) => cwd.join(path),
            None => path,
        };
        read(&path).or_else(|| {
            // Markdown writes blanks as `%20`.
            let path = PathBuf::from(unescaped(path.to_str()?));
            read(&path)
        })
    }

    pub(super) fn kind(&self) -> &'static str {
        match self {
            PictureSource::File(file) => picture_type(file).unwrap_or("image"),
            PictureSource::Drawing(_) => SVG,
        }
    }

    fn from_file(bytes: Vec<u8>) -> Option<Self> {
        if picture_type(&bytes).is_some() {
            return Some(PictureSource::File(bytes));
        }
        let text = String::from_utf8(bytes).ok()?;
        let start = text.trim_start_matches('\u{feff}').trim_start();
        let drawn = start.starts_with("<svg")
            || (start.starts_with("<?xml") || start.starts_with("<!")) && start.contains("<svg");
        drawn.then_some(PictureSource::Drawing(text))
    }
}

fn read(path: &Path) -> Option<PictureSource> {
    let file = std::fs::metadata(path).ok()?;
    if !file.is_file() || file.len() > MOST_BYTES as u64 {
        return None;
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).ok()?;
    // The file may grow meanwhile.
    file.take(MOST_BYTES as u64).read_to_end(&mut bytes).ok()?;
    PictureSource::from_file(bytes)
}

fn from_data_url(rest: &str) -> Option<PictureSource> {
    let (head, data) = rest.split_once(',')?;
    let mut words = head.split(';').map(str::trim);
    let mime = words.next().unwrap_or_default().to_ascii_lowercase();
    if !mime.starts_with("image/") {
        return None;
    }
    let bytes = if words.any(|word| word.eq_ignore_ascii_case("base64")) {
        let data: String = unescaped(data).split_ascii_whitespace().collect();
        LENIENT.decode(data).ok()?
    } else {
        unescaped(data).into_bytes()
    };
    PictureSource::from_file(bytes)
}

fn strip_scheme<'a>(target: &'a str, scheme: &str) -> Option<&'a str> {
    let start = target.get(..scheme.len())?;
    start
        .eq_ignore_ascii_case(scheme)
        .then(|| &target[scheme.len()..])
}

/// True for `https:…`, false for a path.
fn has_scheme(target: &str) -> bool {
    let Some((scheme, _)) = target.split_once(':') else {
        return false;
    };
    scheme.len() > 1
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte))
}

/// Decodes `%41` as `A`; an invalid code, or one whose result is not UTF-8, stays unchanged.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let code = (byte == b'%')
            .then(|| std::str::from_utf8(after.get(..2)?).ok())
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code {
            Some(code) => {
                bytes.push(code);
                rest = &after[2..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// Encodes a picture as a `data:` URL.
#[cfg(test)]
pub(super) fn data_url(mime: &str, bytes: &[u8]) -> String {
    let standard = base64::engine::general_purpose::STANDARD;
    format!("data:{mime};base64,{}", standard.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties;
    use proptest::prelude::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

    #[test]
    fn what_answers_point_at() {
        let folder = tempfile::tempdir().unwrap();
        let cwd = folder.path();
        std::fs::write(cwd.join("a b.png"), PNG).unwrap();
        std::fs::write(cwd.join("50%.svg"), "<?xml version='1.0'?>\n<svg/>").unwrap();
        std::fs::write(cwd.join("secret.png"), "password").unwrap();
        std::fs::create_dir(cwd.join("folder.png")).unwrap();
        let file = Some(PictureSource::File(PNG.to_vec()));
        let drawing = |text: &str| Some(PictureSource::Drawing(text.to_owned()));
        let check = |target: &str, expected: Option<PictureSource>| {
            assert_eq!(
                PictureSource::resolve(target, Some(cwd)),
                expected,
                "{target}"
            );
        };
        check("a b.png", file.clone());
        check("./a%20b.png", file.clone());
        check(&format!("{}/a b.png", cwd.display()), file.clone());
        check(&format!("file://{}/a%20b.png", cwd.display()), file.clone());
        check(&format!("FILE:{}/a b.png", cwd.display()), file.clone());
        check("50%.svg", drawing("<?xml version='1.0'?>\n<svg/>"));
        check(&data_url("image/png", PNG), file.clone());
        check("data:image/svg+xml;utf8,%3Csvg/%3E", drawing("<svg/>"));
        check(&data_url("text/plain", PNG), None);
        check("data:image/png;base64,????", None);
        check("data:image/png", None);
        check("secret.png", None);
        check("folder.png", None);
        check("missing.png", None);
        check("/dev/zero", None);
        check("https://example.org/a.png", None);
        check("http:a b.png", None);
        check("", None);
    }

    proptest! {
        #![proptest_config(properties::cases(properties::USUAL))]

        #[test]
        fn any_data_url_is_read(rest in "[a-z/;,%=A-Z0-9+ é]{0,40}") {
            let _ = PictureSource::resolve(&format!("data:image/png{rest}"), None);
        }
    }
}

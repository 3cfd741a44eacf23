//! Pictures for the model: checks that the model can see each, and replaces the others by text.
//!
//! Pure. In: `data:` URLs of any origin. Out: URLs that name the actual type of the data, or the reason why one is
//! not sent. A PNG, JPEG, GIF or WebP passes when its container is complete (the app-server decodes the pixels and
//! reports errors). Invariants: no link is ever sent (one spoils a whole result), nothing larger than
//! [`MAX_URL_BYTES`] (code mode of 0.169.0 drops a picture of 31 MB without an error).

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::InputPart;
use crate::output::picture_type;

/// The longest URL that is sent, in bytes.
pub(super) const MAX_URL_BYTES: usize = 10 * 1024 * 1024;

/// Instructions for turns with tools. Code mode hands a script one string with the pictures as lines of it
/// (measured: `image()` of the whole string fails unless the string is one picture alone).
pub(super) const TOOL_INSTRUCTIONS: &str = "\
Results of the Python tools can hold pictures. When such a tool is called from a script (`exec`), its result is one \
string, and each picture is a line of it that begins with `data:image/`. To see them: \
`for (const line of result.split(\"\\n\")) line.startsWith(\"data:image/\") ? image(line) : text(line);`";

/// `parts`, with a text in place of each picture that cannot be sent.
pub(super) fn checked(parts: Vec<InputPart>) -> Vec<InputPart> {
    parts
        .into_iter()
        .map(|part| match part {
            InputPart::Image(url) => match sendable(&url) {
                Ok(Cow::Borrowed(_)) => InputPart::Image(url),
                Ok(Cow::Owned(url)) => InputPart::Image(url),
                Err(why) => InputPart::Text(format!("[image not sent: {why}]")),
            },
            part => part,
        })
        .collect()
}

/// Checks a URL and corrects its MIME type.
///
/// # Errors
/// The reason why the picture cannot be sent.
pub(super) fn sendable(url: &str) -> Result<Cow<'_, str>, String> {
    let Some((head, body)) = url.strip_prefix("data:").and_then(|it| it.split_once(',')) else {
        return Err("it is a link, and only data is sent".into());
    };
    if url.len() > MAX_URL_BYTES {
        return Err(format!(
            "it has {:.1} MB, at most {} MB are sent",
            url.len() as f64 / 1e6,
            MAX_URL_BYTES / 1_000_000
        ));
    }
    let Some(claimed) = head.strip_suffix(";base64") else {
        return Err("its data is not base64".into());
    };
    if claimed.contains("svg") {
        return Err("the model cannot see SVG".into());
    }
    // Python's `encodebytes` breaks lines.
    let clean: Cow<'_, str> = if body.contains(|c: char| c.is_ascii_whitespace()) {
        body.split_ascii_whitespace().collect::<String>().into()
    } else {
        body.into()
    };
    let Ok(data) = STANDARD.decode(clean.as_bytes()) else {
        return Err("its data is not base64".into());
    };
    let Some(kind) = kind(&data) else {
        return Err("it is not a whole PNG, JPEG, GIF or WebP".into());
    };
    if kind == claimed && matches!(clean, Cow::Borrowed(_)) {
        return Ok(url.into());
    }
    Ok(format!("data:{kind};base64,{clean}").into())
}

/// The MIME type of an image whose container is complete.
fn kind(data: &[u8]) -> Option<&'static str> {
    let kind = picture_type(data)?;
    let whole = match kind {
        "image/png" => png(&data[8..]),
        // Some cameras append their own data to the end mark.
        "image/jpeg" => memchr::memmem::rfind(data, &[0xFF, 0xD9]).is_some_and(|at| at > 3),
        "image/gif" => data.len() > 13 && data.ends_with(b";"),
        _ => {
            let length = data.get(4..8).and_then(|length| length.try_into().ok());
            let length = length.map_or(0, u32::from_le_bytes) as usize;
            data.len() > 20 && length <= data.len() - 8
        }
    };
    whole.then_some(kind)
}

/// True when the chunks go from a header with a size to the end mark.
fn png(chunks: &[u8]) -> bool {
    let mut rest = chunks;
    let mut first = true;
    while let Some((head, after)) = rest.split_first_chunk::<8>() {
        let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let name = &head[4..];
        let Some(body) = after.get(..length) else {
            return false;
        };
        if first {
            let sized = body.len() == 13 && body[..4] != [0; 4] && body[4..8] != [0; 4];
            if name != b"IHDR" || !sized {
                return false;
            }
            first = false;
        }
        // Each chunk ends with a checksum.
        let Some(next) = after.get(length + 4..) else {
            return false;
        };
        if name == b"IEND" {
            return true;
        }
        rest = next;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{MAX_URL_BYTES, checked, sendable};
    use crate::InputPart;
    use crate::properties;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use proptest::collection::vec;
    use proptest::prelude::{any, prop_assert, proptest};

    const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg\
                         ==";

    fn url(kind: &str, data: &[u8]) -> String {
        format!("data:{kind};base64,{}", STANDARD.encode(data))
    }

    fn check(given: &str, expected: Result<&str, &str>) {
        let sent = sendable(given);
        let sent = sent.as_ref().map(AsRef::as_ref).map_err(String::as_str);
        assert_eq!(sent, expected, "{given:.80}");
    }

    #[test]
    fn whole_images_pass_under_their_own_type() {
        let pixel = format!("data:image/png;base64,{PIXEL}");
        check(&pixel, Ok(&pixel));
        check(&format!("data:image/jpeg;base64,{PIXEL}"), Ok(&pixel));
        let (start, end) = PIXEL.split_at(20);
        check(
            &format!("data:image/png;base64,{start}\n{end}\n"),
            Ok(&pixel),
        );
        for (kind, data) in [
            ("image/jpeg", b"\xFF\xD8\xFF\xE0abc\xFF\xD9tail".as_slice()),
            ("image/gif", b"GIF89a\x01\0\x01\0\0\0\0data;"),
            ("image/webp", b"RIFF\x10\0\0\0WEBPVP8 \x04\0\0\0data"),
        ] {
            let whole = url(kind, data);
            check(&whole, Ok(&whole));
        }
    }

    #[test]
    fn what_the_model_cannot_see_is_said() {
        let whole = STANDARD.decode(PIXEL).unwrap();
        let frame = Err("it is not a whole PNG, JPEG, GIF or WebP");
        for cut in 0..whole.len() {
            check(&url("image/png", &whole[..cut]), frame);
        }
        let mut empty = whole.clone();
        empty[16..20].fill(0);
        check(&url("image/png", &empty), frame);
        check(&url("image/bmp", b"BM1234"), frame);
        check(&url("image/jpeg", b"\xFF\xD8\xFF\xE0abc"), frame);
        check(&url("image/gif", b"GIF89a;"), frame);
        check(
            &url("image/webp", b"RIFF\xFF\0\0\0WEBPVP8 \x04\0\0\0data"),
            frame,
        );
        check(
            &url("image/svg+xml", b"<svg/>"),
            Err("the model cannot see SVG"),
        );
        for link in [
            "https://example.com/a.png",
            "file:///etc/passwd",
            "data:image/png",
            "",
        ] {
            check(link, Err("it is a link, and only data is sent"));
        }
        check("data:image/png,AAAA", Err("its data is not base64"));
        check("data:image/png;base64,@@@@", Err("its data is not base64"));
        let large = format!("data:image/png;base64,{}", "A".repeat(MAX_URL_BYTES));
        check(&large, Err("it has 10.5 MB, at most 10 MB are sent"));
        assert_eq!(
            checked(vec![
                InputPart::Text("a".into()),
                InputPart::Image("http://x/".into())
            ]),
            [
                InputPart::Text("a".into()),
                InputPart::Text("[image not sent: it is a link, and only data is sent]".into())
            ]
        );
    }

    proptest! {
        #![proptest_config(properties::cases(properties::USUAL))]

        #[test]
        fn any_bytes_are_judged(data in vec(any::<u8>(), 0..200), text in any::<String>()) {
            let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
            png.extend(&data);
            for url in [url("image/png", &data), url("image/png", &png), text] {
                if let Ok(sent) = sendable(&url) {
                    prop_assert!(sent.starts_with("data:image/"));
                }
            }
        }
    }
}

//! The files that a prompt names with `@`, and `@clipboard`, read as parts of the request.
//!
//! In: names as typed. Out: texts and pictures for the agent, and notices. Invariants: a missing file does not stop the
//! prompt, unless the prompt is nothing but pictures; a word that only looks like a file name (`@property`) is no
//! error. Blocks on files, so callers run it outside the loop.

use std::path::{Path, PathBuf};

use crate::agent::InputPart;
use crate::clipboard;
use crate::dialog::file_entry;
use crate::input::{FileReference, file_references};
use crate::notice::Notice;
use crate::output::picture_type;
use crate::picture::for_model;
use crate::saving::NotebookPlaces;

/// Bytes of the largest file that is sent.
const LARGEST_TEXT: u64 = 8 << 20;

/// Bytes of the largest picture that is read; pictures are made smaller before they are sent.
const LARGEST_PICTURE: u64 = 64 << 20;

const CLIPBOARD: &str = "clipboard";

/// Punctuation behind a name that is not part of it.
const END: [char; 12] = ['.', ',', ';', ':', '!', '?', ')', ']', '}', '>', '"', '\''];

/// Files sent with one prompt.
const MOST: usize = 16;

#[derive(Debug, Default)]
pub(super) struct Attachments {
    /// In the order of the prompt.
    pub(super) parts: Vec<InputPart>,
    pub(super) notices: Vec<Notice>,
    /// The notices that explain why pictures are not sent.
    pub(super) lost: Vec<String>,
}

/// Reads the files that a prompt names, for front-ends that send prompts by themselves; returns the parts and the
/// notices. Blocks.
pub fn read_attachments(
    prompt: &str,
    cwd: &Path,
    home: Option<PathBuf>,
) -> (Vec<InputPart>, Vec<Notice>) {
    let places = NotebookPlaces {
        startup: PathBuf::new(),
        home,
    };
    let Attachments { parts, notices, .. } = read(file_references(prompt), cwd, &places);
    (parts, notices)
}

pub(super) fn read(named: Vec<FileReference>, cwd: &Path, places: &NotebookPlaces) -> Attachments {
    let mut attached = Attachments::default();
    let mut files = 0;
    for name in named {
        let clipboard = name.path.trim_end_matches(END) == CLIPBOARD;
        let (bytes, shown) = match find(&name, cwd, places) {
            Some((path, shown)) => (content(&path), shown),
            None if clipboard => (clipboard::read(), CLIPBOARD.to_owned()),
            None => {
                let said = missing(&name);
                let lost = said.iter().filter(|_| is_picture(&name.path));
                attached
                    .lost
                    .extend(lost.map(|notice| notice.message.clone()));
                attached.notices.extend(said);
                continue;
            }
        };
        files += 1;
        if files > MOST {
            let line = format!("`{shown}` is left out: a prompt can have at most {MOST} files");
            attached.notices.push(Notice::warning(line));
            continue;
        }
        let picture = match &bytes {
            Ok(bytes) => picture_type(bytes).is_some() || is_picture(&shown),
            Err(_) => is_picture(&shown),
        };
        match bytes.and_then(|bytes| parts(bytes, &shown)) {
            Ok((parts, said)) => {
                attached.parts.extend(parts);
                attached.notices.extend(said.map(Notice::note));
            }
            Err(why) => {
                let line = format!("`{shown}` is not attached: {why}");
                attached.lost.extend(picture.then(|| line.clone()));
                attached.notices.push(Notice::warning(line));
            }
        }
    }
    attached
}

/// Returns the file and the name it goes by; a full stop behind the name is dropped unless the file's name has it.
fn find(name: &FileReference, cwd: &Path, places: &NotebookPlaces) -> Option<(PathBuf, String)> {
    let trimmed = name.path.trim_end_matches(END);
    let trimmed = if name.quoted { "" } else { trimmed };
    let names = [name.path.as_str(), trimmed].into_iter();
    let mut names = names.filter(|name| !name.is_empty());
    names.find_map(|name| {
        let path = places.file(name, cwd);
        path.exists().then(|| (path, name.to_owned()))
    })
}

/// Returns the notice for a name without a file; `None` where the word may be no file name.
fn missing(name: &FileReference) -> Option<Notice> {
    let path = name.path.as_str();
    let line = format!("there is no file `{path}`: nothing is attached for it");
    let suffix = Path::new(path).extension().and_then(|it| it.to_str());
    let suffixed = suffix.is_some_and(|it| it.len() <= 5 && it.chars().all(char::is_alphanumeric));
    if name.quoted || (path.contains('/') && !path.contains('(')) {
        Some(Notice::warning(line))
    } else {
        // May be a decorator.
        suffixed.then(|| Notice::note(line))
    }
}

fn is_picture(name: &str) -> bool {
    const SUFFIXES: [&str; 10] = [
        "png", "jpg", "jpeg", "gif", "webp", "bmp", "tif", "tiff", "svg", "heic",
    ];
    let suffix = Path::new(name.trim_end_matches(END)).extension();
    let suffix = suffix
        .and_then(|it| it.to_str())
        .map(str::to_ascii_lowercase);
    suffix.is_some_and(|suffix| SUFFIXES.contains(&suffix.as_str()))
}

fn content(path: &Path) -> Result<Vec<u8>, String> {
    let facts = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if facts.is_dir() {
        return Err("it is a directory; name a file in it".into());
    }
    if !facts.is_file() {
        return Err("it is not a regular file".into());
    }
    if facts.len() > LARGEST_PICTURE {
        return Err(too_large(facts.len(), LARGEST_PICTURE));
    }
    std::fs::read(path).map_err(|error| error.to_string())
}

fn too_large(size: u64, most: u64) -> String {
    let (size, most) = (size >> 20, most >> 20);
    format!("it has {size} MiB, and at most {most} are read")
}

/// Returns the parts sent for a file's bytes, and a note about them.
fn parts(bytes: Vec<u8>, shown: &str) -> Result<(Vec<InputPart>, Option<String>), String> {
    if let Some(mime) = picture_type(&bytes) {
        let (url, made) = for_model(&bytes).map_err(|error| error.to_string())?;
        let said = made.map(|made| format!("`{shown}` is too large for the model: {made}"));
        let what = made.map_or(mime.to_owned(), |made| format!("{mime} {made}"));
        let named = InputPart::Text(file_entry(shown, &format!("[{what}]")));
        return Ok((vec![named, InputPart::Image(url)], said));
    }
    if bytes.len() as u64 > LARGEST_TEXT {
        return Err(too_large(bytes.len() as u64, LARGEST_TEXT));
    }
    let text = String::from_utf8(bytes);
    let text = text.map_err(|_| "it is neither UTF-8 text nor a picture")?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned();
    let path = shown.to_owned();
    Ok((vec![InputPart::File { path, text }], None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_read_is_attached_and_the_rest_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes);
        file("a.csv", b"1,2").unwrap();
        file("b c.txt", b"x").unwrap();
        file("raw.bin", b"\xff\xfe\x00").unwrap();
        std::fs::create_dir(folder.path().join("d")).unwrap();
        let places = NotebookPlaces {
            startup: PathBuf::new(),
            home: Some(folder.path().into()),
        };
        let check = |text: &str| {
            let read = read(file_references(text), folder.path(), &places);
            let parts = read.parts.iter().map(|part| match part {
                InputPart::File { path, text } => format!("{path}={text}"),
                other => format!("{other:?}"),
            });
            let said = read.notices.into_iter().map(|notice| notice.message);
            parts.chain(said).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(
            check("sum @a.csv, and @~/b\\ c.txt."),
            "a.csv=1,2; ~/b c.txt=x"
        );
        assert_eq!(check("what is @property or @pytest.fixture?"), "");
        assert_eq!(
            check("see @no.csv"),
            "there is no file `no.csv`: nothing is attached for it"
        );
        assert_eq!(
            check("@d"),
            "`d` is not attached: it is a directory; name a file in it"
        );
        assert_eq!(
            check("@raw.bin"),
            "`raw.bin` is not attached: it is neither UTF-8 text nor a picture"
        );
    }
}

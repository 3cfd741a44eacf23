//! `exact-log.jsonl`: the exact requests and responses, written when the user turns it on.
//!
//! One JSON object a line: `ts` (UTC, RFC 3339), `session`, `prompt` (expanded, all text parts), `response` (stored
//! form). A short-lived thread writes, so that a slow disk never holds up the session; private (0600).

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use chrono::{SecondsFormat, Utc};
use serde_json::json;

use crate::events::Notice;
use crate::run::RunSender;

pub(super) fn append(path: PathBuf, session: i64, prompt: &str, response: &str, out: RunSender) {
    let ts = Utc::now().to_rfc3339_opts(SecondsFormat::Millis, true);
    let line = json!({"ts": ts, "session": session, "prompt": prompt, "response": response});
    let line = format!("{line}\n");
    let failed = move |error: io::Error, path: &Path| {
        let said = format!(
            "the exact log `{}` could not be written: {error}",
            path.display()
        );
        out.send(Notice::warning(said).hint("%ipycodex log_exact false"));
    };
    let write = move || {
        if let Err(error) = write_line(&path, &line) {
            failed(error, &path);
        }
    };
    // Without a thread the exchange is not logged; the next one tries again.
    let _ = std::thread::Builder::new()
        .name("exact log".into())
        .spawn(write);
}

/// Writes the line with one `write`, so that lines of two sessions do not mix.
fn write_line(path: &Path, line: &str) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        crate::files::private_dir(directory).map_err(io::Error::other)?;
    }
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)?
        .write_all(line.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn lines_are_appended_to_a_private_file() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("made/exact-log.jsonl");
        write_line(&path, "{}\n").unwrap();
        write_line(&path, "{\"a\":1}\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{}\n{\"a\":1}\n");
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
}

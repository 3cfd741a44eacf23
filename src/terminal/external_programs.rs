//! Programs that get the terminal for a while: the user's own editor on the text being typed, an agent's login.
//!
//! In: a command line, a text. Out: the text as the editor left it, without its last line end; `None` when it is
//! unchanged. The text is in a temporary directory of mode 700, removed afterwards. The program gets the terminal
//! mode from before our start; afterwards our mode is set again in any case.

use std::fs::{DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::Arc;

use crate::agent::LoginProgram;
use crate::input::Mode;
use crate::process;
use crate::screen::guard::TerminalGuard;

/// The editor when neither `$VISUAL` nor `$EDITOR` is set.
const DEFAULT: &str = "vi";

/// Resets modes a killed editor may have left on: alternate screen, keypad, cursor keys, mouse, hidden cursor,
/// colours.
const SANE: &[u8] =
    b"\x1b[?1049l\x1b>\x1b[?1l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1006l\
    \x1b[?2004l\x1b[?25h\x1b[0m";

pub(super) struct ExternalPrograms {
    /// As in `$VISUAL` or `$EDITOR`.
    pub(super) command: Option<String>,
    pub(super) guard: Option<Arc<TerminalGuard>>,
}

impl ExternalPrograms {
    /// Lets the user edit `text`.
    ///
    /// # Errors
    /// Returns one line, the reason why the text is unchanged.
    pub(super) fn edit(&self, text: &str, mode: Mode) -> Result<Option<String>, String> {
        let command = self.command.as_deref().unwrap_or(DEFAULT);
        let words = shlex::split(command).filter(|words| !words.is_empty());
        let words = words.ok_or_else(|| {
            format!("`{command}` is not a command line: it is empty, or a quote is not closed")
        })?;
        let place = TempDir::new()
            .map_err(|error| format!("could not make a temporary directory: {error}"))?;
        let prompt =
            text.starts_with('.') || (mode == Mode::Prompts && !text.starts_with([';', '!', '%']));
        let file = place.0.join(if prompt { "prompt.md" } else { "cell.py" });
        write(&file, text).map_err(|error| format!("could not make a temporary file: {error}"))?;
        let mut editor = Command::new(&words[0]);
        let status = self
            .run(editor.args(&words[1..]).arg(&file))
            .map_err(|error| {
                format!("`{command}` could not be started ({error}); set VISUAL or EDITOR")
            })?;
        if !status.success() {
            return Err(format!(
                "`{command}` ended with {status}: nothing was changed"
            ));
        }
        let bytes = std::fs::read(&file)
            .map_err(|error| format!("`{command}` left no file ({error}): nothing was changed"))?;
        let edited = String::from_utf8(bytes).map_err(|_| {
            format!("`{command}` saved text that is not UTF-8: nothing was changed")
        })?;
        let edited = edited.strip_suffix('\n').unwrap_or(&edited);
        let edited = edited.strip_suffix('\r').unwrap_or(edited);
        Ok((edited != text).then(|| edited.to_owned()))
    }

    /// Stops our process; returns when it is resumed.
    pub(super) fn suspend(&self) {
        if let Some(guard) = &self.guard {
            guard.suspend();
        }
    }

    pub(super) fn line_mode(&self) {
        if let Some(guard) = &self.guard {
            guard.line_mode();
        }
    }

    /// Restores the terminal's mode from before the line editor.
    pub(super) fn host_mode(&self) {
        if let Some(guard) = &self.guard {
            guard.host_mode();
        }
    }

    /// Runs the agent's login program; returns the outcome as a line.
    pub(super) fn log_in(&self, program: &LoginProgram) -> String {
        let line = program.line();
        let Some((first, rest)) = program.command.split_first() else {
            return "the agent names no program that logs in".to_owned();
        };
        let variables = program.variables.iter().map(|(name, value)| (name, value));
        match self.run(Command::new(first).args(rest).envs(variables)) {
            Ok(status) if status.success() => "Logged in: the next prompt uses it.".to_owned(),
            Ok(status) => format!("`{line}` ended with {status}: you may not be logged in"),
            Err(error) => format!("`{line}` could not be started ({error})"),
        }
    }

    fn run(&self, command: &mut Command) -> std::io::Result<ExitStatus> {
        if let Some(guard) = &self.guard {
            guard.restore();
        }
        let ended = process::run_in_foreground(command, None);
        if let Some(guard) = &self.guard {
            guard.host_mode();
            if ended.as_ref().is_ok_and(|status| status.code().is_none()) {
                guard.write(SANE);
            }
        }
        ended
    }
}

/// A directory that is removed on drop.
struct TempDir(PathBuf);

impl TempDir {
    fn new() -> std::io::Result<Self> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(std::io::Error::other)?;
        let name = format!("ipycodex-{:016x}", u64::from_ne_bytes(random));
        let path = std::env::temp_dir().join(name);
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(TempDir(path))
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        // A leftover is readable by the user alone.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text.as_bytes())?;
    if !text.is_empty() && !text.ends_with('\n') {
        file.write_all(b"\n")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(command: &str, text: &str, mode: Mode, expected: Result<Option<&str>, &str>) {
        let external = ExternalPrograms {
            command: Some(command.to_owned()),
            guard: None,
        };
        match (external.edit(text, mode), expected) {
            (Ok(edited), Ok(expected)) => assert_eq!(edited.as_deref(), expected, "{command}"),
            (Err(said), Err(part)) => assert!(said.contains(part), "{said}"),
            (got, expected) => panic!("{command}: {got:?}, not {expected:?}"),
        }
    }

    #[test]
    fn what_the_editor_leaves_comes_back() {
        let append = "sh -c 'echo b >>\"$0\"'";
        check(append, "a", Mode::Cells, Ok(Some("a\nb")));
        check(append, "", Mode::Cells, Ok(Some("b")));
        check("true", "a\nb", Mode::Cells, Ok(None));
        check(
            "sh -c 'printf \"x\\r\\n\" >\"$0\"'",
            "a",
            Mode::Cells,
            Ok(Some("x")),
        );
        // The file's suffix tells the editor the language.
        let name = "sh -c 'basename \"$0\" >\"$0\"'";
        check(name, "a", Mode::Cells, Ok(Some("cell.py")));
        check(name, ".a", Mode::Cells, Ok(Some("prompt.md")));
        check(name, "a", Mode::Prompts, Ok(Some("prompt.md")));
        check(name, ";a", Mode::Prompts, Ok(Some("cell.py")));
        // Readable by the user alone.
        let modes = "sh -c 'stat -c %a \"$0\" \"$(dirname \"$0\")\" >\"$0.n\"; mv \"$0.n\" \"$0\"'";
        check(modes, "a", Mode::Cells, Ok(Some("600\n700")));
    }

    #[test]
    fn failures_are_reported() {
        check("sh -c 'exit 3'", "a", Mode::Cells, Err("exit status: 3"));
        check("sh -c 'kill -9 $$'", "a", Mode::Cells, Err("signal: 9"));
        check(
            "no-such-editor -x",
            "a",
            Mode::Cells,
            Err("`no-such-editor -x` could not be started"),
        );
        check("vi 'open", "a", Mode::Cells, Err("is not a command line"));
        check("  ", "a", Mode::Cells, Err("is not a command line"));
        check("rm", "a", Mode::Cells, Err("left no file"));
        check(
            "sh -c 'printf \"\\377\" >\"$0\"'",
            "a",
            Mode::Cells,
            Err("text that is not UTF-8: nothing was changed"),
        );
    }
}

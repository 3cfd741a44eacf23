//! The marks that our shell scripts write to the terminal.
//!
//! In: the word of a mark. Out: a [`ShellMark`]. The scripts are in `assets/shell`; the framing of marks is
//! `runtime/marks.rs`.

use super::super::marks::Mark;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShellMark {
    /// `0.4711`: the last command ended with this status, and the shell with this process id waits for the next.
    Ended { status: i32, process: i32 },
    /// `go`: the shell has read the line that announces a command, and waits for the command.
    Go,
    /// `run`: the shell has read the command, and runs it.
    Run,
    /// `prompt`: the shell reads the next line.
    Prompt,
}

impl Mark for ShellMark {
    fn parse(word: &[u8]) -> Option<Self> {
        match word {
            b"go" => Some(ShellMark::Go),
            b"run" => Some(ShellMark::Run),
            b"prompt" => Some(ShellMark::Prompt),
            word => {
                let (status, process) = std::str::from_utf8(word).ok()?.split_once('.')?;
                Some(ShellMark::Ended {
                    status: status.parse().ok()?,
                    process: process.parse().ok()?,
                })
            }
        }
    }

    fn is_prefix(word: &[u8]) -> bool {
        [&b"go"[..], b"run", b"prompt"]
            .iter()
            .any(|known| known.starts_with(word))
            || word
                .iter()
                .all(|byte| byte.is_ascii_digit() || *byte == b'.')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_and_other_words_are_not() {
        let ended = |status, process| Some(ShellMark::Ended { status, process });
        for (word, expected) in [
            ("go", Some(ShellMark::Go)),
            ("run", Some(ShellMark::Run)),
            ("prompt", Some(ShellMark::Prompt)),
            ("0.4194304", ended(0, 4_194_304)),
            ("255.7", ended(255, 7)),
            ("255", None),
            ("1.2.3", None),
            (".", None),
            ("gone", None),
        ] {
            assert_eq!(ShellMark::parse(word.as_bytes()), expected, "{word}");
            let starts = (0..=word.len()).all(|end| ShellMark::is_prefix(&word.as_bytes()[..end]));
            assert!(expected.is_none() || starts, "{word}");
        }
    }
}

//! The user's clipboard, reached through the terminal: on this machine, and over ssh.
//!
//! Out: OSC 52 (xterm, "Manipulate Selection Data", selection `c`, text in base64). Terminals do not answer it: success
//! cannot be known. tmux obeys it only if configured to, so its own command is used there (`set-buffer -w`, 3.2 and
//! later).

use std::process::Command;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::process::output_within;

/// The longest tmux is waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes tmux can be handed at once: an argument of a program holds no more on Linux.
const MOST_IN_TMUX: usize = 128 * 1024 - 1;

/// The sequence that puts `text` into the clipboard.
pub(super) fn sequence(text: &str) -> String {
    format!("\x1b]52;c;{}\x07", STANDARD.encode(text))
}

/// Asks tmux to take `text`, and to hand it on to its terminal.
///
/// # Errors
/// Why that cannot be done, as a phrase.
pub(super) fn copy_in_tmux(text: &str) -> Result<(), String> {
    if text.len() > MOST_IN_TMUX {
        let length = text.len();
        return Err(format!(
            "tmux takes {MOST_IN_TMUX} bytes at once, and this is {length}"
        ));
    }
    let mut command = Command::new("tmux");
    command.args(["set-buffer", "-w", "--", text]);
    match output_within(&mut command, PATIENCE) {
        Ok(Some(answer)) if answer.status.success() => Ok(()),
        Ok(Some(answer)) => Err(format!(
            "tmux says: {}",
            String::from_utf8_lossy(&answer.stderr).trim()
        )),
        Ok(None) => Err("tmux does not answer".into()),
        Err(error) => Err(format!("tmux could not be asked: {error}")),
    }
}

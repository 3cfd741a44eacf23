//! The user's clipboard, reached through the terminal: on this machine, and over ssh.
//!
//! In: a text. Out: OSC 52 (xterm, "Manipulate Selection Data", selection `c`, text in base64). Terminals send no
//! reply, so success is unknown. tmux handles it only if configured to, so its own command is used there
//! (`set-buffer -w`, 3.2 and later).

use std::process::Command;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::process::output_within;

const PATIENCE: Duration = Duration::from_secs(2);
/// Most bytes passed to tmux at once: the limit of one program argument on Linux.
const MOST_IN_TMUX: usize = 128 * 1024 - 1;

pub(super) fn sequence(text: &str) -> String {
    format!("\x1b]52;c;{}\x07", STANDARD.encode(text))
}

/// Passes `text` to tmux, which passes it on to its terminal.
///
/// # Errors
/// The reason, as a phrase.
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

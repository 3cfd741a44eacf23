//! Reads the clipboard of the desktop, a picture or a text, through `wl-paste` (Wayland) or `xclip` (X11).
//!
//! Pictures are asked for first: terminals cannot deliver pictures, and few deliver text. Absent on purpose: copying,
//! which goes through the terminal (`screen`).

use std::process::Command;
use std::time::Duration;

use crate::process::output_within;

const PROGRAMS: [&[&str]; 4] = [
    &["wl-paste", "--type", "image/png"],
    &["xclip", "-selection", "clipboard", "-t", "image/png", "-o"],
    &["wl-paste", "--no-newline"],
    &["xclip", "-selection", "clipboard", "-o"],
];

/// Limit for each program: the owner of the clipboard's content may hang.
const PATIENCE: Duration = Duration::from_secs(2);

/// Returns the content of the clipboard; blocks.
pub(super) fn read() -> Result<Vec<u8>, String> {
    let (mut there, mut silent) = (false, None);
    for words in PROGRAMS {
        if silent == Some(words[0]) {
            continue;
        }
        match output_within(Command::new(words[0]).args(&words[1..]), PATIENCE) {
            Err(_) => continue,
            Ok(None) => silent = Some(words[0]),
            Ok(Some(answer)) if answer.status.success() && !answer.stdout.is_empty() => {
                return Ok(answer.stdout);
            }
            Ok(Some(_)) => {}
        }
        there = true;
    }
    Err(match (silent, there) {
        (Some(program), _) => format!(
            "`{program}` did not answer within {} s: the program that you copied from may hang",
            PATIENCE.as_secs()
        ),
        (None, true) => "nothing is in it, or no desktop can be reached from here".into(),
        (None, false) => "install `wl-clipboard` (Wayland) or `xclip` (X11), which read it".into(),
    })
}

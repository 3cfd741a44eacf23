//! What the user has copied, a picture or a text, as the programs of the desktop tell it.
//!
//! In: nothing. Out: bytes. `wl-paste` (Wayland) and `xclip` (X11) are asked, pictures first: terminals do not give
//! pictures, and few give text. Absent on purpose: copying, which goes through the terminal (`screen`).

use std::process::{Command, Stdio};

/// Who is asked, in this order.
const PROGRAMS: [&[&str]; 4] = [
    &["wl-paste", "--type", "image/png"],
    &["xclip", "-selection", "clipboard", "-t", "image/png", "-o"],
    &["wl-paste", "--no-newline"],
    &["xclip", "-selection", "clipboard", "-o"],
];

/// What is in the clipboard; blocks.
pub(super) fn read() -> Result<Vec<u8>, String> {
    let mut there = false;
    for words in PROGRAMS {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).stdin(Stdio::null());
        let Ok(answer) = command.output() else {
            continue;
        };
        there = true;
        if answer.status.success() && !answer.stdout.is_empty() {
            return Ok(answer.stdout);
        }
    }
    Err(match there {
        true => "nothing is in it, or no desktop can be reached from here".into(),
        false => "install `wl-clipboard` (Wayland) or `xclip` (X11), which read it".into(),
    })
}

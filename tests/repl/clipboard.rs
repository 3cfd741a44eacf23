//! What is put into the clipboard, by the command and by the key.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::shell::Shell;
use crate::support::home::Home;
use crate::support::pty::SIZE;
use crate::support::tmux::Tmux;

#[test]
fn cells_answers_and_their_code_by_the_terminals_own_sequence() {
    let shell = Shell::new();
    shell.cell(1, "a = 'ä'");
    shell.cell(2, ".hello");
    let answer = shell.answers(1).remove(0).1;
    let (_, shown) = answer.split_once("</thinking>\n").unwrap();
    let sent = |text: &str| format!("\x1b]52;c;{}\x07", STANDARD.encode(text));
    shell.cell(3, "%ipycodex copy 1");
    shell.shows("copied In [1]: 7 characters");
    shell.pty.wait_raw(sent("a = 'ä'").as_bytes(), 0);
    shell.cell(4, "%ipycodex copy code");
    shell.shows("copied the code of [2]: 22 characters");
    shell.pty.send("\x1bc");
    shell.shows("copied the answer of [2]: ");
    let raw = String::from_utf8_lossy(&shell.pty.raw()).into_owned();
    let last = raw.rsplit("\x1b]52;c;").next().unwrap();
    let last = STANDARD.decode(last.split('\x07').next().unwrap()).unwrap();
    let last = String::from_utf8(last).unwrap();
    assert!(last.ends_with(shown.trim()), "{last}");
    shell.cell(5, "%ipycodex copy 99");
    shell.shows("there is no In [99]");
    shell.cell(6, "%ipycodex copy all");
    shell.shows("Usage: %ipycodex copy [answer|code|N]");
}

#[test]
fn under_tmux_through_tmux() {
    let home = Home::new();
    let Some(tmux) = Tmux::start(&home, &["--agent", "demo"], SIZE) else {
        return;
    };
    tmux.pty.wait_for("In [1]:");
    tmux.keys(&["a = 6*7", "Enter"]);
    tmux.pty.wait_for("In [2]:");
    tmux.keys(&["%ipycodex copy 1", "Enter"]);
    tmux.pty.wait_for("copied In [1]: 7 characters");
    tmux.pty.wait_for("In [3]:");
    tmux.keys(&["!tmux show-buffer | rev", "Enter"]);
    tmux.pty.wait_for("7*6 = a");
}

#[test]
fn where_there_is_no_terminal_it_is_said() {
    let home = Home::new();
    let ran = home.demo(&[], "a = 1\n%ipycodex copy 1\n");
    let said = "In [1] is not copied: standard output is not a terminal with a clipboard";
    assert!(ran.stderr.contains(said), "{ran:?}");
    assert!(!ran.stdout.contains("]52;"), "{ran:?}");
}

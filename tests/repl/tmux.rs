//! The same keys under tmux, which reads them from its terminal and writes them to ours in its own spelling.

use super::shell::cursor_line;
use crate::support::home::Home;
use crate::support::pty::SIZE;
use crate::support::tmux::Tmux;

fn at(tmux: &Tmux, line: &str) {
    tmux.pty
        .wait_until(&format!("{line:?} at the cursor"), |screen| {
            cursor_line(screen).trim_end() == line
        });
}

#[test]
fn cells_entries_and_pastes() {
    let home = Home::new();
    let Some(tmux) = Tmux::start(&home, &["--agent", "demo"], SIZE) else {
        return;
    };
    at(&tmux, "In [1]:");
    tmux.keys(&["a = 6*7", "Enter"]);
    at(&tmux, "In [2]:");
    tmux.pty.send("if a:\r");
    at(&tmux, "   ...:");
    tmux.pty.send("print(a)\r\r");
    at(&tmux, "In [3]:");
    tmux.pty.wait_for("42");
    // Whole entries, back and forth, typed at the terminal and by name.
    tmux.pty.send("\x1b[1;3A");
    tmux.pty.wait_for("In [3]: if a:");
    tmux.keys(&["M-Up"]);
    at(&tmux, "In [3]: a = 6*7");
    tmux.keys(&["C-c"]);
    at(&tmux, "In [3]:");
    tmux.paste("b = 1\nb + 41");
    at(&tmux, "   ...: b + 41");
    assert!(!tmux.pane().contains("Out[3]"));
    tmux.keys(&["Enter"]);
    tmux.pty.wait_for("Out[3]: 42");
}

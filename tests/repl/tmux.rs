//! The same keys under tmux, which reads them from its terminal and writes them to ours in its own spelling.

use crate::support::home::Home;
use crate::support::pty::{SIZE, cursor_line};
use crate::support::tmux::Tmux;

#[test]
fn cells_entries_and_pastes() {
    let home = Home::new();
    let Some(tmux) = Tmux::start(&home, &["--agent", "demo"], SIZE) else {
        return;
    };
    tmux.pty.at_line("In [1]:");
    tmux.keys(&["a = 6*7", "Enter"]);
    tmux.pty.at_line("In [2]:");
    tmux.pty.send("if a:\r");
    tmux.pty.at_line("   ...:");
    tmux.pty.send("print(a)\r\r");
    tmux.pty.at_line("In [3]:");
    tmux.pty.wait_for("42");
    // Whole entries, back and forth, typed at the terminal and by name.
    tmux.pty.send("\x1b[1;3A");
    tmux.pty.wait_for("In [3]: if a:");
    tmux.keys(&["M-Up"]);
    tmux.pty.at_line("In [3]: a = 6*7");
    tmux.keys(&["C-c"]);
    tmux.pty.at_line("In [3]:");
    tmux.paste("b = 1\nb + 41");
    tmux.pty.at_line("   ...: b + 41");
    assert!(!tmux.pane().contains("Out[3]"));
    tmux.keys(&["Enter"]);
    tmux.pty.wait_for("Out[3]: 42");
}

#[test]
fn the_keys_of_the_editor() {
    let mut home = Home::new();
    home.install_script("my-editor", "#!/bin/sh\necho 'c = 3' >\"$1\"\n");
    home.set("VISUAL", "my-editor");
    let Some(tmux) = Tmux::start(&home, &["--agent", "demo"], SIZE) else {
        return;
    };
    tmux.pty.at_line("In [1]:");
    // Alt-p by name, typed at the terminal, and as Esc by itself and a key.
    tmux.keys(&["M-p"]);
    tmux.pty.at_line("Pr [1]:");
    tmux.pty.send("\x1bp");
    tmux.pty.at_line("In [1]:");
    tmux.keys(&["Escape"]);
    tmux.keys(&["p"]);
    tmux.pty.at_line("Pr [1]:");
    tmux.keys(&["M-p"]);
    tmux.pty.at_line("In [1]:");
    tmux.keys(&["F2"]);
    tmux.pty.at_line("In [1]: c = 3");
    tmux.keys(&["C-_"]);
    tmux.pty.at_line("In [1]:");
    tmux.keys(&["C-x", "C-e"]);
    tmux.pty.at_line("In [1]: c = 3");
    tmux.keys(&["Enter"]);
    tmux.pty.at_line("In [2]:");
    // The last answer's block, in tmux's spelling of Alt-Shift-W and Alt-Shift-1.
    tmux.keys(&["show me code with a python block", "M-p"]);
    tmux.pty.at_line("Pr [2]: show me code with a python block");
    tmux.keys(&["Enter"]);
    tmux.pty.at_line("Pr [3]:");
    tmux.keys(&["C-r", "c = "]);
    tmux.pty.wait_for("c = 3");
    tmux.keys(&["Enter"]);
    tmux.pty.at_line("Pr [3]: c = 3");
    tmux.keys(&["M-b", "C-k", "C-y", "C-a", "M-d"]);
    tmux.pty.at_line("Pr [3]:  = 3");
}

#[test]
fn what_the_interpreter_and_the_agent_say() {
    let home = Home::new();
    let Some(tmux) = Tmux::start(&home, &["--agent", "demo"], SIZE) else {
        return;
    };
    tmux.pty.at_line("In [1]:");
    tmux.keys(&["def alpha_one(size): return 1", "Enter", "Enter"]);
    tmux.pty.at_line("In [2]:");
    // Signature below the line, which stays.
    tmux.keys(&["alpha_one(", "BTab"]);
    tmux.pty.wait_for("alpha_one(size)");
    tmux.keys(&["C-c"]);
    tmux.pty.at_line("In [2]:");
    // A suggestion, by name and as typed at the terminal.
    tmux.keys(&["alpha_", "M-."]);
    tmux.pty
        .wait_until("the suggestion in the last line", |screen| {
            screen.contents().trim_end().ends_with("In [2]: alpha_one")
        });
    tmux.keys(&["Right", "(1)", "Enter"]);
    tmux.pty.wait_for("Out[2]: 1");
    tmux.pty.at_line("In [3]:");
    tmux.keys(&[".show me code with a python block", "Enter"]);
    tmux.pty.at_line("In [4]:");
    tmux.pty.send("\x1bW");
    tmux.pty.wait_for("sum(range(10))\n");
    tmux.keys(&["C-c"]);
    tmux.pty.at_line("In [4]:");
    tmux.pty.send("\x1b[1;4B");
    tmux.pty
        .wait_until("a block in place of the text", |screen| {
            cursor_line(screen).trim_end().len() > "In [4]:".len()
        });
}

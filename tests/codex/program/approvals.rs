//! `approvals ask` on a terminal with the real app-server: what is asked, what an answer does, what is recorded.

use serde_json::json;

use super::{MODELS, leave, program};
use crate::codex::questions::{patch, shell, using};

#[test]
fn commands_and_edits_wait_for_the_user() {
    for model in MODELS {
        let endpoint = using(
            model,
            &[
                shell("touch made"),
                patch("wanted.txt"),
                patch("unwanted.txt"),
            ],
        );
        let Some(program) = program(model, endpoint) else {
            return;
        };
        program.configure(json!({"approvals": "ask"}));
        let pty = program.repl();
        let made = |name: &str| program.home.work().join(name).exists();
        pty.send_line(".go");
        pty.wait_for("Run this command?");
        pty.wait_for("▸ n no");
        assert!(pty.screen_text().contains("touch made"), "{model}");
        assert!(!made("made"), "{model}: nothing runs before the answer");
        pty.send("y");
        pty.wait_for("Make these changes?");
        pty.wait_for("▸ n no");
        let screen = pty.screen_text();
        assert!(
            screen.contains("wanted.txt +1 -0") && screen.contains("+hello"),
            "{model}: {screen}"
        );
        assert!(!made("wanted.txt"), "{model}");
        pty.send("y");
        pty.wait_for("unwanted.txt +1 -0");
        pty.wait_for("▸ n no");
        pty.send("n");
        pty.wait_for("In [2]:");
        leave(&pty);
        assert_eq!(
            (made("made"), made("wanted.txt"), made("unwanted.txt")),
            (true, true, false),
            "{model}"
        );
        assert_eq!(
            program.recorded(
                "SELECT line || ' ' || kind || ' ' || decision FROM ipycodex_decisions ORDER BY id"
            ),
            ["1 command once", "1 edit once", "1 edit no"],
            "{model}"
        );
    }
}

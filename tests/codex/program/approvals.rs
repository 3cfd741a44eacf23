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

/// Counts what stands on the screen, wrapped lines joined.
fn count(screen: &str, part: &str) -> usize {
    screen.replace('\n', "").matches(part).count()
}

#[test]
fn what_is_denied_is_shown_once_and_the_reason_reaches_the_model() {
    for model in MODELS {
        let endpoint = using(model, &[shell("touch made"), patch("new.txt"), shell("ls")]);
        let Some(program) = program(model, endpoint) else {
            return;
        };
        program.configure(json!({"approvals": "ask"}));
        let pty = program.repl();
        let because = |what: &str, why: &str| {
            pty.wait_for(what);
            pty.wait_for("▸ n no");
            pty.send("w");
            pty.wait_for("why not?");
            pty.send(why);
            pty.send("\r");
        };
        pty.send_line(".go");
        because("touch made", "not in here");
        because("new.txt +1 -0", "no new files");
        pty.wait_for("    ls");
        pty.wait_for("▸ n no");
        pty.send("n");
        pty.wait_for("In [2]:");
        let screen = pty.screen_text();
        let said = |part: &str| assert_eq!(count(&screen, part), 1, "{model}: {part}: {screen}");
        said("✗ not allowed (not in here): touch made");
        said("✗ not allowed (no new files): ");
        said("✗ not allowed: ls");
        assert_eq!(count(&screen, "🔧"), 0, "{model}: {screen}");
        assert_eq!(count(&screen, "edit declined"), 0, "{model}: {screen}");
        leave(&pty);
        let made = |name: &str| program.home.work().join(name).exists();
        assert!(!made("made") && !made("new.txt"), "{model}");
        let requests = program.endpoint.requests();
        let heard = requests.last().expect("requests").to_string();
        for part in [
            "I did not allow the command `touch made`. My reason: not in here",
            "new.txt. My reason: no new files",
        ] {
            assert!(heard.contains(part), "{model}: {part}: {heard}");
        }
        assert_eq!(
            program.recorded("SELECT kind || ' ' || decision FROM ipycodex_decisions ORDER BY id"),
            [
                "command no: not in here",
                "edit no: no new files",
                "command no"
            ],
            "{model}"
        );
        let kept = program.answers().remove(0);
        for part in ["\"status\": \"declined\"", "the user's reason: not in here"] {
            assert!(kept.contains(part), "{model}: {part}: {kept}");
        }
        let again = program.resumed("1", "%ipycodex history\n").stdout;
        for part in [
            "✗ not allowed: touch made => the user's reason: not in here",
            "✗ not allowed: ls",
        ] {
            assert!(again.contains(part), "{model}: {part}: {again}");
        }
    }
}

//! The last answer and the last prompt at the editor's disposal: blocks by key, a prompt recalled to be replaced.

use serde_json::json;

use super::questioning_agent::Asker;
use super::shell::CTRL_C;

const ANSWER: &str =
    "Some code:\n\n```python\na = 1\n```\n\n```bash\nls\n```\n\n- and\n\n  ```py\n  b = 2\n  ```\n";

#[test]
fn blocks_of_the_last_answer_come_by_key() {
    let asker = Asker::new(json!([[{"text": ANSWER}], [{"text": "none"}]]));
    let pty = &asker.shell.pty;
    asker.shell.at(1);
    pty.send("\x1bW");
    pty.wait_for("there is no answer yet");
    asker.shell.pty.at_line("In [1]:");
    asker.prompt(1);
    asker.shell.at(2);
    // Alt-Shift-W in both spellings, and with Esc as a key of its own.
    for keys in ["\x1bW", "\x1b[87;4u", "\x1b[119;4u"] {
        pty.send(keys);
        asker.shell.pty.at_line("   ...: b = 2");
        pty.send(CTRL_C);
        asker.shell.at(2);
    }
    for (keys, block) in [
        ("\x1b!", "a = 1"),
        ("\x1b@", "b = 2"),
        ("\x1b[50;4u", "b = 2"),
        ("\x1b[64;4u", "b = 2"),
    ] {
        pty.send("x; ");
        asker.shell.at_with(2, "x;");
        pty.send(keys);
        asker.shell.at_with(2, &format!("x; {block}"));
        pty.send(CTRL_C);
        asker.shell.at(2);
    }
    pty.send("\x1b#");
    pty.wait_for("the last answer has fewer Python blocks");
    for (keys, block) in [
        ("\x1b[1;4B", "a = 1"),
        ("\x1b[1;4B", "b = 2"),
        ("\x1b[1;4B", "a = 1"),
        ("\x1b[1;4A", "b = 2"),
    ] {
        pty.send(keys);
        asker.shell.at_with(2, block);
    }
    pty.send("\r");
    asker.shell.at(3);
    asker.shell.cell(3, "b");
    asker.shell.shows("Out[3]: 2");
    asker.prompt(4);
    asker.shell.at(5);
    pty.send("\x1b[1;4B");
    pty.wait_for("the last answer has no Python block");
}

#[test]
fn esc_and_then_a_key_is_that_key_with_alt() {
    let asker = Asker::new(json!([[{"text": ANSWER}]]));
    asker.prompt(1);
    asker.shell.at(2);
    asker.shell.pty.send("\x1b");
    asker.shell.pty.send("W");
    asker.shell.pty.at_line("   ...: b = 2");
}

#[test]
fn a_recalled_prompt_takes_the_place_of_the_old_one() {
    let asker = Asker::new(
        json!([[{"text": "one"}], [{"text": "two"}], [{"text": "three"}], [{"text": "four"}]]),
    );
    let pty = &asker.shell.pty;
    asker.shell.at(1);
    pty.send_line(".first question");
    asker.shell.at(2);
    pty.send_line(".second question");
    asker.shell.at(3);
    pty.send("\x1br");
    asker
        .shell
        .pty
        .at_line("In [3]: (replaces In [2] and after) .second question");
    pty.send(CTRL_C);
    asker.shell.at(3);
    pty.send_line("1 + 1");
    asker.shell.at(4);
    pty.send("\x1b[114;3u");
    asker
        .shell
        .pty
        .at_line("In [4]: (replaces In [2] and after) .second question");
    pty.send_line(", better");
    asker
        .shell
        .pty
        .wait_for("? 1 exchange and 1 cell leave the conversation");
    asker.shell.pty.wait_for("▸ n no, leave it");
    pty.send("y");
    asker.shell.at(5);
    asker.shell.shows("three");
    let answers = asker.shell.answers(3);
    assert_eq!(answers.last().unwrap().0, "second question, better");
    // What was replaced has left the conversation and stays in the record.
    pty.send_line("%ipycodex context");
    asker.shell.at(6);
    pty.send_line(".last");
    asker.shell.at(7);
    pty.send("\x1br");
    asker
        .shell
        .pty
        .at_line("In [7]: (replaces In [6] and after) .last");
    pty.send("\x15");
    asker
        .shell
        .pty
        .at_line("In [7]: (replaces In [6] and after)");
    pty.send("\r");
    asker.shell.at(7);
    pty.send("\x1br");
    asker
        .shell
        .pty
        .at_line("In [7]: (replaces In [6] and after) .last");
}

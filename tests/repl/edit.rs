//! Any prompt edited, and sessions forked, as the user sees it: what is in the editor, what is asked, what is left.

use super::checkpoints::await_copy;
use super::shell::{CTRL_C, Shell};
use super::undo::talk;

fn command(shell: &Shell, number: u32, line: &str) {
    shell.at(number);
    shell.pty.send_line(line);
}

fn marks(shell: &Shell, session: i64) -> i64 {
    let marks = "SELECT coalesce(sum(hidden), 0) FROM (SELECT session, hidden FROM ipycodex_entries
         UNION ALL SELECT session, hidden FROM ipycodex_turns) WHERE session = ?1";
    let record = shell.record();
    record
        .query_row(marks, [session], |row| row.get(0))
        .unwrap()
}

#[test]
fn an_earlier_prompt_is_edited_and_all_after_it_goes_once_the_user_agrees() {
    let shell = talk(&["--agent", "demo"]);
    command(&shell, 5, "%ipycodex edit 2");
    let edited = "In [6]: (replaces In [2] and after) .run `a.append(2)`";
    shell.pty.at_line(edited);
    // Left unsent, it changes nothing.
    shell.pty.send(CTRL_C);
    shell.cell(6, "a");
    shell.shows("Out[6]: [1, 2, 3]");
    command(&shell, 7, "%ipycodex edit 2");
    shell
        .pty
        .at_line("In [8]: (replaces In [2] and after) .run `a.append(2)`");
    shell.pty.send("\x15");
    shell.pty.send_line(".run `a.append(9)`");
    shell.pty.wait_for("▸ n no, leave it");
    shell.shows(
        "? 1 exchange and 3 cells leave the conversation\n    [2] .run `a.append(2)`\n    In [3] a.append(2)\n    \
         In [4] a.append(3)\n    In [6] a\n  interpreter: steps back to before In [3]\n  files: stay as they are\n",
    );
    shell.pty.send("n");
    shell
        .pty
        .at_line("In [8]: (replaces In [2] and after) .run `a.append(9)`");
    shell.shows("nothing was replaced, and the prompt was not sent");
    assert_eq!(marks(&shell, 1), 0);
    shell.pty.send("\r");
    shell.pty.wait_for("▸ n no, leave it");
    shell.pty.send("y");
    shell.at(10);
    shell.shows("✓ stepping back: In [2] and after");
    shell.cell(10, "a");
    shell.shows("Out[10]: [1, 9]");
    command(&shell, 11, "%ipycodex edit 2");
    shell.at(12);
    shell.shows("the prompt [2] is out of the conversation");
    let answers = shell.answers(2);
    assert_eq!(answers[0].0, "run `a.append(2)`", "nothing is deleted");
}

#[test]
fn a_fork_has_the_cells_that_it_took_along() {
    let shell = talk(&["--agent", "demo"]);
    command(&shell, 5, "%ipycodex fork");
    shell.at(5);
    command(&shell, 5, "%ipycodex back 4");
    shell.at(6);
    shell.shows(
        "Back before In [4] a.append(3); stepped over In [4], which is out of the conversation",
    );
    assert_eq!(
        (marks(&shell, 1), marks(&shell, 2)),
        (0, 2),
        "the fork's own"
    );
    command(&shell, 6, "%ipycodex edit 2");
    shell
        .pty
        .at_line("In [7]: (replaces In [2] and after) .run `a.append(2)`");
    shell.pty.send("\r");
    shell.pty.wait_for("▸ n no, leave it");
    shell.shows("interpreter: steps back to before In [3]");
    shell.pty.send("y");
    shell.at(9);
    shell.cell(9, "a");
    shell.shows("Out[9]: [1, 2]");
    assert_eq!(marks(&shell, 1), 0, "the old session is as it was");
}

#[test]
fn alt_r_asks_as_edit_does_and_the_conversation_alone_can_go() {
    let shell = talk(&["--agent", "demo"]);
    shell.at(5);
    shell.pty.send("\x1br");
    shell
        .pty
        .at_line("In [5]: (replaces In [2] and after) .run `a.append(2)`");
    shell.pty.send("\r");
    shell.pty.wait_for("▸ n no, leave it");
    shell.pty.send("c");
    shell.at(7);
    shell.shows("the interpreter keeps what In [3] and In [4] did");
    shell.cell(7, "a");
    shell.shows("Out[7]: [1, 2, 3, 2]");
}

#[test]
fn a_session_is_forked_before_a_prompt_and_the_old_one_stays_whole() {
    let shell = talk(&["--agent", "demo"]);
    command(&shell, 5, "%ipycodex fork 4");
    shell.at(6);
    shell.shows("In [4] is a cell, not a prompt; the only prompt is [2]");
    command(&shell, 6, "%ipycodex fork 2");
    shell.pty.wait_for("▸ n no, leave it");
    shell.shows("? A new session begins before In [2]; this one stays whole");
    shell.shows("interpreter: steps back to before In [3]");
    shell.shows("Fork the session there?");
    shell.shows("c yes, nothing else moves");
    shell.pty.send("y");
    shell.pty.at_line("In [2]: .run `a.append(2)`");
    shell.shows("Session 2 is a fork of session 1, with what came before In [2]; `%ipycodex resume 1` goes back.");
    shell.pty.send("\x15");
    await_copy(&shell, || shell.cell(2, "a"));
    shell.shows("Out[2]: [1]");
    command(&shell, 3, "%ipycodex sessions");
    shell.at(4);
    shell.shows("└ before [2]: ");
    assert_eq!(marks(&shell, 1), 0, "the old session is as it was");
    command(&shell, 4, "%ipycodex resume 1");
    shell.at(7);
    command(&shell, 7, "%ipycodex history");
    shell.at(8);
    shell.shows("In [4]: a.append(3)");
    command(&shell, 8, "%ipycodex fork");
    shell.at(8);
    shell.shows("Session 3 is a fork of session 1");
    let rows = "SELECT group_concat(line || source) FROM history WHERE session = 3 AND line < 5";
    let rows: String = shell
        .record()
        .query_row(rows, [], |row| row.get(0))
        .unwrap();
    assert_eq!(
        rows,
        "1a = [1],2.run `a.append(2)`,3a.append(2),4a.append(3)"
    );
}

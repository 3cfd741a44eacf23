//! Prompts through the offline agent: what is shown, told, stored, and how they fail and stop.

use super::shell::{CTRL_C, Shell};
use crate::support::home::Home;
use crate::support::pty::{SIZE, cursor_line};

#[test]
fn an_answer_is_rendered_told_the_context_and_stored() {
    let shell = Shell::new();
    shell.cell(1, "a = 41");
    shell.cell(2, "'a note'");
    shell.cell(3, "a + 1");
    shell.cell(4, ".what <b>ran</b> & why?");
    let text = shell.text();
    assert!(
        text.contains("> The context holds 2 cells. No tool is named."),
        "{text}"
    );
    assert!(
        text.contains("- 2 cells since the last prompt")
            || text.contains("• 2 cells since the last prompt"),
        "{text}"
    );
    // Rendered: no marks of markdown are left, what was bold is bold.
    assert!(
        !text.contains("**no AI**") && !text.contains("```"),
        "{text}"
    );
    let last = text
        .lines()
        .filter(|line| line.contains(" in · "))
        .collect::<Vec<_>>();
    assert_eq!(last.len(), 1, "{text}");
    assert!(last[0].ends_with(" s"), "{last:?}");
    assert!(
        memchr::memmem::find(&shell.pty.raw(), format!("\x1b[2m{}", last[0]).as_bytes()).is_some()
    );
    let (prompt, answer) = shell.answers(1).remove(0);
    assert_eq!(prompt, "what <b>ran</b> & why?");
    assert!(
        answer.starts_with("<thinking>\nThe context holds 2 cells."),
        "{answer}"
    );
    for part in [
        "> what <b>ran</b> & why?",
        "- 1 note\n",
        "```python\na + 1\n```",
        "```text\n42\n```",
    ] {
        assert!(answer.contains(part), "{part}: {answer}");
    }
    // The next one is told what ran since, and that there was one before.
    shell.cell(5, "1/0");
    shell.cell(6, ".and now?");
    let answer = &shell.answers(2)[1].1;
    for part in [
        "- 1 cell since",
        "- 1 prompt before",
        "ZeroDivisionError: division by zero",
    ] {
        assert!(answer.contains(part), "{part}: {answer}");
    }
    shell.cell(7, "_ai_last_prompt, 'no AI' in _ai_last_response");
    shell.shows("('and now?', True)");
}

#[test]
fn ctrl_c_stops_an_answer_and_keeps_what_came() {
    let shell = Shell::new();
    shell.at(1);
    shell.pty.send_line(".tell me slowly");
    shell.pty.wait_for("I am the built-in");
    shell.pty.send(CTRL_C);
    shell.at(2);
    shell.shows("stopped");
    let (prompt, answer) = shell.answers(1).remove(0);
    assert_eq!(prompt, "tell me slowly");
    assert!(answer.contains("I am the built-in"), "{answer}");
    assert!(
        answer.ends_with("\n<system>user interrupted</system>"),
        "{answer}"
    );
    assert!(!answer.contains("Try this"), "{answer}");
    shell.cell(2, ".again");
    assert!(shell.answers(2)[1].1.contains("- 1 prompt before this one"));
    // Keys typed during an answer come to the editor.
    shell.at(3);
    let from = shell.pty.raw().len();
    shell.pty.send_line(".tell me slowly");
    shell.pty.wait_raw(b"I am the built-in", from);
    shell.pty.send("later = 1");
    shell.pty.send(CTRL_C);
    shell.at_with(4, "later = 1");
}

#[test]
fn a_tool_named_in_a_prompt_runs_in_the_live_namespace() {
    let shell = Shell::new();
    shell.home.write("tools.py",
        "calls = []\ndef add(x: int):\n    'Adds.'\n    calls.append(x)\n    print('inside', x)\n    return x + 41\n");
    shell.cell(1, "from tools import *");
    shell.cell(2, ".use &`add` please");
    shell.shows("🔧 add(x=1) => 42");
    shell.shows("inside 1");
    shell.cell(3, "calls");
    shell.shows("Out[3]: [1]");
    let answer = &shell.answers(1)[0].1;
    for part in [
        "<details class='tool-usage-details'>",
        "<summary><code>add(x=1)</code></summary>",
        "\"function\": \"add\"",
        "\"result\": \"42\"",
        "The tool `add` says: 42",
    ] {
        assert!(answer.contains(part), "{part}: {answer}");
    }
}

#[test]
fn a_tool_that_raises_is_told_and_one_that_hangs_is_interrupted() {
    let shell = Shell::new();
    shell.home.write(
        "tools.py",
        "import time\ndef bad():\n    raise ValueError('no luck')\n\
         def hang():\n    print('hang' + 'ing')\n    time.sleep(600)\n",
    );
    shell.cell(1, "from tools import *");
    shell.cell(2, ".use &`bad`");
    shell.shows("🔧 bad() => Error: ValueError: no luck");
    shell.at(3);
    shell.pty.send_line(".use &`hang`");
    shell.pty.wait_for("hanging");
    shell.pty.send(CTRL_C);
    shell.at(4);
    shell.shows("stopped");
    shell.cell(4, "'alive'");
    shell.shows("Out[4]: 'alive'");
}

#[test]
fn a_tool_that_is_not_there_gives_the_prompt_back() {
    let shell = Shell::new();
    shell.cell(1, "number = 3");
    for (prompt, said) in [
        (
            ".use &`nowhere`",
            "NameError: Missing tool(s) in user_ns: nowhere",
        ),
        (".use &`number`", "TypeError: Non-callable tool(s): number"),
    ] {
        shell.pty.send_line(prompt);
        shell.pty.wait_for(said);
        shell.pty.wait_until("the prompt back", |screen| {
            cursor_line(screen).trim_end().ends_with(prompt)
        });
        shell.pty.send(CTRL_C);
        shell.pty.wait_until("an empty prompt", |screen| {
            cursor_line(screen).trim_end().ends_with("]:")
        });
    }
    assert!(shell.answers(0).is_empty());
}

#[test]
fn without_codex_a_prompt_says_what_to_do_and_comes_back() {
    let shell = Shell::start(Home::new(), &["--agent", "codex"], SIZE);
    shell.cell(1, "1 + 1");
    shell.shows("Out[1]: 2");
    shell.pty.send_line(".hello");
    shell.pty.wait_for("npm install -g @openai/codex");
    shell.at_with(3, ".hello");
    shell.shows("--agent demo");
    shell.shows("`codex login`");
    shell.pty.send(CTRL_C);
    shell.cell(3, "2 + 2");
    shell.shows("Out[3]: 4");
    assert!(shell.answers(0).is_empty());
}

#[test]
fn commands_are_answered_in_a_line() {
    let mut home = Home::new();
    home.install_script("my-pager", "#!/bin/sh\ncat > page.txt\necho paged\n");
    home.set("PAGER", "my-pager");
    let shell = Shell::of(home);
    // What does not fit the screen is paged, in rows that do.
    for (number, command, parts) in [
        (1, "%ipycodex", ["model", "run_cells", "startup notebook"]),
        (
            2,
            "%ipycodex help",
            ["Conversation", "Files and sessions", "Keys"],
        ),
    ] {
        shell.pty.send_line(command);
        shell.at(number + 1);
        let page = std::fs::read_to_string(shell.home.work().join("page.txt")).unwrap();
        for part in parts {
            assert!(page.contains(part), "{command}: {page}");
        }
    }
    shell.cell(3, "%ipycodex help undo");
    shell.shows("Take the last exchange back.");
    shell.cell(4, "%ipycodex nonsense");
    shell.shows("Unknown command: 'nonsense'. Run %ipycodex help for available commands.");
    shell.cell(5, "%ipycodex think q");
    let text = shell.text();
    let (_, said) = text.rsplit_once("%ipycodex think q\n").unwrap();
    let line = said.lines().next().unwrap();
    assert!(
        ["l", "m", "h", "x"]
            .iter()
            .all(|value| line.contains(value)),
        "{text}"
    );
    shell.cell(6, "%ipycodex think h");
    shell.cell(7, "%ipycodex think");
    assert!(
        shell
            .text()
            .trim_end()
            .lines()
            .rev()
            .nth(2)
            .unwrap()
            .contains('h')
    );
    shell.cell(8, ".hello");
    shell.cell(9, "%ipycodex reset");
    shell.shows("Deleted 1 AI prompt from session ");
}

#[test]
fn a_number_that_begins_with_a_dot_is_a_prompt_with_a_hint() {
    let shell = Shell::new();
    shell.cell(1, ".5");
    shell.shows("0.5");
    assert_eq!(shell.answers(1)[0].0, "5");
}

#[test]
fn a_dead_agent_fails_the_turn_and_the_next_prompt_has_a_new_one() {
    let shell = Shell::new();
    shell.at(1);
    shell.pty.send_line(".tell me slowly");
    shell.pty.wait_for("I am the built-in");
    let agent = process_with(&shell, "demo-agent").expect("the agent runs");
    rustix::process::kill_process(agent, rustix::process::Signal::KILL).unwrap();
    shell.at_with(2, ".tell me slowly");
    shell.shows("error: ");
    shell.pty.send(CTRL_C);
    shell.cell(2, ".again");
    let answers = shell.answers(2);
    assert!(answers.last().unwrap().1.contains("no AI"), "{answers:?}");
}

/// A process of this terminal whose command line has this word.
fn process_with(shell: &Shell, word: &str) -> Option<rustix::process::Pid> {
    let has = |process: &u32| {
        let line = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        memchr::memmem::find(&line, word.as_bytes()).is_some()
    };
    let process = shell.pty.processes().into_iter().find(has)?;
    rustix::process::Pid::from_raw(i32::try_from(process).ok()?)
}

#[test]
fn a_narrow_terminal_breaks_lines_at_words() {
    let shell = Shell::start(Home::new(), &["--agent", "demo"], (34, 40));
    shell.cell(1, "f = lambda: 'alpha beta gamma delta'");
    shell.cell(2, ".use &`f`");
    shell.shows("🔧 f() => alpha beta gamma delta\n");
    shell.cell(3, "f = lambda: 'alpha beta gamma delta epsilon zeta'");
    shell.cell(4, ".use &`f`");
    shell.shows("🔧 f() => alpha beta gamma delta\n   epsilon zeta\n");
    shell.cell(5, "%ipycodex model mine");
    shell.shows("for this session;\n`%ipycodex set model mine` keeps\nit\n");
}

//! The past, asked: `when`, its replay, and the agent's tool.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::checkpoints::{cell, gone, interpreters, settled};
use super::shell::{CTRL_C, Shell};
use crate::support::home::Home;
use crate::support::{await_true, peers};

const WIDE: (u16, u16) = (160, 50);

/// The plain Python, and one with IPython where there is one.
fn engines() -> Vec<Option<PathBuf>> {
    std::iter::once(None)
        .chain(peers::python().map(Some))
        .collect()
}

/// A shell whose interpreter has left a copy of itself before any cell.
fn shell(python: Option<&PathBuf>) -> Shell {
    let mut arguments = vec!["--agent".to_owned(), "demo".into()];
    if let Some(python) = python {
        arguments.extend(["--python".into(), python.display().to_string()]);
    }
    let shell = Shell::start(Home::new(), &arguments, WIDE);
    shell.at(1);
    await_true("a copy before any cell", || settled(&shell.home) == 2);
    shell
}

#[test]
fn the_past_is_asked_in_copies_in_a_replay_and_by_the_agent() {
    for python in engines() {
        let shell = shell(python.as_ref());
        cell(
            &shell,
            1,
            "rows = list(range(50)); log = open('log.txt', 'w')",
        );
        cell(&shell, 2, "x = len(rows)");
        cell(&shell, 3, "rows = [row for row in rows if row > 40]");
        cell(&shell, 4, "rows");
        let copies = settled(&shell.home);
        shell.cell(
            5,
            "%ipycodex when rows.pop() and log.write('x') and len(rows)",
        );
        shell.shows("\n   at the start           not defined\n→  In [1] to In [2]       49 ");
        shell.shows("\n→  In [3] to In [4], now  8            changed by rows = [row for row in rows if row > 40]");
        shell.shows("It changed 2 times: by In [1], by In [3].");
        assert_eq!(
            settled(&shell.home),
            copies,
            "copies come and go with no look"
        );
        shell.cell(6, "%ipycodex when --replay len(rows)");
        // The file cannot be opened there, so the cell that does fails after it has made the rows.
        shell.shows("\n→  In [3] to In [4]  9 ");
        shell.shows("In [1] did not end as then: what follows may differ");
        shell.shows(
            "a replay may differ from what was: it reads files as they are now, writes none",
        );
        assert_eq!(settled(&shell.home), copies, "the replay is gone");
        shell.cell(7, ".when did they vanish? look_back `len(rows)`");
        shell.shows("look_back");
        let answers = shell.answers(1);
        assert!(
            answers[0]
                .1
                .contains("It changed 2 times: by In [1], by In [3]."),
            "{answers:?}"
        );
        shell.cell(8, "%ipycodex when 1/0");
        shell.shows("ZeroDivisionError: division by zero\nIt did not change.");
        shell.cell(9, "%ipycodex when");
        shell.shows("Usage: %ipycodex when [--replay] EXPR, for example `when len(rows)`");
        cell(&shell, 10, "%ipycodex back 3");
        shell.shows("Back before In [3]");
        shell.cell(11, "%ipycodex when len(rows)");
        shell.shows("\n→  In [1] to In [2], now  50 ");
        shell.cell(12, "len(rows), log.tell()");
        shell.shows("Out[12]: (50, 0)");
        let place = shell.home.path().to_owned();
        assert_eq!(shell.leave(), 0);
        gone(&place);
    }
}

#[test]
fn an_interrupt_ends_a_look_and_a_replay_and_leaves_nothing() {
    let shell = shell(None);
    cell(&shell, 1, "import time; n = 1");
    cell(&shell, 2, "n = 2");
    let copies = settled(&shell.home);
    for (number, command) in (3..).zip(["when time.sleep(60)", "when --replay time.sleep(60)"]) {
        shell.pty.send_line(&format!("%ipycodex {command}"));
        await_true("looks", || interpreters(&shell.home).len() > copies);
        std::thread::sleep(Duration::from_millis(300));
        let began = Instant::now();
        shell.pty.send(CTRL_C);
        shell.at(number + 1);
        // A look ends by itself after ten seconds.
        assert!(
            began.elapsed() < Duration::from_secs(8),
            "{command}: {:?}",
            began.elapsed()
        );
        await_true("the end of the looks", || {
            interpreters(&shell.home).len() == copies
        });
    }
    shell.cell(5, "%ipycodex when n");
    shell.shows("It changed 2 times: by In [1], by In [2].");
    assert_eq!(shell.leave(), 0);
}

/// Sessions in which one cell, somewhere, loses rows; `when` has to name it.
pub fn planted_cells(count: u32) -> String {
    let engines = engines();
    let fine = [
        "rows = list(rows)",
        "rows.sort()",
        "x = len(rows)",
        "print(rows[:2])",
        "y = sum(rows)",
    ];
    let mut cells = 0;
    for number in 0..count as usize {
        let draw = |more: usize, of: usize| {
            (number.wrapping_add(1).wrapping_mul(2_654_435_761) >> more) % of
        };
        let shell = shell(engines[number % engines.len()].as_ref());
        let last = 4 + draw(3, 6);
        let bad = 2 + draw(7, last - 1);
        for at in 1..=last {
            let code = match at {
                1 => "rows = list(range(50))".to_owned(),
                at if at == bad => format!("rows = rows[:{}]", draw(5, 49)),
                at => fine[draw(at, fine.len())].to_owned(),
            };
            cell(&shell, at as u32, &code);
        }
        cells += last;
        shell.cell(last as u32 + 1, "%ipycodex when len(rows)");
        shell.shows(&format!("It changed 2 times: by In [1], by In [{bad}]."));
        assert_eq!(shell.leave(), 0, "session {number}");
    }
    format!("{count} found among {cells} cells")
}

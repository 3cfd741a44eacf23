//! Another program holds the file, or another process the same session: nothing blocks, nothing is written over.

use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::*;
use crate::repl::shell::Shell;
use crate::support::home::{Home, PATIENCE};
use crate::support::random::Random;

/// A file with two cells of session 1, held by somebody else until `ROLLBACK`.
fn held() -> (tempfile::TempDir, PathBuf, Connection) {
    let (directory, path) = directory();
    let (record, reports) = start(&path, None);
    cell(&record, 1, "one", "1");
    cell(&record, 2, "two", "2");
    end(record, reports);
    let lock = Connection::open(&path).unwrap();
    lock.execute_batch("BEGIN EXCLUSIVE").unwrap();
    (directory, path, lock)
}

fn rows(path: &Path, session: i64) -> String {
    text(
        path,
        &format!(
            "SELECT coalesce(group_concat(line || ':' || source || ':' || coalesce(output, ''), ' '), '') FROM
                 (SELECT * FROM history LEFT JOIN output_history USING (session, line) WHERE session = {session} ORDER \
                 BY line)"
        ),
    )
}

#[test]
fn a_fresh_session_gets_its_number_when_the_lock_goes() {
    let (_directory, path, lock) = held();
    let (record, mut reports) = start(&path, None);
    let early = wait(record.session()).unwrap();
    assert_eq!(
        (early.number, early.next_line, early.recorded),
        (0, 1, false)
    );
    cell(&record, 1, "x", "7");
    record.record_input(2, ".p", ".p");
    let turn = record.begin_prompt(PromptStart::new(2, 1, "p"));
    record.finish_prompt(turn, RecordedOutcome::Complete, "answer", None);
    assert_eq!(wait(record.dialog()).prompts.len(), 1);
    let warning = wait(reports.recv()).unwrap();
    assert!(warning.message.contains("locked"), "{warning}");
    lock.execute_batch("ROLLBACK").unwrap();
    let again = wait(reports.recv()).unwrap();
    assert!(again.message.contains("saved again"), "{again}");
    let known = wait(record.session()).unwrap();
    assert_eq!((known.number, known.recorded), (2, true));
    assert_eq!(end(record, reports), [] as [&str; 0]);
    assert_eq!(rows(&path, 2), "1:x:7 2:.p:");
    assert_eq!(
        text(
            &path,
            "SELECT session || prompt || response || history_line FROM ai_prompts"
        ),
        "2panswer1"
    );
}

#[test]
fn a_resumed_session_that_was_locked_is_not_written_over() {
    let (_directory, path, lock) = held();
    let (record, reports) = start(&path, Some(1));
    assert_eq!(wait(record.session()).unwrap().number, 0);
    // Whoever goes on all the same begins at 1: those rows are taken.
    cell(&record, 1, "three", "3");
    cell(&record, 2, "four", "4");
    record.record_input(3, ".p", ".p");
    let turn = record.begin_prompt(PromptStart::new(3, 2, "p"));
    record.finish_prompt(turn, RecordedOutcome::Complete, "answer", None);
    record.hide(2..=2, true);
    lock.execute_batch("ROLLBACK").unwrap();
    wait(record.flush());
    let dialog = wait(record.dialog());
    end(record, reports);
    assert_eq!(rows(&path, 1), "1:one:1 2:two:2 3:three:3 4:four:4 5:.p:");
    assert_eq!(
        (dialog.prompts[0].line, dialog.prompts[0].history_line),
        (5, 4)
    );
    let hidden: Vec<u32> = dialog
        .cells
        .iter()
        .filter(|cell| cell.hidden)
        .map(|cell| cell.line)
        .collect();
    assert_eq!(hidden, [4]);
}

#[test]
fn two_processes_on_one_session_lose_nothing() {
    let (_directory, path, lock) = held();
    lock.execute_batch("ROLLBACK").unwrap();
    let (left, left_reports) = start(&path, Some(1));
    let (right, right_reports) = start(&path, Some(1));
    assert_eq!(wait(left.session()).unwrap().next_line, 3);
    assert_eq!(wait(right.session()).unwrap().next_line, 3);
    for line in 3..=22 {
        cell(&left, line, "left", "l");
        cell(&right, line, "right", "r");
    }
    wait(left.flush());
    wait(right.flush());
    end(left, left_reports);
    end(right, right_reports);
    let count = |source: &str, output: &str| {
        text(
            &path,
            &format!(
                "SELECT count(*) FROM history JOIN output_history USING (session, line)
                 WHERE session = 1 AND source = '{source}' AND output = '{output}'"
            ),
        )
    };
    assert_eq!(
        (count("left", "l"), count("right", "r")),
        ("20".into(), "20".into())
    );
    assert_eq!(count("one", "1"), "1");
    assert_eq!(text(&path, "SELECT max(line) FROM history"), "42");
}

#[test]
fn a_reset_while_locked_is_done_later() {
    let (_directory, path, lock) = held();
    lock.execute_batch("ROLLBACK").unwrap();
    let (record, reports) = start(&path, Some(1));
    let turn = record.begin_prompt(PromptStart::new(3, 2, "p"));
    record.finish_prompt(turn, RecordedOutcome::Complete, "answer", None);
    wait(record.flush());
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(wait(record.reset()), 1);
    assert_eq!(wait(record.dialog()).exchanges(), []);
    assert_eq!(wait(record.dialog()).next_context(), "");
    cell(&record, 4, "later", "");
    lock.execute_batch("ROLLBACK").unwrap();
    wait(record.flush());
    assert_eq!(
        wait(record.dialog()).next_context(),
        "<context><code>later</code></context>\n"
    );
    end(record, reports);
    assert_eq!(text(&path, "SELECT count(*) FROM ai_prompts"), "0");
    assert_eq!(
        text(
            &path,
            "SELECT reset_line FROM ipycodex_sessions WHERE session = 1"
        ),
        "2"
    );
}

#[test]
fn typing_never_waits_for_a_lock() {
    let (_directory, path, lock) = held();
    let (record, mut reports) = start(&path, None);
    let answer = "word ".repeat(1000);
    let turn = record.begin_prompt(PromptStart::new(1, 0, "p"));
    for line in 1..=1000 {
        record.record_input(line, "x", "x");
        record.stream_answer(turn, &answer[..line as usize * 5]);
    }
    // All calls came back though the lock is still held, and what they said is known.
    assert!(!lock.is_autocommit());
    assert_eq!(wait(record.dialog()).cells.len(), 1000);
    record.finish_prompt(turn, RecordedOutcome::Complete, &answer, None);
    assert!(wait(reports.recv()).unwrap().message.contains("locked"));
    lock.execute_batch("ROLLBACK").unwrap();
    wait(record.flush());
    end(record, reports);
    assert_eq!(
        text(&path, "SELECT count(*) FROM history WHERE session = 2"),
        "1000"
    );
    assert_eq!(
        text(&path, "SELECT length(response) FROM ai_prompts"),
        "5000"
    );
}

#[test]
fn a_hundred_thousand_rows_wait_and_are_written() {
    let (_directory, path, lock) = held();
    let (record, mut reports) = start(&path, None);
    for line in 1..=100_000 {
        record.record_input(line, "x = 1", "x = 1");
    }
    assert!(wait(reports.recv()).unwrap().message.contains("locked"));
    lock.execute_batch("ROLLBACK").unwrap();
    assert!(
        wait(reports.recv())
            .unwrap()
            .message
            .contains("saved again")
    );
    wait(record.flush());
    assert_eq!(end(record, reports), [] as [&str; 0]);
    assert_eq!(
        text(&path, "SELECT count(*) FROM history WHERE session = 2"),
        "100000"
    );
}

#[test]
fn what_a_lock_kept_out_to_the_end_is_said() {
    let (_directory, path, _lock) = held();
    let (record, reports) = start(&path, None);
    record.record_input(1, "x", "x");
    let said = end(record, reports).join("\n");
    assert!(said.contains("1 entries could not be written"), "{said}");
}

#[test]
fn a_short_run_tells_what_a_lock_kept_out() {
    let home = Home::new();
    assert_eq!(home.demo(&[], "old = 1\n").code(), 0);
    let lock = Connection::open(home.history()).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let runs: [(&[&str], &str, &str); 2] = [
        (&[], "print('new')\n", "new\n"),
        (&["ask", "hi"], "", "Demo answer"),
    ];
    for (arguments, stdin, shows) in runs {
        let ran = home.demo(arguments, stdin);
        assert!(ran.stdout.contains(shows), "{ran:?}");
        assert_eq!(ran.code(), 0, "{ran:?}");
        assert!(
            ran.stderr.contains("could not be written") && ran.stderr.contains("are lost"),
            "{ran:?}"
        );
    }
}

/// Eight processes write into one record at the same time.
pub fn eight_writers(cells: u32) -> String {
    const WRITERS: u32 = 8;
    let home = Home::new();
    let inputs = |writer: u32| -> Vec<String> {
        let number = 1..=cells;
        number
            .map(|number| format!("print('{writer} ' + '{number}')"))
            .collect()
    };
    let runs: Vec<_> = std::thread::scope(|scope| {
        let run = |writer| home.run::<&str>(&[], inputs(writer).join("\n"));
        let writers = (0..WRITERS).map(|writer| scope.spawn(move || run(writer)));
        let writers: Vec<_> = writers.collect();
        writers.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let (path, mut waited) = (home.history(), 0);
    let rows = |session: i64| -> Vec<(u32, String, String)> {
        let db = Connection::open(&path).unwrap();
        let select =
            "SELECT line, source, output FROM history JOIN output_history USING (session, line)
             WHERE session = ?1 ORDER BY line";
        let mut rows = db.prepare(select).unwrap();
        let rows = rows.query_map([session], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        rows.unwrap().map(Result::unwrap).collect()
    };
    let mut recorded: Vec<_> = (1..=i64::from(WRITERS)).map(rows).collect();
    recorded.sort();
    for (writer, ran) in (0..).zip(&runs) {
        assert_eq!(ran.code(), 0, "{ran:?}");
        let mut said = ran.stderr.lines();
        let is_waiting =
            |line: &str| line.contains("is locked by another program") || line == AGAIN;
        assert!(said.all(is_waiting), "{ran:?}");
        waited += u32::from(!ran.stderr.is_empty());
        let mut typed: Vec<_> = (1..)
            .zip(inputs(writer))
            .map(|(line, source)| (line, source, format!("{writer} {line}")))
            .collect();
        typed.sort_by_key(|(line, ..)| *line);
        let found = recorded
            .iter()
            .find(|rows| rows[0].2.starts_with(&format!("{writer} ")));
        assert!(found == Some(&typed), "writer {writer}: {found:?}");
    }
    assert_eq!(text(&path, "PRAGMA integrity_check"), "ok");
    let all = text(
        &path,
        "SELECT count(*) || ' ' || count(DISTINCT session) FROM history",
    );
    assert_eq!(all, format!("{} {WRITERS}", WRITERS * cells));
    format!(
        "{} cells of {WRITERS} processes, each in order; {waited} told of a wait",
        WRITERS * cells
    )
}

const AGAIN: &str = "history is being saved again";

/// How late a key may be seen.
const LATE: Duration = Duration::from_millis(50);

/// Somebody types while another program holds the record for so many seconds.
pub fn typing_under_a_lock(seconds: u32) -> String {
    let shell = Shell::new();
    shell.cell(1, "x = 1");
    shell.cell(2, ".first");
    assert_eq!(shell.inputs(2).len(), 2);
    let mut typist = Typist {
        shell,
        number: 3,
        random: Random::new(20),
    };
    let span = Duration::from_secs(u64::from(seconds));
    // The machine may be busy with something else.
    let before = typist.type_for(span / 4);
    let lock = Connection::open(typist.shell.home.history()).unwrap();
    lock.busy_timeout(PATIENCE).unwrap();
    lock.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let during = typist.type_for(span);
    lock.execute_batch("ROLLBACK").unwrap();
    let behind = typist.type_for(span / 4);
    let Typist { shell, number, .. } = typist;
    let typed = number - 1;
    assert_eq!(shell.inputs(typed as usize).len(), typed as usize);
    assert_eq!(shell.leave(), 0);
    let whole = "SELECT count(*) || ' ' || max(line) || ' ' || (SELECT count(*) FROM ai_prompts) FROM history";
    let path = shell.home.history();
    assert_eq!(
        text(&path, whole),
        format!("{typed} {typed} {}", typed / 5 + 1)
    );
    let judged = span >= PATIENCE;
    let worst = before.worst.max(behind.worst);
    assert!(
        !judged || during.worst <= LATE || during.worst <= worst * 2,
        "a key was seen after {:?}, without the lock after {worst:?} at most",
        during.worst
    );
    format!(
        "{} keys, the latest seen after {:.1} ms ({:.1} ms without a lock); all {typed} inputs recorded afterwards",
        during.keys,
        during.worst.as_secs_f64() * 1e3,
        worst.as_secs_f64() * 1e3,
    )
}

struct Typist {
    shell: Shell,
    number: u32,
    random: Random,
}

#[derive(Default)]
struct Echoes {
    keys: u32,
    worst: Duration,
}

impl Typist {
    /// Types cells, and every fifth input a prompt, key by key.
    fn type_for(&mut self, span: Duration) -> Echoes {
        let mut echoes = Echoes::default();
        let begin = Instant::now();
        while begin.elapsed() < span {
            self.shell.at(self.number);
            let word: String = (0..12)
                .map(|_| *self.random.pick(&['k', 'e', 'y', 's']))
                .collect();
            let input = match self.number % 5 {
                0 => format!(".{word}"),
                _ => format!("{word} = '{word}'"),
            };
            let mut typed = String::new();
            for key in input.chars() {
                typed.push(key);
                let sent = Instant::now();
                self.shell.pty.send(&key.to_string());
                self.shell.at_with(self.number, &typed);
                echoes.worst = echoes.worst.max(sent.elapsed());
                echoes.keys += 1;
            }
            self.shell.pty.send("\r");
            self.number += 1;
        }
        self.shell.at(self.number);
        echoes
    }
}

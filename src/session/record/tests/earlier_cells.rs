//! What of a session is shown when it is taken up, and which of its cells can be run again.

use super::*;
use crate::record::SessionTail;

/// `line source => shown`, marked.
fn lines(earlier: &SessionTail) -> Vec<String> {
    let entries = earlier.entries.iter();
    entries
        .map(|entry| {
            let value = entry.value.as_ref().map_or("", |_| "=");
            let arrow = if entry.is_answer { "=>" } else { "->" };
            let mark = if entry.hidden { " (hidden)" } else { "" };
            format!(
                "{} {} {arrow} {value}{}{mark}",
                entry.line, entry.source, entry.shown
            )
        })
        .collect()
}

/// Cells, commands, exchanges good and bad.
fn talk(record: &RecordHandle) {
    cell(record, 1, "a = 1", "");
    record.record_input(2, ".what is a?", ".what is a?");
    let turn = record.begin_prompt(PromptStart::new(2, 1, "what is a?"));
    record.finish_prompt(turn, RecordedOutcome::Complete, "one", None);
    record.record_input(3, "%ipycodex usage", "%ipycodex usage");
    record.record_input(4, "1/0", "1/0");
    let failed = "ZeroDivisionError: division by zero";
    record.record_output(4, failed, vec![], CellStatus::Failed, 1);
    record.record_input(5, ".bad", ".bad");
    let turn = record.begin_prompt(PromptStart::new(5, 4, "bad"));
    record.finish_prompt(turn, RecordedOutcome::Failed, "", None);
    cell(record, 6, "b", "2");
    record.hide(2..=2, true);
    record.rename("demo");
}

#[test]
fn the_end_of_a_session_is_told() {
    let (_directory, path) = directory();
    let (record, reports) = start(&path, None);
    talk(&record);
    let all = wait(record.tail(60)).expect("a session");
    assert_eq!(
        (all.session, all.name.as_deref(), all.cells, all.prompts),
        (1, Some("demo"), 3, 1)
    );
    assert_eq!(all.cwd, "/some/where");
    assert!(all.start.starts_with("20"), "{all:?}");
    assert_eq!(
        lines(&all),
        [
            "1 a = 1 -> ",
            "2 .what is a? => one (hidden)",
            "4 1/0 -> ZeroDivisionError: division by zero",
            "5 .bad -> ",
            "6 b -> 2"
        ]
    );
    let last = wait(record.tail(2)).expect("a session");
    assert_eq!(lines(&last), ["5 .bad -> ", "6 b -> 2"]);
    assert_eq!((last.cells, last.prompts), (3, 1));
    end(record, reports);
}

#[test]
fn only_what_can_be_shown_of_a_long_text_is_read() {
    let (_directory, path) = directory();
    let (record, reports) = start(&path, None);
    cell(&record, 1, "long", &"é".repeat(1 << 20));
    let earlier = wait(record.tail(5)).expect("a session");
    assert_eq!(earlier.entries[0].shown.chars().count(), 64 << 10);
    end(record, reports);
}

#[test]
fn cells_tell_how_they_ended() {
    let (_directory, path) = directory();
    let (record, reports) = start(&path, None);
    talk(&record);
    record.record_input(7, "cut_off", "cut_off");
    let told = |record: &RecordHandle| -> Vec<(u32, String, bool)> {
        let cells = wait(record.cells());
        cells
            .into_iter()
            .map(|cell| (cell.line, cell.source, cell.succeeded))
            .collect()
    };
    let expected = [
        (1, "a = 1", true),
        (4, "1/0", false),
        (6, "b", true),
        (7, "cut_off", false),
    ]
    .map(|(line, source, well)| (line, source.to_owned(), well));
    assert_eq!(told(&record), expected);
    // What the file does not take yet is told all the same.
    let lock = Connection::open(&path).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    cell(&record, 8, "later", "");
    record.record_input(9, ".no", ".no");
    let mut more = expected.to_vec();
    more.push((8, "later".to_owned(), true));
    assert_eq!(told(&record), more);
    lock.execute_batch("ROLLBACK").unwrap();
    end(record, reports);
}

#[test]
fn a_session_without_rows_of_ours_is_told_too() {
    let (_directory, path) = directory();
    let (record, reports) = start(&path, None);
    cell(&record, 1, "x", "");
    end(record, reports);
    let db = Connection::open(&path).unwrap();
    db.execute_batch(
        "INSERT INTO sessions VALUES (7, '2020-01-02 03:04:05.000006', NULL, 2, '/gone');
         INSERT INTO history VALUES (7, 1, 'get_ipython().system(''ls'')', '!ls'), (7, 2, 'a = 1', 'a = 1'),
             (7, 3, 'run_it()', '.why?'), (7, 5, 'b', 'b');
         INSERT INTO output_history VALUES (7, 2, '1');
         INSERT INTO ai_prompts (session, prompt, response, history_line) VALUES (7, 'why?', 'so', 2), (7, 'and?', \
         'too', 3);",
    )
    .unwrap();
    let (record, reports) = start(&path, Some(7));
    let earlier = wait(record.tail(60)).expect("a session");
    assert_eq!(
        lines(&earlier),
        [
            "1 !ls -> ",
            "2 a = 1 -> =1",
            "3 .why? => so",
            "4 .and? => too",
            "5 b -> "
        ]
    );
    assert_eq!(
        (earlier.cells, earlier.prompts, earlier.cwd.as_str()),
        (3, 2, "/gone")
    );
    assert!(wait(record.cells()).iter().all(|cell| cell.succeeded));
    end(record, reports);
}

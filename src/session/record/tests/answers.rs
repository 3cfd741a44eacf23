//! Answers while they come: written as they grow, whole after a death, gone from their parts when done.

use super::*;

#[test]
fn an_answer_is_written_once_not_once_a_piece() {
    let (_directory, path) = directory();
    let (record, reports) = start(&path, None);
    record.record_input(1, ".p", ".p");
    let turn = record.begin_prompt(PromptStart::new(1, 0, "p"));
    wait(record.flush());
    // A reader keeps the log from being started anew: its length is all that was written.
    let reader = Connection::open(&path).unwrap();
    reader
        .execute_batch("BEGIN; SELECT count(*) FROM history")
        .unwrap();
    let log = || {
        fs::metadata(format!("{}-wal", path.display()))
            .unwrap()
            .len()
    };
    let before = log();
    let answer = "all work and no play\n".repeat(100_000);
    let size = answer.len() as u64;
    let half = answer.len() / 2;
    // As fast as it may come, then each piece forced into the file by itself.
    for end in (4096..half).step_by(4096) {
        record.stream_answer(turn, &answer[..end]);
    }
    wait(record.flush());
    let fast = log() - before;
    assert!(
        fast > size / 3,
        "{fast} bytes for {}: nothing is written while it comes",
        size / 2
    );
    assert!(fast < size, "{fast} bytes for {}", size / 2);
    let fast = log();
    for end in (half..answer.len()).step_by(4096) {
        record.stream_answer(turn, &answer[..end]);
        wait(record.flush());
    }
    let forced = log() - fast;
    assert!(forced < 33 * size / 20, "{forced} bytes for {}", size / 2);
    let streamed = log() - before;
    assert!(streamed < 3 * size, "{streamed} bytes for {size}");
    record.finish_prompt(turn, RecordedOutcome::Complete, &answer, None);
    wait(record.flush());
    let whole = log() - before;
    assert!(whole < 4 * size, "{whole} bytes for {size}");
    drop(reader);
    assert_eq!(wait(record.dialog()).prompts[0].response, answer);
    assert_eq!(end(record, reports), [] as [&str; 0]);
    assert_eq!(
        text(&path, "SELECT count(*) FROM ipycodex_answer_parts"),
        "0"
    );
}

#[test]
fn an_answer_cut_off_is_put_together() {
    let (_directory, path) = directory();
    let (record, reports) = start(&path, None);
    record.record_input(1, ".p", ".p");
    let turn = record.begin_prompt(PromptStart::new(1, 0, "p"));
    for stored in ["a", "a b", "a b c", "a B", "a B and é", "a B and é!"] {
        record.stream_answer(turn, stored);
    }
    end(record, reports);
    let (record, reports) = start(&path, Some(1));
    assert_eq!(
        wait(record.dialog()).prompts[0].response,
        "a B and é!\n<system>user interrupted</system>"
    );
    end(record, reports);
    assert_eq!(
        text(&path, "SELECT count(*) FROM ipycodex_answer_parts"),
        "0"
    );
}

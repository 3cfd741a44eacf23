//! A file of the record whose rows hold anything: each is listed, searched, resumed and written to, or a report says
//! why not.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use ipycodex::dialog::{answer_parts, display_form};
use ipycodex::notebook;
use ipycodex::output::MimeBundle;
use ipycodex::record::{
    Archive, CellStatus, InputsQuery, PromptStart, RecordHandle, RecordOptions, RecordedOutcome,
    Scope, SessionSpec, open,
};
use ipycodex::text::needle::Needle;
use ipycodex::text::report::Report;
use rusqlite::Connection;
use rusqlite::types::Value;
use serde_json::json;
use tokio::sync::mpsc::UnboundedReceiver;

use super::mutate::number_of;

const TABLES: [&str; 13] = [
    "history",
    "history",
    "output_history",
    "sessions",
    "ai_prompts",
    "ipycodex_sessions",
    "ipycodex_entries",
    "ipycodex_outputs",
    "ipycodex_turns",
    "ipycodex_answer_parts",
    "ipycodex_decisions",
    "ipycodex_places",
    "ipycodex_meta",
];

fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(future)
}

fn start(path: &Path, resume: Option<i64>) -> (RecordHandle, UnboundedReceiver<Report>) {
    let options = RecordOptions {
        path: path.to_owned(),
        record: true,
        named: true,
        leave_log: false,
    };
    let session = SessionSpec {
        cwd: "/some/where".into(),
        resume,
        fork: None,
        provider: "codex".into(),
        once: false,
    };
    open(options, session)
}

/// Ends the session, and says what was reported.
fn end(record: &RecordHandle, mut reports: UnboundedReceiver<Report>) -> Vec<String> {
    record.close();
    let mut said = Vec::new();
    while let Some(report) = wait(reports.recv()) {
        said.push(report.to_string());
    }
    said
}

/// Two sessions with something in each table; made once.
fn template() -> &'static (tempfile::TempDir, PathBuf) {
    static MADE: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    MADE.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("template/history.sqlite");
        for session in 1..=2 {
            let (record, reports) = start(&path, None);
            wait(record.session()).expect("a session");
            record.record_input(1, "needle = 1", "needle = 1");
            let bundle = json!({"text/plain": "1", "image/png": "iVBORw0KGgo="});
            let bundle = MimeBundle::new(bundle.as_object().unwrap().clone().into_iter().collect());
            record.record_output(1, "1", vec![bundle], CellStatus::Complete, 1);
            record.record_input(2, ".why?", ".why?");
            let turn = record.begin_prompt(PromptStart::new(2, 1, "why?"));
            record.stream_answer(turn, "par");
            record.finish_prompt(turn, RecordedOutcome::Complete, "part *one*", None);
            record.record_shell_command(3, "ls", "bash");
            record.record_shell_exit(3, 0);
            record.rename(&format!("name {session}"));
            record.hide(1..=1, true);
            wait(record.flush());
            assert_eq!(end(&record, reports), [""; 0]);
        }
        (folder, path)
    })
}

/// Changes of rows: of each line the first byte says the table, the second the column, the third the row, the fourth
/// the type, and the rest is the value.
fn change(db: &Connection, bytes: &[u8]) {
    for line in bytes.split(|byte| *byte == b'\n').take(40) {
        let &[table, column, row, kind, ref value @ ..] = line else {
            continue;
        };
        let table = TABLES[usize::from(table) % TABLES.len()];
        let names = format!("SELECT name FROM pragma_table_info('{table}')");
        let mut names = db.prepare(&names).unwrap();
        let names = names.query_map([], |row| row.get::<_, String>(0)).unwrap();
        let names: Vec<String> = names.map(Result::unwrap).collect();
        let column = &names[usize::from(column) % names.len()];
        let text = String::from_utf8_lossy(value);
        let number = text.trim().parse();
        let number = number.unwrap_or(number_of(value).cast_signed());
        let float = text.trim().parse().unwrap_or(number as f64);
        let (value, form) = match kind % 8 {
            0 => (Value::Null, "?1"),
            1 => (Value::Integer(number), "?1"),
            2 => (Value::Real(float), "?1"),
            3 => (Value::Blob(value.to_vec()), "?1"),
            4 => (Value::Blob(value.repeat(3_000)), "CAST(?1 AS TEXT)"),
            _ => (Value::Blob(value.to_vec()), "CAST(?1 AS TEXT)"),
        };
        let row = match row % 4 {
            0 => "1".to_owned(),
            row => format!(
                "{column} IN (SELECT {column} FROM {table} LIMIT 1 OFFSET {})",
                row - 1
            ),
        };
        // What a constraint refuses cannot be in a file.
        let update = format!("UPDATE OR IGNORE {table} SET {column} = {form} WHERE {row}");
        let _ = db.execute(&update, [value]);
    }
}

pub fn rows(bytes: &[u8]) {
    let (folder, path) = template();
    let other = folder.path().join(format!("{:x}", number_of(bytes)));
    std::fs::create_dir_all(&other).unwrap();
    let file = other.join("history.sqlite");
    std::fs::copy(path, &file).unwrap();
    let db = Connection::open(&file).unwrap();
    change(&db, bytes);
    drop(db);
    looked_at(&file);
    for session in [None, Some(1), Some(2)] {
        resumed(&file, session);
    }
    std::fs::remove_dir_all(&other).unwrap();
}

fn looked_at(file: &Path) {
    let artifacts = file.with_file_name("artifacts");
    let Ok(Some(mut archive)) = Archive::open(file, &artifacts) else {
        return;
    };
    let _ = archive.health();
    let here = archive.nearby_scope(Path::new("/some/where"));
    for scope in [Ok(Scope::All), here].into_iter().flatten() {
        let page = archive.page(&scope, i64::MAX, 20);
        for row in page.into_iter().flatten() {
            let _ = archive.preview(row.id);
        }
        for needle in ["needle", "x", ""] {
            let _ = archive.search(&Needle::new(needle), &scope, i64::MAX, 20);
        }
    }
    let _ = archive.named("name 1");
    for session in [1, 2, i64::MAX] {
        if let Ok(Some(saved)) = archive.read_session(session) {
            notebook::to_html(&saved, "title", |_| {});
            notebook::to_script(&saved);
            let text = notebook::write_session(&saved);
            notebook::Document::parse(text).expect("what is saved is a notebook");
        }
    }
}

fn resumed(file: &Path, session: Option<i64>) {
    let (record, reports) = start(file, session);
    let begun = wait(record.session());
    if let Err(report) = &begun {
        assert_ne!(
            report.to_string(),
            "history has ended",
            "the thread is gone"
        );
    }
    let dialog = wait(record.dialog());
    let context = format!("<c>{}</c>", dialog.next_context());
    roxmltree::Document::parse(&context).expect("the context is XML");
    for exchange in dialog.exchanges() {
        display_form(&exchange.assistant);
        answer_parts(&exchange.assistant);
    }
    wait(record.tail(60));
    wait(record.cells());
    wait(record.saved());
    wait(record.turns());
    wait(record.sessions("/some/where".into(), true));
    wait(record.recorded_threads());
    for wanted in [
        InputsQuery::Last(5),
        InputsQuery::Range {
            session: -1,
            start: 0,
            stop: None,
        },
        InputsQuery::Like {
            pattern: "*e*".into(),
            most: 5,
            unique: true,
        },
    ] {
        wait(record.inputs(wanted));
    }
    let recall = record.recall();
    if begun.is_ok() {
        recall.wait_loaded(Duration::from_secs(60));
    }
    recall.find_by_prefix("n");
    recall.newest_first();
    if let Some(mut search) = recall.search("e") {
        while let Some(batch) = search.next_batch(|_| true) {
            batch.iter().for_each(|input| drop(search.info(input)));
        }
    }
    let line = begun.as_ref().map_or(1, |begun| begun.next_line);
    record.record_input(line, "later = 1", "later = 1");
    wait(record.flush());
    let number = begun.as_ref().ok().map(|begun| begun.number);
    let said = end(&record, reports);
    if let Some(number) = number
        && said.is_empty()
    {
        let db = Connection::open(file).unwrap();
        let found = db.query_row(
            "SELECT source FROM history WHERE session = ?1 AND line = ?2",
            [number, line.into()],
            |row| row.get::<_, String>(0),
        );
        assert_eq!(
            found.as_deref(),
            Ok("later = 1"),
            "what was recorded is there"
        );
    }
}

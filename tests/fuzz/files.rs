//! Files that others wrote: skills, settings, notebooks and the text that stands for them.

use std::path::Path;

use ipycodex::config::ConfigFile;
use ipycodex::notebook::document::{
    CellAction, CellKind, Document, Draft, ShownPart, apply_action, apply_marked_text, outline,
    read_marked, show,
};
use ipycodex::notebook::{self, read_session, to_markdown, to_script};
use ipycodex::skills::frontmatter::{Fences, fences, split};
use ipycodex::skills::{Catalog, Roots, check};
use serde_json::Value;

use super::mutate::number_of;
use crate::support::random::Random;

/// A folder of this process, made once: what is read from files needs files.
fn folder() -> &'static Path {
    static FOLDER: std::sync::OnceLock<tempfile::TempDir> = std::sync::OnceLock::new();
    FOLDER.get_or_init(|| tempfile::tempdir().unwrap()).path()
}

/// Any bytes are a skill or a diagnostic; what is listed can be loaded, and is read again as what was listed.
pub fn skill(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Fences::Closed { yaml, body } = fences(&text) {
        assert!(text.ends_with(body) && text.contains(yaml));
    }
    let parsed = split(&text);
    assert!(text.ends_with(parsed.body));
    if let Ok(Some(frontmatter)) = &parsed.frontmatter {
        for key in frontmatter.keys() {
            frontmatter.words(key);
            frontmatter.lines(key);
        }
    }
    if let Err(why) = parsed.frontmatter {
        assert!(!why.contains('\n'), "{why:?}");
    }
    let home = folder().join("skills").join(number_of(bytes).to_string());
    let directory = home.join(".agents/skills/one");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("SKILL.md"), bytes).unwrap();
    for fault in check(&directory) {
        assert!(!fault.contains(['\n', '\x1b']), "{fault:?}");
    }
    let catalog = Catalog::find(&Roots::find(None, Some(&home), None));
    let section = catalog.section();
    roxmltree::Document::parse(section.trim()).expect("the list is XML");
    for told in catalog.diagnostics() {
        assert!(!told.message.contains('\n'), "{told:?}");
    }
    for skill in catalog.skills() {
        for text in [&skill.name, &skill.description] {
            assert!(!text.contains(char::is_control), "{text:?}");
        }
        let loaded = catalog
            .activate(&skill.path)
            .expect("what is listed can be loaded");
        let again = split(&loaded.text).frontmatter.expect("it is read again");
        assert!(again.is_some());
        loaded.reply();
    }
    std::fs::remove_dir_all(&home).unwrap();
}

/// Any bytes are settings or a report; a setting that is saved is read back, and all else keeps its bytes.
pub fn config(bytes: &[u8]) {
    let directory = folder().join("config");
    let path = directory.join(format!("{}.json", number_of(bytes)));
    ipycodex::files::private_dir(&directory).unwrap();
    std::fs::write(&path, bytes).unwrap();
    let (mut file, report) = ConfigFile::read(&path);
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count() + 1;
    for key in file.keys() {
        let line = file.line(key).expect("each key has a line");
        assert!(
            (1..=lines).contains(&line),
            "{key} in line {line} of {lines}"
        );
    }
    let wanted = ["think", "new", "mcp_servers"][bytes.len() % 3];
    let before: Vec<(String, Value)> = file
        .keys()
        .map(|key| (key.to_owned(), file.get(key).cloned().unwrap_or_default()))
        .collect();
    let saved = file.save(wanted, serde_json::json!(["v", {"a": 1}]));
    let now = std::fs::read(&path).unwrap();
    if report.is_some() || saved.is_err() {
        assert!(
            report.is_none() || saved.is_err(),
            "a broken file was changed"
        );
        assert_eq!(now, bytes, "it is as it was");
    } else {
        let (again, report) = ConfigFile::read(&path);
        assert!(report.is_none(), "{report:?}");
        assert_eq!(again.get(wanted), Some(&serde_json::json!(["v", {"a": 1}])));
        for (key, value) in before.iter().filter(|(key, _)| key != wanted) {
            assert_eq!(again.get(key), Some(value), "{key}");
        }
        one_place(bytes, &now, before.iter().any(|(key, _)| key == wanted));
    }
    std::fs::remove_file(&path).unwrap();
}

/// `new` is `old` but for one place; where nothing was replaced, bytes were only added.
fn one_place(old: &[u8], new: &[u8], replaced: bool) {
    let same = |(a, b): &(&u8, &u8)| a == b;
    let head = old.iter().zip(new).take_while(same).count();
    let most = old.len().min(new.len()) - head;
    let tails = old.iter().rev().zip(new.iter().rev()).take(most);
    let tail = tails.take_while(same).count();
    // A comma goes before a comment, the entry behind it: two places, with nothing but that between.
    let kept = replaced || {
        let mut rest = new.iter();
        old.iter().all(|byte| rest.any(|other| other == byte))
    };
    assert!(
        kept,
        "{:?}",
        old[head..old.len() - tail].escape_ascii().to_string()
    );
}

/// Any bytes are a notebook or refused. One that is read keeps its bytes as long as nothing is changed, and all other
/// cells and what is around them when one is.
pub fn notebook(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let _ = outline(bytes);
    let Ok(document) = Document::parse(text.clone()) else {
        let value: Result<Value, _> = serde_json::from_str(&text);
        let is_one = value.is_ok_and(|value| value.get("cells").is_some_and(Value::is_array));
        assert!(!is_one, "a notebook was refused");
        return;
    };
    assert_eq!(document.text(), text);
    let same = Draft::unchanged(&document);
    let same = same.render(&document).expect("it is as it was");
    assert!(same.is_same() && same.text() == text);
    for cell in document.cells() {
        cell.source();
        cell.outputs();
        cell.id();
        cell.fault();
        cell.has_tag("x");
    }
    whole_view(&document);
    one_cell(&document, &mut Random::new(number_of(bytes)));
    let session = read_session(&document);
    to_markdown(&session, "title");
    to_script(&session);
    notebook::to_html(&session, "title", |_| {});
}

/// What is shown and applied again is what was there.
fn whole_view(document: &Document) {
    let part = ShownPart::default();
    if let Ok(Ok(view)) = show(document, &part, |_, _| String::new()) {
        let draft = apply_marked_text(document, &view).expect("what is shown is read");
        let file = draft.render(document).expect("and written");
        assert_eq!(file.text(), document.text(), "{view}");
    }
}

fn one_cell(document: &Document, random: &mut Random) {
    let count = document.len();
    let cell = random.below(count);
    let source = ["", "x = 1\n", "é\u{2028}\"\\\r\n\t", "# %% [code] cell:0\n"];
    let source = (*random.pick(&source)).to_owned();
    let kind = *random.pick(&[CellKind::Code, CellKind::Markdown, CellKind::Raw]);
    let action = match random.below(4) {
        0 => CellAction::Insert {
            cell: None,
            kind,
            source: source.clone(),
        },
        1 => CellAction::Delete { cell },
        2 => CellAction::Move {
            cell,
            to: random.below(count),
        },
        _ => CellAction::Edit {
            cell,
            kind: Some(kind),
            source: Some(source.clone()),
            clear: false,
        },
    };
    let Ok(outcome) = apply_action(document, &action) else {
        return;
    };
    let Ok(file) = outcome.draft.render(document) else {
        return;
    };
    let changed = Document::parse(file.text()).expect("what is written is a notebook");
    let raws = |document: &Document| -> Vec<String> {
        document.cells().map(|cell| cell.raw().to_owned()).collect()
    };
    let (mut before, mut after) = (raws(document), raws(&changed));
    match action {
        CellAction::Insert { .. } => {
            assert_eq!(changed.cell(count).expect("it is there").source(), source);
            after.truncate(count);
        }
        CellAction::Delete { .. } => drop(before.remove(cell)),
        CellAction::Move { to, .. } => {
            let moved = before.remove(cell);
            before.insert(to, moved);
        }
        CellAction::Edit { .. } => {
            assert_eq!(changed.cell(cell).expect("it is there").source(), source);
            before.remove(cell);
            after.remove(cell);
        }
    }
    assert_eq!(after, before, "{action:?}");
}

/// Any text is cells or refused; written from cells and read again it is the same cells.
pub fn marked_text(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(cells) = read_marked(&text) else {
        return;
    };
    let empty = Document::empty();
    let Ok(draft) = apply_marked_text(&empty, &text) else {
        return;
    };
    let file = draft.render(&empty).expect("cells can be written");
    let document = Document::parse(file.text()).expect("what is written is a notebook");
    assert_eq!(document.len(), cells.len());
    let view = show(&document, &ShownPart::default(), |_, _| String::new());
    let view = view.expect("it can be shown").expect("all of it");
    let again = apply_marked_text(&document, &view).expect("what is shown is read");
    let again = again.render(&document).expect("and written");
    assert_eq!(again.text(), document.text(), "{view}");
    whole_view(&document);
    one_cell(&document, &mut Random::new(number_of(bytes)));
    notebook::read_script(&text);
}

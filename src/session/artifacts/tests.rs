//! Artifacts in memory and in files, across processes, within their limits.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::*;

const RECORD: &str = "/r/history.sqlite";

fn settled(root: &Path, session: i64, resumed: bool) -> Artifacts {
    let artifacts = Artifacts::default();
    artifacts.set_directory(root, Path::new(RECORD), session, resumed);
    artifacts
}

fn read(artifacts: &Artifacts, id: &str) -> Option<String> {
    artifacts.read(id).map(|text| text.to_string())
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_text_is_there_at_once_and_in_a_resumed_session() {
    let state = tempfile::tempdir().unwrap();
    let root = state.path().join("artifacts");
    let artifacts = Artifacts::default();
    artifacts.keep("cell-1", "one".into());
    assert_eq!(read(&artifacts, "cell-1").as_deref(), Some("one"));
    assert!(!artifacts.is_waiting(), "nobody knows where it belongs");
    artifacts.set_directory(&root, Path::new(RECORD), 7, false);
    artifacts.keep("cell-2", "zwei é\u{0}".into());
    artifacts.write_waiting().unwrap();
    assert!(!artifacts.is_waiting());
    assert_eq!(read(&artifacts, "cell-1").as_deref(), Some("one"));

    let again = settled(&root, 7, true);
    let ids: Vec<_> = again.list().into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids.len(), 2, "{ids:?}");
    assert_eq!(read(&again, "cell-2").as_deref(), Some("zwei é\u{0}"));
    assert_eq!(settled(&root, 8, true).list(), []);
    assert_eq!(read(&again, "cell-3"), None);

    let directory = again.state().place.clone().unwrap().directory;
    assert_eq!(mode(&directory), 0o700);
    assert_eq!(mode(&root), 0o700);
    assert_eq!(mode(&directory.join("cell-1.txt")), 0o600);
}

#[test]
fn a_new_session_does_not_see_what_another_record_of_that_name_left() {
    let root = tempfile::tempdir().unwrap();
    let old = settled(root.path(), 1, false);
    old.keep("cell-9", "old".into());
    old.write_waiting().unwrap();
    let new = settled(root.path(), 1, false);
    assert!(!new.has("cell-9"));
    new.keep("cell-1", "new".into());
    new.write_waiting().unwrap();
    let ids: Vec<_> = settled(root.path(), 1, true).list();
    assert_eq!(ids, [("cell-1".to_owned(), 3)]);
}

#[test]
fn memory_is_bounded_and_the_oldest_goes_first() {
    let artifacts = Artifacts::default();
    for n in 0..6 {
        artifacts.keep(&format!("cell-{n}"), "x".repeat(MOST_BYTES));
    }
    let ids: Vec<_> = artifacts.list().into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["cell-2", "cell-3", "cell-4", "cell-5"]);
}

#[test]
fn a_disk_that_refuses_is_told_once_and_the_text_stays() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("artifacts");
    std::fs::write(&file, "in the way").unwrap();
    let artifacts = settled(&file, 1, false);
    artifacts.keep("cell-1", "one".into());
    assert!(artifacts.write_waiting().is_err());
    assert!(artifacts.write_waiting().is_ok());
    assert_eq!(read(&artifacts, "cell-1").as_deref(), Some("one"));
}

#[test]
fn old_sessions_make_room_and_nothing_else_is_touched() {
    let root = tempfile::tempdir().unwrap();
    for (session, bytes) in [("1", 10), ("2", 20), ("3", 30)] {
        let directory = root.path().join("record").join(session);
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("cell-1.txt"), "x".repeat(bytes)).unwrap();
    }
    std::fs::write(root.path().join("stray"), "s").unwrap();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("precious"), "p".repeat(100)).unwrap();
    std::os::unix::fs::symlink(outside.path(), root.path().join("record/link")).unwrap();
    retention::remove_oldest(root.path(), &root.path().join("record/1"), 30);
    let left = |name: &str| root.path().join("record").join(name).exists();
    assert_eq!((left("1"), left("2"), left("3")), (true, false, true));
    assert!(root.path().join("stray").exists());
    assert!(outside.path().join("precious").exists());
}

#[test]
fn ids_are_file_names() {
    for (id, fits) in [
        ("cell-1", true),
        ("tool-1-2", true),
        ("", false),
        ("../x", false),
        ("a/b", false),
        ("A", false),
        ("é", false),
    ] {
        assert_eq!(is_valid_id(id), fits, "{id:?}");
    }
}

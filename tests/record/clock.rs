//! A clock that was set back: the order is that in which things came, whatever their times say.

use std::time::SystemTime;

use super::*;
use crate::support::home::{Home, Ran};

/// Sets every time of a home forward, as if its clock had been right until now and is set back by a year.
fn set_clock_back(home: &Home) {
    let db = Connection::open(home.history()).unwrap();
    db.execute_batch(
        "UPDATE sessions SET start = strftime('%Y-%m-%d %H:%M:%f000', start, '+1 year'),
             end = strftime('%Y-%m-%d %H:%M:%f000+00:00', end, '+1 year');
         UPDATE ipycodex_entries SET began_at = began_at + 31536000;
         UPDATE ipycodex_decisions SET asked_at = asked_at + 31536000",
    )
    .unwrap();
    drop(db);
    let later = SystemTime::now() + std::time::Duration::from_secs(31_536_000);
    let mut folders = vec![home.path()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else if let Ok(file) = fs::File::options().append(true).open(&path) {
                file.set_modified(later).unwrap();
            }
        }
    }
}

#[test]
fn what_came_last_is_newest_when_the_clock_was_set_back() {
    let home = Home::new();
    let works = |arguments: &[&str], stdin: &str| -> Ran {
        let ran = home.demo(arguments, stdin);
        assert_eq!(
            (ran.code(), ran.stderr.as_str()),
            (0, ""),
            "{arguments:?}: {ran:?}"
        );
        ran
    };
    works(
        &[],
        "old = 1\nprint('o' * 30_000)\n.old\n%ipycodex save old.ipynb\n",
    );
    works(&[], "second = 2\n");
    set_clock_back(&home);
    works(&[], "new = 3\n.new\n");
    works(&["-r", "1"], "old = 4\n.more\n%ipycodex save old.ipynb\n");
    works(
        &[
            "notebook",
            "edit",
            "old.ipynb",
            "--cell",
            "0",
            "--content",
            "old = 5",
        ],
        "",
    );
    let listed = works(&["sessions", "--all", "--json"], "");
    let listed: serde_json::Value = serde_json::from_str(&listed.stdout).unwrap();
    let ids: Vec<_> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["id"].as_i64())
        .collect();
    assert_eq!(ids, [Some(3), Some(2), Some(1)], "{listed}");
    let found = works(&["search", "= "], "");
    let at = |text: &str| {
        found
            .stdout
            .find(text)
            .unwrap_or_else(|| panic!("{text}: {found:?}"))
    };
    assert!(
        at("new = 3") < at("second = 2") && at("second = 2") < at("old = 1"),
        "{found:?}"
    );
    let path = home.history();
    let inputs = "SELECT group_concat(line || source, ' ') FROM
             (SELECT * FROM history WHERE session = 1 ORDER BY line)";
    assert_eq!(
        text(&path, inputs),
        "1old = 1 2print('o' * 30_000) 3.old 4%ipycodex save old.ipynb 5old = 4 6.more 7%ipycodex save old.ipynb"
    );
    let prompts =
        "SELECT group_concat(prompt) FROM (SELECT * FROM ai_prompts WHERE session = 1 ORDER BY id)";
    assert_eq!(text(&path, prompts), "old,more");
}

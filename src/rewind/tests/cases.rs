//! Cases that are out of the ordinary: what is not kept, repositories, other shells, no room.

use super::*;

#[test]
fn what_is_not_kept_is_said() {
    let project = Project::new(|root| {
        fs::write(root.join(".gitignore"), "hidden/\n*.log\n").unwrap();
        fs::create_dir_all(root.join("hidden")).unwrap();
        fs::write(root.join("hidden/a"), "a").unwrap();
        fs::write(
            root.join("big"),
            vec![b'x'; (crate::MOST_OF_A_FILE + 1) as usize],
        )
        .unwrap();
    });
    // Times of files go by ticks: these are older than the step by one that counts.
    std::thread::sleep(Duration::from_millis(60));
    project.step(1, |root| {
        fs::write(root.join("hidden/a"), "b").unwrap();
        fs::write(root.join("a.log"), "b").unwrap();
        fs::write(root.join("big"), "small").unwrap();
        fs::write(
            root.join("huge"),
            vec![b'x'; (crate::MOST_OF_A_FILE + 1) as usize],
        )
        .unwrap();
        // What was hidden is seen now, and was there before.
        fs::write(root.join(".gitignore"), "*.log\n").unwrap();
        fs::rename(root.join("hidden"), root.join("seen")).unwrap();
    });
    let plan = project.back(1);
    let larger = "it is larger than 8 MiB".to_owned();
    let from = "it came from a place that is not kept".to_owned();
    let kept = project.kept(&plan);
    let expected = [
        ("big", &larger),
        ("huge", &larger),
        ("seen", &from),
        ("seen/a", &from),
    ];
    let expected = expected.map(|(name, why)| (name.to_owned(), why.clone()));
    assert_eq!(kept, expected);
    assert_eq!(fs::read_to_string(project.path("seen/a")).unwrap(), "b");
    assert_eq!(
        fs::read_to_string(project.path(".gitignore")).unwrap(),
        "hidden/\n*.log\n"
    );
    assert_eq!(fs::read_to_string(project.path("big")).unwrap(), "small");
}

#[test]
fn the_directory_itself_comes_back() {
    let project = Project::new(|root| {
        fs::create_dir(root.join("d")).unwrap();
        fs::write(root.join("d/a"), "a").unwrap();
    });
    let before = held(project.root.path());
    // Somebody is in it: the kernel does not tell of its end.
    let inside = fs::File::open(project.root.path()).unwrap();
    project.step(1, |root| fs::remove_dir_all(root).unwrap());
    project.back(1);
    drop(inside);
    assert_eq!(held(project.root.path()), before);
    project.step(2, |root| fs::write(root.join("d/a"), "b").unwrap());
    project.back(2);
    assert_eq!(held(project.root.path()), before);
}

#[test]
fn a_file_that_is_held_open_keeps_its_writers() {
    use std::io::Write;
    let project = Project::new(|root| fs::write(root.join("log"), "one\n").unwrap());
    let mut log = fs::File::options()
        .append(true)
        .open(project.path("log"))
        .unwrap();
    project.step(1, |_| log.write_all(b"two\n").unwrap());
    project.back(1);
    log.write_all(b"three\n").unwrap();
    assert_eq!(
        fs::read_to_string(project.path("log")).unwrap(),
        "one\nthree\n"
    );
}

#[test]
fn steps_of_an_agent_own_what_they_change_and_nothing_else() {
    let turn = Owner {
        kind: StepKind::Turn,
        ..cell(4)
    };
    let project = Project::new(|root| fs::write(root.join("mine"), "1").unwrap());
    project.history.begin(turn);
    fs::write(project.path("its"), "1").unwrap();
    // A cell that the agent runs is its own step, and so is what follows.
    project.step(5, |root| fs::write(root.join("cell"), "1").unwrap());
    fs::write(project.path("after"), "1").unwrap();
    project.history.end(turn);
    project.history.pause();
    fs::write(project.path("mine"), "2").unwrap();
    let owners: Vec<(Option<Owner>, Vec<PathBuf>)> = project
        .history
        .changes()
        .into_iter()
        .map(|set| (set.owner, set.changes.into_keys().collect()))
        .collect();
    let of = |name: &str| vec![project.path(name)];
    let expected = [
        (Some(turn), of("its")),
        (Some(cell(5)), of("cell")),
        (Some(turn), of("after")),
        (None, of("mine")),
    ];
    assert_eq!(owners, expected);
}

#[test]
fn a_directory_that_is_too_large_is_refused() {
    let (root, stores) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for number in 0..=crate::MOST_ENTRIES {
        fs::File::create(root.path().join(number.to_string())).unwrap();
    }
    let history = start(root.path(), stores.path());
    assert_eq!(history.refused()[0].1, "it holds more than 50000 entries");
    assert!(history.changes().is_empty());
}

#[test]
fn contents_go_with_their_history() {
    let project = Project::new(|root| fs::write(root.join("a"), "a").unwrap());
    let Project {
        history, stores, ..
    } = project;
    assert_ne!(fs::read_dir(stores.path()).unwrap().count(), 0);
    drop(history);
    // The thread may be in the middle of something.
    let until = std::time::Instant::now() + Duration::from_secs(10);
    while fs::read_dir(stores.path()).unwrap().count() > 0 {
        assert!(std::time::Instant::now() < until);
        std::thread::yield_now();
    }
}

fn git(folder: &Path, words: &[&str]) {
    let ran = std::process::Command::new("git")
        .args([
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "-c",
            "protocol.file.allow=always",
        ])
        .args(words)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(
        ran.status.success(),
        "{words:?}: {}",
        String::from_utf8_lossy(&ran.stderr)
    );
}

/// Files of repositories inside of the directory are kept like others; what git itself holds is not.
#[test]
fn nested_repositories_and_submodules_are_kept_like_other_directories() {
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("sub.txt"), "one\n").unwrap();
    for words in [&["init", "-q"][..], &["add", "."], &["commit", "-qm", "a"]] {
        git(other.path(), words);
    }
    let project = Project::new(|root| {
        git(root, &["init", "-q"]);
        git(
            root,
            &[
                "submodule",
                "--quiet",
                "add",
                other.path().to_str().unwrap(),
                "sub",
            ],
        );
        fs::create_dir(root.join("nested")).unwrap();
        git(&root.join("nested"), &["init", "-q"]);
        fs::write(root.join("nested/n.txt"), "one\n").unwrap();
        fs::write(root.join("nested/.gitignore"), "*.log\n").unwrap();
    });
    project.step(1, |root| {
        fs::write(root.join("sub/sub.txt"), "two\n").unwrap();
        fs::write(root.join("nested/n.txt"), "two\n").unwrap();
        fs::write(root.join("nested/a.log"), "log\n").unwrap();
        git(&root.join("nested"), &["add", "."]);
        git(&root.join("nested"), &["commit", "-qm", "of the step"]);
    });
    let plan = project.back(1);
    let read = |name: &str| fs::read_to_string(project.path(name)).unwrap();
    assert_eq!(
        (read("sub/sub.txt"), read("nested/n.txt")),
        ("one\n".into(), "one\n".into())
    );
    assert_eq!(
        read("nested/a.log"),
        "log\n",
        "what `.gitignore` names stays"
    );
    assert_eq!(plan.kept, []);
    git(&project.path("nested"), &["log", "-1"]);
}

/// A checkout between two steps is the work of others: what it wrote stays, and what a later step did to it goes back.
#[test]
fn a_checkout_between_two_steps_stays() {
    let project = Project::new(|root| {
        fs::write(root.join("a.txt"), "main\n").unwrap();
        for words in [
            &["init", "-q", "-b", "main"][..],
            &["add", "."],
            &["commit", "-qm", "a"],
            &["checkout", "-q", "-b", "side"],
        ] {
            git(root, words);
        }
        fs::write(root.join("a.txt"), "side\n").unwrap();
        fs::write(root.join("b.txt"), "side\n").unwrap();
        git(root, &["add", "."]);
        git(root, &["commit", "-qm", "b"]);
    });
    project.step(1, |root| fs::write(root.join("c.txt"), "step 1\n").unwrap());
    git(project.root.path(), &["checkout", "-q", "main"]);
    let between = held_files(project.root.path());
    project.step(2, |root| {
        fs::write(root.join("a.txt"), "step 2\n").unwrap();
        fs::write(root.join("c.txt"), "step 2\n").unwrap();
    });
    assert_eq!(project.back(2).kept, []);
    assert_eq!(held_files(project.root.path()), between);
    project.back(1);
    let read = |name: &str| fs::read_to_string(project.path(name)).ok();
    assert_eq!(
        (read("a.txt"), read("b.txt"), read("c.txt")),
        (Some("main\n".into()), None, None)
    );
}

fn held_files(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut all = held(root);
    all.retain(|path, _| !path.starts_with(".git"));
    all
}

/// What the shell beside this one writes is the work of others, whatever it is for that one.
#[test]
fn two_shells_in_one_directory_do_not_take_back_each_others_work() {
    let project = Project::new(|root| {
        fs::write(root.join("a"), "0").unwrap();
        fs::write(root.join("b"), "0").unwrap();
    });
    let other = start(project.root.path(), project.stores.path());
    project.step(1, |root| fs::write(root.join("a"), "of one").unwrap());
    other.begin(cell(1));
    fs::write(project.path("b"), "of the other").unwrap();
    other.end(cell(1));
    project.step(2, |root| fs::write(root.join("new"), "of one").unwrap());
    project.back(1);
    let read = |name: &str| fs::read_to_string(project.path(name)).ok();
    assert_eq!(
        (read("a"), read("b"), read("new")),
        (Some("0".into()), Some("of the other".into()), None)
    );
    let plan = other.plan(|sets| sets.iter().filter(|set| is_after(set, 1)).collect());
    other.restore(&plan.restores, rewind(1)).unwrap();
    assert_eq!((read("a"), read("b")), (Some("0".into()), Some("0".into())));
}

/// Where there is no room, contents are not kept, and that is known; what is no longer needed makes room.
#[test]
fn contents_that_find_no_room_are_named() {
    let stores = tempfile::tempdir().unwrap();
    let mut store = crate::store::Store::new(stores.path().to_owned(), 1000);
    store.open().unwrap();
    assert!(store.put(&[1; 600]).is_ok());
    assert_eq!(store.put(&[2; 600]), Err(crate::Unstored::StoreFull));
    store.retain(&std::collections::HashSet::new());
    let digest = store.put(&[2; 600]).unwrap();
    assert_eq!(store.get(digest).unwrap(), [2; 600]);
}

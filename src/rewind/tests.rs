//! Random work of steps and of others, with a model beside it; and the cases that users fear.

mod cases;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use proptest::prelude::*;

use crate::properties;
use crate::{ChangeSet, FileHistory, Owner, RewindPlan, StepKind};

struct Project {
    root: tempfile::TempDir,
    stores: tempfile::TempDir,
    history: FileHistory,
}

fn cell(line: u32) -> Owner {
    Owner {
        session: 0,
        line,
        kind: StepKind::Cell,
    }
}

fn rewind(line: u32) -> Owner {
    Owner {
        kind: StepKind::Back,
        ..cell(line)
    }
}

impl Project {
    fn new(fill: impl FnOnce(&Path)) -> Self {
        let (root, stores) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fill(root.path());
        let history = start(root.path(), stores.path());
        Project {
            root,
            stores,
            history,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn step(&self, line: u32, work: impl FnOnce(&Path)) {
        self.history.begin(cell(line));
        work(self.root.path());
        self.history.end(cell(line));
    }

    fn plan_back(&self, line: u32) -> RewindPlan {
        self.history
            .plan(|sets| sets.iter().filter(|set| is_after(set, line)).collect())
    }

    /// Takes back all steps from this one on; returns what was kept.
    fn back(&self, line: u32) -> RewindPlan {
        let plan = self.plan_back(line);
        let left = self.history.restore(&plan.restores, rewind(line));
        assert_eq!(left.unwrap(), Vec::<PathBuf>::new());
        plan
    }

    fn kept(&self, plan: &RewindPlan) -> Vec<(String, String)> {
        let name = |path: &Path| {
            path.strip_prefix(self.root.path())
                .unwrap()
                .display()
                .to_string()
        };
        plan.kept
            .iter()
            .map(|(path, why)| (name(path), why.clone()))
            .collect()
    }
}

fn start(root: &Path, stores: &Path) -> FileHistory {
    let history =
        FileHistory::start(root.to_owned(), stores.to_owned(), Vec::new(), |_| {}).unwrap();
    assert!(history.wait_until_ready(Duration::from_secs(60)));
    history
}

fn is_after(set: &ChangeSet, line: u32) -> bool {
    set.owner.is_some_and(|owner| owner.line >= line)
}

/// What a directory holds, for a comparison.
fn held(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let status = fs::symlink_metadata(&path).unwrap();
            let mode = status.permissions().mode() & 0o7777;
            let what = match () {
                () if status.is_dir() => format!("directory {mode:o}"),
                () if status.is_symlink() => format!("link {:?}", fs::read_link(&path).unwrap()),
                () => format!(
                    "file {mode:o} {:?}",
                    String::from_utf8_lossy(&fs::read(&path).unwrap())
                ),
            };
            if status.is_dir() {
                folders.push(path.clone());
            }
            all.insert(path.strip_prefix(root).unwrap().to_owned(), what);
        }
    }
    all
}

const NAMES: [&str; 8] = ["a", "b", "c.txt", "d", "d/a", "d/b", "d/e", "d/e/f"];

/// Something done to files; what is impossible does nothing.
#[derive(Debug, Clone)]
enum Deed {
    Write(usize, String),
    Append(usize, String),
    Remove(usize),
    Rename(usize, usize),
    Link(usize, usize),
    Mode(usize, u32),
    Directory(usize),
}

fn any_deed() -> impl Strategy<Value = Deed> {
    let name = 0..NAMES.len();
    let text = "[a-c\n]{0,12}";
    prop_oneof![
        4 => (name.clone(), text).prop_map(|(name, text)| Deed::Write(name, text)),
        2 => (name.clone(), text).prop_map(|(name, text)| Deed::Append(name, text)),
        2 => name.clone().prop_map(Deed::Remove),
        2 => (name.clone(), name.clone()).prop_map(|(from, to)| Deed::Rename(from, to)),
        1 => (name.clone(), name.clone()).prop_map(|(from, to)| Deed::Link(from, to)),
        1 => (name.clone(), prop_oneof![Just(0o600u32), Just(0o755)]).prop_map(|(name, mode)| Deed::Mode(name, mode)),
        2 => name.prop_map(Deed::Directory),
    ]
}

/// Does it; returns the paths it may have touched.
fn carry_out(root: &Path, deed: &Deed) -> Vec<PathBuf> {
    use std::io::Write;
    let at = |name: usize| root.join(NAMES[name]);
    let is_link = |path: &Path| path.is_symlink();
    // Whether it could be done is of no importance.
    match deed {
        Deed::Write(name, text) if !is_link(&at(*name)) => drop(fs::write(at(*name), text)),
        Deed::Append(name, text) if !is_link(&at(*name)) => {
            let file = fs::File::options().append(true).open(at(*name));
            if let Ok(mut file) = file {
                file.write_all(text.as_bytes()).unwrap();
            }
        }
        Deed::Remove(name) => {
            drop(fs::remove_file(at(*name)));
            if !is_link(&at(*name)) {
                drop(fs::remove_dir_all(at(*name)));
            }
        }
        Deed::Rename(from, to) => drop(fs::rename(at(*from), at(*to))),
        Deed::Link(from, to) => drop(symlink(NAMES[*from], at(*to))),
        Deed::Mode(name, mode) if !is_link(&at(*name)) && !at(*name).is_dir() => {
            drop(fs::set_permissions(
                at(*name),
                Permissions::from_mode(*mode),
            ));
        }
        Deed::Directory(name) => drop(fs::create_dir(at(*name))),
        _ => {}
    }
    let names: Vec<usize> = match deed {
        Deed::Rename(from, to) | Deed::Link(from, to) => vec![*from, *to],
        Deed::Write(name, _) | Deed::Append(name, _) | Deed::Mode(name, _) => vec![*name],
        Deed::Remove(name) | Deed::Directory(name) => vec![*name],
    };
    names
        .into_iter()
        .map(|name| PathBuf::from(NAMES[name]))
        .collect()
}

proptest! {
    #![proptest_config(properties::cases(100))]

    /// After a rewind the files are those that were there before the step; forward again, those after it.
    #[test]
    fn files_are_as_they_were_before_the_step(
        start in prop::collection::vec(any_deed(), 0..6),
        steps in prop::collection::vec(prop::collection::vec(any_deed(), 0..5), 1..6),
        to in 0usize..6,
    ) {
        let project = Project::new(|root| start.iter().for_each(|deed| drop(carry_out(root, deed))));
        let root = project.root.path().to_owned();
        let mut before = Vec::new();
        for (line, deeds) in steps.iter().enumerate() {
            before.push(held(&root));
            project.step(line as u32, |root| deeds.iter().for_each(|deed| drop(carry_out(root, deed))));
        }
        let to = to % steps.len();
        let after = held(&root);
        let plan = project.back(to as u32);
        prop_assert_eq!(&plan.kept, &Vec::new());
        prop_assert_eq!(&plan.merges, &Vec::new());
        prop_assert_eq!(held(&root), before[to].clone());
        let forward = project.history.plan_forward();
        project.history.restore(&forward.restores, rewind(99)).unwrap();
        prop_assert_eq!(held(&root), after);
    }

    /// What others have written stays, whatever steps did to it before and after.
    #[test]
    fn no_foreign_byte_is_lost(
        start in prop::collection::vec(any_deed(), 0..6),
        work in prop::collection::vec((any::<bool>(), prop::collection::vec(any_deed(), 1..4)), 1..8),
        to in 0u32..8,
    ) {
        let project = Project::new(|root| start.iter().for_each(|deed| drop(carry_out(root, deed))));
        let root = project.root.path().to_owned();
        let mut foreign = BTreeSet::new();
        for (line, (ours, deeds)) in work.iter().enumerate() {
            if *ours {
                project.step(line as u32, |root| deeds.iter().for_each(|deed| drop(carry_out(root, deed))));
                continue;
            }
            let old = held(&root);
            deeds.iter().for_each(|deed| drop(carry_out(&root, deed)));
            let new = held(&root);
            let changed = old.iter().chain(&new).map(|(path, _)| path);
            let changed = changed.filter(|path| old.get(*path) != new.get(*path));
            if line as u32 > to {
                foreign.extend(changed.cloned());
            }
        }
        let now = held(&root);
        project.back(to);
        let back = held(&root);
        // A directory with something foreign in it is kept, too.
        for path in &foreign {
            if let Some(there) = now.get(path) {
                let last_by_others = !back.contains_key(path);
                prop_assert!(!last_by_others || was_ours_last(&project, path), "{path:?} {there}");
                prop_assert!(back.get(path) == Some(there) || was_ours_last(&project, path), "{path:?}");
            }
        }
    }
}

/// Returns true when a step was the last to change this path before the rewind: then what others had put there is what
/// comes back.
fn was_ours_last(project: &Project, path: &Path) -> bool {
    let path = project.root.path().join(path);
    let sets = project.history.changes();
    let mut sets = sets.iter().rev();
    let last = sets.find(|set| {
        let is_rewind = set
            .owner
            .is_some_and(|owner| !matches!(owner.kind, StepKind::Cell | StepKind::Turn));
        !is_rewind && set.changes.contains_key(&path)
    });
    last.is_some_and(|set| set.owner.is_some())
}

#[test]
fn what_others_changed_since_is_named_and_merged_when_asked() {
    let project = Project::new(|root| {
        fs::write(root.join("a.txt"), "one\ntwo\nthree\nfour\nfive\n").unwrap();
        fs::write(root.join("b.txt"), "one\n").unwrap();
        fs::write(root.join("c.txt"), "one\n").unwrap();
    });
    project.step(3, |root| {
        fs::write(root.join("a.txt"), "ONE\ntwo\nthree\nfour\nfive\n").unwrap();
        fs::write(root.join("b.txt"), "ours\n").unwrap();
        fs::write(root.join("c.txt"), "ours\n").unwrap();
    });
    fs::write(project.path("a.txt"), "ONE\ntwo\nthree\nfour\nFIVE\n").unwrap();
    fs::write(project.path("b.txt"), "theirs\n").unwrap();
    let plan = project.back(3);
    let read = |name: &str| fs::read_to_string(project.path(name)).unwrap();
    assert_eq!(read("a.txt"), "ONE\ntwo\nthree\nfour\nFIVE\n");
    assert_eq!(read("b.txt"), "theirs\n");
    assert_eq!(read("c.txt"), "one\n");
    let why = "it has been changed since".to_owned();
    assert_eq!(project.kept(&plan), [("b.txt".to_owned(), why)]);
    assert_eq!(plan.merges.len(), 1);
    project.history.restore(&plan.merges, rewind(3)).unwrap();
    assert_eq!(read("a.txt"), "one\ntwo\nthree\nfour\nFIVE\n");
}

#[test]
fn what_was_moved_away_from_a_file_that_stays_stays_too() {
    let project = Project::new(|root| fs::write(root.join("a"), "theirs").unwrap());
    project.step(1, |root| {
        fs::rename(root.join("a"), root.join("b")).unwrap()
    });
    project.step(2, |root| {
        fs::write(root.join("b"), "theirs, and more").unwrap()
    });
    fs::write(project.path("a"), "new").unwrap();
    let plan = project.back(1);
    let read = |name: &str| fs::read_to_string(project.path(name)).unwrap();
    assert_eq!(
        (read("a"), read("b")),
        ("new".into(), "theirs, and more".into())
    );
    assert_eq!(project.kept(&plan).len(), 2);
}

#[test]
fn what_changes_between_the_question_and_the_answer_is_left_out() {
    let project = Project::new(|root| fs::write(root.join("a"), "old").unwrap());
    project.step(1, |root| fs::write(root.join("a"), "new").unwrap());
    let plan = project.plan_back(1);
    fs::write(project.path("a"), "theirs").unwrap();
    let left = project.history.restore(&plan.restores, rewind(1));
    assert_eq!(left.unwrap(), [project.path("a")]);
    assert_eq!(fs::read_to_string(project.path("a")).unwrap(), "theirs");
}

#[test]
fn a_stop_leaves_all_as_it_was() {
    let names: Vec<String> = (0..20).map(|number| format!("{number:02}")).collect();
    let project = Project::new(|root| {
        names
            .iter()
            .for_each(|name| fs::write(root.join(name), "old").unwrap());
    });
    project.step(1, |root| {
        for name in &names[..15] {
            fs::write(root.join(name), format!("new {name}")).unwrap();
        }
        names[15..]
            .iter()
            .for_each(|name| fs::remove_file(root.join(name)).unwrap());
        fs::create_dir(root.join("made")).unwrap();
        fs::write(root.join("made/in it"), "x").unwrap();
    });
    let after = held(project.root.path());
    let plan = project.plan_back(1);
    for stop in 0..24 {
        let asked = std::cell::Cell::new(0);
        let stopped = || asked.replace(asked.get() + 1) == stop;
        let told = project
            .history
            .restore_until(&plan.restores, rewind(1), &stopped);
        if told.is_ok() {
            assert!(stop >= plan.restores.len(), "{stop}");
            return;
        }
        assert_eq!(held(project.root.path()), after, "{stop}");
    }
    panic!("it was never done");
}

#[test]
fn what_a_kill_leaves_half_done_is_finished_by_the_next_start() {
    let names: Vec<String> = (0..6).map(|number| format!("{number}")).collect();
    for killed_at in 0..9 {
        let project = Project::new(|root| {
            names
                .iter()
                .for_each(|name| fs::write(root.join(name), "old").unwrap());
            fs::create_dir(root.join("d")).unwrap();
            fs::write(root.join("d/x"), "x").unwrap();
        });
        let before = held(project.root.path());
        project.step(1, |root| {
            names
                .iter()
                .for_each(|name| fs::write(root.join(name), "new").unwrap());
            fs::remove_dir_all(root.join("d")).unwrap();
            fs::write(root.join("d"), "a file").unwrap();
        });
        let plan = project.plan_back(1);
        // Others write in the moment of the kill, too.
        let theirs = project.path("3");
        let asked = std::cell::Cell::new(0);
        let killed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            project
                .history
                .restore_until(&plan.restores, rewind(1), &|| {
                    assert!(asked.replace(asked.get() + 1) != killed_at, "killed");
                    false
                })
        }));
        assert!(killed.is_err(), "{killed_at}");
        // A process that is gone holds no lock.
        let Project {
            root,
            stores,
            history,
        } = project;
        let left = fs::read_dir(stores.path())
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path();
        let kept = stores.path().join("left");
        copy_folder(&left, &kept);
        drop(history);
        let spare = killed_at % 2 == 0;
        if spare {
            fs::write(&theirs, "theirs").unwrap();
        }
        let (told, hears) = std::sync::mpsc::channel();
        let tell = move |line| told.send(line).unwrap();
        let history = FileHistory::start(
            root.path().to_owned(),
            stores.path().to_owned(),
            Vec::new(),
            tell,
        );
        let history = history.unwrap();
        assert!(history.wait_until_ready(Duration::from_secs(60)));
        let told = hears.try_recv().unwrap();
        assert!(
            told.starts_with("An earlier ipycodex ended while it put files back; "),
            "{told}"
        );
        let mut now = held(root.path());
        if spare {
            assert_eq!(
                now["3".as_ref() as &Path],
                "file 644 \"theirs\"",
                "{killed_at}"
            );
            assert!(
                told.ends_with(&format!("changed since: {}", theirs.display())),
                "{told}"
            );
            now.insert("3".into(), "file 644 \"old\"".into());
        }
        assert_eq!(now, before, "{killed_at}");
        assert!(!kept.exists());
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

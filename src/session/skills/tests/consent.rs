//! The user's answers about skills: kept, private, never overwritten when the file cannot be read.

use super::*;

#[test]
fn answers_survive() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let project = Path::new("/some/project");
    let (mut consent, told) = Consent::open(&state);
    assert!(told.is_none() && !consent.trusts(project) && consent.may_run("h").is_none());
    let (mut other, _) = Consent::open(&state);
    consent.trust(project, true).unwrap();
    consent.decide("yes", true).unwrap();
    other.decide("no", false).unwrap();
    let file = state.join("skills.json");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let (mut again, told) = Consent::open(&state);
    assert!(told.is_none() && again.trusts(project));
    assert!(!again.trusts(Path::new("/some/project/below")));
    assert_eq!(
        [again.may_run("yes"), again.may_run("no")],
        [Some(true), Some(false)]
    );
    again.trust(project, false).unwrap();
    assert!(!Consent::open(&state).0.trusts(project));
}

#[test]
fn a_broken_file_of_answers_is_left_alone() {
    let project = Path::new("/p");
    for (text, mode) in [
        ("{", 0o600),
        ("", 0o600),
        ("{\"version\": 2}", 0o600),
        ("[]", 0o600),
        ("{\"version\": 1, \"projects\": {\"/p\": true}}", 0o622),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("skills.json");
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
        let (mut consent, told) = Consent::open(folder.path());
        assert!(told.is_some_and(|told| !told.contains('\n')), "{text}");
        assert!(!consent.trusts(project));
        assert!(consent.trust(project, true).is_err());
        assert!(consent.trusts(project), "for this session");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("skills.json");
    std::fs::write(&file, "{\"version\": 1, \"later\": [1]}").unwrap();
    let (mut consent, told) = Consent::open(folder.path());
    assert_eq!(told, None);
    consent.decide("h", true).unwrap();
    assert!(std::fs::read_to_string(&file).unwrap().contains("later"));
    // The file breaks while the session runs.
    std::fs::write(&file, "{").unwrap();
    assert!(consent.decide("i", true).is_err());
    assert_eq!(consent.may_run("i"), Some(true));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{");
}

#[test]
fn nobody_is_asked_for_what_came_with_the_program() {
    let catalog = Catalog::find(&Roots::default());
    assert!(
        catalog.diagnostics().is_empty(),
        "{:?}",
        catalog.diagnostics()
    );
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("shipped");
    let mut folders: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    folders.sort();
    let listed: Vec<_> = catalog
        .skills()
        .iter()
        .map(|skill| skill.name.clone())
        .collect();
    assert_eq!(listed, folders);
    for name in folders {
        let loaded = catalog.activate(&name).unwrap();
        assert_eq!(loaded.path, format!("builtin:{name}/SKILL.md"));
        assert!(
            loaded.blocks.is_empty(),
            "{name}: code that runs on loading is for the user's own"
        );
        assert!(check(&folder.join(&name)).is_empty());
        assert!(loaded.text.lines().count() < 500 && loaded.reply() == loaded.text);
    }
}

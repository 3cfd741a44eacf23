//! Every edge case: loaded or told, activated, checked.

use ipycodex::skills::check;

use super::cases::{cases, catalog, of, project};

#[test]
fn every_case_is_loaded_or_told() {
    let (home, folder) = project();
    let catalog = catalog(&home);
    for case in cases() {
        let (skill, told) = of(&catalog, &folder.join(case.directory).join(case.file));
        let found = skill.map(|skill| (skill.name.as_str(), skill.description.clone()));
        assert_eq!(found, case.loaded, "{}", case.directory);
        let messages: Vec<_> = told.iter().map(|told| told.message.as_str()).collect();
        let directory = case.directory;
        if case.told.is_empty() {
            assert!(messages.is_empty(), "{directory}: {messages:?}");
        } else {
            assert!(
                messages.iter().any(|message| message.contains(case.told)),
                "{directory}: {messages:?}"
            );
        }
        assert!(
            messages.iter().all(|message| !message.contains('\n')),
            "{directory}"
        );
        assert_eq!(
            skill.is_none(),
            told.iter().any(|told| told.skipped),
            "{directory}"
        );
    }
}

#[test]
fn every_loaded_case_can_be_activated() {
    let (home, _) = project();
    let catalog = catalog(&home);
    for skill in catalog.skills() {
        let loaded = catalog.activate(&skill.path).unwrap();
        assert!(
            loaded.text.starts_with("---") && !loaded.text.contains('\r'),
            "{}",
            skill.path
        );
        let split = ipycodex::skills::frontmatter::split(&loaded.text);
        assert!(matches!(split.frontmatter, Ok(Some(_))), "{}", skill.path);
    }
}

#[test]
fn checking_says_valid_or_why_not() {
    let (_home, folder) = project();
    for case in cases() {
        let faults = check(&folder.join(case.directory));
        assert_eq!(
            faults.is_empty(),
            case.valid,
            "{}: {faults:?}",
            case.directory
        );
        assert!(
            faults.iter().all(|fault| !fault.contains('\n')),
            "{faults:?}"
        );
        let file = folder.join(case.directory).join(case.file);
        assert_eq!(check(&file), faults, "by its file");
    }
    assert_eq!(check(&folder.join("nowhere")).len(), 1);
    std::fs::create_dir(folder.join("bare")).unwrap();
    assert_eq!(check(&folder.join("bare")), ["there is no SKILL.md"]);
}

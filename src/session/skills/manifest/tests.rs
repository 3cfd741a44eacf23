//! Repaired values, fallback names, and arbitrary bytes.

use super::*;
use proptest::prelude::*;

#[test]
fn values_yaml_cannot_read_are_quoted() {
    let check = |yaml: &str, description: &str, quoted: &str| {
        let text = format!("---\nname: x\n{yaml}\n---\nbody");
        let manifest = read(text.as_bytes(), "x").unwrap();
        assert_eq!(manifest.description, description, "{yaml}");
        let expected = format!("YAML needs quotes around `{quoted}`");
        assert_eq!(manifest.warnings, [expected], "{yaml}");
        let again = read(manifest.text.as_bytes(), "x").unwrap();
        assert_eq!(
            (again.description, again.warnings.len()),
            (manifest.description, 0)
        );
    };
    check(
        "description: Use when: it's x",
        "Use when: it's x",
        "description",
    );
    check("description: [x] [y]", "[x] [y]", "description");
    check(
        "description: a: b\n  and more",
        "a: b and more",
        "description",
    );
    check("description: d\nlicense: MIT: really", "d", "license");
    check(
        "license: @x: y\ndescription: `d`",
        "`d`",
        "license`, `description",
    );
    for broken in [
        "description: a\ndescription: b",
        "description: \"a",
        "description: *nobody\n- a",
        "just words",
    ] {
        let text = format!("---\n{broken}\n---\n");
        assert!(read(text.as_bytes(), "x").is_err(), "{broken}");
    }
}

#[test]
fn budgets_are_not_mended() {
    let deep = format!("---\ndescription: {}\n---\n", "[".repeat(3_000));
    let why = read(deep.as_bytes(), "x").unwrap_err();
    assert!(why.contains("levels"), "{why}");
}

#[test]
fn the_directory_stands_in_for_an_unusable_name() {
    let check = |name: &str, directory: &str, expected: Option<&str>| {
        let text = format!("---\nname: {name}\ndescription: d\n---\n");
        let found = read(text.as_bytes(), directory).ok();
        let named = found.as_ref().map(|manifest| manifest.name.as_str());
        assert_eq!(named, expected, "{name:?} in {directory:?}");
        assert!(found.is_none_or(|manifest| !manifest.warnings.is_empty()));
    };
    let long = "a".repeat(65);
    check("", "Dir_Name", Some("Dir_Name"));
    check("[a]", "dir", Some("dir"));
    check(&long, "dir", Some("dir"));
    check(&long, "Not Valid", None);
    check("\"a\\eb\"", "dir", Some("dir"));
    check("\"a\\eb\"", "d\u{1b}r", None);
    check("", "d\u{1b}r", None);
    check("Wrong_Name", "dir", Some("Wrong_Name"));
    check("a\n  b", "dir", Some("a b"));
}

proptest! {
    #[test]
    fn any_bytes_are_a_skill_or_not(bytes in proptest::collection::vec(any::<u8>(), 0..300), start in 0usize..3) {
        let head = [&b""[..], b"---\n", b"---\ndescription: "][start];
        let bytes = [head, bytes.as_slice()].concat();
        match read(&bytes, "x") {
            Ok(manifest) => {
                prop_assert!(!manifest.name.chars().any(char::is_control));
                prop_assert!(!manifest.description.is_empty());
            }
            Err(why) => prop_assert!(!why.contains('\n'), "{}", why),
        }
    }

    #[test]
    fn any_frontmatter_is_a_skill_or_not(yaml in "([a-z]{1,3}|name|description)(: ?[\\PC\n]{0,30}\n){0,6}") {
        let text = format!("---\n{yaml}\n---\nbody");
        if let Ok(manifest) = read(text.as_bytes(), "x") {
            // The repaired text reads back the same.
            let again = read(manifest.text.as_bytes(), "x").unwrap();
            prop_assert_eq!(again.description, manifest.description);
        }
    }
}

//! The list for the model, loading of skills, and the validity of the user's answers.

mod consent;

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use proptest::prelude::*;

use super::section::{MOST_CHARACTERS, section};
use super::*;

/// A home, a configuration and a project with a `.git`, in one folder.
struct World(tempfile::TempDir);

impl World {
    fn new() -> Self {
        let world = World(tempfile::tempdir().unwrap());
        for name in ["home", "config", "project/.git", "project/below"] {
            std::fs::create_dir_all(world.path(name)).unwrap();
        }
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    fn skill(&self, directory: &str, description: &str) -> PathBuf {
        let name = directory.rsplit('/').next().unwrap();
        let text = format!("---\nname: {name}\ndescription: {description}\n---\nbody\n");
        self.write(&format!("{directory}/SKILL.md"), text)
    }

    fn catalog(&self, cwd: &str) -> Catalog {
        let (home, config) = (self.path("home"), self.path("config"));
        Catalog::find(&Roots::find(
            Some(&self.path(cwd)),
            Some(&home),
            Some(&config),
        ))
    }
}

fn names(catalog: &Catalog) -> Vec<&str> {
    let found = catalog.skills().iter();
    found
        .filter(|skill| skill.origin != SkillOrigin::Bundled)
        .map(|skill| skill.name.as_str())
        .collect()
}

fn skill(name: &str, description: &str) -> Skill {
    Skill {
        name: name.into(),
        description: description.into(),
        path: format!("/s/{name}/SKILL.md"),
        origin: SkillOrigin::Own,
        hash: String::new(),
        shadowed: false,
        file: None,
    }
}

#[test]
fn nearer_roots_come_first() {
    let world = World::new();
    world.skill("home/.agents/skills/home-one", "h");
    world.skill("config/agents/skills/config-one", "c");
    world.skill("project/.agents/skills/b", "b");
    world.skill("project/.agents/skills/a", "a");
    world.skill("project/below/.agents/skills/z", "z");
    let catalog = world.catalog("project/below");
    assert_eq!(names(&catalog), ["z", "a", "b", "config-one", "home-one"]);
    let project = SkillOrigin::Project(world.path("project"));
    let origins: Vec<_> = catalog.skills().iter().map(|skill| &skill.origin).collect();
    assert_eq!(
        origins[..5],
        [
            &project,
            &project,
            &project,
            &SkillOrigin::Own,
            &SkillOrigin::Own
        ]
    );
    assert!(origins[5..].iter().all(|o| **o == SkillOrigin::Bundled) && origins.len() >= 8);
    assert!(
        catalog.diagnostics().is_empty(),
        "{:?}",
        catalog.diagnostics()
    );
}

#[test]
fn above_the_project_only_what_nobody_else_can_change() {
    let world = World::new();
    world.skill(".agents/skills/above", "x");
    let catalog = world.catalog("project/below");
    assert_eq!(names(&catalog), ["above"]);
    assert_eq!(
        catalog.skills()[0].origin,
        SkillOrigin::Project(world.path(""))
    );
    std::fs::set_permissions(world.path(".agents"), PermissionsExt::from_mode(0o777)).unwrap();
    let catalog = world.catalog("project/below");
    assert!(names(&catalog).is_empty());
    let [told] = catalog.diagnostics() else {
        panic!("{:?}", catalog.diagnostics());
    };
    assert!(
        told.skipped && told.message.contains("others can write to"),
        "{told:?}"
    );
}

#[test]
fn a_place_like_tmp_is_nobodys_project() {
    let world = World::new();
    world.skill("shared/.agents/skills/planted", "x");
    std::fs::create_dir_all(world.path("shared/.git")).unwrap();
    std::fs::create_dir_all(world.path("shared/mine")).unwrap();
    std::fs::set_permissions(world.path("shared"), PermissionsExt::from_mode(0o1777)).unwrap();
    world.skill("shared/mine/.agents/skills/mine", "x");
    for (cwd, expected) in [("shared", vec![]), ("shared/mine", vec!["mine"])] {
        let catalog = world.catalog(cwd);
        assert_eq!(names(&catalog), expected);
        let [told] = catalog.diagnostics() else {
            panic!("{:?}", catalog.diagnostics());
        };
        assert!(
            told.skipped && told.message.contains("everybody"),
            "{told:?}"
        );
    }
    let catalog = world.catalog("shared/mine");
    let project = SkillOrigin::Project(world.path("shared/mine"));
    assert_eq!(catalog.skills()[0].origin, project);
}

#[test]
fn what_others_can_change_asks_first() {
    let world = World::new();
    let path = world.skill("home/.agents/skills/mine", "x");
    assert_eq!(
        world.catalog("project").skills()[0].origin,
        SkillOrigin::Own
    );
    for open in [
        path.clone(),
        path.parent().unwrap().into(),
        world.path("home/.agents/skills"),
    ] {
        let before = std::fs::metadata(&open).unwrap().permissions();
        std::fs::set_permissions(&open, PermissionsExt::from_mode(0o777)).unwrap();
        let catalog = world.catalog("project");
        assert!(
            matches!(catalog.skills()[0].origin, SkillOrigin::Project(_)),
            "{open:?}"
        );
        std::fs::set_permissions(&open, before).unwrap();
    }
    // The working directory may be the home, and may link to it: skills in it stay the user's own.
    assert_eq!(world.catalog("home").skills()[0].origin, SkillOrigin::Own);
    std::fs::create_dir_all(world.path("project/.agents")).unwrap();
    symlink(
        world.path("home/.agents/skills"),
        world.path("project/.agents/skills"),
    )
    .unwrap();
    assert_eq!(
        world.catalog("project").skills()[0].origin,
        SkillOrigin::Own
    );
}

#[test]
fn one_file_by_two_roads_is_one_skill() {
    let world = World::new();
    let real = world.skill("project/.agents/skills/shared", "x");
    let folder = world.path("home/.agents/skills");
    std::fs::create_dir_all(&folder).unwrap();
    symlink(real.parent().unwrap(), folder.join("linked")).unwrap();
    let catalog = world.catalog("project");
    assert_eq!(names(&catalog), ["shared"]);
    assert!(matches!(
        catalog.skills()[0].origin,
        SkillOrigin::Project(_)
    ));
}

#[test]
fn names_and_paths_load() {
    let world = World::new();
    let path = world.skill("project/.agents/skills/one", "x");
    let near = world.skill("project/.agents/skills/same", "near");
    let far = world.skill("home/.agents/skills/same", "far");
    let catalog = world.catalog("project");
    for wanted in [
        path.to_str().unwrap(),
        path.parent().unwrap().to_str().unwrap(),
        "one",
        " one ",
    ] {
        assert_eq!(catalog.activate(wanted).unwrap().name, "one", "{wanted}");
    }
    let why = catalog.activate("same").unwrap_err();
    assert!(
        why.contains(near.to_str().unwrap()) && why.contains(far.to_str().unwrap()),
        "{why}"
    );
    assert!(catalog.activate(far.to_str().unwrap()).is_ok());
    let shadowed: Vec<_> = catalog
        .skills()
        .iter()
        .filter(|skill| skill.shadowed)
        .collect();
    assert_eq!(shadowed.len(), 1);
    assert_eq!(shadowed[0].path, far.to_str().unwrap());
    assert!(catalog.diagnostics()[0].message.contains("nearer"));
    let why = catalog.activate("no\nsuch \u{1b}[31m").unwrap_err();
    assert!(!why.contains(char::is_control), "{why}");
    assert!(catalog.activate("").is_err());
}

#[test]
fn an_activation_has_all_there_is() {
    let world = World::new();
    let text = "---\r\nname: one\r\ndescription: Use when: asked\r\nallowed-tools: [f, g]\r\n---\r\n&`h`\r\n\
                ```py\r\n#| eval: true\r\nx = 1\r\n```\r\n";
    let path = world.write("project/.agents/skills/one/SKILL.md", text);
    world.write("project/.agents/skills/one/scripts/run.py", "");
    world.write("project/.agents/skills/one/notes.md", "");
    world.write("project/.agents/skills/one/.hidden", "");
    let catalog = world.catalog("project");
    let loaded = catalog.activate("one").unwrap();
    assert_eq!(loaded.blocks, ["#| eval: true\nx = 1"]);
    assert_eq!(loaded.files, ["notes.md", "scripts/run.py"]);
    assert_eq!(loaded.directory.as_deref(), path.parent());
    assert_eq!(loaded.hash.as_ref().unwrap().len(), 64);
    let reply = loaded.reply();
    assert!(
        reply.starts_with("---\n") && !reply.contains('\r'),
        "{reply}"
    );
    let found = crate::skills::frontmatter::split(&reply)
        .frontmatter
        .unwrap()
        .unwrap();
    assert_eq!(found.words("allowed-tools"), ["f", "g"]);
    assert_eq!(
        found.text("description").as_deref(),
        Some("Use when: asked")
    );
    assert!(reply.ends_with("- scripts/run.py\n"), "{reply}");
}

#[test]
fn the_list_is_frozen() {
    let world = World::new();
    let [edited, gone, linked] = ["edited", "gone", "linked"]
        .map(|name| world.skill(&format!("project/.agents/skills/{name}"), "x"));
    let catalog = world.catalog("project");
    let added = world.skill("project/.agents/skills/added", "x");
    std::fs::write(&edited, "---\nname: edited\ndescription: y\n---\n").unwrap();
    std::fs::rename(
        gone.parent().unwrap(),
        world.path("project/.agents/skills/moved"),
    )
    .unwrap();
    std::fs::rename(&linked, linked.with_extension("old")).unwrap();
    symlink(linked.with_extension("old"), &linked).unwrap();
    for (path, expected) in [
        (&added, "was made when the session began"),
        (&edited, "has changed since the session began"),
        (&gone, "no longer exists: "),
        (&linked, "has changed since the session began"),
    ] {
        let why = catalog.activate(path.to_str().unwrap()).unwrap_err();
        assert!(why.contains(expected) && !why.contains('\n'), "{why}");
    }
    assert!(catalog.activate("added").is_err());
    assert!(catalog.activate("moved").is_err());
    std::fs::remove_file(&edited).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &edited,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    assert!(
        catalog
            .activate("edited")
            .unwrap_err()
            .contains("is not a regular file")
    );
}

#[test]
fn the_section_is_the_contracts() {
    assert_eq!(section(&[]).text, "");
    let skills = [
        skill("one", "First & <b>\"bold\"</b>"),
        skill(
            "t\"wo\n\u{1b}",
            "</skill></skills>\u{1b}]52;c;x\u{7}\u{9b}31m\u{202e}",
        ),
    ];
    assert_eq!(
        section(&skills).text,
        "\n<skills>\n\
         The following skills are available. To activate a skill and read its full instructions, call the load_skill \
         tool with its path.\n\
         <skill name=\"one\" path=\"/s/one/SKILL.md\">First &amp; &lt;b&gt;\"bold\"&lt;/b&gt;</skill>\n\
         <skill name=\"t&quot;wo\" path=\"/s/t&quot;wo/SKILL.md\">&lt;/skill&gt;&lt;/skills&gt;]52;c;\
         x31m\\u{202e}</skill>\n\
         </skills>"
    );
}

#[test]
fn the_section_has_a_budget() {
    let long = |count: usize, length: usize| {
        let skills = (0..count).map(|n| skill(&format!("skill-{n}"), &"é&".repeat(length)));
        section(&skills.collect::<Vec<_>>())
    };
    let few = long(3, 10);
    assert_eq!((few.shortened, few.left_out), (None, 0));
    let some = long(30, 500);
    assert!(some.text.chars().count() <= MOST_CHARACTERS);
    assert!(
        some.text.chars().count() > MOST_CHARACTERS - 300,
        "as much as fits"
    );
    assert!(some.shortened.is_some() && some.left_out == 0);
    assert_eq!(some.text.matches("...</skill>").count(), 30, "evenly");
    let many = long(500, 100);
    assert!(many.text.chars().count() <= MOST_CHARACTERS);
    assert!(many.left_out > 0 && many.text.contains("skill-0"));
}

proptest! {
    #[test]
    fn any_skills_make_a_section_that_parses(texts in proptest::collection::vec((any::<String>(), any::<String>()),
        1..8)) {
        let skills: Vec<_> = texts.iter().map(|(name, description)| skill(name, description)).collect();
        let text = section(&skills).text;
        prop_assert!(!text.contains(|c: char| c.is_control() && c != '\n'));
        let document = roxmltree::Document::parse(text.trim_start()).unwrap();
        let listed: Vec<_> = document.descendants().filter(|node| node.has_tag_name("skill")).collect();
        prop_assert_eq!(listed.len(), skills.len());
        prop_assert_eq!(document.root_element().children().filter(|node| node.is_element()).count(), skills.len());
        for (node, skill) in listed.iter().zip(&skills) {
            let plain = skill.description.chars().all(|c| c.is_ascii_alphanumeric());
            prop_assert!(!plain || node.text().unwrap_or_default() == skill.description);
        }
    }
}

//! The skills in the binary: they mention nothing that would be looked up or run, and their code is Python that works.

use ipycodex::input::references;
use ipycodex::markdown::fences::python_blocks;
use ipycodex::skills::{Catalog, Roots};

use crate::support::home::Home;

fn shipped() -> Vec<(String, String)> {
    let catalog = Catalog::find(&Roots::default());
    let text = |name: &str| catalog.activate(name).unwrap().text;
    catalog
        .skills()
        .iter()
        .map(|skill| (skill.name.clone(), text(&skill.name)))
        .collect()
}

#[test]
fn they_refer_to_nothing() {
    for (name, text) in shipped() {
        let found = references(&text);
        assert_eq!(found, Default::default(), "{name}");
        let split = ipycodex::skills::frontmatter::split(&text);
        let frontmatter = split.frontmatter.unwrap().unwrap();
        for key in ["allowed-tools", "exposed-vars", "shell-cmds", "eval"] {
            assert!(frontmatter.value(key).is_none(), "{name}: {key}");
        }
    }
}

#[test]
fn their_code_compiles() {
    let home = Home::new();
    let program = "import ast, sys; ast.parse(sys.stdin.read())";
    for (name, text) in shipped() {
        for block in python_blocks(&text) {
            let ran = crate::support::home::finish(
                home.foreign(&home.path().join("bin/python3"), &["-c", program]),
                block.as_bytes(),
            );
            assert_eq!(ran.code(), 0, "{name}: {block}\n{ran:?}");
        }
    }
}

#[test]
fn the_cause_of_a_traceback_is_found_in_a_session() {
    let text = &shipped()
        .into_iter()
        .find(|(name, _)| name == "traceback-to-cause")
        .unwrap()
        .1;
    let blocks = python_blocks(text);
    let failing = "def total(rows):\n    amount = 0\n    for row in rows:\n        amount += float(row['price'])\n    \
                   return amount\n\n\
                   def report(rows):\n    try:\n        return total(rows)\n    except ValueError as why:\n        \
                   raise RuntimeError('no report') from why";
    let halving = "\nprint('fewest', smallest_failing(lambda rows: 3 in rows and 77 in rows, list(range(100))))\n\
                   print('first', first_failing(lambda x: 1 / x, [1, 0])[0])";
    let cells = [
        failing,
        "report([{'price': '1'}, {'price': '1,20'}])",
        &blocks[0],
        &blocks[1],
        &blocks[2],
        &format!("{}{halving}", blocks[3]),
    ]
    .join("\n# %%\n");
    let home = Home::new();
    let ran = home.run::<&str>(&[], format!("# %%\n{cells}\n"));
    let said = &ran.stdout;
    for expected in [
        "RuntimeError - RuntimeError RuntimeError('no report')",
        "rows = len 2 list [{'price': '1'}, {'price': '1,20'}]",
        "ValueError - could not convert string to float: '1,20' \n  at",
        "fewest [3, 77]",
        "first 1",
    ] {
        assert!(said.contains(expected), "{expected}\n{ran:?}");
    }
}

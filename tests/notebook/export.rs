//! `export`: each form, from the shell and from the command line; a script comes back.

use super::reference::{figure, homes, is_valid};
use crate::support::home::Home;

#[test]
fn a_session_is_exported_in_every_form() {
    for home in homes() {
        let stdin = format!(
            "print('<b>out</b>')\n.hello\n{}\n1 + 1\n%ipycodex export a.md\n%ipycodex export a.html\n\
             %ipycodex export a.py\n\
             %ipycodex export a.txt\n",
            figure()
        );
        let ran = home.demo(&[], &stdin);
        assert!(
            ran.stdout
                .contains("Exported 3 code cells and 1 prompt to a.py.\n"),
            "{ran:?}"
        );
        assert!(ran.stderr.contains("not `a.txt`"), "{ran:?}");
        let read = |name: &str| std::fs::read_to_string(home.work().join(name)).unwrap();
        let markdown = read("a.md");
        for part in [
            "```text\n<b>out</b>\n```",
            "\n> hello\n",
            "](data:image/png;base64,iVBORw0",
        ] {
            assert!(markdown.contains(part), "{markdown}");
        }
        let page = read("a.html");
        for part in [
            "&lt;b&gt;out&lt;/b&gt;",
            "<div class=\"prompt\">hello</div>",
            "src=\"data:image/png;base64,iVBORw0",
        ] {
            assert!(page.contains(part), "{page}");
        }
        assert!(
            !page.contains("<script") && !page.contains("http://") && !page.contains("https://")
        );
        for name in ["b.ipynb", "b.md", "b.html", "b.py"] {
            let ran = home.run(&["export", "1", "-o", name], "");
            assert_eq!((ran.code(), ran.stderr.as_str()), (0, ""), "{ran:?}");
        }
        is_valid(&home, &home.work().join("b.ipynb"));
        assert_eq!(read("a.md"), read("b.md"));
        let ran = home.run(&["sessions", "--all"], "");
        assert_eq!(
            ran.stdout.lines().count(),
            2,
            "exporting is no session: {ran:?}"
        );
    }
}

#[test]
fn an_exported_script_is_loaded_again() {
    let home = Home::new();
    home.write(
        "in.py",
        "# %%\nx = '''\\\n# %%% not a cell\n'''\n# %%\n.hello\n# %%\nprint(len(x))\n",
    );
    assert_eq!(home.demo(&["run", "in.py"], "").code(), 0);
    let ran = home.run(&["export", "1", "-o", "a.py"], "");
    assert_eq!(
        ran.stdout, "Exported 2 code cells and 1 prompt to a.py.\n",
        "{ran:?}"
    );
    for arguments in [
        ["a.py", "-c", "print('x is', len(x))"],
        ["run", "a.py", "--no-ipython"],
    ] {
        let ran = home.demo(&arguments, "");
        assert!(ran.stdout.starts_with("16\n"), "{ran:?}");
        assert_eq!(ran.code(), 0, "{ran:?}");
    }
}

#[test]
fn what_cannot_be_exported_is_said() {
    let home = Home::new();
    home.write("mine.md", "# mine\n");
    home.demo(&[], "a = 1\n");
    for (arguments, code, said) in [
        (
            ["export", "99", "-o", "a.md"],
            1,
            "error: Session 99 not found\n",
        ),
        (
            ["export", "1", "-o", "a.doc"],
            2,
            "error: cannot tell the format from the name `a.doc`\n",
        ),
        (
            ["export", "1", "-o", "mine.md"],
            1,
            "already exists and is not an export\n",
        ),
        (["export", "1", "-o", "no/a.md"], 1, "no/a.md"),
    ] {
        let ran = home.run(&arguments, "");
        assert_eq!((ran.code(), ran.stdout.as_str()), (code, ""), "{ran:?}");
        assert!(ran.stderr.contains(said), "{ran:?}");
    }
    let ran = home.run(&["export", "1", "--force", "-o", "mine.md"], "");
    assert_eq!(ran.code(), 0, "{ran:?}");
}

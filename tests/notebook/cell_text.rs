//! `notebook`: files of anybody shown, changed and compared; what is said of what is no notebook.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use super::reference::{ask_python, notebook, runs};
use crate::support::home::{Home, Ran};

const NOTEBOOK: &str = r#"{
 "cells": [
  {
   "cell_type": "code",
   "execution_count": 1,
   "id": "a",
   "metadata": {"mine": 1e2},
   "outputs": [
    {"name": "stderr", "output_type": "stream", "text": ["red\n"]},
    {"data": {"image/png": "iVBORw0KGgo=", "text/plain": ["<Figure>"]}, "metadata": {}, "output_type": "display_data"}
   ],
   "source": ["x = 1\n", "x"]
  },
  {"cell_type": "markdown", "id": "b", "metadata": {}, "source": ["Text"]}
 ],
 "metadata": {"language_info": {"name": "python"}},
 "nbformat": 4,
 "nbformat_minor": 5
}"#;

fn home() -> Home {
    let home = Home::new();
    std::fs::write(home.work().join("a.ipynb"), NOTEBOOK).unwrap();
    home
}

fn asked(home: &Home, arguments: &[&str], stdin: &str) -> Ran {
    home.run(&[&["notebook"], arguments].concat(), stdin)
}

#[track_caller]
fn done(home: &Home, arguments: &[&str], stdin: &str) -> String {
    let ran = asked(home, arguments, stdin);
    assert_eq!(ran.code(), 0, "{ran:?}");
    ran.stdout
}

fn read(home: &Home) -> String {
    std::fs::read_to_string(home.work().join("a.ipynb")).unwrap()
}

#[test]
fn a_large_notebook_is_shown_like_a_small_one() {
    let home = home();
    let small = done(&home, &["show", "a.ipynb"], "");
    let outputs = done(&home, &["show", "a.ipynb", "--outputs"], "");
    let large = NOTEBOOK.replace("iVBORw0KGgo=", &"iVBO".repeat(3 << 20));
    let path = home.work().join("a.ipynb");
    std::fs::write(&path, &large).unwrap();
    assert_eq!(done(&home, &["show", "a.ipynb"], ""), small);
    assert_eq!(done(&home, &["show", "a.ipynb", "--outputs"], ""), outputs);
    // What is wrong in it is said, with its place, also where nobody wants to see it.
    std::fs::write(&path, large.replacen("iVBO", "\\VBO", 1)).unwrap();
    let ran = asked(&home, &["show", "a.ipynb"], "");
    assert_eq!(ran.code(), 1, "{ran:?}");
    assert!(
        ran.stderr.contains("line 10, column 29: a broken escape"),
        "{ran:?}"
    );
}

#[test]
fn a_notebook_is_shown_and_written_back() {
    let home = home();
    let text = done(&home, &["show", "a.ipynb"], "");
    assert_eq!(
        text,
        "# %% [code] cell:0\nx = 1\nx\n# %% [markdown] cell:1\nText\n"
    );
    assert_eq!(
        done(&home, &["apply", "a.ipynb"], &text),
        "a.ipynb is unchanged.\n"
    );
    assert_eq!(read(&home), NOTEBOOK);
    let edited = text.replace("x = 1", "x = 2") + "# %% [code]\nprint(x)\n";
    assert_eq!(
        done(&home, &["apply", "a.ipynb"], &edited),
        "Applied to a.ipynb: 3 cells (1 changed, 1 new, 0 removed).\n"
    );
    let now = read(&home);
    let expected = NOTEBOOK.replace("x = 1", "x = 2");
    let (before, after) = expected.split_at(expected.find("\"Text\"]}").unwrap() + 8);
    assert!(now.starts_with(before) && now.ends_with(after), "{now}");
    ask_python(
        &home,
        &home.work().join("a.ipynb"),
        "import sys, nbformat\nnbformat.validate(nbformat.read(sys.argv[1], as_version=4))\nprint('fine')",
    );
    runs(&home, &home.work().join("a.ipynb"));
    assert_eq!(done(&home, &["show", "a.ipynb:raw"], ""), now);
    assert_eq!(
        done(&home, &["show", "a.ipynb", "--lines", "2,4-5"], ""),
        "x = 2\n# %% [markdown] cell:1\nText\n"
    );
    assert_eq!(
        done(&home, &["show", "a.ipynb", "--cell", "1"], ""),
        "# %% [markdown] cell:1\nText\n"
    );
    assert_eq!(
        done(
            &home,
            &[
                "show",
                "a.ipynb",
                "--cell",
                "0",
                "--outputs",
                "--images",
                "out"
            ],
            ""
        ),
        "# %% [code] cell:0\nx = 2\nx\n# %% [output] cell:0\nred\n[image/png cell-0-output-2.png]\n"
    );
    let picture = std::fs::read(home.work().join("out/cell-0-output-2.png")).unwrap();
    assert_eq!(picture, b"\x89PNG\r\n\x1a\n");
    let json: Value = serde_json::from_str(&done(
        &home,
        &["show", "a.ipynb", "--json", "--cell", "0"],
        "",
    ))
    .unwrap();
    assert_eq!(json["cells"][0]["source"], "x = 2\nx");
    assert_eq!(json["cells"][0]["images"][0]["name"], "cell-0-output-2.png");
    assert_eq!(
        (&json["nbformat_minor"], &json["language"]),
        (&json!(5), &json!("python"))
    );
}

#[test]
fn attachments_and_lines_of_the_file_are_had_and_what_is_no_cell_is_spared() {
    let home = Home::new();
    let book = "{\"cells\": [\n7,\n{\"cell_type\": \"markdown\", \"source\": \"![](attachment:a.png)\",\n\
                \"attachments\": {\"a.png\": {\"image/png\": \"iVBORw0KGgo=\"}}}], \"nbformat\": 4}";
    let path = home.write("b.ipynb", book);
    let refused = asked(
        &home,
        &["edit", "b.ipynb", "--cell", "0", "--content", "x"],
        "",
    );
    assert!(
        refused.stderr.contains("cell 0 is not a JSON object"),
        "{refused:?}"
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), book);
    done(&home, &["delete", "b.ipynb", "--cell", "0"], "");
    done(&home, &["show", "b.ipynb", "--images", "out"], "");
    let picture = std::fs::read(home.work().join("out/cell-0-a.png")).unwrap();
    assert_eq!(picture, b"\x89PNG\r\n\x1a\n");
    let raw = done(&home, &["show", "b.ipynb:raw", "--lines", "1"], "");
    assert_eq!(raw, "{\"cells\": [\n");
}

#[test]
fn single_cells_are_changed() {
    let home = home();
    assert_eq!(
        done(
            &home,
            &[
                "insert",
                "a.ipynb",
                "--cell",
                "1",
                "--type",
                "raw",
                "--content",
                "-"
            ],
            "r\n"
        ),
        "Inserted raw cell 1 into a.ipynb: 3 cells.\n"
    );
    assert_eq!(
        done(&home, &["move", "a.ipynb", "--cell", "1", "--to", "2"], ""),
        "Moved raw cell to 2 in a.ipynb: 3 cells.\n"
    );
    assert_eq!(
        done(&home, &["delete", "a.ipynb", "--cell", "2"], ""),
        "Deleted raw cell 2 from a.ipynb: 2 cells.\nr\n"
    );
    assert_eq!(read(&home), NOTEBOOK);
    let ran = asked(
        &home,
        &["edit", "a.ipynb", "--cell", "0", "--content", "y", "--json"],
        "",
    );
    let details: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        details,
        json!({"action": "edit", "cellIndex": 0, "cellType": "code", "totalCells": 2, "cellSource": "y"})
    );
    assert!(
        ran.stderr.contains("`--clear-outputs` removes them"),
        "{ran:?}"
    );
    assert_eq!(
        read(&home),
        NOTEBOOK.replace(r#"["x = 1\n", "x"]"#, r#"["y"]"#)
    );
    done(
        &home,
        &["edit", "a.ipynb", "--cell", "0", "--clear-outputs"],
        "",
    );
    let now = notebook(&home.work().join("a.ipynb"));
    assert_eq!(
        (
            &now["cells"][0]["outputs"],
            &now["cells"][0]["execution_count"]
        ),
        (&json!([]), &Value::Null)
    );
    assert_eq!(
        done(&home, &["insert", "new.ipynb", "--content", "1"], ""),
        "Inserted code cell 0 into new.ipynb: 1 cell.\n"
    );
    let script = "import sys, json, nbformat\ntext = open(sys.argv[1]).read()\n\
        book = nbformat.reads(text, as_version=nbformat.NO_CONVERT)\n\
        nbformat.validate(json.loads(text), relax_add_props=False)\n\
        assert nbformat.writes(book) + '\\n' == text\nprint('fine')";
    ask_python(&home, &home.work().join("new.ipynb"), script);
}

#[test]
fn notebooks_are_compared() {
    let home = home();
    let other = NOTEBOOK.replace("\"Text\"", "\"Other\"");
    std::fs::write(home.work().join("b.ipynb"), other).unwrap();
    let ran = asked(&home, &["diff", "a.ipynb", "b.ipynb"], "");
    assert_eq!(
        ran.stdout,
        "--- a.ipynb\n+++ b.ipynb\n@@ -2,4 +2,4 @@\n x = 1\n x\n # %% [markdown] cell:1\n-Text\n+Other\n"
    );
    assert_eq!(ran.code(), 1);
    assert_eq!(asked(&home, &["diff", "a.ipynb", "a.ipynb"], "").code(), 0);
    std::fs::write(home.work().join("b.ipynb"), NOTEBOOK.replace("red", "blue")).unwrap();
    let ran = asked(&home, &["diff", "a.ipynb", "b.ipynb"], "");
    assert!(
        ran.code() == 0
            && ran
                .stderr
                .contains("they differ in outputs, metadata or formatting"),
        "{ran:?}"
    );
    assert_eq!(
        asked(&home, &["diff", "--outputs", "a.ipynb", "b.ipynb"], "").code(),
        1
    );
}

#[test]
fn what_is_wrong_is_said_and_nothing_is_written() {
    let home = home();
    let file = |name: &str, text: &str| std::fs::write(home.work().join(name), text).unwrap();
    file("bad.ipynb", "{\n \"cells\": [,");
    file("shape.ipynb", "{\"cells\": {}}");
    file(
        "broken.ipynb",
        "{\"cells\": [{\"cell_type\": \"code\"}], \"nbformat\": 4}",
    );
    file(
        "old.ipynb",
        "{\"nbformat\": 3, \"worksheets\": [{\"cells\": [{\"cell_type\": \"code\", \"input\": \"1\"}]}]}",
    );
    let check = |arguments: &[&str], stdin: &str, code: i32, said: &str| {
        let ran = asked(&home, arguments, stdin);
        assert_eq!(ran.code(), code, "{ran:?}");
        assert!(ran.stderr.contains(said), "{said:?} in {ran:?}");
    };
    check(
        &["show", "no.ipynb"],
        "",
        1,
        "error: Notebook not found: no.ipynb",
    );
    check(
        &["edit", "no.ipynb", "--cell", "0", "--content", "x"],
        "",
        1,
        "Notebook not found: no.ipynb",
    );
    check(
        &["show", "bad.ipynb"],
        "",
        1,
        "Invalid JSON in notebook: `bad.ipynb`, line 2, column 12: expected value",
    );
    check(
        &["apply", "shape.ipynb"],
        "",
        1,
        "Invalid notebook structure (missing cells array): `shape.ipynb`",
    );
    check(&["show", "broken.ipynb"], "", 1, "cell 0 has no `source`");
    check(
        &["insert", "a.ipynb", "--cell", "9", "--content", "x"],
        "",
        1,
        "Cell index 9 out of range for insert (0-2)",
    );
    check(
        &["delete", "a.ipynb", "--cell", "2"],
        "",
        1,
        "Cell index 2 out of range (0-1)",
    );
    check(
        &["edit", "a.ipynb", "--cell", "0"],
        "",
        2,
        "Content is required for edit action",
    );
    check(
        &["apply", "a.ipynb"],
        "\n# %% [code]\n",
        1,
        "`# %% [code]`, `# %% [markdown]` or `# %% [raw]`",
    );
    check(
        &["show", "a.ipynb", "--lines", "7-"],
        "",
        1,
        "line 7 is past the end: the text has 5 lines",
    );
    check(
        &["show", "a.ipynb", "--lines", "x"],
        "",
        2,
        "`x` is not a range of lines",
    );
    assert_eq!(
        done(&home, &["show", "old.ipynb"], ""),
        "# %% [code] cell:0\n1\n"
    );
    check(
        &["delete", "old.ipynb", "--cell", "0"],
        "",
        1,
        "is a notebook of format 3, which is shown but not changed",
    );
    assert_eq!(read(&home), NOTEBOOK);
    let large = std::fs::File::create(home.work().join("large.ipynb")).unwrap();
    large.set_len((256 << 20) + 1).unwrap();
    check(
        &["show", "large.ipynb"],
        "",
        1,
        "`large.ipynb` is larger than 256 MiB",
    );
}

#[test]
fn links_and_modes_stay() {
    let home = home();
    let (real, link) = (home.work().join("a.ipynb"), home.work().join("link.ipynb"));
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("a.ipynb", &link).unwrap();
    done(
        &home,
        &["edit", "link.ipynb", "--cell", "1", "--content", "T"],
        "",
    );
    assert!(link.is_symlink());
    assert_eq!(
        std::fs::metadata(&real).unwrap().permissions().mode() & 0o777,
        0o640
    );
    assert_eq!(read(&home), NOTEBOOK.replace("Text", "T"));
    let names = std::fs::read_dir(home.work()).unwrap().count();
    assert_eq!(names, 2, "no other file is left");
    assert!(
        !Path::new(&home.history()).exists(),
        "no session is recorded"
    );
}

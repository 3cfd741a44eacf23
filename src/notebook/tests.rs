//! Sessions written and read back; foreign notebooks; refusals and their messages.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::input::{is_ipycodex_input as is_command, note_value};
use crate::output::{CellError, CellOutput, MimeBundle, STDOUT};
use crate::properties;

fn printed(text: &str) -> CellOutput {
    CellOutput::Stream {
        name: STDOUT.into(),
        text: text.into(),
    }
}

fn cell(line: u32, source: &str, outputs: Vec<CellOutput>) -> SavedCell {
    SavedCell {
        line,
        source: source.into(),
        outputs,
        ..SavedCell::default()
    }
}

fn prompt(line: u32, history_line: u32, prompt: &str, response: &str) -> SavedPrompt {
    SavedPrompt {
        line,
        history_line,
        prompt: prompt.into(),
        response: response.into(),
        ..SavedPrompt::default()
    }
}

fn picture() -> MimeBundle {
    let png = "iVBORw0KGgo=";
    MimeBundle::new(vec![
        ("text/plain".into(), json!("<Figure>")),
        ("image/png".into(), json!(png)),
        ("application/vnd.x+json".into(), json!({"a": [1]})),
    ])
    .with_metadata(
        json!({"image/png": {"width": 400}})
            .as_object()
            .cloned()
            .unwrap(),
    )
}

fn session() -> SavedSession {
    let error = CellError {
        name: "ValueError".into(),
        value: "bad <b>".into(),
        traceback: vec!["Traceback".into(), "ValueError: bad <b>".into()],
        leaves: None,
    };
    SavedSession::new(
        vec![
            cell(1, "import math", vec![]),
            cell(3, "'''why\nnot'''", vec![]),
            cell(
                5,
                "print('a')\n1",
                vec![printed("a\n"), CellOutput::Result(MimeBundle::plain("1"))],
            ),
            cell(6, "plot()", vec![CellOutput::Display(picture())]),
            cell(
                7,
                "# %% not a mark\nraise 1",
                vec![CellOutput::Error(error)],
            ),
        ],
        vec![
            prompt(2, 1, "hi", "**yes**\n\n<script>alert(1)</script>"),
            prompt(4, 3, "more\nlines", "```python\nx = '<'\n```"),
        ],
    )
}

/// The session without the parts that reading leaves out.
fn to_run(session: &SavedSession) -> SavedSession {
    let entries = session.entries().iter().cloned().map(|entry| match entry {
        SavedEntry::Code(cell) => SavedEntry::Code(SavedCell {
            outputs: vec![],
            failed: false,
            ..cell
        }),
        SavedEntry::Prompt(prompt) => SavedEntry::Prompt(SavedPrompt {
            line: prompt.history_line + 1,
            ..prompt
        }),
    });
    SavedSession::from_entries(entries.collect())
}

fn read(text: &str) -> SavedSession {
    read_session(&Document::parse(text.to_owned()).unwrap())
}

#[test]
fn the_form_is_the_contracts() {
    let text = write_session(&session());
    let value: Value = serde_json::from_str(&text).unwrap();
    assert!(text.ends_with("}\n") && text.starts_with("{\n \"cells\": [\n  {\n   \"cell_type\""));
    assert_eq!(
        (
            &value["metadata"],
            &value["nbformat"],
            &value["nbformat_minor"]
        ),
        (&json!({"ipycodex_version": 1}), &json!(4), &json!(5))
    );
    let cells = value["cells"].as_array().unwrap();
    let shape: Vec<_> = cells
        .iter()
        .map(|cell| {
            (
                cell["cell_type"].as_str().unwrap(),
                &cell["metadata"]["ipycodex"],
            )
        })
        .collect();
    assert_eq!(
        shape,
        [
            ("code", &json!({"kind": "code", "line": 1})),
            (
                "markdown",
                &json!({"kind": "prompt", "line": 2, "history_line": 1, "prompt": "hi"})
            ),
            (
                "markdown",
                &json!({"kind": "code", "line": 3, "source": "'''why\nnot'''"})
            ),
            (
                "markdown",
                &json!({"kind": "prompt", "line": 4, "history_line": 3, "prompt": "more\nlines"})
            ),
            ("code", &json!({"kind": "code", "line": 5})),
            ("code", &json!({"kind": "code", "line": 6})),
            ("code", &json!({"kind": "code", "line": 7})),
        ]
    );
    assert_eq!(cells[2]["source"], json!(["why\n", "not"]));
    assert_eq!(
        cells[4]["outputs"],
        json!([
            {"name": "stdout", "output_type": "stream", "text": ["a\n"]},
            {"data": {"text/plain": ["1"]}, "execution_count": 5, "metadata": {},
             "output_type": "execute_result"},
        ])
    );
    assert_eq!(
        cells[5]["outputs"][0]["metadata"],
        json!({"image/png": {"width": 400}})
    );
    assert_eq!(
        cells[6]["outputs"][0]["traceback"],
        json!(["Traceback", "ValueError: bad <b>"])
    );
    let ids: Vec<&str> = cells
        .iter()
        .map(|cell| cell["id"].as_str().unwrap())
        .collect();
    for id in &ids {
        assert!(id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit()));
    }
    let again = write_session(&session());
    assert_eq!(again, text, "ids stay from one saving to the next");
}

#[test]
fn a_session_is_read_back() {
    let text = write_session(&session());
    assert_eq!(read(&text), to_run(&session()));
    assert_eq!(read(&text).summary(), "5 code cells and 2 prompts");
}

#[test]
fn text_edited_in_another_program_counts() {
    let mut value: Value = serde_json::from_str(&write_session(&session())).unwrap();
    value["cells"][0]["source"] = json!("import cmath");
    value["cells"][2]["source"] = json!("because");
    let added = json!({"cell_type": "code", "metadata": {}, "outputs": [], "source": "x"});
    value["cells"].as_array_mut().unwrap().push(added);
    let read = read(&value.to_string());
    let sources: Vec<&str> = read.cells().map(|cell| cell.source.as_str()).collect();
    assert_eq!(sources[..2], ["import cmath", "\"\"\"because\"\"\""]);
    assert_eq!(
        sources.len(),
        5,
        "a cell of another program is no part of ours"
    );
}

#[test]
fn strangers_notebooks_are_code_and_notes() {
    let text = r##"{"cells": [{"cell_type": "markdown", "source": ["# T\n", "say \"x\""]},
        {"cell_type": "code", "source": ["a = 1\n", "a"], "outputs": [{}]}, {"cell_type": "code", "source": " "},
        {"cell_type": "raw", "source": "r"}, {"source": "?"}, 7, {"cell_type": "code", "source": "b"}],
        "metadata": {"language_info": {"name": "python"}}}"##;
    let notebook = Document::parse(text.to_owned()).unwrap();
    assert!(!is_ours(&notebook));
    assert_eq!(notebook.language().as_deref(), Some("python"));
    let sources: Vec<String> = read_session(&notebook)
        .cells()
        .map(|cell| cell.source.clone())
        .collect();
    assert_eq!(sources, ["\"\"\"# T\nsay \"x\\\"\"\"\"", "a = 1\na", "b"]);
}

#[test]
fn the_old_snapshot_is_read() {
    let text = r#"{"version": 1, "events": [
        {"kind": "prompt", "line": 2, "history_line": 1, "prompt": "hi", "response": "yes"},
        {"kind": "code", "line": 3, "source": "x = 1"}, {"kind": "code", "line": 1, "source": "import math"},
        {"kind": "other"}, 4]}"#;
    let expected = SavedSession::new(
        vec![cell(1, "import math", vec![]), cell(3, "x = 1", vec![])],
        vec![prompt(2, 1, "hi", "yes")],
    );
    assert_eq!(read_events(text).unwrap(), expected);
    assert!(read_events("{}").is_err());
}

#[test]
fn what_is_no_notebook_is_refused_with_its_place() {
    let check = |text: &str, expected: &str| {
        assert_eq!(
            Document::parse(text.to_owned()).unwrap_err().to_string(),
            expected
        );
    };
    check(
        "{\"cells\": [\n  {]}",
        "is not valid JSON: line 2, column 4: key must be a string",
    );
    check("[]", "is not a notebook: it holds no object");
    check("{}", "is not a notebook: it has no list of cells");
    let deep = format!("{{\"cells\": {}", "[".repeat(100_000));
    let error = Document::parse(deep).unwrap_err().to_string();
    assert!(error.contains("it ends too early"), "{error}");
}

fn texts_of(script: &str) -> Vec<String> {
    let cells = read_script(script).into_iter();
    cells.map(|cell| cell.source).collect()
}

#[test]
fn cells_know_their_lines() {
    let check = |text: &str, expected: &[u32]| {
        let lines: Vec<u32> = read_script(text).iter().map(|cell| cell.line).collect();
        assert_eq!(lines, expected, "{text:?}");
    };
    check("a = 1\n", &[1]);
    check("\n\n  a = 1\n", &[3]);
    check(
        "import x\n# %%\ny\n\n# %% [markdown]\n# z\n# %%\n\nz\n",
        &[1, 3, 9],
    );
}

#[test]
fn broken_cells_are_named() {
    let text = r##"{"cells": [
        {"cell_type": "code", "source": "a"}, 7, {"source": "b"}, {"cell_type": "sql", "source": ""},
        {"cell_type": "code"}, {"cell_type": "code", "source": ["c", 1]}, {"cell_type": "raw", "source": "r"},
        {"cell_type": "markdown", "source": "m", "metadata": {"ipycodex": {"kind": "prompt"}}}]}"##;
    assert_eq!(
        broken_cells(&Document::parse(text.to_owned()).unwrap()),
        [
            "cell 2 of 8 is not a JSON object",
            "cell 3 of 8 has no `cell_type`",
            "cell 4 of 8 has the unknown `cell_type` \"sql\"",
            "cell 5 of 8 has no `source`",
            "cell 6 of 8 has a `source` that is neither text nor a list of lines",
            "cell 8 of 8 has `metadata.ipycodex` that is not understood",
        ]
    );
}

#[test]
fn scripts() {
    let check = |text: &str, expected: &[&str]| assert_eq!(texts_of(text), expected, "{text:?}");
    check("a = 1\n\nb = 2\n", &["a = 1\n\nb = 2"]);
    check("\n  \n", &[]);
    check("# %%\na\n\n# %% title\n\nb\n", &["a", "b"]);
    check("import x\n#%%\ny", &["import x", "y"]);
    check("# %% [markdown]\n# prose\n\n# %%\nz", &["z"]);
    check("# about it\n\n# %%\nz", &["z"]);
    check("# about it\n", &["# about it"]);
    check("# %% [markdown]\n'''prose'''\n", &["'''prose'''"]);
    check("# %%\n# %%% deeper\n1", &["# %% deeper\n1"]);
    check("# %%% no mark at all\n1", &["# %%% no mark at all\n1"]);
    let script = to_script(&session());
    assert!(
        script.contains("# %% [markdown]\n# > hi\n#\n# **yes**\n"),
        "{script}"
    );
    let expected: Vec<String> = session().cells().map(|cell| cell.source.clone()).collect();
    assert_eq!(texts_of(&script), expected);
}

#[test]
fn a_document_holds_all_of_it() {
    let page = to_markdown(&session(), "Session 1");
    for part in [
        "# Session 1\n",
        "\n```python\nimport math\n```\n",
        "\n> hi\n\n**yes**\n",
        "\n> more\n> lines\n",
        "\nwhy\nnot\n",
        "\nIn [5]:\n\n```python\nprint('a')\n1\n```\n\n```text\na\n```\n\nOut[5]:\n\n```text\n1\n```\n",
        "\n![image/png](data:image/png;base64,iVBORw0KGgo=)\n",
        "\n```text\nTraceback\nValueError: bad <b>\n```\n",
    ] {
        assert!(page.contains(part), "{part:?} in {page}");
    }
    let fences = SavedSession::new(vec![cell(1, "'''a\n````\n'''; 1", vec![])], vec![]);
    assert!(to_markdown(&fences, "x").contains("\n`````python\n"));
}

#[test]
fn a_page_holds_all_of_it_and_obeys_nothing() {
    let mut told = Vec::new();
    let page = to_html(&session(), "Session <1>", |count| told.push(count));
    assert_eq!(told, [0, 1, 2, 3, 4, 5, 6]);
    for part in [
        "<title>Session &lt;1&gt;</title>",
        "<div class=\"prompt\">hi</div>",
        "<strong>yes</strong>",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "src=\"data:image/png;base64,iVBORw0KGgo=\"",
        "<pre class=\"error\">Traceback\nValueError: bad &lt;b&gt;</pre>",
        "Out[5]",
    ] {
        assert!(page.contains(part), "{part:?} in {page}");
    }
    assert!(!page.contains("<script"), "{page}");
    let stored = "<thinking>\nhm **x**\n</thinking>\n\n<details class='tool-usage-details'>\n\
        <summary><code>f()</code></summary>\n\n\
        ```json\n{\"id\": \"1\", \"call\": {\"function\": \"f\", \"arguments\": {}}, \
        \"result\": \"<b>\", \"success\": true}\n```\n\n</details>\n\nSo.";
    let folded = SavedSession::new(vec![], vec![prompt(1, 0, "x", stored)]);
    let page = to_html(&folded, "x", |_| {});
    for part in [
        "<details>\n<summary>Reasoning</summary>\n<div class=\"answer\">\n<p>hm <strong>x</strong></p>",
        "<summary>🔧 f() =&gt; &lt;b&gt;</summary>\n<pre class=\"output\">&lt;b&gt;</pre>\n</details>",
        "<p>So.</p>",
    ] {
        assert!(page.contains(part), "{part:?} in {page}");
    }
    let hostile =
        "[a](javascript:alert(1)) ![b](http://x/y.png) <img src=x onerror=y> [c](https://x)";
    let hostile = SavedSession::new(vec![], vec![prompt(1, 0, "<b>", hostile)]);
    let page = to_html(&hostile, "x", |_| {});
    assert!(!page.contains("javascript:") && !page.contains("<img") && !page.contains("<b>"));
    assert!(page.contains("<a href=\"#\">a</a>") && page.contains("<a href=\"https://x\">c</a>"));
}

prop_compose! {
    fn sources()(source in "([a-z\"'\\\\#%. \n\t]|.){1,40}") -> String {
        source.trim().to_owned()
    }
}

prop_compose! {
    fn sessions()(
        cells in proptest::collection::vec((sources(), ".{0,20}", any::<bool>()), 0..8),
        prompts in proptest::collection::vec((0u32..9, sources(), ".{0,30}"), 0..4),
    ) -> SavedSession {
        let cells = cells.into_iter().filter(|(source, ..)| !source.is_empty() && !is_command(source));
        let cells = (1u32..).zip(cells).map(|(line, (source, text, result))| {
            let output = if result {
                CellOutput::Result(MimeBundle::plain(text))
            } else {
                printed(&text)
            };
            cell(line, &source, vec![output])
        });
        let prompts = (20u32..).zip(prompts).map(|(line, (after, text, answer))| prompt(line, after, &text, &answer));
        SavedSession::new(cells.collect(), prompts.collect())
    }
}

proptest! {
    #![proptest_config(properties::cases(properties::USUAL))]

    #[test]
    fn any_session_is_read_back(session in sessions()) {
        let text = write_session(&session);
        prop_assert_eq!(read(&text), to_run(&session));
        to_html(&session, "x", |_| {});
        to_markdown(&session, "x");
    }

    #[test]
    fn any_script_is_read_back(session in sessions()) {
        let expected: Vec<String> = session.cells().map(|cell| cell.source.clone()).collect();
        prop_assert_eq!(texts_of(&to_script(&session)), expected);
    }

    #[test]
    fn any_text_is_a_notebook_or_refused(text in "[{}\\[\\]\":, a-z0-9]{0,60}") {
        if let Ok(notebook) = Document::parse(text.clone()) {
            let broken = broken_cells(&notebook).len();
            prop_assert!(read_session(&notebook).entries().len() + broken <= notebook.len());
        }
        read_events(&text).ok();
        for cell in read_script(&text) {
            prop_assert!(!cell.source.trim().is_empty());
        }
    }

    #[test]
    fn a_note_is_its_text_and_its_source(text in ".{0,30}") {
        let source = format!("{text:?}");
        if let Some(value) = note_value(&source) {
            let session = SavedSession::new(vec![cell(1, &source, vec![])], vec![]);
            let notebook = Document::parse(write_session(&session)).unwrap();
            prop_assert_eq!(notebook.cell(0).unwrap().source(), value);
        }
    }
}

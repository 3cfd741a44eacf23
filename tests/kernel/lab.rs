//! JupyterLab in a browser, with the real Codex and a scripted model: what a user of notebooks does all day.
//!
//! `IPYCODEX_PICTURES=FOLDER` keeps the pictures of it, those of the README.

use serde_json::{Value, json};

use super::harness::Harness;
use crate::support::home::{Home, PATIENCE, finish_within};
use crate::support::lab::Lab;
use crate::support::responses::reply::Event;
use crate::support::responses::{Endpoint, Reply};
use crate::support::{await_true, peers};

const SCRIPT: &str = include_str!("../data/kernel/lab.mjs");

const THOUGHT: &str =
    "**Reading the plot**\n\nA cosine in an envelope that falls. The peaks can be computed.";

const ANSWER: &str = "It is a **damped oscillation**, $y = e^{-t/4}\\,\\cos 3t$. The peaks follow each other \
at about $2\\pi/3$:\n\n\
| peak | $t$ | $y$ |\n|---|---:|---:|\n| 1 | 0.00 | 1.00 |\n| 2 | 2.07 | 0.59 |\n| 3 | 4.16 | 0.35 |\n\n\
This finds them all:\n\n```python\npeaks = np.flatnonzero((y[1:-1] > y[:-2]) & (y[1:-1] > y[2:])) + 1\nt[peaks]\n```\n";

const COUNTED: &str = "`data.csv` has **3 lines**.";

/// Looks into the namespace, says something, waits until that is seen, answers; then wants to run a command.
fn model() -> Endpoint {
    let cell = json!({"title": "Read the table", "code": "rows = open('data.csv').read().split()\nlen(rows)"});
    let end = Event::Completed([100, 40, 10, 2]);
    Endpoint::script(vec![
        Reply::Stream(vec![
            Event::Reasoning(vec![THOUGHT.into()]),
            Event::Call(
                "c1".into(),
                "pyrun".into(),
                json!({"code": "len(t), float(y.max())"}),
            ),
            end.clone(),
        ]),
        Reply::Stream(vec![
            Event::Message(
                vec!["I look ".into(), "at the picture, and at `y`.".into()],
                Some("commentary"),
            ),
            Event::Hold,
            Event::Message(
                ANSWER.split_inclusive(' ').map(str::to_owned).collect(),
                None,
            ),
            end,
        ]),
        Reply::calls(&[("c2", "run_cells", json!({"cells": [cell]}))]),
        Reply::calls(&[("c3", "exec_command", json!({"cmd": "wc -l data.csv"}))]),
        Reply::text(COUNTED),
    ])
}

/// How often a request shows a picture.
fn pictures(request: &Value) -> usize {
    request
        .to_string()
        .matches("\"type\":\"input_image\"")
        .count()
}

#[test]
fn a_notebook_is_worked_on_in_jupyterlab() {
    let (Some(python), Some(codex)) = (peers::lab(), peers::codex()) else {
        return;
    };
    let mut harness = Harness {
        home: Home::new(),
        python,
    };
    let endpoint = model();
    endpoint.write_home(&harness.home.codex(), "gpt-5.5");
    harness.home.install("codex", codex);
    // Not every machine can make a sandbox.
    let settings = json!({"approvals": "ask", "run_cells": "ask", "sandbox": "danger-full-access"});
    harness
        .home
        .write_config("config.json", settings.to_string());
    harness.install(&[]);
    harness.home.write("data.csv", "a,b\n1,2\n3,4\n");
    let cell = json!({"cell_type": "code", "id": "c", "metadata": {}, "source": "", "execution_count": null,
        "outputs": []});
    let spec =
        json!({"name": "ipycodex", "display_name": "ipycodex (Python + AI)", "language": "python"});
    let book = json!({"cells": [cell], "metadata": {"kernelspec": spec}, "nbformat": 4, "nbformat_minor": 5});
    let path = harness.home.write("book.ipynb", book.to_string());
    let Some(lab) = Lab::start(&harness.home) else {
        return;
    };
    let shots = match std::env::var_os("IPYCODEX_PICTURES") {
        Some(folder) => folder.into(),
        None => harness.home.path().join("shots"),
    };
    std::fs::create_dir_all(&shots).unwrap();
    let seen = harness.home.path().join("seen");
    let words = [shots.to_str().unwrap(), seen.to_str().unwrap()];
    let browser = lab.browser(&harness.home, SCRIPT, "doc", "book.ipynb", &words);
    let releasing = endpoint.clone();
    // While the rest of the answer is held back, its beginning is looked at.
    std::thread::spawn(move || {
        await_true("the beginning of the answer is seen", || seen.exists());
        releasing.release();
    });
    let ran = finish_within(browser, b"", 3 * PATIENCE);
    assert_eq!(ran.code(), 0, "{}\n{}", ran.stdout, ran.stderr);
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();

    assert_eq!(told["typed"], "[1]:\n42", "{told}");
    // The model saw the plot, looked into the namespace, and its answer came while one could watch.
    let requests = endpoint.requests();
    assert_eq!(requests.len(), 5);
    assert_eq!(requests.iter().map(pictures).collect::<Vec<_>>(), [1; 5]);
    assert!(
        requests[1].to_string().contains("(300, 1.0)"),
        "{}",
        requests[1]
    );
    assert_eq!(told["running"], "[*]:", "{told}");
    let folded = told["folded"].to_string();
    assert!(
        folded.contains("reasoning") && folded.contains("pyrun"),
        "{folded}"
    );
    assert!(
        told["offered"].as_str().unwrap().starts_with("peaks = "),
        "{told}"
    );
    // A cell waited for its permission, and was run; then a command. Neither is shown as running still.
    let asked = |which: usize| told["asked"][which].as_str().unwrap();
    assert!(
        asked(0).contains("len(rows)") && !asked(0).contains("wc -l"),
        "{told}"
    );
    assert!(
        asked(1).contains("wc -l data.csv") && !asked(1).contains("3 lines"),
        "{told}"
    );
    assert!(
        requests[4].to_string().contains("3 data.csv"),
        "{}",
        requests[4]
    );
    assert!(
        !told["permitted"].as_str().unwrap().contains('⏳'),
        "{told}"
    );
    assert_eq!(told["rows"], "3", "{told}");
    assert!(
        told["permitted"].as_str().unwrap().contains("3 lines"),
        "{told}"
    );
    // Objects speak with what stands in the page, both ways.
    assert!(told["slider"].as_str().unwrap().ends_with("\n4"), "{told}");
    assert_eq!(
        told["interact"].as_str().unwrap().matches("n is").count(),
        1,
        "{told}"
    );
    assert!(
        told["progress"].as_str().unwrap().contains("30/30"),
        "{told}"
    );
    assert_eq!(told["canvas"], true, "{told}");
    // What is pasted into a text cell is in the notebook, and not sent.
    assert!(
        told["pasted"].as_str().unwrap().contains("behind it"),
        "{told}"
    );
    assert_eq!(
        (&told["requests"], &told["attached"]),
        (&json!(1), &json!(0)),
        "{told}"
    );
    assert!(
        told["interrupted"]
            .as_str()
            .unwrap()
            .contains("KeyboardInterrupt"),
        "{told}"
    );
    // Loaded anew, the page has the same interpreter behind it; started anew, a fresh one.
    assert!(told["still"].as_str().unwrap().ends_with("\n46"), "{told}");
    assert!(
        told["restarted"].as_str().unwrap().contains("NameError"),
        "{told}"
    );
    // What was saved has the answers to the letter.
    let saved: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let markdown: Vec<String> = saved["cells"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|cell| cell["outputs"].as_array().cloned().unwrap_or_default())
        .filter_map(|output| {
            Some(
                output["data"]["text/markdown"]
                    .as_array()?
                    .iter()
                    .filter_map(Value::as_str)
                    .collect(),
            )
        })
        .collect();
    let attached = saved["cells"].as_array().unwrap().iter();
    let attached = attached.filter(|cell| cell["attachments"].is_object());
    assert_eq!(attached.count(), 1, "{saved}");
    for answer in [ANSWER, COUNTED] {
        assert!(
            markdown.iter().any(|text| text.contains(answer)),
            "{markdown:?}"
        );
    }
}

//! The picture of a session at the top of the README: a plot, a tool call, a question and its answer.
//!
//! The program is the one that is tested, on a terminal of its own, with the real Codex and a scripted model. Not part
//! of the test run: `IPYCODEX_PICTURES=assets cargo test --test it readme::picture -- --ignored` draws it anew; without
//! the variable, its rows are compared with those of the picture in `assets`.

use std::path::Path;

use serde_json::json;

use super::svg::Drawing;
use crate::support::home::Home;
use crate::support::peers;
use crate::support::pty::Pty;
use crate::support::responses::reply::Event;
use crate::support::responses::{Endpoint, Reply};

const SIZE: (u16, u16) = (88, 60);

const SALES: &str = "month,north,south\nJan,2310,1180\nFeb,2260,1120\nMar,2400,110\nApr,2480,1240\nMay,2550,1310\n\
                     Jun,2530,1370\nJul,2690,1420\nAug,2740,1390\n";

const THOUGHT: &str =
    "South falls in March alone. If that is one wrong value, its neighbours will show it.";

const FOUND: &str =
    "In March **south** has 4 % of the sales, in April 33 %. I look at the rows around it.";

const ANSWER: &str = "The value for March is `110` where its neighbours are near `1,200`: a digit is missing in \
`sales.csv`. This mends it:\n\n\
```python\nsales.loc[\"Mar\", \"south\"] *= 10\nsales.plot(figsize=(7, 2), marker=\"o\");\n```\n";

/// Calls the user's function twice, wants to run a cell, answers.
fn model() -> Endpoint {
    let share = |call: &str, month: &str| {
        let arguments = json!({"region": "south", "month": month});
        Event::Call(call.into(), "share".into(), arguments)
    };
    let cell = json!({"title": "The rows around March", "code": "sales.loc[\"Feb\":\"Apr\"]"});
    let end = |input| Event::Completed([input, 1800, 60, 20]);
    Endpoint::script(vec![
        Reply::Stream(vec![
            Event::Reasoning(vec![THOUGHT.into()]),
            share("c1", "Mar"),
            share("c2", "Apr"),
            end(2140),
        ]),
        Reply::Stream(vec![
            Event::Message(vec![FOUND.into()], Some("commentary")),
            Event::Call("c3".into(), "run_cells".into(), json!({"cells": [cell]})),
            end(2300),
        ]),
        Reply::Stream(vec![
            Event::Message(
                ANSWER.split_inclusive(' ').map(str::to_owned).collect(),
                None,
            ),
            end(2460),
        ]),
    ])
}

/// What is the same in every run: the time an answer took is not.
fn lasting(row: &str) -> String {
    let (before, after) = row.rsplit_once(" · ").unwrap_or((row, ""));
    match after.strip_suffix(" s") {
        Some(seconds) if seconds.parse::<f32>().is_ok() => before.to_owned(),
        _ => row.to_owned(),
    }
}

/// The rows that a drawing holds, by the places of its texts.
fn texts(svg: &str) -> Vec<String> {
    let mut rows: Vec<(String, String)> = Vec::new();
    for text in svg.split("<text ").skip(1) {
        let y = text
            .split("y=\"")
            .nth(1)
            .and_then(|it| it.split('"').next())
            .unwrap();
        let shown = text
            .split_once('>')
            .unwrap()
            .1
            .split_once("</text>")
            .unwrap()
            .0;
        match rows.last_mut() {
            Some((place, row)) if place == y => row.push_str(shown),
            _ => rows.push((y.to_owned(), shown.to_owned())),
        }
    }
    let rows = rows.iter().map(|(_, row)| lasting(row));
    let mut rows: Vec<String> = rows.filter(|row| !row.starts_with("took ")).collect();
    // Where one colour ends and another begins, the drawing has no blanks.
    rows.iter_mut()
        .for_each(|row| row.retain(|c| !c.is_whitespace()));
    // Of two calls at a time either can end first.
    rows.sort();
    rows
}

#[test]
#[ignore = "draws the picture of the README; a person runs it"]
fn a_session_looks_as_the_picture_shows_it() {
    let (Some(python), Some(codex)) = (peers::figures(), peers::codex()) else {
        return;
    };
    let home = Home::with(&[("KITTY_WINDOW_ID", "1"), ("COLORTERM", "truecolor")]);
    home.install("codex", codex);
    model().write_home(&home.codex(), "gpt-5.5");
    home.write("sales.csv", SALES);
    let settings = json!({"greeting": false, "run_cells": "ask", "sandbox": "danger-full-access"});
    home.write_config("config.json", settings.to_string());

    let python = python.to_str().unwrap();
    let pty = Pty::spawn_on(&home, &["--python", python], SIZE, "rgb:0d0d/1111/1717");
    let at = |number: u32| pty.wait_for(&format!("In [{number}]:"));
    at(1);
    pty.send_line("import pandas as pd");
    at(2);
    pty.send_line("sales = pd.read_csv(\"sales.csv\", index_col=\"month\")");
    at(3);
    pty.send_line("sales.plot(figsize=(7, 2), marker=\"o\");");
    at(4);
    for line in [
        "def share(region: str, month: str) -> float:",
        "\"The share of a region in the sales of a month.\"",
        "return round(float(sales.loc[month, region] / sales.loc[month].sum()), 2)",
        "",
    ] {
        pty.send_line(line);
    }
    at(5);
    pty.send_line(".why does south dip in March? Use &`share`");
    pty.wait_for("Run this in your session?");
    pty.send("y");
    at(7);
    pty.send("\x1b[87;4u");
    pty.wait_until("the answer's code", |screen| {
        screen.contents().matches("*= 10").count() == 2
    });

    let drawing = Drawing::of(&pty.raw(), SIZE);
    if let Some(folder) = std::env::var_os("IPYCODEX_PICTURES") {
        let file = Path::new(&folder).join("session.svg");
        std::fs::write(file, drawing.svg()).unwrap();
    }
    let rows = drawing.rows().join("\n");
    assert_eq!(drawing.pictures(), 1, "{rows}");
    for part in [
        "🔧 share(month='Mar', region='south') => 0.04",
        "? The agent asks to run a cell in your session",
        "✓ allowed once",
        "In [5]: .why does south",
        "In [7]: sales.loc[\"Mar\"",
    ] {
        assert!(rows.contains(part), "{part} in\n{rows}");
    }
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/session.svg");
    let kept = std::fs::read_to_string(kept).unwrap();
    assert_eq!(
        texts(&drawing.svg()),
        texts(&kept),
        "assets/session.svg shows another session: \
         IPYCODEX_PICTURES=assets cargo test --test it readme::picture -- --ignored"
    );
}

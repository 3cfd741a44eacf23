//! The picker as drawn at common terminal sizes.

use super::*;
use crate::record::ForkOrigin;

fn picker() -> Picker {
    let mut picker = Picker::new(Scope::Directory("/home/me/work".into()));
    let row = |id: i64, name: Option<&str>, prompt: &str| SessionRow {
        id,
        start: format!("2026-01-0{id} 10:11:12.000000"),
        end: None,
        commands: 3,
        last_prompt: prompt.into(),
        name: name.map(str::to_owned),
        cwd: "/home/me/work".into(),
        first_prompt: String::new(),
        last_input: "x\x1b[31m = 1".into(),
        once: false,
        fork: None,
    };
    let long = "explain\nwhat this does and why it takes so very long to do it";
    picker.add(
        vec![
            row(9, Some("rain"), long),
            row(8, None, ""),
            row(7, None, "漢字漢字漢字漢字漢字漢字漢字漢字"),
        ],
        true,
    );
    let glance = SessionPreview {
        exchange: Some((
            "why?".into(),
            "Because of the rain in Spain, which stays mainly in the plain.\n\nAnd so on.".into(),
        )),
        inputs: vec![(4, "def f(x):\n    return x".into())],
    };
    picker.glance = Some((9, glance));
    picker
}

fn drawn(picker: &Picker, columns: u16, rows: u16) -> Vec<String> {
    let frame = frame(picker, TerminalSize { columns, rows });
    assert!(frame.lines.len() <= usize::from(rows), "{columns}x{rows}");
    let texts = frame
        .lines
        .iter()
        .map(|line| line.plain().trim_end().to_owned());
    texts.collect()
}

#[test]
fn a_wide_terminal_has_the_columns_of_the_list_and_the_last_exchange() {
    let expected = [
        "Resume session  /home/me/work  3",
        ">",
        "      ID  Start                  Cmds  Last prompt",
        ">      9  2026-01-09 10:11:12       3  [rain] explain what this does and why ...",
        "       8  2026-01-08 10:11:12       3  x^[[31m = 1",
        "       7  2026-01-07 10:11:12       3  漢字漢字漢字漢字漢字漢字漢字漢字",
        &"─".repeat(80),
        "[rain]",
        ".why?",
        "Because of the rain in Spain, which stays mainly in the plain.",
        "",
        "And so on.",
        "In [4]: def f(x):",
        "   ...:     return x",
    ];
    let lines = drawn(&picker(), 80, 24);
    assert_eq!(lines[..expected.len()], expected);
    assert_eq!(
        lines.last().unwrap(),
        "Enter resume · Esc cancel · Tab all · ^R rename · ^X delete · ^F text"
            .to_owned()
            .as_str()
    );
}

#[test]
fn a_narrow_terminal_has_less_of_it() {
    let lines = drawn(&picker(), 40, 20);
    let expected = [
        "Resume session  /home/me/work  3",
        ">",
        "      ID  Start         Last prompt",
        ">      9  01-09 10:11   [rain] explai...",
        "       8  01-08 10:11   x^[[31m = 1",
        "       7  01-07 10:11   漢字漢字漢字...",
        &"─".repeat(40),
        "[rain]",
        ".why?",
        "Because of the rain in Spain, which",
        "stays mainly in the plain.",
    ];
    assert_eq!(lines[..expected.len()], expected);
}

#[test]
fn any_size_will_do() {
    for columns in [1, 2, 5, 10, 20, 39, 60, 200] {
        for rows in [1, 2, 3, 5, 8, 9, 12, 50] {
            let frame = frame(&picker(), TerminalSize { columns, rows });
            assert!(
                rows < 5 || frame.lines.len() <= usize::from(rows),
                "{columns}x{rows}"
            );
        }
    }
}

#[test]
fn a_fork_names_the_session_it_came_from_and_no_row_is_too_wide() {
    for (columns, expected) in [
        (
            80,
            "       8  2026-01-08 10:11:12       3  fork of 7 before [3]: x^[[31m = 1",
        ),
        (36, "       8  01-08 10:11   fork of 7..."),
    ] {
        let mut picker = picker();
        picker.rows[1].fork = Some(ForkOrigin {
            parent: 7,
            before: 3,
        });
        let drawn = drawn(&picker, columns, 24);
        assert!(drawn.iter().any(|row| row == expected), "{drawn:#?}");
    }
}

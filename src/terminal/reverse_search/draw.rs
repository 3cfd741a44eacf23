//! Draws the reverse search: the needle, the matching inputs (newest at the bottom), all of the chosen one.
//!
//! In: the search and a size. Out: a frame that fits; of an input too long for it, the part with the match.

use nu_ansi_term::Style;

use crate::record::{CellStatus, InputInfo};
use crate::runtime::TerminalSize;
use crate::terminal::list;
use crate::terminal::panel::{PanelFrame, PanelStyle, with_excerpt};
use crate::terminal::reverse_search::state::ReverseSearch;
use crate::text::escape::visible;
use crate::text::needle::Needle;
use crate::text::{Break, Line, columns, cut, cut_front, expand_tabs, styled_rows};

/// The least width at which each row of the list shows its facts, and the columns of those facts.
const WIDE: usize = 100;
const FACTS: usize = 52;

/// Rows of the list that stay beside a long input.
const FEWEST: usize = 3;

const KEYS: &str = "Enter take · Ctrl-R older · Ctrl-S newer · Esc back";
const KEYS_IN_SHORT: &str = "Enter take · ^R older · ^S newer · Esc";

pub(super) fn frame(search: &ReverseSearch, size: TerminalSize) -> PanelFrame {
    let (width, height) = (usize::from(size.columns), usize::from(size.rows));
    let (chosen, count) = (search.list.chosen, search.fitting.len());
    let typed = visible(search.needle.text()).into_owned();
    let label = if count == 0 && search.complete {
        "(failing reverse-search) "
    } else {
        "(reverse-search) "
    };
    let cursor = label.len() + columns(&typed);
    let mut head = Line::styled(PanelStyle::Strong, label).and(PanelStyle::Plain, typed);
    if count > 0 && cursor + 16 < width {
        let more = if search.complete { "" } else { "+" };
        head = head.and(PanelStyle::Dim, format!("  {}/{count}{more}", chosen + 1));
    }
    let keys = [KEYS, KEYS_IN_SHORT][usize::from(columns(KEYS) > width)];
    let mut help = vec![Line::styled(PanelStyle::Dim, keys)];
    help.truncate(usize::from(height > 6));
    let room = height.saturating_sub(2 + help.len());
    let (whole, found) = search
        .chosen()
        .map(|text| whole(text, &search.needle, width))
        .unwrap_or_default();
    let rows = count
        .min((room * 2 / 5).max(FEWEST))
        .min(room.saturating_sub(whole.len()).max(FEWEST));
    let mut lines = vec![head];
    // From the oldest row shown down to the newest.
    let older = count.saturating_sub(chosen + 1);
    for row_from_oldest in list::centred(older, count, rows) {
        let place = count - 1 - row_from_oldest;
        let text = search.at(place).unwrap_or_default();
        let facts = search.facts(place).filter(|_| width >= WIDE);
        let draw = |mark| row(mark, text, &search.needle, width, facts);
        lines.push(list::row(place == chosen, draw));
    }
    lines.push(rule(search.facts(chosen), width));
    let left = height.saturating_sub(lines.len() + help.len());
    // The match stays visible.
    lines.extend(whole.into_iter().skip((found + 1).saturating_sub(left)));
    PanelFrame::new(lines, help, height, (0, cursor))
}

/// Returns the line between list and input, with the facts of the input.
fn rule(facts: Option<&InputInfo>, width: usize) -> Line {
    let known = facts.map(|facts| {
        let parts = [ended(facts.state), &facts.time, &facts.directory];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        format!("── {} ", parts.collect::<Vec<_>>().join(" · "))
    });
    let known = known.unwrap_or_default();
    let known = visible(&known);
    let known = cut(&known, width);
    let rest = "─".repeat(width.saturating_sub(columns(&known)));
    Line::styled(PanelStyle::Dim, known.into_owned() + &rest)
}

fn ended(state: Option<CellStatus>) -> &'static str {
    match state {
        Some(CellStatus::Complete) => "ok",
        Some(CellStatus::Failed) => "error",
        Some(CellStatus::Cancelled) => "interrupted",
        None => "",
    }
}

fn row(mark: &str, text: &str, needle: &Needle, width: usize, facts: Option<&InputInfo>) -> Line {
    let mark = Line::styled(PanelStyle::Plain, mark);
    let room = width.saturating_sub(2 + facts.map_or(0, |_| FACTS));
    let line = match needle.find(text) {
        Some(at) => with_excerpt(mark, text, &at, room),
        None => {
            let start: String = text.chars().take(room + 1).collect();
            mark.and(PanelStyle::Plain, cut(&visible(&start), room))
        }
    };
    let Some(facts) = facts else {
        return line;
    };
    let gap = " ".repeat((width - FACTS).saturating_sub(line.width()) + 1);
    // The end of a directory says most.
    let directory = visible(&facts.directory);
    let directory = cut_front(&directory, 20);
    let known = format!("{:11}  {:16}  {directory}", ended(facts.state), facts.time);
    line.and(PanelStyle::Dim, gap + &cut(&known, FACTS - 1))
}

/// Returns all rows of an input with every match marked, and the index of the first row with one.
fn whole(text: &str, needle: &Needle, width: usize) -> (Vec<Line>, usize) {
    let (mut rows, mut first) = (Vec::new(), None);
    for line in text.trim_end_matches('\n').split('\n') {
        let mut column = 0;
        let mut safe = |text: &str| {
            let safe = visible(&expand_tabs(text, column)).into_owned();
            column += columns(&safe);
            safe
        };
        let mut pieces: Vec<(Style, String)> = Vec::new();
        let mut from = 0;
        let places = needle.find_all(line);
        if !places.is_empty() {
            first.get_or_insert(rows.len());
        }
        for at in places {
            pieces.push((PanelStyle::Plain.into(), safe(&line[from..at.start])));
            pieces.push((PanelStyle::Match.into(), safe(&line[at.clone()])));
            from = at.end;
        }
        pieces.push((PanelStyle::Plain.into(), safe(&line[from..])));
        let pieces: Vec<_> = pieces
            .iter()
            .map(|(style, text)| (*style, text.as_str()))
            .collect();
        rows.extend(styled_rows(&pieces, width, Break::Anywhere));
    }
    (rows, first.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

    use super::*;
    use crate::record::RecordedInput;

    fn searched(inputs: &[String], typed: &str, older: usize) -> ReverseSearch {
        let mut search = ReverseSearch::new(
            inputs
                .iter()
                .map(|input| RecordedInput {
                    text: input.as_str().into(),
                    row: 0,
                })
                .collect(),
            false,
        );
        search.on_paste(typed);
        for _ in 0..older {
            search.on_key(&KeyEvent::new(KeyCode::Up, KeyModifiers::NONE));
        }
        search
    }

    fn drawn(search: &ReverseSearch, columns: u16, rows: u16) -> Vec<String> {
        let frame = frame(search, TerminalSize { columns, rows });
        let texts = frame
            .lines
            .iter()
            .map(|line| line.plain().trim_end().to_owned());
        texts.collect()
    }

    #[test]
    fn the_whole_input_stands_under_those_that_fit() {
        let inputs = [
            "beta = 2",
            "def f():\n\treturn beta",
            "alpha = 1",
            "print(beta)",
        ];
        let inputs = inputs.map(str::to_owned);
        let expected = [
            "(reverse-search) beta  2/3",
            "  print(beta)",
            "> def f():⏎\treturn beta",
            "  beta = 2",
            &"─".repeat(60),
            "def f():",
            "    return beta",
            "",
            "Enter take · Ctrl-R older · Ctrl-S newer · Esc back",
        ];
        let lines = drawn(&searched(&inputs, "beta", 1), 60, 9);
        let lines: Vec<String> = lines.iter().map(|line| line.replace("^I", "\t")).collect();
        assert_eq!(lines, expected);
        let narrow = drawn(&searched(&inputs, "beta", 1), 40, 9);
        assert_eq!(
            narrow.last().map(String::as_str),
            Some("Enter take · ^R older · ^S newer · Esc")
        );
        let failing = drawn(&searched(&inputs, "zzz", 0), 60, 9);
        assert_eq!(failing[0], "(failing reverse-search) zzz");
    }

    #[test]
    fn what_is_known_of_an_input_stands_beside_it_where_there_is_room() {
        let mut search = searched(&["beta = 2".into(), "1 / beta".into()], "beta", 0);
        for (index, state) in [(0, CellStatus::Complete), (1, CellStatus::Failed)] {
            let facts = InputInfo {
                directory: "/home/somebody/a/long/way/down".into(),
                state: Some(state),
                time: "2026-11-22 10:00".into(),
            };
            search.learn(index, Some(facts));
        }
        let lines = drawn(&search, 110, 9);
        let row = |text: &str, state: &str| {
            format!("{text:58} {state:11}  2026-11-22 10:00  …ody/a/long/way/down")
        };
        assert_eq!(lines[1], row("  1 / beta", "error"));
        assert_eq!(lines[2], row("> beta = 2", "ok"));
        let rule = "── ok · 2026-11-22 10:00 · /home/somebody/a/long/way/down ─";
        assert!(lines[3].starts_with(rule), "{lines:?}");
        let narrow = drawn(&search, 50, 9);
        assert_eq!(narrow[2], "> beta = 2");
        assert!(
            narrow[3].starts_with("── ok · 2026-11-22 10:00 · /home"),
            "{narrow:?}"
        );
    }

    #[test]
    fn of_a_long_input_the_place_is_in_sight_and_the_list_stays() {
        let long: Vec<String> = (0..99).map(|n| format!("line {n}")).collect();
        let mut inputs: Vec<String> = (0..30).map(|n| format!("small {n} line 77")).collect();
        inputs.insert(20, long.join("\n"));
        let search = searched(&inputs, "line 77", 20);
        let lines = drawn(&search, 40, 15);
        assert_eq!(lines.len(), 15);
        assert!(
            lines[1..5].iter().any(|line| line.starts_with("> ")),
            "{lines:?}"
        );
        let entry = lines.iter().skip(5).any(|line| line == "line 77");
        assert!(entry, "{lines:?}");
    }

    #[test]
    fn the_chosen_one_is_in_the_list_at_any_size() {
        let inputs: Vec<String> = (0..50).map(|n| format!("input {n}")).collect();
        for older in [0, 1, 2, 3, 25, 48, 49] {
            let search = searched(&inputs, "input", older);
            for (columns, rows) in [(80, 24), (40, 10), (20, 7), (10, 6), (200, 60)] {
                let lines = drawn(&search, columns, rows);
                let chosen = lines.iter().filter(|line| line.starts_with('>')).count();
                assert!(chosen == 1, "{older} at {columns}x{rows}: {lines:?}");
            }
        }
    }
}

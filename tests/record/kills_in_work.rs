//! The real program killed in the middle of all kinds of work: what was acknowledged is in the record, and in files.
//!
//! In: how many kills. Out: what was acknowledged before them. A step is acknowledged when the next prompt stands on
//! the screen. Invariants: its row is in the record with its output, answer or mark; a notebook that was said to be
//! saved holds all cells so far; the record is sound, and can be gone on with.

use std::time::Duration;

use rustix::process::Signal;

use super::*;
use crate::support::home::Home;
use crate::support::pty::{Pty, SIZE, cursor_line};
use crate::support::random::Random;

const SEED: u64 = 18;

/// Switches to the user's shell, and back.
const ALT_S: &str = "\x1bs";

/// What is done in a step; each has a word of its own, which is looked for afterwards.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Work {
    Cell,
    Error,
    Note,
    Prompt,
    /// The agent runs a cell.
    Tool,
    /// The agent looks, in a copy of the interpreter.
    Look,
    Save,
    /// One step back, over a cell that went before.
    Back,
    Forward,
    Hide,
    Command,
}

const WORK: [Work; 11] = [
    Work::Cell,
    Work::Error,
    Work::Note,
    Work::Prompt,
    Work::Tool,
    Work::Look,
    Work::Save,
    Work::Back,
    Work::Forward,
    Work::Hide,
    Work::Command,
];

impl Work {
    fn typed(self, word: &str) -> String {
        match self {
            Work::Cell => format!("print('{word}' + '!')"),
            Work::Error => format!("1/0 # {word}"),
            Work::Note => format!("'note {word}'"),
            Work::Prompt => format!(".say {word}"),
            Work::Tool => format!(".run `print('{word}' + '!')`"),
            Work::Look => format!(".pyrun `'{word}' + '!'`"),
            Work::Save => format!("%ipycodex save {word}.ipynb"),
            Work::Back => "%ipycodex back".to_owned(),
            Work::Forward => "%ipycodex forward".to_owned(),
            Work::Hide => "%ipycodex hide 1".to_owned(),
            Work::Command => format!("echo {word}'!'"),
        }
    }

    /// What has to be in the record: a query that gives 1.
    fn recorded(self, word: &str) -> String {
        let rows = |output: &str| {
            format!(
                "SELECT count(*) FROM history LEFT JOIN output_history USING (session, line)
                     JOIN ipycodex_entries USING (session, line)
                 WHERE source_raw NOT LIKE '.%' AND source_raw LIKE '%{word}%' AND {output}"
            )
        };
        let answer = |part: &str| {
            format!(
                "SELECT count(*) FROM ai_prompts p JOIN ipycodex_turns t ON t.prompt_row = p.id
                 WHERE p.prompt LIKE '%{word}%' AND p.response LIKE '%{part}%' AND t.state = 'complete'"
            )
        };
        match self {
            Work::Cell => rows(&format!("output = '{word}!' AND state = 'complete'")),
            Work::Error => rows("state = 'failed'"),
            Work::Note => rows(&format!("output LIKE '%{word}%'")),
            Work::Prompt => answer("Demo answer"),
            Work::Tool => format!(
                "SELECT ({}) + ({}) = 2",
                rows(&format!("output = '{word}!'")),
                answer("tool-usage-details%run_cells%Demo answer")
            ),
            Work::Look => answer(&format!("tool-usage-details%pyrun%{word}!%Demo answer")),
            Work::Command => rows(&format!(
                "shell IS NOT NULL AND exit = 0 AND output LIKE '{word}!%'"
            )),
            Work::Save => format!("SELECT count(*) FROM history WHERE source_raw LIKE '%{word}%'"),
            Work::Back | Work::Forward | Work::Hide => "SELECT 1".to_owned(),
        }
    }
}

/// The number of the empty prompt at which the cursor stands.
fn prompt(screen: &vt100::Screen) -> Option<u32> {
    let line = cursor_line(screen);
    let line = line.trim_end().strip_suffix("]:")?;
    let number = line.strip_prefix("In [").or(line.strip_prefix("$ ["))?;
    number.parse().ok()
}

/// Waits for a prompt with a higher number.
#[track_caller]
fn next(pty: &Pty, number: u32) -> u32 {
    let is_next = |screen: &vt100::Screen| prompt(screen).is_some_and(|at| at > number);
    pty.wait_until("the next prompt", is_next);
    pty.look(prompt).expect("it stood there just now")
}

/// One run of the program, until its death.
struct Life<'a> {
    home: &'a Home,
    pty: Pty,
    number: u32,
    acknowledged: Vec<(Work, String)>,
    /// Cells can be out of what is saved.
    has_gaps: bool,
    /// A line that was stepped back over.
    out: Option<String>,
}

impl Life<'_> {
    fn begin(&self, work: Work, word: &str) {
        if work == Work::Command {
            self.pty.send(ALT_S);
            self.pty.at_line(&format!("$ [{}]:", self.number));
        }
        self.pty.send_line(&work.typed(word));
    }

    fn end(&mut self, work: Work, word: String) {
        match work {
            Work::Save => self.check_notebook(&word),
            Work::Back | Work::Forward => {
                self.has_gaps = true;
                let all = self.pty.all_lines();
                let (_, said) = all.rsplit_once("%ipycodex ").expect("it was typed");
                let back = said.split_once("Back before In [");
                self.out = back.map(|(_, line)| line.split(']').next().unwrap().to_owned());
            }
            Work::Hide => self.has_gaps = true,
            _ => {}
        }
        self.acknowledged.push((work, word));
    }

    /// A saved notebook is whole, and holds the cells so far.
    fn check_notebook(&self, word: &str) {
        let path = self.home.work().join(format!("{word}.ipynb"));
        let notebook: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        let notebook = notebook.to_string();
        for (work, word) in &self.acknowledged {
            let is_command = matches!(work, Work::Save | Work::Back | Work::Forward | Work::Hide);
            assert!(
                self.has_gaps || is_command || notebook.contains(word),
                "{work:?} {word}: {notebook}"
            );
        }
    }

    /// What was acknowledged is in the record.
    fn check_record(&self, context: &str) {
        let path = self.home.history();
        if self.acknowledged.is_empty() && !path.exists() {
            // The first prompt is there before the record.
            return;
        }
        assert_eq!(text(&path, "PRAGMA integrity_check"), "ok", "{context}");
        for (work, word) in &self.acknowledged {
            let recorded = text(&path, &work.recorded(word));
            assert_eq!(
                recorded, "1",
                "{context}: {work:?} {word} of {:?}",
                self.acknowledged
            );
        }
        if let Some(line) = &self.out {
            let hidden =
                "SELECT hidden <> 0 FROM ipycodex_entries WHERE line = {line} AND session =
                 (SELECT max(session) FROM history)";
            let hidden = text(&path, &hidden.replace("{line}", line));
            assert_eq!(hidden, "1", "{context}: In [{line}] was stepped back over");
        }
    }
}

/// Kills at any moment of some steps of work.
pub fn kills(count: u32) -> String {
    let mut home = Home::new();
    home.write_config("config.json", r#"{"run_cells": "auto"}"#);
    home.set("SHELL", "/bin/bash");
    let mut random = Random::new(SEED);
    let (mut acknowledged, mut cut_off) = (0, 0);
    let mut session: Option<String> = None;
    for kill in 0..count {
        let last = session.as_deref().filter(|_| random.percent(25));
        let arguments = ["--agent", "demo", "-r", last.unwrap_or_default()];
        let mut life = Life {
            home: &home,
            pty: Pty::spawn(
                &home,
                &arguments[..if last.is_some() { 4 } else { 2 }],
                SIZE,
            ),
            number: 0,
            acknowledged: Vec::new(),
            has_gaps: last.is_some(),
            out: None,
        };
        life.number = next(&life.pty, 0);
        for step in 1..=random.within(0, 4) {
            let (work, word) = (*random.pick(&WORK), format!("k{kill}s{step}."));
            life.begin(work, &word);
            life.number = next(&life.pty, life.number);
            if work == Work::Command {
                life.pty.send(ALT_S);
                life.pty.at_line(&format!("In [{}]:", life.number));
            }
            life.end(work, word);
        }
        // Right at the next prompt, or somewhere in what follows.
        let (work, word) = (*random.pick(&WORK), format!("k{kill}."));
        let at_prompt = random.percent(30);
        let delay = Duration::from_micros(u64::from(random.within(0, 40_000)));
        if !at_prompt {
            life.begin(work, &word);
            std::thread::sleep(delay);
        }
        life.pty.signal(Signal::KILL);
        life.pty.exit_status();
        // Its end may have been seen.
        match life.pty.look(prompt).is_some_and(|at| at > life.number) {
            true => life.end(work, word),
            false => cut_off += u32::from(!at_prompt),
        }
        let done = if at_prompt {
            "the last prompt".to_owned()
        } else {
            format!("{work:?}, {delay:?}")
        };
        life.check_record(&format!("kill {kill}, after {done} (seed {SEED})"));
        acknowledged += life.acknowledged.len();
        if !life.acknowledged.is_empty() {
            session = Some(text(&home.history(), "SELECT max(session) FROM history"));
        }
    }
    let sessions = text(
        &home.history(),
        "SELECT count(DISTINCT session) FROM history",
    );
    format!(
        "{acknowledged} steps acknowledged, {cut_off} cut off; none lost, the record of {sessions} sessions is sound; \
         seed {SEED}"
    )
}

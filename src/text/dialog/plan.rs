//! The steps of a plan in a stored answer.
//!
//! In: the stored form of an answer. Out: the steps that are not done. A plan that the agent reported counts first;
//! else the last numbered list of the answer's own words does, or a list below a line about the plan. Pure; the text
//! is foreign, and a step is one line.

use super::answer::{AnswerPart, answer_parts, reported_plan};

/// The most steps of a plan.
const STEPS: usize = 100;

/// Returns the steps of the plan, in order; empty when the answer holds none.
pub fn plan_steps(stored: &str) -> Vec<String> {
    let reported = reported_plan(stored);
    let mut steps = match reported.is_empty() {
        false => reported,
        true => {
            let parts = answer_parts(stored).into_iter();
            let texts = parts.filter_map(|part| match part {
                AnswerPart::Text(text) => Some(text),
                AnswerPart::Thought(_) | AnswerPart::Call { .. } => None,
            });
            listed(&texts.collect::<Vec<_>>().join("\n"))
        }
    };
    steps.truncate(STEPS);
    steps
}

#[derive(Default)]
struct Lists {
    numbered: Vec<String>,
    /// The list below the last line about the plan.
    below: Vec<String>,
    /// The number of the last item.
    last: u32,
    /// A line about the plan has come, and no list since.
    announced: bool,
    /// The next lines may go on with the last item of this kind.
    open: Option<Kind>,
}

#[derive(Clone, Copy)]
enum Kind {
    Numbered(u32),
    Bullet,
}

fn listed(text: &str) -> Vec<String> {
    let mut lists = Lists::default();
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|it| start.starts_with(it));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) => lists.line(line),
            _ => {}
        }
    }
    match lists.numbered.is_empty() {
        true => lists.below,
        false => lists.numbered,
    }
}

impl Lists {
    fn line(&mut self, line: &str) {
        let indent = line.len() - line.trim_start().len();
        if line.trim().is_empty() {
            return;
        }
        match item(line.trim_start()) {
            Some((kind, text)) if indent < 2 => self.item(kind, text),
            // A list inside of an item says more about it.
            Some(_) => {}
            None if indent > 0 => self.go_on(line),
            None => {
                self.open = None;
                let lower = line.to_lowercase();
                let heading = line.starts_with('#') || line.trim_end().ends_with([':', '*']);
                if heading && (lower.contains("plan") || lower.contains("steps")) {
                    (self.announced, self.below) = (true, Vec::new());
                }
            }
        }
    }

    fn item(&mut self, kind: Kind, text: &str) {
        let text = text.replace("**", "").trim().to_owned();
        if text.is_empty() {
            return;
        }
        match kind {
            Kind::Numbered(number) => {
                // Some number every item 1; a paragraph between two items ends no list.
                let same = self.open.is_some() && number == self.last;
                let follows = same || number > 1 && number == self.last + 1;
                if !follows {
                    self.numbered = Vec::new();
                }
                self.last = number;
                self.numbered.push(text);
            }
            Kind::Bullet if self.announced => self.below.push(text),
            Kind::Bullet => return,
        }
        self.open = Some(kind);
    }

    /// A further line of the last item, as long as its first paragraph goes on.
    fn go_on(&mut self, line: &str) {
        let list = match self.open {
            Some(Kind::Numbered(_)) => &mut self.numbered,
            Some(Kind::Bullet) => &mut self.below,
            None => return,
        };
        if let Some(last) = list.last_mut() {
            last.push(' ');
            last.push_str(line.trim());
        }
    }
}

/// The kind of a list's item, and its text.
fn item(line: &str) -> Option<(Kind, &str)> {
    if let Some(text) = line.strip_prefix("- ").or(line.strip_prefix("* ")) {
        return Some((Kind::Bullet, text));
    }
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number = line[..digits].parse().ok().filter(|_| digits <= 3)?;
    let text = line[digits..].strip_prefix(['.', ')'])?;
    Some((Kind::Numbered(number), text.strip_prefix(' ')?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialog::AnswerBuilder;

    #[test]
    fn steps_are_those_of_the_last_numbered_list() {
        for (text, expected) in [
            ("", ""),
            ("Which of these?\n- a\n- b", ""),
            ("Do it at once.", ""),
            ("1. one\n2. two", "one|two"),
            (
                "1. one\n\n   more about it\n2) two\n   and on",
                "one more about it|two and on",
            ),
            (
                "1. **one**: x\n   - detail\n   - more\n2. two\n\nShall I?",
                "one: x|two",
            ),
            (
                "1. old\n2. old\n\nNo, better:\n\n1. new\n2. newer",
                "new|newer",
            ),
            ("1. one\n1. two", "one|two"),
            ("1. old\n\nBetter:\n\n1. new", "new"),
            ("1. one\n\nThen:\n\n2. two", "one|two"),
            ("```\n1. code\n```\nNo list.", ""),
            (
                "# Plan\n- one\n- two\n\n## Open\n- a question",
                "one|two|a question",
            ),
            ("Plan:\n* one\n* two", "one|two"),
            ("In 1984. it was", ""),
            ("2020. a year", ""),
        ] {
            assert_eq!(plan_steps(text).join("|"), expected, "{text}");
        }
    }

    #[test]
    fn a_reported_plan_comes_before_the_words() {
        let mut answer = AnswerBuilder::default();
        answer.push_text(0, "1. in words\n2. only");
        answer.set_plan(&[
            ("read", "done"),
            ("write", "waiting"),
            ("test\nit", "running"),
        ]);
        answer.push_thought(1, "1. in thought");
        assert_eq!(plan_steps(&answer.stored()), ["write", "test it"]);
        // All done: the words are about what comes next.
        answer.set_plan(&[("read", "done")]);
        assert_eq!(plan_steps(&answer.stored()), ["in words", "only"]);
    }

    #[test]
    fn a_long_list_is_cut() {
        let text: String = (1..=200).map(|n| format!("{n}. step {n}\n")).collect();
        assert_eq!(plan_steps(&text).len(), STEPS);
    }
}

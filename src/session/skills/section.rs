//! The section of the instructions that lists the skills for the model, within its budget.
//!
//! In: skills, nearest first. Out: markup in the form of the contract, and how much was left out. Names, paths and
//! descriptions come from unchecked files: they are escaped, lose their control characters, and characters that hide
//! text are spelled out.

use crate::text::cut;
use crate::text::escape::{visible, xml_attribute, xml_text};

use super::Skill;

/// Characters of the section at most.
pub(super) const MOST_CHARACTERS: usize = 8_000;

const HEAD: &str = "\n<skills>\nThe following skills are available. To activate a skill and read its full \
    instructions, call the load_skill tool with its path.\n";
const TAIL: &str = "</skills>";

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Section {
    /// Empty without skills. Begins with a newline, ends without one.
    pub text: String,
    /// The width in columns to which descriptions were cut.
    pub shortened: Option<usize>,
    /// The number of farthest skills that were left out.
    pub left_out: usize,
}

pub(super) fn section(skills: &[Skill]) -> Section {
    let frame = HEAD.len() + TAIL.len();
    let bare = skills.iter().scan(frame, |length, skill| {
        *length += line(skill, 0).chars().count();
        Some(*length)
    });
    let listed = bare.take_while(|length| *length <= MOST_CHARACTERS).count();
    let left_out = skills.len() - listed;
    if listed == 0 {
        return Section {
            left_out,
            ..Section::default()
        };
    }
    let (text, shortened) = fitting(&skills[..listed]);
    Section {
        text,
        shortened,
        left_out,
    }
}

/// The section with the longest descriptions that fit; empty ones always do.
fn fitting(skills: &[Skill]) -> (String, Option<usize>) {
    let fits = |text: &String| text.chars().count() <= MOST_CHARACTERS;
    let whole = compose(skills, usize::MAX);
    if fits(&whole) {
        return (whole, None);
    }
    // A character has at most two columns.
    let (mut low, mut high) = (0, super::manifest::MOST_DESCRIPTION * 2);
    let mut best = compose(skills, low);
    while low + 1 < high {
        let middle = low.midpoint(high);
        let text = compose(skills, middle);
        if fits(&text) {
            (low, best) = (middle, text);
        } else {
            high = middle;
        }
    }
    (best, Some(low))
}

fn compose(skills: &[Skill], columns: usize) -> String {
    let lines = skills.iter().map(|skill| line(skill, columns));
    HEAD.to_owned() + &lines.collect::<String>() + TAIL
}

fn line(skill: &Skill, columns: usize) -> String {
    let (name, path) = (shown(&skill.name), shown(&skill.path));
    let description = shown(&skill.description);
    format!(
        "<skill name=\"{}\" path=\"{}\">{}</skill>\n",
        xml_attribute(&name),
        xml_attribute(&path),
        xml_text(&cut(&description, columns)),
    )
}

/// `text` in the form that the section shows, before it is escaped.
pub(super) fn shown(text: &str) -> String {
    let kept: String = text.chars().filter(|c| !c.is_control()).collect();
    visible(&kept).into_owned()
}

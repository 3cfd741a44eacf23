//! An agent's work besides the answer: its plan, its own tool calls, its changes of files.
//!
//! Values; the text in them is foreign. Each update of a plan or an activity is complete and replaces the one
//! before it.

use std::borrow::Cow;

use super::input::InputPart;
use crate::dialog::{WorkRecord, command_line};
use crate::output::limits::grouped;
use crate::text::joined_words;

/// A step of the agent's plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanStep {
    /// The task, on one line.
    pub text: String,
    pub status: WorkStatus,
}

/// Progress of a plan step or an activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkStatus {
    /// Not started.
    Waiting,
    /// In progress.
    Running,
    /// Ended with success.
    Done,
    /// Ended without success.
    Failed,
}

/// A call of one of the agent's own tools. Commands have events of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activity {
    /// The agent's id of the activity, the same in each update.
    pub id: String,
    pub kind: ActivityKind,
    /// One line that identifies the activity: `searched: rust`, `weather.now(city="Oslo")`.
    pub title: String,
    pub status: WorkStatus,
    /// The result, complete in each update.
    pub content: Vec<InputPart>,
    /// The files concerned.
    pub locations: Vec<FileLocation>,
    /// The call failed because the user did not allow it; the question has reported that already.
    pub denied: bool,
}

/// Kinds of activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActivityKind {
    /// Reads files or data.
    Read,
    /// Changes files.
    Edit,
    /// Deletes files.
    Delete,
    /// Moves files.
    Move,
    /// Searches.
    Search,
    /// Fetches something from the network.
    Fetch,
    /// Reasons.
    Think,
    /// Calls a tool of an MCP server.
    Mcp,
    /// Anything else.
    Other,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLocation {
    /// Path as the agent spells it.
    pub path: String,
    /// Line number, from 1.
    pub line: Option<u32>,
}

impl WorkStatus {
    /// The status in one word, as the record stores it.
    pub fn as_str(self) -> &'static str {
        match self {
            WorkStatus::Waiting => "waiting",
            WorkStatus::Running => "running",
            WorkStatus::Done => "done",
            WorkStatus::Failed => "failed",
        }
    }
}

impl ActivityKind {
    /// The kind in one word, as the record stores it.
    pub fn as_str(self) -> &'static str {
        match self {
            ActivityKind::Read => "read",
            ActivityKind::Edit => "edit",
            ActivityKind::Delete => "delete",
            ActivityKind::Move => "move",
            ActivityKind::Search => "search",
            ActivityKind::Fetch => "fetch",
            ActivityKind::Think => "think",
            ActivityKind::Mcp => "mcp",
            ActivityKind::Other => "other",
        }
    }

    /// True for kinds that only look: the agent reports their findings in its answer.
    fn is_lookup(self) -> bool {
        matches!(
            self,
            ActivityKind::Read | ActivityKind::Search | ActivityKind::Fetch | ActivityKind::Think
        )
    }
}

impl Activity {
    /// The entry for the record once the activity has ended; `None` before.
    pub fn record(&self) -> Option<WorkRecord> {
        let success = match self.status {
            WorkStatus::Waiting | WorkStatus::Running => return None,
            WorkStatus::Done => true,
            WorkStatus::Failed => false,
        };
        Some(WorkRecord {
            id: self.id.clone(),
            kind: self.kind.as_str(),
            title: self.title_with_locations(),
            result: match success && self.kind.is_lookup() {
                true => String::new(),
                false => self.text(),
            },
            success,
        })
    }

    /// The text parts of the result.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|part| match part {
            InputPart::Text(text) => Some(text.as_str()),
            InputPart::Image(_) | InputPart::File { .. } => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// The title, followed by those locations that the title does not name.
    pub fn title_with_locations(&self) -> String {
        let places = self.locations.iter().map(|place| match place.line {
            Some(line) => format!("{}:{line}", place.path),
            None => place.path.clone(),
        });
        let places: Vec<String> = places
            .filter(|place| !self.title.contains(place.as_str()))
            .collect();
        match places.as_slice() {
            [] => self.title.clone(),
            places => format!("{} ({})", self.title, places.join(", ")),
        }
    }

    /// True once the activity has ended, with a summary line or without.
    pub fn is_over(&self) -> bool {
        matches!(self.status, WorkStatus::Done | WorkStatus::Failed)
    }

    /// The line that remains on the screen; `None` while the activity runs, or when a question has reported it.
    pub fn summary_line(&self) -> Option<String> {
        let line = || command_line(&self.title_with_locations(), None, &self.text());
        match self.status {
            WorkStatus::Waiting | WorkStatus::Running => None,
            WorkStatus::Failed if self.denied => None,
            WorkStatus::Failed => Some(format!("✗ {}", line())),
            // Findings are part of the answer; the output of other tools is shown as that of our own tools is.
            WorkStatus::Done if self.kind.is_lookup() => Some(self.title_with_locations()),
            WorkStatus::Done => Some(format!("🔧 {}", line())),
        }
    }
}

/// A change of a file that the agent made or wants to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Path of the file, as the agent spells it.
    pub path: String,
    /// The change itself.
    pub change: Change,
}

impl FileChange {
    /// The entry for the record of changes that were made.
    pub fn record(changes: &[FileChange]) -> WorkRecord {
        let told = changes
            .iter()
            .map(|change| format!("{} {}", change.change.as_str(), change.path));
        edit_record(told.collect::<Vec<_>>().join(", "))
    }
}

/// A file that the agent wrote through us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileWritten {
    /// The file and its change; a [`Change::Diff`] where the old content is no text or too large to show.
    pub change: FileChange,
    /// Size of the new content in bytes.
    pub bytes: usize,
}

impl FileWritten {
    /// One line: `changed /a.py (1,024 bytes, +3 −1)`.
    pub fn summary(&self) -> String {
        let FileChange { path, change } = &self.change;
        let lines = match (change, change.lines()) {
            (Change::Rewritten { old, new }, _) if old == new => ", as before".to_owned(),
            (Change::Diff(_), _) | (_, (0, 0)) => String::new(),
            (_, (0, gone)) => format!(", −{gone}"),
            (_, (come, 0)) => format!(", +{come}"),
            (_, (come, gone)) => format!(", +{come} −{gone}"),
        };
        let word = match change {
            Change::Added(_) => "created",
            _ => "changed",
        };
        let noun = if self.bytes == 1 { "byte" } else { "bytes" };
        format!(
            "{word} {path} ({} {noun}{lines})",
            grouped(self.bytes as u64)
        )
    }

    /// The entry for the record of this write.
    pub fn record(&self) -> WorkRecord {
        edit_record(self.summary())
    }
}

fn edit_record(title: String) -> WorkRecord {
    WorkRecord {
        id: String::new(),
        kind: ActivityKind::Edit.as_str(),
        title,
        result: String::new(),
        success: true,
    }
}

/// The text shown for a command: the command itself, behind the agent's title for it where that says more.
pub fn command_title(title: &str, command: &str) -> String {
    let title = joined_words(title);
    let bare = title.trim_matches('`');
    match command.trim() {
        run if bare.is_empty() || bare == joined_words(run) => command.to_owned(),
        run if title.contains(&format!("`{run}`")) => title,
        _ => format!("{title}: {command}"),
    }
}

/// How a file changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Created, with this content.
    Added(String),
    /// Deleted; this was the content.
    Deleted(String),
    /// Hunks of a unified diff.
    Diff(String),
    /// Replaced as a whole.
    Rewritten {
        /// Content before the change.
        old: String,
        /// Content after the change.
        new: String,
    },
}

/// Unchanged lines shown around a difference.
const CONTEXT_LINES: usize = 3;

impl Change {
    /// The change in one word.
    pub fn as_str(&self) -> &'static str {
        match self {
            Change::Added(_) => "add",
            Change::Deleted(_) => "delete",
            Change::Diff(_) | Change::Rewritten { .. } => "update",
        }
    }

    /// Counts of added and removed lines; zero for a diff, which is not parsed.
    fn lines(&self) -> (usize, usize) {
        let (old, new) = match self {
            Change::Added(new) => ("", new.as_str()),
            Change::Deleted(old) => (old.as_str(), ""),
            Change::Rewritten { old, new } => (old.as_str(), new.as_str()),
            Change::Diff(_) => return (0, 0),
        };
        let text = hunk(old, new);
        let of = |mark: char| {
            text.lines()
                .skip(1)
                .filter(|line| line.starts_with(mark))
                .count()
        };
        (of('+'), of('-'))
    }

    /// The content of a created or deleted file, else hunks.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Change::Added(text) | Change::Deleted(text) | Change::Diff(text) => text.into(),
            Change::Rewritten { old, new } => hunk(old, new).into(),
        }
    }
}

/// One hunk that spans every difference; the common start and end are left out but for the lines of context.
fn hunk(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = |(a, b): &(&&str, &&str)| a == b;
    let head = old.iter().zip(&new).take_while(same).count();
    let (rest, more) = (&old[head..], &new[head..]);
    let tail = rest.iter().rev().zip(more.iter().rev());
    let tail = tail.take_while(same).count();
    let (gone, come) = (&rest[..rest.len() - tail], &more[..more.len() - tail]);
    if gone.is_empty() && come.is_empty() {
        return String::new();
    }
    let from = head.saturating_sub(CONTEXT_LINES);
    let (before, after) = (&old[from..head], &rest[rest.len() - tail..]);
    let after = &after[..after.len().min(CONTEXT_LINES)];
    let around = before.len() + after.len();
    let mut text = format!(
        "@@ -{at},{} +{at},{} @@\n",
        around + gone.len(),
        around + come.len(),
        at = from + 1
    );
    for (sign, lines) in [(' ', before), ('-', gone), ('+', come), (' ', after)] {
        for line in lines {
            text.push(sign);
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_and_new_text_become_one_hunk() {
        let check = |old: &str, new: &str, expected: &str| {
            let change = Change::Rewritten {
                old: old.into(),
                new: new.into(),
            };
            assert_eq!(change.text(), expected, "{old:?} {new:?}");
        };
        check("a\nb\n", "a\nb\n", "");
        check("", "a\n", "@@ -1,0 +1,1 @@\n+a\n");
        check("a\na\n", "a\n", "@@ -1,2 +1,1 @@\n a\n-a\n");
        check(
            "1\n2\n3\n4\nold\n5\n6\n7\n8\n",
            "1\n2\n3\n4\nnew\nmore\n5\n6\n7\n8\n",
            "@@ -2,7 +2,8 @@\n 2\n 3\n 4\n-old\n+new\n+more\n 5\n 6\n 7\n",
        );
    }

    #[test]
    fn a_command_is_shown_behind_its_title() {
        for (title, command, expected) in [
            ("", "ls -l", "ls -l"),
            ("ls  -l", "ls -l", "ls -l"),
            ("`ls -l`", "ls -l", "ls -l"),
            ("Run `ls -l`", "ls -l", "Run `ls -l`"),
            ("Lists\nfiles", "ls -l", "Lists files: ls -l"),
            ("Lists tools", "ls", "Lists tools: ls"),
            ("a b", "a\nb", "a\nb"),
            ("Both", "a\nb", "Both: a\nb"),
        ] {
            assert_eq!(command_title(title, command), expected);
        }
    }

    #[test]
    fn a_file_that_was_written_is_told_with_its_size_and_lines() {
        let check = |change: Change, bytes, expected: &str| {
            let path = "/p/a".to_owned();
            let change = FileChange { path, change };
            assert_eq!(FileWritten { change, bytes }.summary(), expected);
        };
        let rewritten = |old: &str, new: &str| Change::Rewritten {
            old: old.into(),
            new: new.into(),
        };
        check(
            Change::Added("1\n2\n".into()),
            4,
            "created /p/a (4 bytes, +2)",
        );
        check(Change::Added(String::new()), 0, "created /p/a (0 bytes)");
        check(
            rewritten("1\n2\n", "1\n3\n4\n"),
            1234,
            "changed /p/a (1,234 bytes, +2 −1)",
        );
        check(rewritten("1\n2\n", "1\n"), 2, "changed /p/a (2 bytes, −1)");
        check(
            rewritten("--\n", "++\n"),
            3,
            "changed /p/a (3 bytes, +1 −1)",
        );
        check(rewritten("1", "1"), 1, "changed /p/a (1 byte, as before)");
        check(Change::Diff(String::new()), 9, "changed /p/a (9 bytes)");
    }

    #[test]
    fn files_are_told_unless_the_title_names_them() {
        let mut activity = Activity {
            id: "1".into(),
            kind: ActivityKind::Read,
            title: "Read /p/a.py".into(),
            status: WorkStatus::Done,
            content: Vec::new(),
            denied: false,
            locations: vec![FileLocation {
                path: "/p/a.py".into(),
                line: None,
            }],
        };
        assert_eq!(activity.title_with_locations(), "Read /p/a.py");
        activity.locations[0].line = Some(3);
        assert_eq!(activity.title_with_locations(), "Read /p/a.py (/p/a.py:3)");
    }

    #[test]
    fn work_leaves_a_line_when_it_has_ended() {
        let check = |kind, status, expected: Option<&str>| {
            let activity = Activity {
                id: "1".into(),
                kind,
                title: "w.now()".into(),
                status,
                content: vec![InputPart::Text("rain\nand wind".into())],
                denied: false,
                locations: Vec::new(),
            };
            assert_eq!(activity.summary_line().as_deref(), expected);
        };
        check(ActivityKind::Mcp, WorkStatus::Running, None);
        check(
            ActivityKind::Mcp,
            WorkStatus::Done,
            Some("🔧 w.now() => rain and wind"),
        );
        check(ActivityKind::Search, WorkStatus::Done, Some("w.now()"));
        check(
            ActivityKind::Read,
            WorkStatus::Failed,
            Some("✗ w.now() => rain and wind"),
        );
    }
}

//! Frontmatter: the YAML mapping between two `---` lines at the start of a note, a skill or a tool result.
//!
//! In: any text. Out: the keys as text and lists of text, and the body below. A fence is a line that is `---` once
//! trimmed; the first is the very first line. Line ends may be `\n` or `\r\n`. Invariants: total, and bounded: at
//! most [`MOST_BYTES`] of YAML are read, [`MOST_DEPTH`] levels and [`MOST_NODES`] nodes are built, aliases counted
//! with what they repeat; more is an error of one line. Scalars keep the spelling of the file (`1.0` stays `1.0`),
//! since readers need words and not numbers. The events are read by hand for that: through serde `1.10` is 1.1,
//! `0755` is 755.0, and `<<` is merged.
//!
//! Document: YAML 1.2 as `granit-parser` 2 reads it. Absent on purpose: merge keys (`<<` is a key like any other),
//! tags (read and ignored), several documents, and the meaning of any key.

use std::collections::{HashMap, HashSet};

use serde_yaml::granit_parser::{
    ErrorKind, Event, Options, Parser, ScalarStyle, ScanError, StructureStyle,
};

/// Most bytes of YAML between the fences.
pub const MOST_BYTES: usize = 64 * 1024;
/// Most levels of lists and mappings.
pub const MOST_DEPTH: usize = 32;
/// Most nodes, including those that aliases repeat.
pub const MOST_NODES: usize = 10_000;
/// Most bytes of text in all nodes, including those that aliases repeat.
const MOST_TEXT: usize = 4 * MOST_BYTES;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split<'t> {
    /// `None` when the text has no fences, or no mapping between them. The error is one line.
    pub frontmatter: Result<Option<Frontmatter>, String>,
    /// The text after the second fence; the whole text when there is no frontmatter or an invalid one.
    pub body: &'t str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fences<'t> {
    /// The first line is no fence.
    Absent,
    /// The first line is a fence without a second one.
    Open,
    Closed {
        yaml: &'t str,
        body: &'t str,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Text {
        /// As written, with escapes resolved.
        text: String,
        /// Without quotes: `null`, `~` and `true` then have YAML's meaning.
        plain: bool,
    },
    List(Vec<Value>),
    /// Keys are unique.
    Map(Vec<(String, Value)>),
}

/// Why YAML could not be read: one line, with its line number where there is one (the first fence is line 1).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Invalid YAML.
    #[error("{0}")]
    Syntax(String),
    /// Beyond one of the limits.
    #[error("{0}")]
    Budget(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frontmatter {
    entries: Vec<(String, Value)>,
    loose: Option<String>,
}

pub fn split(text: &str) -> Split<'_> {
    let Fences::Closed { yaml, body } = fences(text) else {
        return Split {
            frontmatter: Ok(None),
            body: text,
        };
    };
    let frontmatter = parse(yaml).map_err(|fault| fault.to_string());
    let body = match &frontmatter {
        Ok(Some(_)) => body,
        _ => text,
    };
    Split { frontmatter, body }
}

pub fn fences(text: &str) -> Fences<'_> {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    if first.trim() != "---" {
        return Fences::Absent;
    }
    let start = first.len();
    let mut end = start;
    for line in lines {
        if line.trim() == "---" {
            return Fences::Closed {
                yaml: &text[start..end],
                body: &text[end + line.len()..],
            };
        }
        end += line.len();
    }
    Fences::Open
}

/// Parses the text between fences; `None` when it is no mapping.
///
/// # Errors
/// [`Fault`].
pub fn parse(yaml: &str) -> Result<Option<Frontmatter>, Fault> {
    if yaml.len() > MOST_BYTES {
        let bytes = yaml.len();
        return Err(Fault::Budget(format!(
            "the frontmatter has {bytes} bytes, {MOST_BYTES} are allowed"
        )));
    }
    let mut options = Options::default();
    options.flow_nesting_limit = MOST_DEPTH;
    options.block_nesting_limit = MOST_DEPTH;
    options.set_emit_comments(false);
    let mut tree = Tree::default();
    for event in Parser::new_from_str_with_options(yaml, options) {
        let (event, span) = event.map_err(|error| scan_fault(&error))?;
        let line = span.start.line() + 1;
        tree.take(event, line).map_err(|fault| fault.at(line))?;
    }
    Ok(match tree.root {
        Some(Node {
            value: Value::Map(entries),
            ..
        }) => Some(Frontmatter {
            entries,
            loose: tree.loose,
        }),
        _ => None,
    })
}

impl Fault {
    fn at(self, line: usize) -> Self {
        match self {
            Fault::Syntax(why) => Fault::Syntax(format!("{why} in line {line}")),
            Fault::Budget(why) => Fault::Budget(format!("{why} in line {line}")),
        }
    }
}

fn scan_fault(error: &ScanError) -> Fault {
    let line = error.marker().line() + 1;
    match error.kind() {
        ErrorKind::RecursionLimitExceeded => {
            Fault::Budget(format!("more than {MOST_DEPTH} levels in line {line}"))
        }
        _ => Fault::Syntax(format!("{} in line {line}", short(&error.info()))),
    }
}

impl Frontmatter {
    /// Returns the words of a string, or the items of a list: `a b`, `a, b` and `[a, b]` are two words. Empty
    /// without the key.
    pub fn words(&self, key: &str) -> Vec<String> {
        match self.value(key) {
            Some(Value::List(_)) => self.lines(key),
            _ => {
                let text = self.text(key).unwrap_or_default();
                let words = text.split_whitespace().map(|word| word.trim_matches(','));
                words
                    .filter(|word| !word.is_empty())
                    .map(str::to_owned)
                    .collect()
            }
        }
    }

    /// Returns the items of a list, or the one string, which is not split at blanks. Blank items are left out.
    pub fn lines(&self, key: &str) -> Vec<String> {
        let values = match self.value(key) {
            Some(Value::List(items)) => items.iter().collect(),
            value => Vec::from_iter(value),
        };
        let texts = values.into_iter().filter_map(Value::text);
        texts
            .map(|text| text.trim().to_owned())
            .filter(|text| !text.is_empty())
            .collect()
    }

    /// Returns a string, number or boolean as it is spelled; `None` for null, lists and mappings.
    pub fn text(&self, key: &str) -> Option<String> {
        self.value(key).and_then(Value::text).map(str::to_owned)
    }

    /// True for `true`, `yes` and `on`.
    pub fn flag(&self, key: &str) -> bool {
        let text = self.text(key).unwrap_or_default().to_ascii_lowercase();
        matches!(text.as_str(), "true" | "yes" | "on")
    }

    /// The keys, in the order of the file.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(key, _)| key.as_str())
    }

    pub fn value(&self, key: &str) -> Option<&Value> {
        let mut entries = self.entries.iter();
        entries.find(|(name, _)| name == key).map(|(_, v)| v)
    }

    /// The first construct that strict readers of YAML refuse (flow style, tags, anchors), with its line.
    pub fn loose(&self) -> Option<&str> {
        self.loose.as_deref()
    }
}

impl Value {
    /// Returns a scalar that is not YAML's null.
    fn text(&self) -> Option<&str> {
        match self {
            Value::Text { text, plain }
                if !(*plain && matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL")) =>
            {
                Some(text)
            }
            _ => None,
        }
    }
}

#[derive(Debug, Clone)]
struct Node {
    value: Value,
    nodes: usize,
    bytes: usize,
    depth: usize,
}

impl Node {
    /// Creates an empty list or mapping, or a scalar of `bytes` bytes.
    fn empty(value: Value, bytes: usize) -> Self {
        Node {
            value,
            nodes: 1,
            bytes,
            depth: 0,
        }
    }

    fn contain(&mut self, child: &Node) {
        self.nodes += child.nodes;
        self.bytes += child.bytes;
        self.depth = self.depth.max(child.depth + 1);
    }
}

#[derive(Debug)]
struct Frame {
    node: Node,
    anchor: usize,
    key: Option<String>,
    keys: HashSet<String>,
}

#[derive(Debug, Default)]
struct Tree {
    root: Option<Node>,
    open: Vec<Frame>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
    bytes: usize,
    documents: usize,
    loose: Option<String>,
}

impl Tree {
    fn take(&mut self, event: Event<'_>, line: usize) -> Result<(), Fault> {
        self.note_loose(&event, line);
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(Fault::Syntax("a second YAML document begins".into()));
                }
            }
            Event::Scalar(text, style, anchor, _) => {
                let bytes = text.len();
                let value = Value::Text {
                    text: text.into_owned(),
                    plain: style == ScalarStyle::Plain,
                };
                self.spend(1, bytes)?;
                self.place(Node::empty(value, bytes), anchor)?;
            }
            Event::SequenceStart(_, anchor, _) => self.begin(Value::List(Vec::new()), anchor)?,
            Event::MappingStart(_, anchor, _) => self.begin(Value::Map(Vec::new()), anchor)?,
            Event::SequenceEnd | Event::MappingEnd => {
                let frame = self.open.pop().expect("what ends has begun");
                self.place(frame.node, frame.anchor)?;
            }
            Event::Alias(anchor) => {
                let Some(node) = self.anchors.get(&anchor) else {
                    return Err(Fault::Syntax(
                        "an alias refers to a value that contains it".into(),
                    ));
                };
                let (nodes, bytes) = (node.nodes, node.bytes);
                // Counted before it is copied, since aliases can multiply exponentially.
                self.spend(nodes, bytes)?;
                let node = self.anchors[&anchor].clone();
                self.place(node, 0)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, value: Value, anchor: usize) -> Result<(), Fault> {
        self.spend(1, 0)?;
        self.open.push(Frame {
            node: Node::empty(value, 0),
            anchor,
            key: None,
            keys: HashSet::new(),
        });
        Ok(())
    }

    fn spend(&mut self, nodes: usize, bytes: usize) -> Result<(), Fault> {
        self.nodes += nodes;
        self.bytes += bytes;
        if self.nodes > MOST_NODES {
            return Err(Fault::Budget(format!("more than {MOST_NODES} values")));
        }
        if self.bytes > MOST_TEXT {
            return Err(Fault::Budget(format!(
                "aliases make more than {MOST_TEXT} bytes of text"
            )));
        }
        Ok(())
    }

    /// Adds a finished node to the innermost open list or mapping.
    fn place(&mut self, node: Node, anchor: usize) -> Result<(), Fault> {
        if node.depth + self.open.len() > MOST_DEPTH {
            return Err(Fault::Budget(format!("more than {MOST_DEPTH} levels")));
        }
        if anchor != 0 {
            self.spend(node.nodes, node.bytes)?;
            self.anchors.insert(anchor, node.clone());
        }
        let Some(frame) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        frame.node.contain(&node);
        match (&mut frame.node.value, frame.key.take()) {
            (Value::List(items), _) => items.push(node.value),
            (Value::Map(entries), Some(key)) => entries.push((key, node.value)),
            (Value::Map(_), None) => {
                let Value::Text { text, .. } = node.value else {
                    return Err(Fault::Syntax("a key is not text".into()));
                };
                if !frame.keys.insert(text.clone()) {
                    return Err(Fault::Syntax(format!("a second key `{}`", short(&text))));
                }
                frame.key = Some(text);
            }
            (Value::Text { .. }, _) => unreachable!("only lists and mappings are opened"),
        }
        Ok(())
    }

    fn note_loose(&mut self, event: &Event<'_>, line: usize) {
        let flow = matches!(
            event,
            Event::SequenceStart(StructureStyle::Flow, ..)
                | Event::MappingStart(StructureStyle::Flow, ..)
        );
        let what = if flow {
            "flow style (`[]` or `{}`)"
        } else if event.tag().is_some() {
            "a tag"
        } else if event.anchor_id().is_some() || event.is_alias() {
            "an anchor or alias"
        } else {
            return;
        };
        self.loose
            .get_or_insert_with(|| format!("{what} in line {line}"));
    }
}

fn short(text: &str) -> String {
    crate::text::cut(&crate::text::escape::visible(text), 120).into_owned()
}

#[cfg(test)]
mod tests;

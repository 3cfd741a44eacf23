//! Parses a prompt's markup back: cells, outputs, notes, variables, the request.
//!
//! Lenient: finds the elements that this program writes and takes the rest as text. Absent on purpose: a general
//! XML parser; the input is our own, and a wrong guess only makes a poorer demonstration.

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct DemoContext {
    /// Source of each cell, oldest first.
    pub(super) cells: Vec<String>,
    /// Output texts, oldest first.
    pub(super) outputs: Vec<String>,
    pub(super) notes: Vec<String>,
    /// The number of exchanges written out before the prompt.
    pub(super) turns: usize,
    pub(super) request: String,
}

impl DemoContext {
    /// Parses `input`; without markup all of it is the request.
    pub(super) fn read(input: &str) -> DemoContext {
        let (earlier, now) = match input.split_once("</conversation-history>") {
            Some((earlier, now)) => (earlier, now),
            None => ("", input),
        };
        let context = between(now, "<context>", "</context>").unwrap_or_default();
        DemoContext {
            cells: all(context, "code"),
            outputs: all(context, "output"),
            notes: all(context, "note"),
            turns: earlier.matches("<turn>").count(),
            request: request(now),
        }
    }

    /// The last line of the last output that looks like a traceback.
    pub(super) fn last_error(&self) -> Option<&str> {
        self.outputs
            .iter()
            .rev()
            .find(|output| output.contains("Traceback (most recent call last)"))
            .and_then(|output| output.lines().rev().find(|line| !line.trim().is_empty()))
    }
}

/// The names in ``&`name` `` of `text`, in order, each once.
pub(super) fn named_tools(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for piece in text.split("&`").skip(1) {
        if let Some((name, _)) = piece.split_once('`')
            && !names.iter().any(|known| known == name)
        {
            names.push(name.to_owned());
        }
    }
    names
}

/// The backticked text after `word` in `text`, such as ``run `1+1` ``.
pub(super) fn quoted_after(text: &str, word: &str) -> Option<String> {
    let lead = format!("{word} `");
    text.match_indices(&lead).find_map(|(at, _)| {
        let inside_a_word = text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let (quoted, _) = text[at + lead.len()..].split_once('`')?;
        (!inside_a_word && !quoted.is_empty()).then(|| quoted.to_owned())
    })
}

fn request(input: &str) -> String {
    // The request is verbatim and last, so its end is the last end tag. Instructions before it mention the tag as
    // code.
    let open = "<user-request>";
    let mut places = input.match_indices(open);
    let begun = places.find(|(at, _)| !input[..*at].ends_with('`'));
    match begun.map(|(at, _)| &input[at + open.len()..]) {
        Some(rest) => match rest.rfind("</user-request>") {
            Some(end) => rest[..end].to_owned(),
            None => rest.to_owned(),
        },
        None => input.trim().to_owned(),
    }
}

fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(open)?;
    rest.split_once(close).map(|(inside, _)| inside)
}

/// The texts of all elements of this name, in order.
pub(super) fn all(text: &str, element: &str) -> Vec<String> {
    let (open, close) = (format!("<{element}"), format!("</{element}>"));
    text.split(&open)
        .skip(1)
        .filter_map(|piece| {
            let (_attributes, rest) = piece.split_once('>')?;
            let (inside, _) = rest.split_once(&close)?;
            Some(
                inside
                    .replace("&lt;", "<")
                    .replace("&gt;", ">")
                    .replace("&amp;", "&"),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{DemoContext, named_tools, quoted_after};

    #[test]
    fn a_prompt_is_taken_apart() {
        let context = DemoContext::read(
            "<conversation-history><turn><user>a</user><assistant>b</assistant></turn></conversation-history>\n\
             <context><code>a &lt; 1</code><note>why</note><code>1/0</code>\
             <output>Traceback (most recent call last):\nZeroDivisionError: division by zero</output></context>\n\
             <user-request>what is </user-request>?</user-request>",
        );
        assert_eq!(context.cells, ["a < 1", "1/0"]);
        assert_eq!(context.notes, ["why"]);
        assert_eq!(
            context.last_error(),
            Some("ZeroDivisionError: division by zero")
        );
        assert_eq!(context.turns, 1);
        assert_eq!(context.request, "what is </user-request>?");
        assert_eq!(DemoContext::read("hello").request, "hello");
        let told = "- `<user-request>`: what is asked\n\n<user-request>why?</user-request>";
        assert_eq!(DemoContext::read(told).request, "why?");
    }

    #[test]
    fn code_is_quoted_after_its_word() {
        for (text, word, expected) in [
            ("run `1+1`, please", "run", Some("1+1")),
            ("pyrun `a`", "run", None),
            ("pyrun `a`; run `b`", "run", Some("b")),
            ("run ``", "run", None),
            ("run `open", "run", None),
            ("run 1+1", "run", None),
        ] {
            assert_eq!(quoted_after(text, word).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn tools_are_named_in_backticks() {
        assert_eq!(named_tools("use &`f` and &`g`, &`f` again, &`"), ["f", "g"]);
    }
}

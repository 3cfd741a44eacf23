//! A value as a MIME bundle of Jupyter, and the form of it that each reader gets.
//!
//! In: what a cell displayed. Out: the best form for a reader: text for a model, text or a picture for a terminal.
//! Returned text is untrusted: the screen filters it (SGR colours in `text/plain` come from the cell).
//!
//! Absent on purpose: drawing, decoding, files. Documents: Jupyter messaging 5.4, "display data"; nbformat 4.5.

use serde_json::{Map, Value};

use crate::output::html::html_to_text;
use crate::output::json_tree::json_tree;
use crate::output::latex::formula;
use crate::output::transcript::Transcript;

/// MIME type to data, in the order received. Binary types hold base64 text, as in Jupyter's wire format 5.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MimeBundle {
    entries: Vec<(String, Value)>,
    /// The bundle's `metadata`, by form (`{"image/png": {"width": 400}}`) or for the whole.
    metadata: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalForm {
    Markdown(String),
    /// Plain text; may hold SGR colours, to be filtered like a cell's output.
    Plain(String),
    /// A picture, with the text for terminals that show none.
    Image {
        /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
        mime: String,
        /// Base64 data without blanks or newlines.
        base64: String,
        text: String,
    },
    /// A vector drawing, with the text for terminals that show none.
    Drawing {
        svg: String,
        text: String,
    },
    /// JSON as a tree for people, with the text for other programs.
    Json {
        tree: String,
        /// The JSON, indented.
        text: String,
    },
    Nothing,
}

/// Picture types that a terminal may show, best first.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// How base64 data of [`IMAGES`] begins, in the same order.
const BEGINNINGS: [&str; 4] = ["iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR"];

const SVG: &str = "image/svg+xml";

/// Prefix of widget types, whose data are only ids of models that live in the kernel.
const WIDGET: &str = "application/vnd.jupyter.widget-";

/// Longest text of one value that is converted, in bytes.
const LONGEST_TEXT: usize = 16 * 1024 * 1024;

impl MimeBundle {
    pub fn new(entries: Vec<(String, Value)>) -> Self {
        MimeBundle {
            entries,
            metadata: Map::new(),
        }
    }

    pub fn plain(text: impl Into<String>) -> Self {
        MimeBundle {
            entries: vec![("text/plain".into(), Value::String(text.into()))],
            metadata: Map::new(),
        }
    }

    #[must_use]
    pub fn with_metadata(mut self, metadata: Map<String, Value>) -> Self {
        self.metadata = metadata;
        self
    }

    /// Returns the bundle with other data for some of its forms; forms that it does not have are ignored.
    #[must_use]
    pub fn with_forms(&self, forms: &Map<String, Value>) -> Self {
        let mut bundle = self.clone();
        for (mime, data) in &mut bundle.entries {
            if let Some(form) = forms.get(mime) {
                data.clone_from(form);
            }
        }
        bundle
    }

    /// The bundle's `metadata`, by form or for the whole.
    pub fn metadata(&self) -> &Map<String, Value> {
        &self.metadata
    }

    /// Returns the data of `mime` when it is text; a list of lines is joined.
    pub fn text(&self, mime: &str) -> Option<String> {
        match self.get(mime)? {
            Value::String(text) => Some(text.clone()),
            Value::Array(lines) => Some(lines.iter().filter_map(Value::as_str).collect()),
            _ => None,
        }
    }

    /// Returns the data of `mime` as received.
    pub fn get(&self, mime: &str) -> Option<&Value> {
        self.entries
            .iter()
            .find(|(name, _)| name == mime)
            .map(|(_, data)| data)
    }

    /// All entries, in the order received.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.entries
            .iter()
            .map(|(name, data)| (name.as_str(), data))
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the text for a model: `text/plain` without escapes, or the next best text; `[image/png]` for a
    /// picture, after its text when that says more than the object's address. Empty when there is nothing to
    /// report.
    pub fn for_model(&self) -> String {
        let text = self
            .said()
            .map(|text| plain_text(&text))
            .or_else(|| self.text("text/markdown"))
            .or_else(|| self.text("text/latex"))
            .or_else(|| self.page())
            .or_else(|| serde_json::to_string_pretty(self.json()?).ok())
            .or_else(|| self.text("text/plain").map(|text| plain_text(&text)))
            .or_else(|| self.medium());
        let text = text.as_deref().map(str::trim_end).unwrap_or_default();
        match self.image_type() {
            Some(mime) if text.is_empty() || says_nothing(text) => format!("[{mime}]"),
            Some(mime) => format!("{text}\n[{mime}]"),
            None => text.to_owned(),
        }
    }

    /// Returns the form for a terminal `width` columns wide, in this order: a picture or drawing, markdown, plain
    /// text, formulas in characters, HTML as text, JSON as a tree.
    pub fn for_terminal(&self, width: usize) -> TerminalForm {
        if let Some((mime, base64)) = self.image() {
            return TerminalForm::Image {
                text: self.for_model(),
                mime: mime.to_owned(),
                base64,
            };
        }
        if let Some(svg) = self.text(SVG) {
            let text = self.for_model();
            return TerminalForm::Drawing { svg, text };
        }
        if let Some(markdown) = self.text("text/markdown") {
            return TerminalForm::Markdown(markdown);
        }
        let plain = self
            .said()
            .or_else(|| self.text("text/latex").map(|source| formula(&source)))
            .or_else(|| self.page_at(width));
        if let (None, Some(json)) = (&plain, self.json()) {
            return TerminalForm::Json {
                tree: json_tree(json, width),
                text: serde_json::to_string_pretty(json).unwrap_or_default(),
            };
        }
        let plain = plain
            .or_else(|| self.text("text/plain"))
            .or_else(|| self.medium())
            .or_else(|| Some(format!("[{}]", self.image_type()?)));
        plain.map_or(TerminalForm::Nothing, TerminalForm::Plain)
    }

    /// Returns the first picture that a terminal may show: its type and its base64 data without blanks.
    pub fn image(&self) -> Option<(&'static str, String)> {
        IMAGES.iter().find_map(|&mime| {
            let mut base64 = self.text(mime)?;
            base64.retain(|c| !c.is_ascii_whitespace());
            is_base64(&base64).then_some((mime, base64))
        })
    }

    /// Returns every picture of the best type: type and base64 data without blanks. A list holds several pictures
    /// when its items begin as pictures do; other items continue the one before, as in notebook files.
    pub fn images(&self) -> Vec<(&'static str, String)> {
        for &mime in &IMAGES {
            let mut pictures: Vec<String> = Vec::new();
            for (_, data) in self.entries.iter().filter(|(name, _)| name == mime) {
                let items = match data {
                    Value::String(text) => std::slice::from_ref(text)
                        .iter()
                        .map(String::as_str)
                        .collect(),
                    Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
                    _ => Vec::new(),
                };
                for (n, item) in items.into_iter().enumerate() {
                    let begins = BEGINNINGS
                        .iter()
                        .any(|begin| item.trim_start().starts_with(begin));
                    match pictures.last_mut() {
                        Some(picture) if n > 0 && !begins => picture.push_str(item),
                        _ => pictures.push(item.to_owned()),
                    }
                }
            }
            for picture in &mut pictures {
                picture.retain(|c| !c.is_ascii_whitespace());
            }
            pictures.retain(|picture| is_base64(picture));
            if !pictures.is_empty() {
                return pictures
                    .into_iter()
                    .map(|picture| (mime, picture))
                    .collect();
            }
        }
        Vec::new()
    }

    /// Returns the type of the first picture of any kind. Types with other characters than letters, digits and `+.-`
    /// are ignored, since the name is shown.
    fn image_type(&self) -> Option<&str> {
        let known = IMAGES.iter().copied().find(|mime| self.get(mime).is_some());
        known.or_else(|| {
            let name = |mime: &str| {
                mime.strip_prefix("image/").is_some_and(|kind| {
                    !kind.is_empty()
                        && kind.len() <= 40
                        && kind
                            .bytes()
                            .all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte))
                })
            };
            self.iter().map(|(mime, _)| mime).find(|mime| name(mime))
        })
    }

    /// Returns `text/plain`, unless it only names the object and another form says more.
    fn said(&self) -> Option<String> {
        let text = self.text("text/plain")?;
        let more = [
            "text/markdown",
            "text/latex",
            "text/html",
            "application/json",
        ];
        let told = !more.iter().any(|mime| self.get(mime).is_some()) || !says_nothing(&text);
        told.then_some(text)
    }

    fn page(&self) -> Option<String> {
        self.page_at(usize::MAX)
    }

    fn page_at(&self, width: usize) -> Option<String> {
        let text = html_to_text(&self.text("text/html")?, width);
        (!text.is_empty()).then_some(text)
    }

    /// Returns a placeholder for a form that cannot be shown: `[audio/wav]`.
    fn medium(&self) -> Option<String> {
        let known = |mime: &str| {
            ["audio/", "video/", "application/pdf"]
                .iter()
                .any(|kind| mime.starts_with(kind))
                && mime.len() <= 40
                && mime
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"/+.-".contains(&byte))
        };
        if let Some((mime, _)) = self.iter().find(|(mime, _)| known(mime)) {
            return Some(format!("[{mime}]"));
        }
        self.iter()
            .any(|(mime, _)| mime.starts_with(WIDGET))
            .then(|| "[widget]".to_owned())
    }

    fn json(&self) -> Option<&Value> {
        let laid_out = |mime: &str| {
            mime == "application/json" || mime.ends_with("+json") && !mime.starts_with(WIDGET)
        };
        let found = self.iter().find(|(mime, _)| laid_out(mime));
        found.map(|(_, value)| value)
    }
}

/// Applies or drops the escape sequences in `text`.
fn plain_text(text: &str) -> String {
    if !text
        .bytes()
        .any(|byte| byte < 0x20 && byte != b'\n' && byte != b'\t')
    {
        return text.to_owned();
    }
    let mut transcript = Transcript::new(LONGEST_TEXT);
    transcript.push(text.as_bytes());
    transcript.into_text().text
}

/// True for texts that add nothing to a picture: `<PIL.Image.Image …>`, `<Figure size 640x480 with 1 Axes>`,
/// `[image/png]`.
fn says_nothing(text: &str) -> bool {
    // A printer that the user installed in place of Python's may have coloured the text.
    let text = plain_text(text);
    let text = text.trim();
    let between = |begin: &str, end: char| text.starts_with(begin) && text.ends_with(end);
    !text.contains('\n') && (between("<", '>') || between("[image/", ']'))
}

fn is_base64(data: &str) -> bool {
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    !data.is_empty() && data.bytes().all(valid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn bundle(value: Value) -> MimeBundle {
        let Value::Object(map) = value else {
            panic!("an object");
        };
        MimeBundle::new(map.into_iter().collect())
    }

    #[test]
    fn the_best_form_for_a_model() {
        let check = |value: Value, expected: &str| {
            assert_eq!(bundle(value.clone()).for_model(), expected, "{value}");
        };
        check(json!({}), "");
        check(json!({"text/plain": "1"}), "1");
        check(json!({"text/plain": ["a\n", "b\n"]}), "a\nb");
        check(json!({"text/plain": "\u{1b}[31mred\u{1b}[0m"}), "red");
        check(
            json!({"text/html": "<b>x</b>", "text/plain": "DataFrame"}),
            "DataFrame",
        );
        check(json!({"text/html": "<p>a &amp; <b>b</b></p>"}), "a & b");
        check(json!({"text/markdown": "# T"}), "# T");
        check(json!({"text/latex": "$x$"}), "$x$");
        check(
            json!({"application/json": {"a": [1]}}),
            "{\n  \"a\": [\n    1\n  ]\n}",
        );
        check(json!({"image/png": "AAAA"}), "[image/png]");
        check(
            json!({"text/plain": "<Figure size 640x480 with 1 Axes>", "image/png": "AAAA"}),
            "[image/png]",
        );
        check(
            json!({"text/plain": "a cat", "image/jpeg": "AAAA"}),
            "a cat\n[image/jpeg]",
        );
        check(
            json!({"text/plain": "[image/png]", "image/png": "AAAA"}),
            "[image/png]",
        );
        check(json!({"image/svg+xml": "<svg/>"}), "[image/svg+xml]");
        check(json!({"image/\u{1b}[31m": "x"}), "");
        check(json!({"application/x-unknown": "x"}), "");
    }

    #[test]
    fn the_pictures_of_a_bundle() {
        let check = |value: Value, expected: &[(&str, &str)]| {
            let found = bundle(value.clone()).images();
            let found: Vec<_> = found
                .iter()
                .map(|(mime, data)| (*mime, data.as_str()))
                .collect();
            assert_eq!(found, expected, "{value}");
        };
        check(json!({"text/plain": "x"}), &[]);
        check(
            json!({"image/png": "iVBORw0KGgoA\n"}),
            &[("image/png", "iVBORw0KGgoA")],
        );
        // One picture in lines, as in a notebook; two pictures; two forms of one.
        check(
            json!({"image/png": ["AAAA\n", "BBBB"]}),
            &[("image/png", "AAAABBBB")],
        );
        check(
            json!({"image/jpeg": ["/9j/A", "/9j/B"]}),
            &[("image/jpeg", "/9j/A"), ("image/jpeg", "/9j/B")],
        );
        check(
            json!({"image/jpeg": "/9j/A", "image/png": "AAAA"}),
            &[("image/png", "AAAA")],
        );
        check(json!({"image/png": "\u{1b}]52;", "image/gif": 1}), &[]);
        check(json!({"image/svg+xml": "<svg/>"}), &[]);
    }

    #[test]
    fn the_best_form_for_a_terminal() {
        let check = |value: Value, expected: TerminalForm| {
            assert_eq!(bundle(value.clone()).for_terminal(80), expected, "{value}");
        };
        let plain = |text: &str| TerminalForm::Plain(text.to_owned());
        check(json!({}), TerminalForm::Nothing);
        check(
            json!({"text/plain": "<Markdown object>", "text/markdown": "# T"}),
            TerminalForm::Markdown("# T".into()),
        );
        check(
            json!({"text/plain": "p", "text/html": "<b>h</b>"}),
            plain("p"),
        );
        check(json!({"text/html": "<b>h</b>"}), plain("h"));
        check(json!({"text/latex": "$x^2$"}), plain("x²"));
        check(
            json!({"text/plain": "<IPython.core.display.HTML object>", "text/html": "<b>h</b>"}),
            plain("h"),
        );
        let coloured = "\x1b[1m<\x1b[0m\x1b[1;95mIPython.core.display.HTML\x1b[0m\x1b[39m object\x1b[0m\x1b[1m>\x1b[0m";
        check(
            json!({"text/plain": coloured, "text/html": "<b>h</b>"}),
            plain("h"),
        );
        check(
            json!({"text/plain": coloured, "application/json": {"a": 1}}),
            TerminalForm::Json {
                tree: "{a: 1}".into(),
                text: "{\n  \"a\": 1\n}".into(),
            },
        );
        check(
            json!({"text/plain": "<IPython.core.display.Math object>", "text/latex": r"$\alpha$"}),
            plain("α"),
        );
        check(
            json!({"text/plain": "<T object>", "text/html": "<script>x</script>"}),
            plain("<T object>"),
        );
        check(json!({"audio/wav": "AAAA"}), plain("[audio/wav]"));
        check(
            json!({"application/vnd.jupyter.widget-view+json": {"model_id": "1"}}),
            plain("[widget]"),
        );
        check(
            json!({"image/png": "AA\nAA\n", "text/plain": "<Figure>"}),
            TerminalForm::Image {
                mime: "image/png".into(),
                base64: "AAAA".into(),
                text: "[image/png]".into(),
            },
        );
        check(
            json!({"image/png": "\u{1b}]52;", "text/plain": "p"}),
            plain("p"),
        );
        check(
            json!({"image/svg+xml": "<svg/>", "text/plain": "<IPython.core.display.SVG object>"}),
            TerminalForm::Drawing {
                svg: "<svg/>".into(),
                text: "[image/svg+xml]".into(),
            },
        );
    }
}

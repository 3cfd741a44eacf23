//! The outputs of cells in a file: as ours, as text, and the pictures in them.
//!
//! In: outputs as a [`Document`](super::Document) has them. Out: [`CellOutput`]s; malformed outputs are left out.
//! Streams keep their names, displays all their formats and metadata.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::document::Cell;
use crate::output::{CellError, CellOutput, MimeBundle, STDOUT, Transcript};

/// The largest part of one text that is read, in bytes.
const LONGEST: usize = 16 << 20;

/// A picture in an output or an attachment of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellPicture {
    /// `cell-3-output-1.png`: cells from 0, as they are shown, outputs from 1; `cell-3-NAME` for an attachment.
    pub name: String,
    /// `image/png`.
    pub mime: String,
    pub bytes: Vec<u8>,
}

pub fn read_outputs(outputs: &[Value]) -> Vec<CellOutput> {
    outputs.iter().filter_map(read).collect()
}

fn read(output: &Value) -> Option<CellOutput> {
    let text = |key: &str| match output.get(key) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Array(lines)) => Some(lines.iter().filter_map(Value::as_str).collect()),
        _ => None,
    };
    Some(match output.get("output_type")?.as_str()? {
        "stream" => {
            // `stream` is the name before format 4.
            let name = text("name").or_else(|| text("stream"));
            CellOutput::Stream {
                name: name.unwrap_or_else(|| STDOUT.to_owned()),
                text: text("text")?,
            }
        }
        "execute_result" | "pyout" => CellOutput::Result(bundle(output)),
        "display_data" => CellOutput::Display(bundle(output)),
        "error" | "pyerr" => CellOutput::Error(CellError {
            name: text("ename").unwrap_or_default(),
            value: text("evalue").unwrap_or_default(),
            traceback: match output.get("traceback") {
                Some(Value::Array(lines)) => lines
                    .iter()
                    .filter_map(Value::as_str)
                    .map(str::to_owned)
                    .collect(),
                _ => Vec::new(),
            },
            leaves: None,
        }),
        _ => return None,
    })
}

fn bundle(output: &Value) -> MimeBundle {
    let metadata = match output.get("metadata") {
        Some(Value::Object(metadata)) => metadata.clone(),
        _ => Map::new(),
    };
    let entries = match output.get("data") {
        Some(Value::Object(data)) => data
            .iter()
            .map(|(mime, data)| (mime.clone(), data.clone()))
            .collect(),
        // Before format 4 the formats stand in the output itself, under short names.
        _ => [
            ("text", "text/plain"),
            ("html", "text/html"),
            ("markdown", "text/markdown"),
            ("latex", "text/latex"),
            ("svg", "image/svg+xml"),
            ("png", "image/png"),
            ("jpeg", "image/jpeg"),
        ]
        .into_iter()
        .filter_map(|(name, mime)| Some((mime.to_owned(), output.get(name)?.clone())))
        .collect(),
    };
    MimeBundle::new(entries).with_metadata(metadata)
}

/// Outputs as text, with pictures by their names. Ends in a newline unless it is empty.
pub fn outputs_text(cell: usize, outputs: &[CellOutput]) -> String {
    let mut out = String::new();
    for (number, output) in (1..).zip(outputs) {
        let text = match output {
            CellOutput::Stream { text, .. } => plain(text),
            CellOutput::Error(error) => error.plain(),
            CellOutput::Result(bundle) | CellOutput::Display(bundle) => {
                let mut text = bundle.for_model();
                for (mime, name) in picture_names(cell, number, bundle) {
                    let mark = format!("[{mime}]");
                    text = match text.rfind(&mark) {
                        Some(at) => {
                            text[..at].to_owned()
                                + &format!("[{mime} {name}]")
                                + &text[at + mark.len()..]
                        }
                        None => format!("{text}\n[{mime} {name}]"),
                    };
                }
                text
            }
        };
        let text = text.trim_end_matches('\n');
        if !text.is_empty() {
            out.push_str(text);
            out.push('\n');
        }
    }
    out
}

/// Printed text as a terminal shows it: escapes and overwriting applied.
fn plain(text: &str) -> String {
    let mut transcript = Transcript::new(LONGEST);
    transcript.push(text.as_bytes());
    transcript.into_text().text
}

fn picture_names(cell: usize, output: usize, bundle: &MimeBundle) -> Vec<(String, String)> {
    let kinds = bundle
        .iter()
        .filter_map(|(mime, _)| Some((mime, suffix(mime)?)));
    kinds
        .map(|(mime, suffix)| {
            (
                mime.to_owned(),
                format!("cell-{cell}-output-{output}.{suffix}"),
            )
        })
        .collect()
}

fn suffix(mime: &str) -> Option<&'static str> {
    Some(match mime {
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        _ => return None,
    })
}

/// The pictures of a cell: attachments, then outputs. Pictures that are not valid base64 are left out.
pub fn pictures_of(number: usize, cell: Cell<'_>) -> Vec<CellPicture> {
    let mut found = Vec::new();
    if let Some(Value::Object(attachments)) = cell.value("attachments") {
        for (name, forms) in attachments {
            let Value::Object(forms) = forms else {
                continue;
            };
            let bundle = MimeBundle::new(forms.into_iter().collect());
            let kinds: Vec<String> = bundle.iter().map(|(mime, _)| mime.to_owned()).collect();
            for mime in kinds.into_iter().filter(|mime| suffix(mime).is_some()) {
                let name = attachment_name(number, &name, &mime, &found);
                found.extend(bytes(&bundle, &mime).map(|bytes| CellPicture { name, mime, bytes }));
            }
        }
    }
    found.extend(pictures(number, &read_outputs(&cell.outputs())));
    found
}

/// The file name of an attachment: letters, digits, `.`, `-` and `_` of its own name, unlike all `others`.
fn attachment_name(number: usize, name: &str, mime: &str, others: &[CellPicture]) -> String {
    let plain = |c: char| match c {
        '.' | '-' | '_' => c,
        c if c.is_ascii_alphanumeric() => c,
        _ => '_',
    };
    let name: String = name.chars().map(plain).take(80).collect();
    let usual = suffix(mime).unwrap_or_default();
    let (stem, kind) = match name.rsplit_once('.') {
        Some((stem, kind)) if !kind.is_empty() && !kind.contains('_') => (stem, kind),
        _ => (name.as_str(), usual),
    };
    let candidates = (1..).map(|count| match count {
        1 => format!("cell-{number}-{stem}.{kind}"),
        count => format!("cell-{number}-{stem}-{count}.{kind}"),
    });
    let is_free = |name: &String| others.iter().all(|other| other.name != *name);
    candidates.into_iter().find(is_free).unwrap_or_default()
}

fn bytes(bundle: &MimeBundle, mime: &str) -> Option<Vec<u8>> {
    let mut text = bundle.text(mime)?;
    if mime == "image/svg+xml" {
        return Some(text.into_bytes());
    }
    text.retain(|c| !c.is_ascii_whitespace());
    STANDARD.decode(text).ok()
}

fn pictures(cell: usize, outputs: &[CellOutput]) -> Vec<CellPicture> {
    let mut found = Vec::new();
    for (number, output) in (1..).zip(outputs) {
        let (CellOutput::Result(bundle) | CellOutput::Display(bundle)) = output else {
            continue;
        };
        for (mime, name) in picture_names(cell, number, bundle) {
            found.extend(bytes(bundle, &mime).map(|bytes| CellPicture { name, mime, bytes }));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn outputs_of_every_kind_are_told() {
        let outputs = read_outputs(&[
            json!({"output_type": "stream", "name": "stderr", "text": ["10%\r", "100%\n"]}),
            json!({"output_type": "execute_result", "metadata": {}, "data": {"text/plain": ["4", "1"]}}),
            json!({"output_type": "display_data", "metadata": {"a": 1},
                   "data": {"image/png": "iVBORw0KGgo=\n", "text/plain": "<Figure>"}}),
            json!({"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\u{1b}[31mE\u{1b}[0m: v"]}),
            json!({"output_type": "pyout", "text": ["old"], "prompt_number": 1}),
            json!({"output_type": "strange"}),
            json!(7),
        ]);
        assert!(matches!(&outputs[0], CellOutput::Stream { name, .. } if name == "stderr"));
        assert_eq!(
            outputs_text(3, &outputs),
            "100%\n41\n[image/png cell-3-output-3.png]\nE: v\nold\n"
        );
        let pictures = pictures(3, &outputs);
        assert_eq!(pictures.len(), 1);
        assert_eq!(pictures[0].name, "cell-3-output-3.png");
        assert!(pictures[0].bytes.starts_with(b"\x89PNG"));
    }

    #[test]
    fn attachments_are_pictures_with_names_that_are_files() {
        let png = json!({"image/png": "iVBORw0KGgo="});
        let cell = json!({"cell_type": "markdown", "source": "", "attachments": {
            "a.png": png, "../b": png, "._/b": png, "c.txt": {"text/plain": "x"}, "d.png": {"image/png": "?"}, "e": 1,
        }});
        let book = json!({"cells": [cell], "nbformat": 4}).to_string();
        let book = super::super::Document::parse(book).unwrap();
        let names = pictures_of(0, book.cell(0).unwrap());
        let names: Vec<&str> = names.iter().map(|picture| picture.name.as_str()).collect();
        assert_eq!(
            names,
            ["cell-0-a.png", "cell-0-.._b.png", "cell-0-.__b.png"]
        );
    }
}

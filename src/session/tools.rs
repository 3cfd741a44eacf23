//! Live functions as tools: which names are offered, what the agent is told of them, what it gets back.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::agent::{InputPart, ToolSpec};
use crate::dialog::Dialog;
use crate::input::references;
use crate::output::mime::MimeBundle;
use crate::output::traceback::CellError;
use crate::runtime::ToolLookup;
use crate::session::turn::ToolReturn;

/// The names a turn may call: those of this prompt, and those of the earlier prompts and notes of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Offered {
    /// Must exist.
    pub here: BTreeSet<String>,
    /// Offered when they exist.
    pub earlier: BTreeSet<String>,
}

impl Offered {
    /// Collects the names `prompt` and `dialog` mention.
    pub(super) fn of(prompt: &str, dialog: &Dialog) -> Self {
        let here: BTreeSet<String> = references(prompt).tools.into_iter().collect();
        let earlier = dialog
            .prompts
            .iter()
            .filter(|earlier| !earlier.hidden)
            .flat_map(|earlier| references(&earlier.prompt).tools)
            .filter(|name| !here.contains(name))
            .collect();
        Offered { here, earlier }
    }

    /// Every name, each once.
    pub(super) fn names(&self) -> Vec<String> {
        self.here.iter().chain(&self.earlier).cloned().collect()
    }

    /// Turns look-ups into tools.
    ///
    /// # Errors
    /// The line to show when a name of this prompt is missing or cannot be called.
    pub(super) fn resolve(&self, found: Vec<ToolLookup>) -> Result<Vec<ToolSpec>, String> {
        let (mut tools, mut missing, mut not_callable) = (Vec::new(), Vec::new(), Vec::new());
        for lookup in found {
            match lookup {
                ToolLookup::Found {
                    name,
                    description,
                    schema,
                } => tools.push(ToolSpec {
                    name,
                    description,
                    schema,
                }),
                ToolLookup::Missing(name) if self.here.contains(&name) => missing.push(name),
                ToolLookup::NotCallable(name) if self.here.contains(&name) => {
                    not_callable.push(name)
                }
                ToolLookup::Missing(_) | ToolLookup::NotCallable(_) => {}
            }
        }
        if !missing.is_empty() {
            return Err(format!(
                "NameError: Missing tool(s) in user_ns: {}",
                missing.join(", ")
            ));
        }
        if !not_callable.is_empty() {
            return Err(format!(
                "TypeError: Non-callable tool(s): {}",
                not_callable.join(", ")
            ));
        }
        Ok(tools)
    }
}

/// What a call gave, for the model and for the record.
pub(super) fn returned(result: Result<MimeBundle, CellError>) -> ToolReturn {
    let bundle = match result {
        Ok(bundle) => bundle,
        Err(error) => {
            let text = format!("Error: {}: {}", error.name, error.value);
            return ToolReturn {
                content: vec![InputPart::Text(text.clone())],
                text,
                success: false,
            };
        }
    };
    let mut content: Vec<InputPart> = bundle
        .iter()
        .filter(|(mime, _)| {
            matches!(
                *mime,
                "image/png" | "image/jpeg" | "image/gif" | "image/webp"
            )
        })
        .filter_map(|(mime, data)| {
            Some(InputPart::Image(format!(
                "data:{mime};base64,{}",
                data.as_str()?.trim()
            )))
        })
        .take(1)
        .collect();
    let text = bundle
        .text("text/plain")
        .or_else(|| bundle.get("application/json").map(Value::to_string));
    let text = match text {
        Some(text) => text,
        None => bundle.for_model(),
    };
    if content.is_empty() {
        content.push(InputPart::Text(text.clone()));
    }
    ToolReturn {
        text,
        content,
        success: true,
    }
}

//! A request as the input of a thread: history seeded, or written out before the prompt.
//!
//! Pure. Two forms: `items` for `thread/inject_items` (the model sees earlier turns as turns), and `written_out` for
//! one thread a prompt (the model sees one text).

use serde_json::{Value, json};

use super::wire::turn::UserInput;
use crate::agent::{Exchange, InputPart};

/// The earlier exchanges as raw items of the model's history, oldest first.
pub(super) fn items(history: &[Exchange]) -> Vec<Value> {
    let message = |role: &str, kind: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]});
    history
        .iter()
        .flat_map(|exchange| {
            [
                message("user", "input_text", &exchange.user),
                message("assistant", "output_text", &exchange.assistant),
            ]
        })
        .collect()
}

/// `input` with the earlier exchanges before it in its first text.
pub(super) fn written_out(history: &[Exchange], input: &[InputPart]) -> Vec<InputPart> {
    let mut parts = merged(input);
    if history.is_empty() {
        return parts;
    }
    let mut text = String::from("<conversation-history>");
    for exchange in history {
        text.push_str("<turn><user>");
        escape(&exchange.user, &mut text);
        text.push_str("</user><assistant>");
        escape(&exchange.assistant, &mut text);
        text.push_str("</assistant></turn>");
    }
    text.push_str("</conversation-history>\n");
    match parts.first_mut() {
        Some(InputPart::Text(first)) => first.insert_str(0, &text),
        _ => parts.insert(0, InputPart::Text(text)),
    }
    parts
}

/// `input` with neighbouring texts made one.
pub(super) fn merged(input: &[InputPart]) -> Vec<InputPart> {
    let mut parts: Vec<InputPart> = Vec::new();
    for part in input {
        match (parts.last_mut(), part) {
            (Some(InputPart::Text(text)), InputPart::Text(more)) => text.push_str(more),
            _ => parts.push(part.clone()),
        }
    }
    parts
}

/// As `turn/start` takes it.
pub(super) fn wire(parts: &[InputPart]) -> Vec<UserInput<'_>> {
    parts
        .iter()
        .map(|part| match part {
            InputPart::Text(text) => UserInput::Text { text, elements: [] },
            InputPart::Image(url) => UserInput::Image { url },
        })
        .collect()
}

/// Appends `text` so that it cannot leave its element; characters that XML forbids are left out.
fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\t' | '\n' | '\r' => out.push(c),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {}
            _ => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{escape, items, merged, written_out};
    use crate::agent::{Exchange, InputPart};
    use proptest::prelude::{any, prop_assert_eq, proptest};
    use serde_json::json;

    fn exchange(user: &str, assistant: &str) -> Exchange {
        Exchange {
            user: user.into(),
            assistant: assistant.into(),
        }
    }

    fn text(text: &str) -> InputPart {
        InputPart::Text(text.into())
    }

    #[test]
    fn history_is_written_before_the_input_in_one_text() {
        let image = InputPart::Image("data:,".into());
        assert_eq!(
            written_out(
                &[exchange("a<b", "c&d"), exchange("e", "f")],
                &[text("g\n"), text("h"), image.clone(), text("i")],
            ),
            [
                text(
                    "<conversation-history><turn><user>a&lt;b</user><assistant>c&amp;d</assistant></turn>\
                     <turn><user>e</user><assistant>f</assistant></turn></conversation-history>\ng\nh"
                ),
                image.clone(),
                text("i"),
            ]
        );
        assert_eq!(
            written_out(&[], std::slice::from_ref(&image)),
            std::slice::from_ref(&image)
        );
        assert_eq!(
            written_out(&[exchange("e", "f")], std::slice::from_ref(&image)).len(),
            2
        );
        assert_eq!(merged(&[text("a"), text("b")]), [text("ab")]);
    }

    #[test]
    fn history_becomes_messages_in_order() {
        assert_eq!(
            items(&[exchange("a", "b")]),
            [
                json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]}),
                json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "b"}]}),
            ]
        );
    }

    proptest! {
        #[test]
        fn nothing_leaves_its_element(user in any::<String>()) {
            let mut xml = String::from("<user>");
            escape(&user, &mut xml);
            xml.push_str("</user>");
            let tree = roxmltree::Document::parse(&xml).expect("well-formed");
            let kept: String = user
                .chars()
                .filter(|c| *c >= ' ' && !['\u{fffe}', '\u{ffff}'].contains(c) || ['\t', '\n', '\r'].contains(c))
                .collect();
            // XML readers turn CR LF and CR into LF.
            let kept = kept.replace("\r\n", "\n").replace('\r', "\n");
            prop_assert_eq!(tree.root_element().text().unwrap_or_default(), kept);
        }
    }
}

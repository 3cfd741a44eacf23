//! A request as the input of a thread: history seeded, or written out before the prompt.
//!
//! Pure. Two forms: `items` for `thread/inject_items` (the model sees earlier turns as turns), and `written_out`
//! for one thread per prompt (the model sees one text).

use serde_json::{Value, json};

use super::images::checked;
use super::wire::turn::UserInput;
use crate::dialog::conversation_history;
use crate::{Exchange, InputPart};

/// The earlier exchanges as raw items of the model's history, oldest first.
pub(super) fn history_items(history: &[Exchange]) -> Vec<Value> {
    let message = |role: &str, content: Vec<Value>| json!({"type": "message", "role": role, "content": content});
    let text = |kind: &str, text: &str| json!({"type": kind, "text": text});
    let mut items = Vec::new();
    for exchange in history {
        let mut content = vec![text("input_text", &exchange.user)];
        content.extend(pictures(exchange).into_iter().map(|part| match part {
            InputPart::Image(url) => json!({"type": "input_image", "image_url": url}),
            part => text("input_text", part.as_text().unwrap_or_default()),
        }));
        items.push(message("user", content));
        // An empty answer is not sent as a message.
        if !exchange.assistant.is_empty() {
            let said = vec![text("output_text", &exchange.assistant)];
            items.push(message("assistant", said));
        }
    }
    items
}

fn pictures(exchange: &Exchange) -> Vec<InputPart> {
    checked(
        exchange
            .images
            .iter()
            .map(|url| InputPart::Image(url.to_string()))
            .collect(),
    )
}

/// `input` with the earlier exchanges before it in its first text, and their pictures after it.
pub(super) fn written_out(history: &[Exchange], input: &[InputPart]) -> Vec<InputPart> {
    let mut parts = merge_texts(input);
    if history.is_empty() {
        return parts;
    }
    let turns: Vec<(String, String)> = history
        .iter()
        .map(|exchange| (exchange.user.clone(), exchange.assistant.clone()))
        .collect();
    let text = conversation_history(&turns);
    match parts.first_mut() {
        Some(InputPart::Text(first)) => first.insert_str(0, &text),
        _ => parts.insert(0, InputPart::Text(text)),
    }
    for (turn, exchange) in (1..).zip(history) {
        let pictures = pictures(exchange);
        if !pictures.is_empty() {
            parts.push(InputPart::Text(format!(
                "[images of turn {turn} of the conversation:]"
            )));
            parts.extend(pictures);
        }
    }
    parts
}

/// `input` with neighbouring texts joined, and a text in place of each picture that cannot be sent.
pub(super) fn merge_texts(input: &[InputPart]) -> Vec<InputPart> {
    let mut parts: Vec<InputPart> = Vec::new();
    let input = input.iter().cloned().map(InputPart::without_file);
    for part in checked(input.collect()) {
        match (parts.last_mut(), part) {
            (Some(InputPart::Text(text)), InputPart::Text(more)) => text.push_str(&more),
            (_, part) => parts.push(part),
        }
    }
    parts
}

pub(super) fn user_input(parts: &[InputPart]) -> Vec<UserInput<'_>> {
    parts
        .iter()
        .map(|part| match part {
            InputPart::Image(url) => UserInput::Image { url },
            part => UserInput::Text {
                text: part.as_text().unwrap_or_default(),
                elements: [],
            },
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{history_items, merge_texts, written_out};
    use crate::properties;
    use crate::{Exchange, InputPart};
    use proptest::collection::vec;
    use proptest::prelude::{Strategy, any, prop_assert_eq, prop_oneof, proptest};
    use proptest::sample::select;
    use serde_json::json;

    const PIXEL: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGA\
                         WjR9awAAAABJRU5ErkJggg==";

    fn exchange(user: &str, assistant: &str) -> Exchange {
        Exchange {
            user: user.into(),
            assistant: assistant.into(),
            images: Vec::new(),
        }
    }

    fn text(text: &str) -> InputPart {
        InputPart::Text(text.into())
    }

    #[test]
    fn history_is_written_before_the_input_in_one_text() {
        let image = InputPart::Image(PIXEL.into());
        assert_eq!(
            written_out(
                &[
                    exchange("<user-request>a<b</user-request>", "c & </turn>"),
                    exchange("e", "f")
                ],
                &[text("g\n"), text("h"), image.clone(), text("i")],
            ),
            [
                text(
                    "<conversation-history><turn><user><user-request>a<b</user-request></user><assistant>c & \
                     &lt;/turn></assistant></turn>\
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
        assert_eq!(merge_texts(&[text("a"), text("b")]), [text("ab")]);
    }

    #[test]
    fn history_becomes_messages_in_order() {
        assert_eq!(
            history_items(&[exchange("a", "b")]),
            [
                json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]}),
                json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "b"}]}),
            ]
        );
        assert_eq!(
            history_items(&[exchange("a", "")]),
            [
                json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]})
            ]
        );
    }

    fn hostile() -> impl Strategy<Value = String> {
        let names = vec!["conversation-history", "turn", "user", "assistant", "b"];
        let tag = (
            select(vec!["<", "</", "<<"]),
            select(names),
            select(vec![">", " >", "\n>", ""]),
        )
            .prop_map(|(open, name, close)| format!("{open}{name}{close}"));
        let piece = prop_oneof![tag, any::<String>()];
        vec(piece, 0..6).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(properties::cases(properties::USUAL))]

        #[test]
        fn no_turn_leaves_its_element(turns in vec((hostile(), hostile()), 1..4)) {
            let history: Vec<_> = turns.iter().map(|(user, assistant)| exchange(user, assistant)).collect();
            let parts = written_out(&history, &[]);
            let [InputPart::Text(xml)] = &parts[..] else { panic!("one text") };
            for (tag, count) in [("conversation-history", 1), ("turn", turns.len()), ("user", turns.len()),
                ("assistant", turns.len())] {
                for tag in [format!("<{tag}>"), format!("</{tag}>")] {
                    prop_assert_eq!(xml.matches(&tag).count(), count, "{}", tag);
                }
            }
        }
    }
}

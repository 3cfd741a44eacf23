//! Turns taken back: what the model then sees, on a model with plain tools and on one in code mode.

use serde_json::Value;

use super::threads::{counting, said, thread, user};
use super::{Program, program};
use crate::support::responses::conversation;

/// In numbers: cell 1, prompt 2, cell 3, prompt 4, hide 5, prompt 6, show 7, retry 8 and 9, undo 10, prompt 11.
const TALK: &str = "a = 1\n.first?\nb = 2\n.second?\n%ipycodex hide 2\n.third?\n%ipycodex show 2\n\
                    %ipycodex retry\n%ipycodex undo\n.fourth?\n";

fn check(model: &str) {
    let Some(program) = program(model, counting()) else {
        return;
    };
    let ran = program.piped(TALK);
    assert_eq!(ran.code(), 0, "{ran:?}");
    let with = |cells: &str, prompt: &str| {
        format!("user: <context>{cells}</context>\n<user-request>{prompt}</user-request>")
    };
    let (a, b) = ("<code>a = 1</code>", "<code>b = 2</code>");
    let earlier = [
        with(a, "first?"),
        said("answer 1"),
        with(b, "second?"),
        said("answer 2"),
    ];
    let after = |more: &[String]| [earlier.as_slice(), more].concat();
    let requests = program.endpoint.requests();
    let seen: Vec<Vec<String>> = requests.iter().map(conversation).collect();
    assert_eq!(seen[1], earlier[..3]);
    // Hidden: its cells are told with the next prompt, which is an earlier one now.
    let hidden = [
        with(&format!("{a}{b}"), "second?"),
        said("answer 2"),
        user("third?"),
    ];
    assert_eq!(seen[2], hidden);
    // Shown again, and the last prompt sent again in place of itself.
    assert_eq!(seen[3], after(&[user("third?")]));
    // That taken back, too.
    assert_eq!(seen[4], after(&[user("fourth?")]));
    assert_eq!(requests.len(), 5);
    let threads: Vec<&str> = requests.iter().map(thread).collect();
    assert_eq!(threads[0], threads[1]);
    for n in 2..5 {
        assert!(!threads[..n].contains(&threads[n]), "{n}: {threads:?}");
    }

    // All of it holds in another process, and the thread is gone on with.
    let ran = program.resumed("1", ".fifth?\n");
    assert_eq!(ran.code(), 0, "{ran:?}");
    let last = program.endpoint.requests().pop().unwrap();
    assert_eq!(
        conversation(&last),
        after(&[user("fourth?"), said("answer 5"), user("fifth?")])
    );
    assert_eq!(thread(&last), threads[4]);
    assert_eq!(program.answers().len(), 6, "nothing is deleted");
}

#[test]
fn the_model_sees_what_is_left() {
    check("gpt-5.5");
}

#[test]
fn so_does_one_in_code_mode() {
    check("gpt-6.1-sol");
}

/// The pictures of each message of a user, oldest first.
fn pictures(request: &Value) -> Vec<usize> {
    let items = request["input"].as_array().into_iter().flatten();
    let messages = items.filter(|item| item["role"] == "user" && item["type"] == "message");
    let count = |item: &Value| {
        let parts = item["content"].as_array().into_iter().flatten();
        parts.filter(|part| part["type"] == "input_image").count()
    };
    messages.map(count).filter(|count| *count > 0).collect()
}

const PICTURE: &str = "import base64\n\
                       class P: _repr_png_ = lambda self: \
                       base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9aw\
                       AAAABJRU5ErkJggg==')\n\
                       P()\n";

fn shown_and_seen_again(program: &Program) -> Vec<Value> {
    let ran = program.piped(&format!(
        "{PICTURE}.what is it?\nx = 1\n.and now?\n%ipycodex hide 5\n.once more?\n"
    ));
    assert_eq!(ran.code(), 0, "{ran:?}");
    program.endpoint.requests()
}

/// A picture a cell showed is seen, and is seen again when the thread is seeded anew.
#[test]
fn pictures_stay_with_their_exchange() {
    let Some(program) = program("gpt-5.5", counting()) else {
        return;
    };
    let requests = shown_and_seen_again(&program);
    assert_eq!(requests.len(), 3);
    assert_ne!(thread(&requests[1]), thread(&requests[2]));
    for request in &requests {
        assert_eq!(pictures(request), [1]);
    }
}

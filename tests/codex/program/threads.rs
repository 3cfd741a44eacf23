//! The conversation over several prompts and processes: one native thread while it equals the record, else a new one
//! seeded from the record; or one thread a prompt.

use serde_json::{Value, json};

use super::super::turns::prefix;
use super::{Program, asked, program};
use crate::support::responses::{Endpoint, Reply, conversation, shell_tool, tool_outputs};

/// Answers the n-th request (from 1) with `answer n`.
pub(super) fn counting() -> Endpoint {
    Endpoint::answering(|index, _| Reply::text(&format!("answer {}", index + 1)))
}

/// The thread of the agent a request belongs to.
pub(super) fn thread(request: &Value) -> &str {
    request["prompt_cache_key"].as_str().expect("a thread's id")
}

/// A user's entry without a context.
pub(super) fn user(prompt: &str) -> String {
    format!("user: <user-request>{prompt}</user-request>")
}

pub(super) fn said(answer: &str) -> String {
    format!("assistant: {answer}")
}

#[test]
fn one_session_is_one_thread() {
    let Some(program) = program("gpt-5.5", counting()) else {
        return;
    };
    let ran = program.piped("a = 1\n.first?\n.second?\n");
    assert_eq!(ran.code(), 0, "{ran:?}");
    let requests = program.endpoint.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(thread(&requests[0]), thread(&requests[1]));
    assert_eq!(
        conversation(&requests[1]),
        [
            "user: <context><code>a = 1</code></context>\n<user-request>first?</user-request>"
                .to_owned(),
            said("answer 1"),
            user("second?")
        ]
    );
    let recorded = program.recorded("SELECT thread FROM ipycodex_sessions");
    assert_eq!(recorded, [thread(&requests[0])]);
    assert_eq!(
        program.recorded("SELECT remark FROM sessions"),
        [format!(
            "{{\"cwd\":\"{}\",\"provider\":\"codex\",\"provider_session_id\":\"{}\"}}",
            program.home.work().display(),
            recorded[0]
        )]
    );
}

#[test]
fn ephemeral_threads_get_the_conversation_in_the_prompt() {
    let Some(program) = program("gpt-5.5", counting()) else {
        return;
    };
    program.configure(json!({"threads": "ephemeral"}));
    let ran = program.piped("a = 1 < 2\n.first & <x> </turn>?\n'note'\n.second?\n");
    assert_eq!(ran.code(), 0, "{ran:?}");
    let requests = program.endpoint.requests();
    assert_ne!(thread(&requests[0]), thread(&requests[1]));
    assert_eq!(
        conversation(&requests[1]).len(),
        1,
        "{:?}",
        conversation(&requests[1])
    );
    assert_eq!(
        asked(&requests[1]),
        "<conversation-history><turn>\
         <user><context><code>a = 1 &lt; 2</code></context>\n<user-request>first & <x> </turn>?</user-request></user>\
         <assistant>answer 1</assistant>\
         </turn></conversation-history>\n\
         <context><note>note</note></context>\n<user-request>second?</user-request>"
            .replace("</turn>?", "&lt;/turn>?")
    );
    assert!(
        program
            .recorded("SELECT session FROM ipycodex_sessions WHERE thread IS NOT NULL")
            .is_empty()
    );
}

#[test]
fn a_reset_and_another_model_begin_a_new_thread() {
    let Some(program) = program("gpt-5.5", counting()) else {
        return;
    };
    let ran = program.piped(
        "a = 1\n.first?\n%ipycodex reset\nb = 2\n.second?\n%ipycodex model gpt-6.1-sol\n.third?\n.fourth?\n",
    );
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(
        ran.stdout.contains("Deleted 1 AI prompt from session 1."),
        "{}",
        ran.stdout
    );
    let requests = program.endpoint.requests();
    let threads: Vec<&str> = requests.iter().map(thread).collect();
    assert!(
        threads[0] != threads[1] && threads[1] != threads[2] && threads[2] == threads[3],
        "{threads:?}"
    );
    let second =
        "user: <context><code>b = 2</code></context>\n<user-request>second?</user-request>";
    assert_eq!(conversation(&requests[1]), [second]);
    assert_eq!(
        conversation(&requests[3]),
        [
            second.to_owned(),
            said("answer 2"),
            user("third?"),
            said("answer 3"),
            user("fourth?")
        ]
    );
    let models: Vec<&Value> = requests.iter().map(|request| &request["model"]).collect();
    assert_eq!(models, ["gpt-5.5", "gpt-5.5", "gpt-6.1-sol", "gpt-6.1-sol"]);
}

fn first_and_second(program: &Program) -> [String; 3] {
    let ran = program.piped("a = 1\n.first?\n");
    assert_eq!(ran.code(), 0, "{ran:?}");
    [
        "user: <context><code>a = 1</code></context>\n<user-request>first?</user-request>"
            .to_owned(),
        said("answer 1"),
        "user: <context><code>b = 2</code></context>\n<user-request>second?</user-request>"
            .to_owned(),
    ]
}

#[test]
fn another_process_resumes_the_thread() {
    // The command in the second process writes where only an open sandbox lets it.
    let endpoint = Endpoint::answering(|index, request| match (index, shell_call(request)) {
        (1, Some(call)) => call,
        _ => Reply::text(&format!("answer {}", index + 1)),
    });
    let Some(program) = program("gpt-5.5", endpoint) else {
        return;
    };
    let expected = first_and_second(&program);
    let ran = program.resumed("1", "b = 2\n.second?\n");
    assert_eq!(ran.code(), 0, "{ran:?}");
    let requests = program.endpoint.requests();
    assert_eq!(requests.len(), 3, "{ran:?}");
    assert_eq!(conversation(&requests[1]), expected);
    assert_eq!(
        thread(&requests[0]),
        thread(&requests[1]),
        "resumed, not seeded"
    );
    let outside = program.home.path().join("home/written");
    let outputs = tool_outputs(&requests[2]);
    assert!(outside.exists(), "the sandbox is told again: {outputs:?}");
    // In the session where the first process ended.
    assert_eq!(
        program.recorded("SELECT line FROM history ORDER BY line"),
        ["1", "2", "3", "4"]
    );
    assert_eq!(ran.stdout, "answer 3\n");
}

/// A call of Codex's own shell.
fn shell_call(request: &Value) -> Option<Reply> {
    let tool = shell_tool(request)?;
    let key = if tool == "exec_command" {
        "cmd"
    } else {
        "command"
    };
    Some(Reply::calls(&[(
        "c1",
        &tool,
        json!({key: "echo yes > ../home/written"}),
    )]))
}

#[test]
fn a_thread_that_is_gone_is_seeded_from_the_record() {
    let Some(mut program) = program("gpt-5.5", counting()) else {
        return;
    };
    let expected = first_and_second(&program);
    // Another home of Codex knows nothing of the thread.
    let other = program.home.path().join("codex-2");
    program.endpoint.write_home(&other, "gpt-5.5");
    program.home.set("CODEX_HOME", &other);
    let ran = program.resumed("1", "b = 2\n.second?\n");
    assert_eq!(ran.code(), 0, "{ran:?}");
    let requests = program.endpoint.requests();
    assert_eq!(conversation(&requests[1]), expected);
    assert_ne!(thread(&requests[0]), thread(&requests[1]));
    assert!(ran.stderr.is_empty(), "nothing to say: {}", ran.stderr);
}

/// Numbers: cell 1, prompts 2 to 4, edit 5, prompt 6, fork 7, in session 2 prompt 7, resume 8, in session 1 prompt 8.
#[test]
fn an_edited_prompt_and_a_fork_keep_the_prefix_that_is_cached() {
    // A command is part of the thread, and would not be of one that is seeded.
    let endpoint = Endpoint::answering(|index, request| match shell_call(request) {
        Some(call) if index == 0 => call,
        _ => Reply::text(&format!("answer {index}")),
    });
    let Some(program) = program("gpt-5.5", endpoint) else {
        return;
    };
    let ran = program.piped(
        "a = 1\n.first?\n.second?\n.third?\n%ipycodex edit 3\n.other?\n%ipycodex fork\n.more?\n\
         %ipycodex resume 1\n.back?\n",
    );
    assert_eq!(ran.code(), 0, "{ran:?}");
    let requests = program.endpoint.requests();
    let [second, edited, more, back] = [2, 4, 5, 6].map(|at| &requests[at]);
    // Sent in place of the second prompt: as it was, up to there.
    assert_eq!(prefix(edited), prefix(second));
    assert_eq!(tool_outputs(edited).len(), 1);
    let before = conversation(second)[..2].to_vec();
    let after = |more: &[String]| [before.as_slice(), more].concat();
    let other = [user("other?"), said("answer 4")];
    assert_eq!(conversation(edited), after(&other[..1]));
    // The fork and the session that it was forked from begin alike.
    let then = |prompt: &str| after(&[other.as_slice(), &[user(prompt)]].concat());
    assert_eq!(conversation(more), then("more?"));
    assert_eq!(conversation(back), then("back?"));
    assert_eq!(prefix(more), prefix(back));
    let (shared, rest) = prefix(edited);
    assert_eq!(prefix(more).0[..shared.len()], shared);
    assert_eq!(prefix(more).1, rest);

    // All of it holds in another process: the fork goes on in its own thread, and is forked itself.
    let ran = program.resumed("2", ".again?\n%ipycodex fork 7\n.anew?\n");
    assert_eq!(ran.code(), 0, "{ran:?}");
    let requests = program.endpoint.requests();
    let again = [
        other.as_slice(),
        &[user("more?"), said("answer 5"), user("again?")],
    ]
    .concat();
    assert_eq!(conversation(&requests[7]), after(&again));
    assert_eq!(thread(&requests[7]), thread(&requests[5]));
    assert_eq!(conversation(&requests[8]), then("anew?"));
    assert_eq!(prefix(&requests[8]), prefix(&requests[5]));
    let origins = "SELECT parent || ' ' || forked_at FROM ipycodex_sessions WHERE parent IS NOT NULL ORDER BY session";
    assert_eq!(program.recorded(origins), ["1 7", "2 7"]);
}

//! `%ipycodex compact`: the app-server shortens its thread, or a summary takes the place of the conversation.

use super::program;
use super::threads::{counting, said, thread, user};
use crate::support::responses::conversation;

#[test]
fn the_app_server_shortens_its_own_thread() {
    let Some(program) = program("gpt-5.5", counting()) else {
        return;
    };
    let ran = program.piped(
        "a = 1\n.first?\n.second?\nb = 2\n%ipycodex compact\nc = 3\n.third?\n%ipycodex history\n",
    );
    assert_eq!(ran.code(), 0, "{ran:?}");
    let requests = program.endpoint.requests();
    assert_eq!(requests.len(), 4);
    for request in &requests {
        assert_eq!(thread(request), thread(&requests[0]));
    }
    // The third is the app-server's own; what it wrote then stands for the answers.
    let sent = conversation(&requests[3]);
    let [first, second, summary, third] = &sent[..] else {
        panic!("{sent:?}");
    };
    assert!(
        first.ends_with("<user-request>first?</user-request>"),
        "{first}"
    );
    assert_eq!(*second, user("second?"));
    assert!(summary.ends_with("answer 3"), "{summary}");
    // No cell is lost on the way.
    assert_eq!(
        third,
        "user: <context><code>b = 2</code><code>c = 3</code></context>\n<user-request>third?</user-request>"
    );
    let shown = "shortened the conversation for the model";
    assert!(ran.stderr.contains(shown), "{}", ran.stderr);
    let answers = program.answers();
    assert_eq!(answers.len(), 4);
    assert!(answers[2].contains(shown), "{answers:?}");
    assert_eq!(
        program.recorded("SELECT prompt FROM ai_prompts ORDER BY id"),
        [
            "first?",
            "second?",
            "Shorten the conversation so far.",
            "third?"
        ]
    );
}

#[test]
fn a_thread_of_another_process_is_shortened_too() {
    let Some(program) = program("gpt-5.5", counting()) else {
        return;
    };
    assert_eq!(program.piped(".first?\n.second?\n").code(), 0);
    let ran = program.resumed("1", "%ipycodex compact\n.third?\n");
    assert_eq!(ran.code(), 0, "{ran:?}");
    let requests = program.endpoint.requests();
    assert_eq!(requests.len(), 4, "{}", ran.stderr);
    assert_eq!(thread(&requests[3]), thread(&requests[0]));
    let sent = conversation(&requests[3]);
    assert!(sent[2].ends_with("answer 3"), "{sent:?}");
    assert!(!sent.contains(&said("answer 1")), "{sent:?}");
}

#[test]
fn a_summary_takes_the_place_of_the_conversation() {
    let Some(program) = program("gpt-5.5", counting()) else {
        return;
    };
    let ran = program.piped(
        "a = 1\n.first?\n.second?\nb = 2\n%ipycodex compact the cutoff\nc = 3\n.third?\n\
         %ipycodex show 1-4\n.fourth?\n",
    );
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(
        ran.stderr.contains("`%ipycodex show 1-4` puts back"),
        "{}",
        ran.stderr
    );
    assert!(ran.stdout.contains("answer 3"), "{}", ran.stdout);
    let requests = program.endpoint.requests();
    let asked =
        "user: <user-request>Shorten the conversation so far, and keep: the cutoff</user-request>";
    let sent = conversation(&requests[2]);
    let task = sent.last().unwrap();
    assert!(task.starts_with("user: <task>Write a summary"), "{task}");
    assert!(
        task.contains("Keep in any case: the cutoff</task>\n<context><code>b = 2</code></context>"),
        "{task}"
    );
    // A new thread holds the summary and what came after it.
    assert_ne!(thread(&requests[3]), thread(&requests[0]));
    let sent = conversation(&requests[3]);
    let [prompt, summary, third] = &sent[..] else {
        panic!("{sent:?}");
    };
    assert!(
        prompt.ends_with(asked.strip_prefix("user: ").unwrap()),
        "{prompt}"
    );
    assert_eq!(*summary, said("answer 3"));
    assert_eq!(
        third,
        "user: <context><code>c = 3</code></context>\n<user-request>third?</user-request>"
    );
    let all = conversation(&requests[4]);
    for answer in ["answer 1", "answer 2", "answer 3", "answer 4"] {
        assert!(all.contains(&said(answer)), "{answer}: {all:?}");
    }
}

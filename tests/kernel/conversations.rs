//! Conversations of the reference client with the kernel; what each expects stands in `conversations.py`.

use super::harness::{Harness, converse};

#[test]
fn cells_show_what_they_show_in_jupyter() {
    converse("cells");
}

#[test]
fn prompts_stream_into_one_output() {
    converse("prompts");
}

#[test]
fn users_are_asked_through_their_client() {
    converse("questions");
}

#[test]
fn interrupts_restarts_and_the_end_work() {
    converse("interrupts");
}

#[test]
fn cells_behind_one_that_failed_are_aborted() {
    converse("stops");
}

#[test]
fn messages_that_are_none_are_survived() {
    converse("tampered");
}

#[test]
fn a_kernel_ends_with_the_process_that_started_it() {
    converse("orphaned");
}

#[test]
fn late_output_belongs_to_its_cell() {
    converse("late");
}

#[test]
fn widgets_and_progress_bars_speak_with_their_cells() {
    converse("objects");
}

#[test]
fn what_is_printed_in_a_loop_is_a_few_messages() {
    is_like_ipykernel("printing");
}

#[test]
fn code_finds_what_it_finds_in_ipykernel() {
    is_like_ipykernel("as_ipykernel");
}

fn is_like_ipykernel(in_what: &str) {
    if let Some(harness) = Harness::new() {
        let ran = harness.python("like_ipykernel.py", &[in_what]);
        assert_eq!(ran.code(), 0, "{}\n{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn code_of_an_answer_is_offered_below_it() {
    converse("offers");
}

#[test]
fn the_record_has_what_came_before_a_kernel_was_killed() {
    let Some(harness) = Harness::new() else {
        return;
    };
    let ran = harness.python("conversations.py", &["deaths"]);
    assert_eq!(ran.code(), 0, "{}\n{}", ran.stdout, ran.stderr);
    let kept = harness
        .home
        .run(&["-r", "1", "-c", "%ipycodex history"], "");
    for part in ["what will be lost", "# Demo"] {
        assert!(kept.stdout.contains(part), "{part}: {kept:?}");
    }
}

#[test]
fn what_the_kernel_is_and_is_not_is_said() {
    converse("introduces");
}

#[test]
fn floods_of_requests_and_clients_that_do_not_read_are_survived() {
    converse("floods");
}

#[test]
fn an_agent_that_dies_fails_its_cell_alone() {
    let Some(harness) = Harness::with_agent("acp:false") else {
        return;
    };
    let ran = harness.python("conversations.py", &["failing"]);
    assert_eq!(ran.code(), 0, "{}\n{}", ran.stdout, ran.stderr);
}

#[test]
fn an_agent_that_dies_in_its_answer_fails_its_cell_alone() {
    let Some(mut harness) = Harness::with_agent("codex") else {
        return;
    };
    let agent = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fakes/agent.py");
    let agent = shlex::try_quote(agent).unwrap();
    let command = format!("python3 {agent} 'killed mid word'");
    harness.home.set("IPYAI_CODEX_CMD", command);
    let ran = harness.python("conversations.py", &["dying"]);
    assert_eq!(ran.code(), 0, "{}\n{}", ran.stdout, ran.stderr);
}

#[test]
fn files_of_a_project_ask_through_the_first_cell() {
    converse("projects");
}

#[test]
fn plans_are_carried_out_when_the_user_says_so() {
    converse("plans");
}

#[test]
fn conversations_have_names_and_are_switched() {
    converse("conversations");
}

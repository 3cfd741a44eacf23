//! Conversations of the reference client with the kernel; what each expects stands in `conversations.py`.

use super::bench::converse;

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

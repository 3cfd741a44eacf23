//! The rules that this program promises to keep, and how often each of them is tried.
//!
//! In: the rows below; each is a test elsewhere that is told how often to try. Out: `short::NAME`, a part of
//! `cargo test`, and `long::NAME`, which a person runs: `cargo test --test it counts::long -- --ignored --nocapture`
//! prints a line for each row: rules, what was tried, how often, what came of it, how long it took.
//!
//! Invariant: a rule without a row fails [`each_rule_has_a_row`]. A row that fails says which try it was and how to
//! repeat it (tries are drawn from a seed that is fixed).

use std::path::Path;
use std::time::Instant;

/// Rows of two texts.
macro_rules! table {
    ($name:ident: $($rules:literal: $text:literal;)+) => {
        const $name: &[(&str, &str)] = &[$(($rules, $text)),+];
    };
}

// Each rule in a line; the numbers are those that rows name.
table! { RULES:
    "R1": "every byte for the terminal passes one writer";
    "R2": "untrusted text is parsed; no sequence of its own gets through";
    "R3": "sequences we write ourselves take no control characters";
    "R4": "an approval shows exactly what will run";
    "R5": "the terminal is always given back";
    "R6": "a hang-up is a save point";
    "R7": "nothing leaves its element in what the model reads";
    "R8": "only valid UTF-8, one line a message, on both pipes";
    "R9": "instructions in data are data";
    "R10": "what the model reads is bounded";
    "R11": "commands of the agent get no secrets by the environment";
    "R12": "nothing secret in files or arguments";
    "R13": "our files are for their owner alone, whatever the umask";
    "R14": "the tool bridge is not on the network";
    "R15": "children die with us, whole";
    "R16": "crashes of peers are contained and said";
    "R17": "Ctrl-C has one meaning in each state";
    "R18": "the record survives kills and torn logs";
    "R19": "what happened is recorded when it happens";
    "R20": "a locked record is not a corrupt one";
    "R21": "a full disk is said once, and gets over";
    "R22": "whole files or none";
    "R23": "input files have budgets";
    "C1": "confined code changes nothing outside, and the session goes on";
    "S1": "a long session costs what a short one does";
    "S2": "random keys, pastes, resizes and signals do no harm";
    "S3": "two at once do not mix";
    "S4": "poor surroundings: it starts, says what is missing, and loses nothing";
    "S5": "exit codes are as documented";
    "S6": "the past is answered from facts: the cell that changed a value is found";
}

/// Tries that are counted: `name: rules, what is tried, [short form,] long form, test;`. The test gets the number of
/// tries and gives what came of them, in a few words. Without a short form, a test of [`HELD`] is that.
macro_rules! counted {
    ($($name:ident: $rules:literal, $what:literal, $([$short:literal])? $long:literal, $test:path;)+) => {
        const COUNTED: &[&str] = &[$($rules),+];

        mod short {
            $($(#[test]
            fn $name() {
                super::count($rules, $what, $short, $test);
            })?)+
        }

        mod long {
            $(#[test]
            #[ignore = "takes minutes: cargo test --test it counts::long -- --ignored --nocapture"]
            fn $name() {
                super::count($rules, $what, $long, $test);
            })+
        }
    };
}

// Tests that are whole as they are: rules, and the test, in `tests` where it does not begin with `src`.
table! { HELD:
    "R2 R4": "repl::questions::hostile_text_is_spelled_out_in_every_question";
    "R3": "repl::clipboard::cells_answers_and_their_code_by_the_terminals_own_sequence";
    "R4 R17": "src::terminal::keyboard_reader::tests::ten_thousand_sequences_of_keys_answer_no_question_that_comes_up";
    "R4": "src::display::question::tests::what_is_shown_is_what_runs";
    "R4": "src::session::approvals::tests::a_yes_never_widens_by_itself";
    "R5": "repl::exit::a_signal_gives_the_terminal_back_and_is_died_of";
    "R5": "repl::exit::a_fault_gives_the_terminal_back_and_is_died_of";
    "R5": "repl::exit::a_terminal_left_raw_by_a_kill_is_sane_after_the_next_start";
    "R6": "repl::exit::a_terminal_that_hangs_up_is_a_save_point";
    "R6": "batch::failures::a_closed_pipe_is_no_failure";
    "R7 R9": "skills::hostile::nothing_leaves_its_element";
    "R8": "codex::faults::bad_text_is_replaced";
    "R8": "runtime::cells::lone_surrogates_do_no_harm";
    "R9": "skills::hostile::a_linked_file_loads_from_inside_its_folder_only";
    "R10": "runtime::cells::a_large_value_passes_and_a_larger_one_is_replaced";
    "R11 R12": "codex::activity::commands_are_shown_whole_and_keep_no_secrets";
    "R13": "record::faults::modes_do_not_depend_on_the_umask";
    "R13 R14": "mcp::sockets::a_folder_that_others_can_write_is_refused_on_both_sides";
    "R14": "mcp::sockets::whoever_does_not_know_the_token_is_refused";
    "R15": "repl::exit::no_process_outlives_us_even_when_we_are_killed";
    "R15": "codex::faults::dropping_the_agent_ends_a_process_that_does_not_want_to";
    "R16": "repl::deaths::an_interpreter_that_dies_is_named_with_its_cause_and_replaced";
    "R17": "repl::interrupts::ctrl_c_brings_the_prompt_back_from_everything_that_waits";
    "R21": "record::faults::a_full_disk_is_said_and_gets_over";
    "R20": "record::foreign_files::what_is_no_record_is_refused_and_stays_as_it_is";
    "R22": "notebook::cell_text::links_and_modes_stay";
    "R22": "notebook::whole_files::what_others_write_meanwhile_is_never_overwritten";
    "R22": "notebook::whole_files::planted_links_are_refused_and_nothing_behind_them_is_touched";
    "R23": "skills::hostile::any_bytes_are_a_skill_or_a_diagnostic";
    "R18 R20": "record::clock::what_came_last_is_newest_when_the_clock_was_set_back";
    "S3": "record::resume::whoever_comes_second_is_told_and_leaves_the_session_open";
    "S4": "repl::environments::a_dumb_terminal_is_enough";
    "S4": "repl::environments::the_c_locale_works";
    "S5": "batch::failures::help_and_version_are_printed";
}

counted! {
    kills_between_cells: "R18 R19", "kills while cells run", [20] 1_000, crate::record::kills::between_cells;
    kills_in_work: "R18 R19", "kills in cells, prompts, tools, saves, steps, commands", [8] 1_000,
        crate::record::kills_in_work::kills;
    fuzz_classifier: "R23", "seconds of fuzzing the classifier", [0] 600, crate::fuzz::classifier;
    fuzz_markdown: "R2 R23", "seconds of fuzzing markdown while it streams", [0] 600, crate::fuzz::markdown;
    fuzz_output: "R2 R23", "seconds of fuzzing the filter of outputs", [0] 600, crate::fuzz::output;
    fuzz_skill: "R9 R23", "seconds of fuzzing skill files", [0] 600, crate::fuzz::skill;
    fuzz_config: "R22 R23", "seconds of fuzzing settings", [0] 600, crate::fuzz::config;
    fuzz_notebook: "R22 R23", "seconds of fuzzing notebooks", [0] 600, crate::fuzz::notebook;
    fuzz_marked_text: "R23", "seconds of fuzzing the text of notebooks", [0] 600, crate::fuzz::marked_text;
    fuzz_history: "R20 R23", "seconds of fuzzing the rows of a record", [0] 600, crate::fuzz::history;
    fuzz_rpc: "R8 R16", "seconds of fuzzing JSON-RPC, line by line", [0] 600, crate::fuzz::rpc;
    fuzz_acp: "R8 R16", "seconds of fuzzing what ACP agents say", [0] 600, crate::fuzz::acp;
    fuzz_codex: "R8 R16", "seconds of fuzzing what Codex says", [0] 600, crate::fuzz::codex;
    fuzz_mcp: "R8 R16", "seconds of fuzzing what MCP clients say", [0] 600, crate::fuzz::mcp;
    fuzz_kernel_wire: "R16", "seconds of fuzzing what kernels send", [0] 600, crate::fuzz::kernel_wire;
    fuzz_gateway_frames: "R16", "seconds of fuzzing what gateways send", [0] 600, crate::fuzz::gateway_frames;
    kills_in_files: "R22", "kills in a save, an edit, an apply, a run -o", [5] 1_000,
        crate::notebook::whole_files::kills;
    failing_calls_in_files: "R22", "each call of a change of a notebook failing, to the Nth", [1] 50,
        crate::notebook::whole_files::failing_calls;
    failing_calls: "R18 R20 R21", "each call on the record's files failing, up to the Nth", [1] 50,
        crate::record::failing_calls::in_turn;
    writers: "R18 R20", "cells of each of eight processes in one record", [20] 2_000,
        crate::record::locks::eight_writers;
    typing_under_a_lock: "R20", "seconds of typing while the record is locked", [2] 60,
        crate::record::locks::typing_under_a_lock;
    torn_logs: "R18", "torn logs of the record", [30] 300, crate::record::faults::torn_logs;
    attempts_to_get_out: "C1", "attempts to get out of each place", 108, crate::runtime::confinement::attempts;
    soak: "S1", "cells of a long session, with all else", [20] 2_000, crate::repl::soak::soak;
    foreign_sequences: "R1 R2 R3", "foreign sequences, each from each source", [24] 97,
        crate::repl::escapes::foreign_sequences;
    monkey: "S2 R5", "seconds of keys, pastes, resizes, signals", [3] 600, crate::repl::monkey::monkey;
    resizes: "S2 R1", "resizes while an answer or a cell streams", [12] 1_000, crate::repl::resizes::resizes;
    stops: "R5 R17", "stops in each state, by key and from outside", [2] 200, crate::repl::jobs::stops;
    widths: "S4", "widths of the terminal", [8] 300, crate::repl::widths::widths;
    surroundings: "S4 S5", "poor surroundings, on a terminal and piped", [6] 33,
        crate::repl::surroundings::surroundings;
    keys_before_a_question: "R4 R17", "keys typed before a question", [4] 200,
        crate::repl::typeahead::keys_before_a_question;
    agent_faults: "R8 R16 R17", "agents that misbehave", [3] 102, crate::codex::program::faults::each_way;
    acp_faults: "R16 R17", "agents of the protocol that misbehave", [3] 46, crate::acp::program_faults::each_way;
    mcp_faults: "R16 R17", "MCP clients that misbehave, in each state", [3] 176,
        crate::mcp::client_faults::each_way;
    kernel_faults: "R16 R17", "kernels and gateways that misbehave", [3] 144,
        crate::jupyter::faulty_kernels::each_way;
    planted_cells: "S6", "sessions with one planted bad cell", [3] 200, crate::repl::look_back::planted_cells;
    interpreter_deaths: "R16", "interpreters that die", [2] 22, crate::repl::interpreter_deaths::each_way;
}

/// Runs a row and prints its line.
fn count(rules: &str, what: &str, count: u32, test: fn(u32) -> String) {
    let begin = Instant::now();
    let result = test(count);
    let seconds = begin.elapsed().as_secs_f64();
    eprintln!("| {rules:<7} | {what:<48} | {count:>9} | {result} | {seconds:.1} s |");
}

#[test]
fn each_rule_has_a_row() {
    let rows = COUNTED.iter().copied();
    let rows: Vec<&str> = rows.chain(HELD.iter().map(|(rules, _)| *rules)).collect();
    let named: Vec<&str> = rows.iter().flat_map(|rules| rules.split(' ')).collect();
    let without = RULES.iter().filter(|(rule, _)| !named.contains(rule));
    let without: Vec<String> = without
        .map(|(rule, text)| format!("{rule}: {text}"))
        .collect();
    assert!(
        without.is_empty(),
        "no row of `counts` tries:\n{}",
        without.join("\n")
    );
    let strange = named
        .iter()
        .find(|name| !RULES.iter().any(|(rule, _)| rule == *name));
    assert_eq!(strange, None, "a row names a rule that is not in the table");
}

#[test]
fn each_test_that_holds_a_rule_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let missing = HELD.iter().map(|(_, test)| *test).filter(|test| {
        let (module, name) = test.rsplit_once("::").expect("a path");
        let folder = if module.starts_with("src::") {
            ""
        } else {
            "tests"
        };
        let file = root.join(folder).join(module.replace("::", "/"));
        let text = std::fs::read_to_string(file.with_extension("rs")).unwrap_or_default();
        let begins = format!("fn {name}(");
        !text
            .split("#[test]")
            .any(|test| test.trim_start().starts_with(&begins))
    });
    assert_eq!(
        missing.collect::<Vec<_>>(),
        [""; 0],
        "rows of `HELD` without a test"
    );
}

//! Kernels of the agent's own: how far their cells are, and a machine that has no room for another kernel.

use std::path::Path;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use serde_json::{Value, json};

use super::questioning_agent::{Asker, call};
use super::shell::Shell;
use crate::support::home::Home;
use crate::support::pty::Pty;

/// Runs a program with many files open: those of an interpreter have the numbers 198 and 199, which no lower limit lets
/// it have.
const HOLDS: &str = "for n in {1..190}; do exec {held}</dev/null; done; exec \"$1\"";

/// A call that runs cells in a kernel that is kept for this folder.
fn own(folder: &str, cells: Value) -> Value {
    let arguments = json!({"kernel": "scratch", "cwd": folder, "cells": cells});
    call("run_cells", arguments)
}

/// Leaves a process so many files it can open.
fn leave_files(process: u32, count: usize) {
    let open = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    let names = open.map(|file| file.unwrap().file_name().into_string().unwrap());
    let open: Vec<u64> = names.map(|name| name.parse().unwrap()).collect();
    let mut free = (0..).filter(|number| !open.contains(number));
    let limit = free.nth(count);
    let limits = Rlimit {
        current: limit,
        ..getrlimit(Resource::Nofile)
    };
    let process = Pid::from_raw(i32::try_from(process).unwrap());
    prlimit(process, Resource::Nofile, limits).unwrap();
}

#[test]
fn where_no_file_can_be_opened_kernels_at_rest_end_and_it_is_tried_again() {
    let mut home = Home::new();
    for folder in ["one", "two", "three"] {
        std::fs::create_dir_all(home.work().join(folder)).unwrap();
    }
    let turns = ["one", "two", "three"].map(|folder| {
        let code = "import os; print('in', os.path.basename(os.getcwd()), os.getpid())";
        json!([own(folder, json!([{"code": code}]))])
    });
    Asker::script(&mut home, json!(turns));
    let words = ["-c", HOLDS, "bash", env!("CARGO_BIN_EXE_ipycodex")];
    let pty = Pty::spawn_program(&home, Path::new("/bin/bash"), &words, (140, 50));
    let asker = Asker::at_first(Shell { home, pty });
    for number in 1..=2 {
        asker.prompt(number);
        asker.shell.at(number + 1);
    }
    // An interpreter takes 14 to start and keeps 7.
    leave_files(asker.shell.pty.pid(), 8);
    asker.prompt(3);
    asker.shell.at(4);
    let said = "there was no room for another agent kernel: 2 idle kernels were ended to make room";
    asker.shell.shows(said);
    let given = asker.given(3);
    let told = |call: usize| given[call]["contentItems"][0]["text"].as_str().unwrap();
    assert!(told(2).contains("in three"), "{}", told(2));
    for at_rest in [0, 1] {
        let process = told(at_rest).rsplit(' ').next().unwrap().trim();
        let gone = || !Path::new(&format!("/proc/{process}")).exists();
        crate::support::await_true("one at rest has ended", gone);
    }
}

#[test]
fn the_cells_of_a_call_say_how_far_they_are() {
    let home = Home::new();
    let go = home.work().join("go");
    let waits = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\n1 / 0";
    let cells = json!([
        {"code": "x = 1", "title": "load"},
        {"code": waits, "title": "fit"},
        {"code": "x"},
    ]);
    let turns = json!([[own(".", cells)]]);
    let asker = Asker::of(home, turns, (140, 50));
    asker.prompt(1);
    asker
        .shell
        .pty
        .wait_for("⌛ run_cells(3 cells)  ☑ load  ▸ fit  ☐ 3");
    std::fs::write(go, "").unwrap();
    asker.shell.at(2);
    asker.shell.shows("\n  ☑ load  ✗ fit  ☐ 3\n");
    asker.shell.lacks("▸ fit");
}

//! How interpreters start, fail to start, die, are replaced and end.

use ipycodex::runtime::{Death, Ending, RuntimeEvent, RuntimeReply, RuntimeRequest, Stdin};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use super::evaluations::{benches, is_running};
use super::harness::{BOTH, Form, Harness, plan};
use crate::support::{await_true, write_executable};

#[test]
fn deaths_are_told_with_the_last_words() {
    let endings = [
        (
            "import os\nprint('bye', flush=True)\nos._exit(7)",
            Death::Exited(7),
        ),
        (
            "import os, signal\nprint('bye', flush=True)\nos.kill(os.getpid(), signal.SIGSEGV)",
            Death::Signalled(11),
        ),
        (
            "import os, signal\nprint('bye', flush=True)\nos.kill(os.getpid(), signal.SIGKILL)",
            Death::Signalled(9),
        ),
    ];
    for form in BOTH {
        for (code, death) in &endings {
            let mut harness = Harness::start(form);
            harness.run("kept = 1");
            let events = harness.run(code);
            assert_eq!(
                events.finish.ending,
                Ending::Died(death.clone()),
                "{form:?}"
            );
            // A crash adds its stack on the other stream, which has no order against this one.
            assert!(events.text().contains("bye\n"), "{events:?}");
            assert_eq!(harness.died(), (death.clone(), true));
            assert!(harness.ready().restarted);
            let events = harness.run("'kept' in globals()");
            assert_eq!(events.shown(), ["False"], "{form:?}");
        }
    }
}

/// We schedule the thread that reads its output in another way, which children would inherit.
#[test]
fn an_interpreter_is_scheduled_as_its_program_would_be_without_us() {
    let policy = "import os; os.sched_getscheduler(0)";
    let usual = Command::new("python3")
        .args(["-c", "import os; print(os.sched_getscheduler(0))"])
        .output();
    let usual = String::from_utf8(usual.unwrap().stdout).unwrap();
    for form in BOTH {
        let mut harness = Harness::start(form);
        assert_eq!(harness.run(policy).shown(), [usual.trim()], "{form:?}");
        harness.run("import os; os._exit(1)");
        harness.died();
        assert_eq!(harness.run(policy).shown(), [usual.trim()], "{form:?}");
    }
}

#[test]
fn two_deaths_stop_the_restarts_until_a_cell_comes() {
    let mut harness = Harness::start(Form::Pipes);
    harness.run("import os; os._exit(1)");
    assert_eq!(harness.died(), (Death::Exited(1), true));
    harness.run("import os; os._exit(2)");
    assert_eq!(harness.died(), (Death::Exited(2), false));
    let failed = harness.ask(RuntimeRequest::DescribeTools { names: vec![] });
    assert!(matches!(failed, RuntimeReply::Failed(_)), "{failed:?}");
    assert_eq!(harness.run("3").shown(), ["3"]);
}

#[test]
fn a_killed_interpreter_is_replaced() {
    let mut harness = Harness::start(Form::Pipes);
    let interrupter = harness.interrupter();
    let id = harness.submit(
        "import itertools\nprint('go', flush=True)\nsum(itertools.repeat(1))",
        Stdin::Refuse,
    );
    let events = harness.collect(id, |_, text| {
        if text.contains("go") {
            interrupter.kill();
        }
    });
    assert_eq!(events.finish.ending, Ending::Died(Death::Killed));
    assert_eq!(harness.died(), (Death::Killed, true));
    assert_eq!(harness.run("1").shown(), ["1"]);
}

/// The process of Python's that frees these outlives it, as it does without us.
#[test]
fn semaphores_and_shared_memory_go_with_a_killed_interpreter() {
    let code = "import multiprocessing as mp, os\n\
        from multiprocessing.shared_memory import SharedMemory\n\
        lock, shared = mp.get_context('spawn').Lock(), SharedMemory(create=True, size=1000)\n\
        print('/dev/shm/sem.' + lock._semlock.name[1:], '/dev/shm/' + shared.name, flush=True)";
    for form in BOTH {
        for killer in ["os.kill(os.getpid(), 9)", "us"] {
            let mut harness = Harness::start(form);
            let made = harness.run(code).text();
            let made: Vec<_> = made.split_whitespace().map(PathBuf::from).collect();
            assert!(
                made.len() == 2 && made.iter().all(|it| it.exists()),
                "{made:?}"
            );
            if killer == "us" {
                harness.interrupter().kill();
            } else {
                harness.run(killer);
            }
            harness.died();
            await_true(&format!("{form:?}, {killer}: they are gone"), || {
                !made.iter().any(|it| it.exists())
            });
        }
    }
}

#[test]
fn what_is_submitted_after_a_kill_runs_in_the_next_interpreter() {
    for form in BOTH {
        let mut harness = Harness::start(form);
        let interrupter = harness.interrupter();
        for round in 0..12 {
            interrupter.kill();
            if round % 2 == 1 {
                // This one meets an interpreter that starts, or none.
                harness.died();
                interrupter.kill();
            }
            assert_eq!(harness.run("1").shown(), ["1"], "{form:?}, round {round}");
        }
    }
}

/// Starts with an interpreter that is none and gives the message.
fn start_failure(script: Option<&str>) -> String {
    let (mut plan, folder) = plan(Form::Pipes);
    let path = folder.path().join("strange");
    if let Some(script) = script {
        write_executable(&path, script);
    }
    plan.interpreter = Some(path);
    let mut harness = Harness::with(plan, folder);
    let message = harness.until(|event| match event {
        RuntimeEvent::StartFailed(failure) => {
            assert!(failure.hint.contains("--python"));
            Some(failure.message.clone())
        }
        _ => None,
    });
    let events = harness.run("1");
    assert!(matches!(
        events.finish.ending,
        Ending::Died(Death::NotStarted(_))
    ));
    message
}

#[test]
fn interpreters_that_are_none_are_told_apart() {
    for (script, expected) in [
        (None, "does not exist"),
        (Some("#!/bin/sh\necho oops >&2\nexit 3\n"), "oops"),
        (
            Some("#!/bin/sh\necho hello >/proc/self/fd/199\nsleep 1000\n"),
            "hello",
        ),
        (
            Some("#!/bin/sh\nwhile :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done\n"),
            "keeps printing",
        ),
        (Some("#!/nonexistent/python\n"), "cannot be started"),
        (
            Some(
                "#!/bin/sh\necho '{\"type\":\"ready\",\"pid\":7,\"python\":\"3.7.1\",\"protocol\":1}' \
                 >/proc/self/fd/199\nsleep 1000\n",
            ),
            "3.8 or newer",
        ),
    ] {
        let message = start_failure(script);
        assert!(
            message.contains(expected) && message.contains("strange"),
            "{message}"
        );
    }
}

#[test]
fn an_old_python_is_taken_where_nothing_is_to_be_checked() {
    let (mut plan, folder) = plan(Form::Pipes);
    let path = folder.path().join("old");
    write_executable(
        &path,
        "#!/bin/sh\necho '{\"type\":\"ready\",\"pid\":7,\"python\":\"3.7.1\",\"protocol\":1}' \
         >/proc/self/fd/199\nsleep 1000\n",
    );
    plan.interpreter = Some(path);
    plan.variables
        .insert("IPYCODEX_PYTHON_SKIP_CHECK".into(), "1".into());
    let mut harness = Harness::with(plan, folder);
    let version = harness.until(|event| match event {
        RuntimeEvent::Ready(info) => Some(info.version.clone()),
        _ => None,
    });
    assert_eq!(version, "3.7.1");
}

#[test]
fn no_python_at_all_is_told_with_a_hint() {
    let (mut plan, folder) = plan(Form::Pipes);
    plan.interpreter = None;
    plan.variables = [(OsString::from("PATH"), folder.path().as_os_str().to_owned())].into();
    let mut harness = Harness::with(plan, folder);
    let failure = harness.until(|event| match event {
        RuntimeEvent::StartFailed(failure) => Some(failure.clone()),
        _ => None,
    });
    assert!(
        failure.message.contains("python3") && failure.hint.contains("install"),
        "{failure:?}"
    );
}

#[test]
fn a_shutdown_runs_exit_functions_and_a_drop_is_prompt() {
    let mut harness = Harness::start(Form::Pipes);
    // On a busy machine the time for exit functions may be over before they run.
    let runs = (0..3).any(|_| {
        harness.run("import atexit\natexit.register(lambda: open('left', 'w').close())");
        let answer = harness.ask(RuntimeRequest::Shutdown { stays: false });
        assert!(matches!(answer, RuntimeReply::Done));
        harness.folder.path().join("left").exists()
    });
    assert!(runs);
    assert_eq!(
        harness.run("1").shown(),
        ["1"],
        "a cell after a shutdown starts anew"
    );
    let pid = harness.run("import os; os.getpid()").shown()[0].to_owned();
    harness.runtime = None;
    assert!(!PathBuf::from(format!("/proc/{pid}")).exists());
}

#[test]
fn a_drop_ends_a_cell_that_ignores_everything() {
    let mut harness = Harness::start(Form::Terminal);
    let events = harness
        .run("import os, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); os.getpid()");
    let pid = events.shown()[0].to_owned();
    let id = harness.submit("print('go')\nwhile True: print('flood')", Stdin::Terminal);
    harness.until(|event| {
        matches!(event, RuntimeEvent::Started { id: of } if *of == id).then_some(())
    });
    // Nobody takes events any more, and the cell never stops printing.
    harness.runtime = None;
    assert!(!PathBuf::from(format!("/proc/{pid}")).exists());
}

#[test]
fn a_lack_of_descriptors_is_told() {
    let this = std::env::current_exe().unwrap();
    let script = "ulimit -n 12; exec \"$0\" --exact runtime::lifecycle::under_a_low_limit --ignored --nocapture";
    let outcome = Command::new("sh")
        .arg("-c")
        .arg(script)
        .arg(this)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&outcome.stdout);
    assert!(
        outcome.status.success() && said.contains("1 passed"),
        "{outcome:?}"
    );
}

/// By hand: `cargo test --test it a_lack_of_descriptors_is_told`, which runs it under `ulimit -n 12`.
#[test]
#[ignore = "run by a_lack_of_descriptors_is_told, in a process of its own"]
fn under_a_low_limit() {
    let (plan, folder) = plan(Form::Pipes);
    let mut harness = Harness::with(plan, folder);
    let failure = harness.until(|event| match event {
        RuntimeEvent::StartFailed(failure) => Some(failure.clone()),
        _ => None,
    });
    assert!(failure.message.contains("open files"), "{failure:?}");
}

#[test]
fn an_interpreter_killed_before_it_is_ready_ends_what_waits() {
    let (mut plan, folder) = plan(Form::Pipes);
    let script = folder.path().join("slow");
    write_executable(&script, "#!/bin/sh\necho $$ >started\nsleep 1000\n");
    plan.interpreter = Some(script);
    let mut harness = Harness::with(plan, folder);
    let id = harness.submit("1", Stdin::Refuse);
    let (interrupter, started) = (harness.interrupter(), harness.folder.path().join("started"));
    await_true("the interpreter has started", || started.exists());
    interrupter.kill();
    let ending = harness.collect(id, |_, _| {}).finish.ending;
    // The second when the kill came before the interpreter was known to be there.
    let expected = [Ending::Died(Death::Killed), Ending::Interrupted];
    assert!(expected.contains(&ending), "{ending:?}");
}

#[test]
fn a_killed_interpreter_leaves_nothing_of_its_look() {
    for (which, mut harness) in benches() {
        let pid = harness.run("import os; os.getpid()").shown()[0].to_owned();
        let sleeper = format!("{}3", std::process::id());
        let code = format!(
            "import subprocess\nsubprocess.run('trap \"\" TERM HUP INT; sleep {sleeper}; :', shell=True)"
        );
        harness.runtime().submit(RuntimeRequest::Snapshot {
            code,
            unprotected: false,
        });
        await_true("the sleeper sleeps", || is_running(&sleeper));
        let pid = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        await_true(&which, || !is_running(&sleeper));
    }
}

#[test]
fn without_an_interpreter_one_can_still_leave() {
    for (code, leaves) in [("exit", true), (" quit() ", true), ("exit(3)", false)] {
        let (mut plan, folder) = plan(Form::Pipes);
        plan.interpreter = Some(folder.path().join("nowhere"));
        let mut harness = Harness::with(plan, folder);
        let id = harness.submit(code, Stdin::Refuse);
        let mut left = false;
        harness.until(|event| match event {
            RuntimeEvent::ExitRequested {
                id: of, code: 0, ..
            } if *of == id => {
                left = true;
                None
            }
            RuntimeEvent::Finished { id: of, .. } if *of == id => Some(()),
            _ => None,
        });
        assert_eq!(left, leaves, "{code}");
    }
}

//! Kernels that are missing, dead, silent, or too loud: each is named, with what to do, and nothing waits for ever.

use std::path::Path;
use std::time::Duration;

use ipycodex::runtime::connect::JupyterTarget;
use ipycodex::runtime::{Death, Ending, RuntimeEvent, StartFailure};

use super::harness::{Harness, kernels, plan};

/// What is said of a kernel that is this file.
fn failure_of(argv: &str, patience: Duration) -> (StartFailure, Ending) {
    let prefix = tempfile::tempdir().unwrap();
    let spec = prefix.path().join("share/jupyter/kernels/bad");
    std::fs::create_dir_all(&spec).unwrap();
    let text = format!(r#"{{"argv": {argv}, "display_name": "Bad", "language": "bad"}}"#);
    std::fs::write(spec.join("kernel.json"), text).unwrap();
    let (mut plan, folder) = plan(JupyterTarget::Installed("bad".into()), prefix.path());
    plan.patience = patience;
    failure(Harness::with(plan, folder))
}

fn failure(mut harness: Harness) -> (StartFailure, Ending) {
    let id = harness.submit("1", ipycodex::runtime::Stdin::Refuse);
    let failure = harness.until(|event| match event {
        RuntimeEvent::StartFailed(failure) => Some(failure.clone()),
        _ => None,
    });
    let (_, ending) = harness.told(id);
    (failure, ending)
}

#[test]
fn a_kernel_that_cannot_start_says_why() {
    let minute = Duration::from_secs(60);
    let (failure, ending) = failure_of(r#"["/no/such/program", "{connection_file}"]"#, minute);
    assert!(
        failure.message.contains("`/no/such/program`: No such file"),
        "{failure:?}"
    );
    assert!(
        failure.hint.contains("kernels/bad/kernel.json"),
        "{failure:?}"
    );
    assert!(
        matches!(ending, Ending::Died(Death::NotStarted(_))),
        "{ending:?}"
    );
    let (failure, _) = failure_of(
        r#"["sh", "-c", "echo broken \u001b[31mparts >&2; exit 3"]"#,
        minute,
    );
    assert!(
        failure
            .message
            .contains("ended before it answered: exit code 3"),
        "{failure:?}"
    );
    assert!(failure.hint.contains("it said: broken"), "{failure:?}");
    assert!(!failure.hint.contains('\x1b'), "{failure:?}");
    let (failure, _) = failure_of(r#"["sleep", "1000"]"#, Duration::from_secs(2));
    assert!(
        failure.message.contains("`sleep` has not answered for 2 s"),
        "{failure:?}"
    );
}

#[test]
fn a_name_that_nobody_has_is_told_with_those_there_are() {
    let Some(prefix) = kernels() else {
        return;
    };
    let (plan, folder) = plan(JupyterTarget::Installed("nope".into()), &prefix);
    let (failure, _) = failure(Harness::with(plan, folder));
    assert!(
        failure
            .message
            .starts_with("no kernel `nope` is installed; there are: "),
        "{failure:?}"
    );
    assert!(
        failure.message.contains("bash, ") || failure.message.contains(", bash"),
        "{failure:?}"
    );
}

#[test]
fn a_file_of_a_dead_kernel_is_named() {
    let (info, ports) = ipycodex::jupyter::new_connection("dead").unwrap();
    drop(ports);
    let kept = tempfile::tempdir().unwrap();
    let file = ipycodex::jupyter::write(&info, kept.path()).unwrap();
    let (told, folder) = plan(JupyterTarget::Running(file.clone()), Path::new("/"));
    let (failure_of_dead, ending) = failure(Harness::with(told, folder));
    let said = &failure_of_dead.message;
    assert!(
        said.starts_with("no kernel listens at ") && said.contains("Connection refused"),
        "{said}"
    );
    assert!(
        failure_of_dead.hint.contains("jupyter --runtime-dir"),
        "{failure_of_dead:?}"
    );
    assert!(
        matches!(ending, Ending::Died(Death::NotStarted(_))),
        "{ending:?}"
    );
    std::fs::write(&file, "[]").unwrap();
    let (told, folder) = plan(JupyterTarget::Running(file), Path::new("/"));
    let (failure, _) = failure(Harness::with(told, folder));
    assert!(
        failure.message.contains("is not a connection file"),
        "{failure:?}"
    );
}

#[test]
fn a_death_is_told_and_another_kernel_runs_the_next_cell() {
    let Some(mut harness) = Harness::start("python3") else {
        return;
    };
    harness.ready();
    let (_, ending) = harness.run("import os; os._exit(3)");
    assert_eq!(ending, Ending::Died(Death::Exited(3)));
    assert_eq!(harness.run("1 + 1"), ("<Out[7] 2>".to_owned(), Ending::Ok));
    let (_, ending) = harness.run("import os, signal; os.kill(os.getpid(), signal.SIGKILL)");
    assert_eq!(ending, Ending::Died(Death::Signalled(9)));
    // The second one within a minute: not again before it is asked for.
    let restarting = harness.until(|event| match event {
        RuntimeEvent::Died { restarting, .. } => Some(*restarting),
        _ => None,
    });
    assert!(!restarting);
    assert_eq!(harness.run("1 + 1"), ("<Out[7] 2>".to_owned(), Ending::Ok));
}

#[test]
fn a_flood_is_shown_or_said_and_the_kernel_stays() {
    let Some(mut harness) = Harness::start("python3") else {
        return;
    };
    harness.ready();
    let (shown, ending) = harness.run("for n in range(60): print('x' * 1_000_000)");
    assert_eq!(ending, Ending::Ok);
    let all = shown.matches("xxxxxxxxxx").count() * 10;
    assert!(all >= 32_000_000, "{all}");
    assert!(
        all >= 60_000_000 || shown.contains("bytes of output came faster"),
        "{all}"
    );
    assert_eq!(harness.run("2"), ("<Out[7] 2>".to_owned(), Ending::Ok));
}

//! `IPYCODEX_TRACE`: a log that names messages and stages, and quotes nothing.

use std::path::PathBuf;

use crate::support::home::Home;

fn traces(home: &Home) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(home.history().parent().unwrap())
        .into_iter()
        .flatten();
    let paths = entries.map(|entry| entry.unwrap().path());
    let is_trace = |path: &PathBuf| {
        path.file_name()
            .unwrap()
            .to_string_lossy()
            .starts_with("trace-")
    };
    paths.filter(is_trace).collect()
}

#[test]
fn messages_and_stages_are_named_and_not_quoted() {
    let home = Home::with(&[("IPYCODEX_TRACE", "wire, startup")]);
    let ran = home.demo(&[], "secret = 41\n.hush\nsecret\n");
    assert_eq!(ran.code(), 0, "{ran:?}");
    // The built-in agent is a process of its own, with a log of its own.
    let all = traces(&home);
    let said = |path: &&PathBuf| {
        let said = format!("IPYCODEX_TRACE is written to {}", path.display());
        ran.stderr.contains(&said)
    };
    let ours = all.iter().find(said);
    let log = std::fs::read_to_string(ours.unwrap_or_else(|| panic!("{ran:?}"))).unwrap();
    let stages = [
        "the settings are read",
        "the interpreter is ready",
        "the record is open",
        "the agent demo is started",
        "to python: exec ",
        "from python: result",
        "to demo: turn/start",
    ];
    for said in stages {
        assert!(log.contains(said), "{said}: {log}");
    }
    assert!(!log.contains("secret") && !log.contains("hush"), "{log}");
    let times: Vec<f64> = log
        .lines()
        .map(|line| line.split(" ms").next().unwrap().trim().parse().unwrap())
        .collect();
    assert!(times.iter().all(|time| *time < 60_000.0), "{log}");
}

#[test]
fn what_it_cannot_trace_is_said() {
    let home = Home::with(&[("IPYCODEX_TRACE", "wires")]);
    let ran = home.run(&["-c", "1"], "");
    assert_eq!(ran.code(), 2, "{ran:?}");
    assert!(
        ran.stderr
            .contains("`IPYCODEX_TRACE=wires` is not understood"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("`wire`, `startup`"), "{ran:?}");
    assert!(traces(&home).is_empty());
    // Without it there is none.
    assert_eq!(Home::new().run(&["-c", "1"], "").code(), 0);
}

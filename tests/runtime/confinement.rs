//! Interpreters that may change nothing but files in folders of their own.

use ipycodex::runtime::Ending;
use ipycodex::runtime::connect::Confinement;

use super::harness::{Form, Harness, plan};
use crate::support::peers;

/// Both engines, where the interpreter of the tests has IPython, confined; the folder they may write in.
fn confined(writes: bool) -> Vec<(Harness, std::path::PathBuf)> {
    let ipython = peers::python();
    let kinds = [None, ipython.as_ref()];
    let kinds = kinds.into_iter().take(1 + usize::from(ipython.is_some()));
    let benches = kinds.map(|python| {
        let (mut plan, folder) = plan(Form::Pipes);
        if let Some(python) = python {
            plan.no_ipython = false;
            plan.interpreter = Some(python.into());
        }
        let work = folder.path().join("work");
        std::fs::create_dir(&work).unwrap();
        plan.cwd = work.clone();
        let writes = if writes {
            vec![work.clone()]
        } else {
            Vec::new()
        };
        plan.confined = Some(Confinement { writes });
        (Harness::with(plan, folder), work)
    });
    benches.collect()
}

#[test]
fn files_outside_and_the_network_are_out_of_reach() {
    for (mut harness, work) in confined(true) {
        if let Some(why) = harness.ready().unprotected {
            panic!("this machine cannot confine: {why}");
        }
        let events = harness.run(
            "import os\nopen('in.txt', 'w').close()\nos.mkdir('d')\nos.rename('in.txt', 'd/in.txt')",
        );
        assert_eq!(events.finish.ending, Ending::Ok, "{events:?}");
        assert!(work.join("d/in.txt").is_file());
        for code in [
            "open('../out.txt', 'w')",
            "open('../out.txt', 'a')",
            "import socket; socket.create_connection(('127.0.0.1', 9), 1)",
            "import socket; socket.socket(socket.AF_UNIX)",
            "import os; os.chmod('/tmp', 0o777)",
            "import os; os.kill(os.getppid(), 9)",
            "import subprocess; subprocess.run(['sh', '-c', 'echo x > ../out.txt'], check=True)",
            "import os; os.system('echo x > ../out.txt') and 1/0",
        ] {
            let events = harness.run(code);
            assert_eq!(events.finish.ending, Ending::Error, "{code}: {events:?}");
        }
        assert!(!work.join("../out.txt").exists());
        // What interpreters do besides.
        let events = harness.run(
            "import asyncio, threading, subprocess\nasync def f(): return 7\n\
             thread = threading.Thread(target=print, args=('thread',)); thread.start(); thread.join()\n\
             child = subprocess.run(['echo', 'child'], capture_output=True, text=True)\n\
             print(await f(), child.stdout)",
        );
        assert_eq!(events.text(), "thread\n7 child\n\n", "{events:?}");
        let events = harness.run("1/0");
        assert!(
            events
                .error
                .is_some_and(|error| error.contains("ZeroDivisionError"))
        );
    }
}

#[test]
fn one_that_only_reads_writes_nowhere() {
    for (mut harness, work) in confined(false) {
        harness.ready();
        let events = harness.run("open('in.txt', 'w')");
        assert_eq!(events.finish.ending, Ending::Error, "{events:?}");
        assert!(!work.join("in.txt").exists());
        let events = harness.run("x = 1\nprint(x + 1, len(open('/proc/self/status').read()) > 0)");
        assert_eq!(events.text(), "2 True\n");
    }
}

#[test]
fn what_cannot_be_confined_says_why() {
    let (mut plan, folder) = plan(Form::Pipes);
    plan.variables
        .insert("IPYCODEX_NO_LANDLOCK".into(), "1".into());
    plan.confined = Some(Confinement { writes: Vec::new() });
    let mut harness = Harness::with(plan, folder);
    assert_eq!(
        harness.ready().unprotected.as_deref(),
        Some("IPYCODEX_NO_LANDLOCK is set")
    );
    assert_eq!(harness.run("print(1)").text(), "1\n");
}

//! Interpreters that may change nothing but files in folders of their own.

use ipycodex::runtime::Ending;
use ipycodex::runtime::connect::Confinement;

use super::bench::{Bench, Form, plan};
use crate::support::peers;

/// Both engines, where the interpreter of the tests has IPython, confined; the folder they may write in.
fn confined(writes: bool) -> Vec<(Bench, std::path::PathBuf)> {
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
        (Bench::with(plan, folder), work)
    });
    benches.collect()
}

#[test]
fn files_outside_and_the_network_are_out_of_reach() {
    for (mut bench, work) in confined(true) {
        if let Some(why) = bench.ready().unprotected {
            panic!("this machine cannot confine: {why}");
        }
        let told = bench.run(
            "import os\nopen('in.txt', 'w').close()\nos.mkdir('d')\nos.rename('in.txt', 'd/in.txt')",
        );
        assert_eq!(told.finish.ending, Ending::Ok, "{told:?}");
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
            let told = bench.run(code);
            assert_eq!(told.finish.ending, Ending::Error, "{code}: {told:?}");
        }
        assert!(!work.join("../out.txt").exists());
        // What interpreters do besides.
        let told = bench.run(
            "import asyncio, threading, subprocess\nasync def f(): return 7\n\
             thread = threading.Thread(target=print, args=('thread',)); thread.start(); thread.join()\n\
             child = subprocess.run(['echo', 'child'], capture_output=True, text=True)\n\
             print(await f(), child.stdout)",
        );
        assert_eq!(told.text(), "thread\n7 child\n\n", "{told:?}");
        let told = bench.run("1/0");
        assert!(
            told.error
                .is_some_and(|error| error.contains("ZeroDivisionError"))
        );
    }
}

#[test]
fn one_that_only_reads_writes_nowhere() {
    for (mut bench, work) in confined(false) {
        bench.ready();
        let told = bench.run("open('in.txt', 'w')");
        assert_eq!(told.finish.ending, Ending::Error, "{told:?}");
        assert!(!work.join("in.txt").exists());
        let told = bench.run("x = 1\nprint(x + 1, len(open('/proc/self/status').read()) > 0)");
        assert_eq!(told.text(), "2 True\n");
    }
}

#[test]
fn what_cannot_be_confined_says_why() {
    let (mut plan, folder) = plan(Form::Pipes);
    plan.variables
        .insert("IPYCODEX_NO_LANDLOCK".into(), "1".into());
    plan.confined = Some(Confinement { writes: Vec::new() });
    let mut bench = Bench::with(plan, folder);
    assert_eq!(
        bench.ready().unprotected.as_deref(),
        Some("IPYCODEX_NO_LANDLOCK is set")
    );
    assert_eq!(bench.run("print(1)").text(), "1\n");
}

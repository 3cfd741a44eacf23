//! Interpreters that may change nothing but files in folders of their own, and copies that may change nothing; what
//! either of them may say to the session. The attempts themselves: `tests/runner/attempts.py`.

use std::path::Path;

use ipycodex::runtime::connect::Confinement;
use ipycodex::runtime::{
    BranchRequest, DryRunCell, Ending, RuntimeEvent, RuntimeReply, RuntimeRequest, Snapshot, Stdin,
};
use rustix::process::{Pid, test_kill_process_group};

use super::harness::{Form, Harness, plan};
use crate::support::{await_true, peers};

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

/// The pipes that a copy writes its answers to, in `fds`.
const PIPES: &str = "import os, stat, fcntl, time\n\
    fds = [int(fd) for fd in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/' + fd)]\n\
    fds = [fd for fd in fds if fd > 2 and stat.S_ISFIFO(os.fstat(fd).st_mode)]\n\
    fds = [fd for fd in fds if fcntl.fcntl(fd, fcntl.F_GETFL) & 3 == os.O_WRONLY]\n";

/// The reply to code in a copy, one way or another; the runtime has to live.
fn reply(harness: &mut Harness, request: RuntimeRequest) -> RuntimeReply {
    let asked = harness.runtime().submit(request);
    harness.until(|event| match event {
        RuntimeEvent::Died { death, .. } => panic!("the interpreter died: {death:?}"),
        RuntimeEvent::Replied { id, answer } if *id == asked => Some(answer.clone()),
        _ => None,
    })
}

/// The code in each kind of copy.
fn in_copies(code: &str) -> [RuntimeRequest; 3] {
    let cells = vec![DryRunCell {
        code: code.into(),
        reset: false,
    }];
    [
        RuntimeRequest::Snapshot {
            code: code.into(),
            unprotected: false,
        },
        RuntimeRequest::DryRun { cells },
        RuntimeRequest::Branch(BranchRequest::Run {
            code: code.into(),
            directory: None,
            anew: true,
            unprotected: false,
        }),
    ]
}

#[test]
fn whatever_a_copy_answers_the_session_goes_on() {
    for (_, mut harness) in super::evaluations::benches() {
        harness.run("kept = 41");
        for code in [
            "os.write(fd, b'{\"unprotected\": \"please allow\"}\\n')",
            "os.write(fd, b'[1]\\n')",
            "os.write(fd, b'\\xff\\n')",
            "os.write(fd, b'{\"bundle\": 5, \"error\": 7, \"printed\": {}, \"names\": 3}\\n')",
            "os.write(fd, b'{\"bundle\": {\"a/b\": %s}}\\n' % (b'[' * 900 + b']' * 900))",
            "os.write(fd, b'{\"bundle\": {\"a/b\": %s}}\\n' % (b'1' * 4000))",
            "os.write(fd, b'{\"bundle\": {\"text/plain\": \"\\\\ud800\"}}\\n')",
        ] {
            let code = format!("{PIPES}for fd in fds: {code}\nos._exit(0)");
            for request in in_copies(&code) {
                let told = reply(&mut harness, request);
                let asks = matches!(told, RuntimeReply::Snapshot(Snapshot::Unprotected(_)));
                assert!(!asks, "{code}");
            }
        }
        // Without writing there itself.
        let shows = "class Value:\n    def _repr_mimebundle_(self, **_):\n        \
            return {'application/json': {'n': 10 ** 4000, 'x': float('nan')}, 'text/plain': '5'}\nValue()";
        for request in in_copies(shows) {
            reply(&mut harness, request);
        }
        assert_eq!(harness.run("print(kept)").text(), "41\n");
    }
}

#[test]
fn what_a_copy_prints_is_no_mark_of_the_interpreters() {
    for (_, mut harness) in super::evaluations::benches() {
        let forges = "import sys\nmark = sys.modules['_ipycodex_runner'].host.frames.mark_prefix\n\
            for word in (b'own', b'999999999'):\n    \
            sys.stdout.buffer.write(mark + word + b'\\x07' + mark[:7] + mark + mark[7:] + word + b'\\x07')\n    \
            sys.stdout.flush()";
        for request in in_copies(forges) {
            reply(&mut harness, request);
        }
        for _ in 0..20 {
            let events = harness.run("for n in range(200): print('x' * 500, n)");
            assert_eq!(events.text().lines().count(), 200);
            assert!(events.steps.iter().all(|(kind, _)| *kind != "foreign"));
        }
    }
}

#[test]
fn signals_for_an_interpreter_reach_no_process_that_it_names() {
    let mut user = Harness::start(Form::Pipes);
    let process = user.run("import os; print(os.getpid())").text();
    for (mut harness, _) in confined(false) {
        harness.ready();
        let lie = format!(r#"{{"type": "moved", "pid": {}}}"#, process.trim());
        harness.run(&format!("import os; os.write(199, b'{lie}\\n')"));
        let id = harness.submit("print('on', flush=True)\nwhile True: pass", Stdin::Refuse);
        let events = harness.interrupt_at(id, "on");
        assert_eq!(events.finish.ending, Ending::Interrupted, "{events:?}");
    }
    // The interpreters above have been killed.
    assert_eq!(user.run("print(os.getpid())").text(), process);
}

/// Whatever its name: elsewhere a resource tracker of Python's is spared.
#[test]
fn what_forks_faster_than_one_can_look_ends_with_its_interpreter() {
    let bomb = "import os, signal, sys\nos.write(int(sys.argv[1]), b'x')\nos.closerange(0, 4096)\n\
        signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True:\n    if os.fork(): os._exit(0)";
    for name in ["bomb", "resource_tracker"] {
        for (mut harness, _) in confined(false) {
            harness.ready();
            let group = harness.run(&format!(
                "import os, sys\nr, w = os.pipe()\nos.set_inheritable(w, True)\nfor n in range(4):\n    \
                 if os.fork() == 0:\n        os.execv(sys.executable, [sys.executable, '-c', {bomb:?}, str(w), \
                 {name:?}])\nassert sum(len(os.read(r, 1)) for n in range(4)) == 4\nprint(os.getpgid(0))"
            ));
            let group = group.text().trim().parse().ok().and_then(Pid::from_raw);
            let group = group.expect("a group of processes");
            drop(harness);
            await_true(&format!("the group of {name} is gone"), || {
                test_kill_process_group(group).is_err()
            });
        }
    }
}

/// All attempts of `tests/runner/attempts.py`, each in all the places, in both engines; there are at least `count`.
pub fn attempts(count: u32) -> String {
    let mut command = super::runners_command_in(Path::new("python3"), "test_confinement.py");
    command.env("IPYCODEX_ATTEMPTS", "all");
    if let Some(python) = peers::python() {
        command.env("IPYCODEX_TEST_IPYTHON", python);
    }
    let said = super::passes(&mut command);
    eprintln!("{said}");
    let made = said.split_once(" attempts, engine");
    let made = made.and_then(|(before, _)| before.rsplit('\n').next()?.parse().ok());
    let made: u32 = made.expect("a table of attempts");
    assert!(made >= count, "{made} attempts, {count} expected");
    format!("none of {made} escaped")
}

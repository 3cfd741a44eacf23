//! Tests of runtime on the real thing.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ipycodex::runtime::connect::{RuntimeEvents, RuntimeKind, RuntimePlan, connect};
use ipycodex::runtime::{
    Answer, CellTerminal, Death, Ending, Execute, Finish, InputReply, Interrupter, OutputStream,
    RequestId, Runtime, RuntimeEvent, RuntimeInfo, RuntimeRequest, Stdin, TerminalSize, ToolLookup,
};

/// No test waits longer for one event.
const LIMIT: Duration = Duration::from_secs(30);
const BOTH: [Form; 2] = [Form::Pipes, Form::Terminal];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Form {
    Pipes,
    Terminal,
}

struct Bench {
    runtime: Option<Box<dyn Runtime>>,
    events: RuntimeEvents,
    waiter: tokio::runtime::Runtime,
    folder: tempfile::TempDir,
}

/// Everything told of one cell.
#[derive(Debug)]
struct Told {
    /// Output and displays in order: `out`, `err`, `tty`, `foreign` or `show`, and the text.
    steps: Vec<(&'static str, String)>,
    error: Option<String>,
    finish: Finish,
}

impl Told {
    fn text(&self) -> String {
        let shown = self.steps.iter().filter(|(kind, _)| *kind != "show");
        shown.map(|(_, text)| text.replace("\r\n", "\n")).collect()
    }

    fn shown(&self) -> Vec<&str> {
        let shown = self.steps.iter().filter(|(kind, _)| *kind == "show");
        shown.map(|(_, text)| text.as_str()).collect()
    }
}

fn plan(form: Form) -> (RuntimePlan, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let terminal = (form == Form::Terminal).then_some(TerminalSize {
        columns: 90,
        rows: 33,
    });
    let plan = RuntimePlan {
        kind: RuntimeKind::Embedded,
        interpreter: None,
        no_ipython: true,
        cwd: folder.path().to_owned(),
        variables: std::env::vars_os().collect(),
        terminal,
        cache_dir: folder.path().join("cache"),
    };
    (plan, folder)
}

impl Bench {
    fn start(form: Form) -> Self {
        let (plan, folder) = plan(form);
        Bench::with(plan, folder)
    }

    fn with(plan: RuntimePlan, folder: tempfile::TempDir) -> Self {
        let (runtime, events) = connect(plan);
        let waiter = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        Bench {
            runtime: Some(runtime),
            events,
            waiter,
            folder,
        }
    }

    fn runtime(&mut self) -> &mut dyn Runtime {
        self.runtime.as_deref_mut().unwrap()
    }

    fn next(&mut self) -> RuntimeEvent {
        let events = &mut self.events;
        self.waiter
            .block_on(async { tokio::time::timeout(LIMIT, events.recv()).await })
            .expect("an event within the limit")
            .expect("an open channel")
    }

    fn until<T>(&mut self, mut wanted: impl FnMut(&RuntimeEvent) -> Option<T>) -> T {
        loop {
            let event = self.next();
            if let Some(found) = wanted(&event) {
                return found;
            }
        }
    }

    fn ready(&mut self) -> RuntimeInfo {
        self.until(|event| match event {
            RuntimeEvent::Ready(info) => Some(info.clone()),
            _ => None,
        })
    }

    fn submit(&mut self, code: &str, stdin: Stdin) -> RequestId {
        self.runtime().submit(RuntimeRequest::Execute(Execute {
            code: code.into(),
            execution_count: Some(1),
            silent: false,
            stdin,
        }))
    }

    fn run(&mut self, code: &str) -> Told {
        let stdin = match self.runtime().terminal() {
            Some(_) => Stdin::Terminal,
            None => Stdin::Refuse,
        };
        let id = self.submit(code, stdin);
        self.collect(id, |_, _| {})
    }

    /// Everything until the end of `id`; `act` sees the text so far whenever there is more.
    fn collect(&mut self, id: RequestId, mut act: impl FnMut(&mut Self, &str)) -> Told {
        let mut steps = Vec::new();
        let (mut error, mut text) = (None, String::new());
        loop {
            match self.next() {
                RuntimeEvent::Output {
                    id: Some(of),
                    stream,
                    bytes,
                    foreign,
                } if of == id => {
                    let kind = match stream {
                        _ if foreign => "foreign",
                        OutputStream::Stdout => "out",
                        OutputStream::Stderr => "err",
                        OutputStream::Terminal => "tty",
                    };
                    let more = String::from_utf8_lossy(&bytes).into_owned();
                    if text.len() < 1 << 20 {
                        text += &more;
                    }
                    match steps.last_mut() {
                        Some((last, before)) if *last == kind => String::push_str(before, &more),
                        _ => steps.push((kind, more)),
                    }
                    act(self, &text);
                }
                RuntimeEvent::Display { id: of, display } if of == Some(id) => {
                    steps.push((
                        "show",
                        display.bundle.text("text/plain").unwrap_or_default(),
                    ));
                }
                RuntimeEvent::Error {
                    id: of,
                    error: raised,
                } if of == id => {
                    error = Some(format!("{}: {}", raised.name, raised.value));
                }
                RuntimeEvent::Finished { id: of, finish } if of == id => {
                    return Told {
                        steps,
                        error,
                        finish,
                    };
                }
                RuntimeEvent::Started { id: of } if of == id => act(self, &text),
                _ => {}
            }
        }
    }

    fn interrupter(&mut self) -> Arc<dyn Interrupter> {
        self.runtime().interrupter()
    }

    fn terminal(&mut self) -> Arc<dyn CellTerminal> {
        self.runtime().terminal().unwrap()
    }

    fn died(&mut self) -> (Death, bool) {
        self.until(|event| match event {
            RuntimeEvent::Died { death, restarting } => Some((death.clone(), *restarting)),
            _ => None,
        })
    }
}

#[test]
fn values_errors_and_streams_arrive() {
    let mut bench = Bench::start(Form::Pipes);
    let info = bench.ready();
    assert!(
        info.pid > 1 && info.python.starts_with('3') && !info.restarted,
        "{info:?}"
    );
    let told = bench.run("import sys\nprint('a')\nprint('b', file=sys.stderr)\n1+1");
    assert_eq!(told.finish.ending, Ending::Ok);
    assert_eq!(told.shown(), ["2"]);
    assert!(told.steps.contains(&("out", "a\n".into())), "{told:?}");
    assert!(told.steps.contains(&("err", "b\n".into())), "{told:?}");
    let told = bench.run("1/0");
    assert_eq!(told.finish.ending, Ending::Error);
    assert_eq!(
        told.error.as_deref(),
        Some("ZeroDivisionError: division by zero")
    );
    assert_eq!(
        told.finish.cwd.map(PathBuf::from),
        Some(bench.folder.path().canonicalize().unwrap())
    );
}

#[test]
fn output_and_displays_keep_their_order() {
    for form in BOTH {
        let mut bench = Bench::start(form);
        let told = bench.run("for n in range(100):\n    print('p', n)\n    display(n)");
        let expected: Vec<String> = (0..100)
            .flat_map(|n| [format!("p {n}\n"), n.to_string()])
            .collect();
        let got: Vec<String> = told
            .steps
            .iter()
            .map(|(_, text)| text.replace("\r\n", "\n"))
            .collect();
        assert_eq!(got, expected, "{form:?}");
    }
}

#[test]
fn a_big_write_arrives_whole() {
    for form in BOTH {
        let mut bench = Bench::start(form);
        let told = bench
            .run("import os\ndata = b'x' * (4 << 20)\nwhile data: data = data[os.write(1, data):]");
        assert_eq!(told.text().len(), 4 << 20, "{form:?}");
        assert!(told.text().bytes().all(|b| b == b'x'), "{form:?}");
    }
}

#[test]
fn forged_marks_are_output() {
    for form in BOTH {
        let mut bench = Bench::start(form);
        let told = bench.run("print('\\x1b]7717;0123456789abcdef;9\\x07!')");
        assert_eq!(
            told.text(),
            "\x1b]7717;0123456789abcdef;9\x07!\n",
            "{form:?}"
        );
    }
}

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
            let mut bench = Bench::start(form);
            bench.run("kept = 1");
            let told = bench.run(code);
            assert_eq!(told.finish.ending, Ending::Died(death.clone()), "{form:?}");
            assert!(told.text().starts_with("bye\n"), "{told:?}");
            assert_eq!(bench.died(), (death.clone(), true));
            assert!(bench.ready().restarted);
            let told = bench.run("'kept' in globals()");
            assert_eq!(told.shown(), ["False"], "{form:?}");
        }
    }
}

#[test]
fn two_deaths_stop_the_restarts_until_a_cell_comes() {
    let mut bench = Bench::start(Form::Pipes);
    bench.run("import os; os._exit(1)");
    assert_eq!(bench.died(), (Death::Exited(1), true));
    bench.run("import os; os._exit(2)");
    assert_eq!(bench.died(), (Death::Exited(2), false));
    let id = bench
        .runtime()
        .submit(RuntimeRequest::DescribeTools { names: vec![] });
    let failed = bench.until(|event| match event {
        RuntimeEvent::Answered { id: of, answer } if *of == id => Some(answer.clone()),
        _ => None,
    });
    assert!(matches!(failed, Answer::Failed(_)), "{failed:?}");
    assert_eq!(bench.run("3").shown(), ["3"]);
}

#[test]
fn a_closed_stdout_costs_nothing() {
    for form in BOTH {
        let mut bench = Bench::start(form);
        let told = bench.run("import os; os.close(1)");
        assert_ne!(told.finish.ending, Ending::Interrupted);
        assert_eq!(bench.run("print('back')\n5").shown(), ["5"], "{form:?}");
    }
}

#[test]
fn interrupts_stop_cells_and_keep_names() {
    let cells = [
        "import time; print('go', flush=True); time.sleep(1000)",
        "print('go', flush=True)\nwhile True: pass",
        "print('go', flush=True)\nimport asyncio; await asyncio.sleep(1000)",
        "import subprocess; print('go', flush=True); subprocess.run(['sleep', '1000'])",
    ];
    for form in BOTH {
        let mut bench = Bench::start(form);
        bench.run("kept = 4");
        let interrupter = bench.interrupter();
        for code in cells {
            let id = bench.submit(code, Stdin::Refuse);
            let mut sent = false;
            let told = bench.collect(id, |_, text| {
                if text.contains("go") && !std::mem::replace(&mut sent, true) {
                    interrupter.interrupt();
                }
            });
            assert_eq!(told.finish.ending, Ending::Interrupted, "{form:?} {code}");
        }
        interrupter.interrupt();
        assert_eq!(bench.run("kept").shown(), ["4"]);
    }
}

#[test]
fn an_interrupt_before_the_start_cancels_what_waits() {
    for form in BOTH {
        let mut bench = Bench::start(form);
        let interrupter = bench.interrupter();
        let id = bench.submit("import time; time.sleep(1000)", Stdin::Refuse);
        interrupter.interrupt();
        assert_eq!(
            bench.collect(id, |_, _| {}).finish.ending,
            Ending::Interrupted
        );
        assert_eq!(bench.run("6").shown(), ["6"]);
    }
}

#[test]
fn control_c_typed_into_the_terminal_interrupts() {
    let mut bench = Bench::start(Form::Terminal);
    let terminal = bench.terminal();
    for code in [
        "import time; print('go'); time.sleep(1000)",
        "print('go')\nwhile True: pass",
        "print('go'); input('name? ')",
    ] {
        let id = bench.submit(code, Stdin::Terminal);
        let mut sent = false;
        let told = bench.collect(id, |_, text| {
            if text.contains("go") && !std::mem::replace(&mut sent, true) {
                terminal.type_bytes(&[3]);
            }
        });
        assert_eq!(told.finish.ending, Ending::Interrupted, "{code}");
    }
}

#[test]
fn a_killed_interpreter_is_replaced() {
    let mut bench = Bench::start(Form::Pipes);
    let interrupter = bench.interrupter();
    let id = bench.submit(
        "import itertools\nprint('go', flush=True)\nsum(itertools.repeat(1))",
        Stdin::Refuse,
    );
    let told = bench.collect(id, |_, text| {
        if text.contains("go") {
            interrupter.kill();
        }
    });
    assert_eq!(told.finish.ending, Ending::Died(Death::Killed));
    assert_eq!(bench.died(), (Death::Killed, true));
    assert_eq!(bench.run("1").shown(), ["1"]);
}

#[test]
fn the_terminal_is_a_terminal() {
    let mut bench = Bench::start(Form::Terminal);
    let told = bench
        .run("import os, sys\nos.get_terminal_size(), sys.stdin.isatty(), sys.stdout.isatty()");
    assert_eq!(
        told.shown(),
        ["(os.terminal_size(columns=90, lines=33), True, True)"]
    );
    let terminal = bench.terminal();
    assert!(terminal.mode().signals && terminal.mode().canonical);
    terminal.resize(TerminalSize {
        columns: 44,
        rows: 7,
    });
    assert_eq!(bench.run("os.get_terminal_size().columns").shown(), ["44"]);
    let id = bench.submit("input('name? ').upper()", Stdin::Terminal);
    let mut sent = false;
    let told = bench.collect(id, |_, text| {
        if text.contains("name? ") && !std::mem::replace(&mut sent, true) {
            terminal.type_bytes("zoë\r".as_bytes());
        }
    });
    assert_eq!(told.shown(), ["'ZOË'"]);
}

#[test]
fn what_was_typed_ahead_comes_back() {
    let mut bench = Bench::start(Form::Terminal);
    let terminal = bench.terminal();
    let id = bench.submit(
        "import time\nprint('go')\nimport termios, array, fcntl\nn = array.array('i', [0])\nwhile True:\n    fcntl.ioctl(0, termios.FIONREAD, n)\n    if n[0]: break",
        Stdin::Terminal,
    );
    let mut sent = false;
    let told = bench.collect(id, |_, text| {
        if text.contains("go") && !std::mem::replace(&mut sent, true) {
            terminal.type_bytes(b"next line\rpart");
        }
    });
    assert_eq!(told.finish.typeahead, b"next line\npart");
}

#[test]
fn a_terminal_left_raw_is_mended() {
    let mut bench = Bench::start(Form::Terminal);
    let told = bench.run("import tty, os\ntty.setraw(0)\nos.write(1, b'raw')");
    assert!(told.text().contains("raw"));
    let mode = bench.terminal().mode();
    assert!(
        mode.signals && mode.canonical && !mode.foreground_program,
        "{mode:?}"
    );
    let told = bench.run("print('cooked')");
    assert_eq!(told.steps, [("tty", "cooked\r\n".to_owned())]);
}

#[test]
fn output_after_the_end_belongs_to_no_cell() {
    for form in BOTH {
        let mut bench = Bench::start(form);
        let told = bench.run(
            "import threading\ngate = threading.Event()\ndef late():\n    gate.wait()\n    print('late', flush=True)\nthreading.Thread(target=late, daemon=True).start()",
        );
        assert_eq!(told.text(), "");
        let id = bench.runtime().submit(RuntimeRequest::SetVariables {
            values: vec![("x".into(), "y".into())],
        });
        bench.until(|event| {
            matches!(event, RuntimeEvent::Answered { id: of, .. } if *of == id).then_some(())
        });
        bench.run("threading.Timer(0.05, gate.set).start()");
        let (id, text) = bench.until(|event| match event {
            RuntimeEvent::Output { id, bytes, .. } => Some((*id, bytes.clone())),
            _ => None,
        });
        assert_eq!(id, None, "{form:?}");
        assert_eq!(text.trim_ascii_end(), b"late");
    }
}

#[test]
fn input_is_asked_for_or_refused() {
    let mut bench = Bench::start(Form::Pipes);
    for (reply, expected) in [
        (InputReply::Line("5".into()), Ok("'5'")),
        (InputReply::Eof, Err("EOFError")),
    ] {
        let id = bench.submit("input('n? ')", Stdin::Ask);
        let call = bench.until(|event| match event {
            RuntimeEvent::InputRequested {
                id: of,
                call,
                prompt,
                password,
            } => {
                assert_eq!((*of, prompt.as_str(), *password), (id, "n? ", false));
                Some(*call)
            }
            _ => None,
        });
        bench
            .runtime()
            .submit(RuntimeRequest::ReplyInput { call, reply });
        let told = bench.collect(id, |_, _| {});
        match expected {
            Ok(shown) => assert_eq!(told.shown(), [shown]),
            Err(name) => assert!(told.error.unwrap().starts_with(name)),
        }
    }
    let told = bench.run("input()");
    assert!(told.error.unwrap().starts_with("EOFError"));
}

#[test]
fn tools_are_described_and_called() {
    let mut bench = Bench::start(Form::Pipes);
    bench.run("def add(a: int, b: int = 2):\n    'Adds.'\n    print('adding')\n    return a + b\nplain = 3");
    let ask = |bench: &mut Bench, request| {
        let id = bench.runtime().submit(request);
        let mut printed = String::new();
        let answer = bench.until(|event| match event {
            RuntimeEvent::Output { id: of, bytes, .. } => {
                assert_eq!(*of, Some(id));
                printed += std::str::from_utf8(bytes).unwrap();
                None
            }
            RuntimeEvent::Answered { id: of, answer } if *of == id => Some(answer.clone()),
            _ => None,
        });
        (answer, printed)
    };
    let names = ["add", "plain", "absent"].map(String::from).to_vec();
    let (answer, _) = ask(&mut bench, RuntimeRequest::DescribeTools { names });
    let Answer::Tools(tools) = answer else {
        panic!("{answer:?}")
    };
    assert!(
        matches!(&tools[0], ToolLookup::Found { name, description, .. } if name == "add" && description.contains("Adds.")),
        "{tools:?}"
    );
    assert!(
        matches!(&tools[1], ToolLookup::NotCallable(name) if name == "plain"),
        "{tools:?}"
    );
    assert!(
        matches!(&tools[2], ToolLookup::Missing(name) if name == "absent"),
        "{tools:?}"
    );
    let call = |arguments| RuntimeRequest::CallTool {
        name: "add".into(),
        arguments,
    };
    let (answer, printed) = ask(&mut bench, call(serde_json::json!({"a": 40})));
    let Answer::ToolResult(Ok(bundle)) = answer else {
        panic!("{answer:?}")
    };
    assert_eq!(bundle.text("text/plain").as_deref(), Some("42"));
    assert_eq!(printed, "adding\n");
    let (answer, _) = ask(&mut bench, call(serde_json::json!({"a": null})));
    let Answer::ToolResult(Err(error)) = answer else {
        panic!("{answer:?}")
    };
    assert_eq!(error.name, "TypeError");
}

#[test]
fn lone_surrogates_do_no_harm() {
    let mut bench = Bench::start(Form::Pipes);
    let told = bench.run("raise ValueError('x\\ud800y')");
    assert_eq!(told.error.as_deref(), Some("ValueError: x\u{fffd}y"));
    assert_eq!(bench.run("'\\ud800'").finish.ending, Ending::Ok);
}

#[test]
fn a_large_value_passes_and_a_larger_one_is_replaced() {
    let mut bench = Bench::start(Form::Pipes);
    let show = |n: usize| format!("class Big:\n    def __repr__(self): return 'x' * {n}\nBig()");
    let told = bench.run(&show(30 << 20));
    assert_eq!(told.finish.ending, Ending::Ok);
    assert!(!told.shown().is_empty());
    let told = bench.run(&show(65 << 20));
    assert_eq!(told.finish.ending, Ending::Ok);
    assert_eq!(bench.run("1").shown(), ["1"]);
}

/// Starts with an interpreter that is none and gives the message.
fn start_failure(script: Option<&str>) -> String {
    let (mut plan, folder) = plan(Form::Pipes);
    let path = folder.path().join("strange");
    if let Some(script) = script {
        use std::os::unix::fs::PermissionsExt;
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    plan.interpreter = Some(path);
    let mut bench = Bench::with(plan, folder);
    let message = bench.until(|event| match event {
        RuntimeEvent::StartFailed(failure) => {
            assert!(failure.hint.contains("--python"));
            Some(failure.message.clone())
        }
        _ => None,
    });
    let told = bench.run("1");
    assert!(matches!(
        told.finish.ending,
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
            "without end",
        ),
        (Some("#!/nonexistent/python\n"), "cannot be started"),
        (
            Some(
                "#!/bin/sh\necho '{\"type\":\"ready\",\"pid\":7,\"python\":\"3.7.1\",\"protocol\":1}' >/proc/self/fd/199\nsleep 1000\n",
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
fn no_python_at_all_is_told_with_a_hint() {
    let (mut plan, folder) = plan(Form::Pipes);
    plan.variables = [(OsString::from("PATH"), folder.path().as_os_str().to_owned())].into();
    let mut bench = Bench::with(plan, folder);
    let failure = bench.until(|event| match event {
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
    let mut bench = Bench::start(Form::Pipes);
    bench.run("import atexit\natexit.register(lambda: open('left', 'w').close())");
    let id = bench.runtime().submit(RuntimeRequest::Shutdown);
    let answer = bench.until(|event| match event {
        RuntimeEvent::Answered { id: of, answer } if *of == id => Some(answer.clone()),
        _ => None,
    });
    assert!(matches!(answer, Answer::Done));
    assert!(bench.folder.path().join("left").exists());
    assert_eq!(
        bench.run("1").shown(),
        ["1"],
        "a cell after a shutdown starts anew"
    );
    let pid = bench.run("import os; os.getpid()").shown()[0].to_owned();
    bench.runtime = None;
    assert!(!PathBuf::from(format!("/proc/{pid}")).exists());
}

#[test]
fn a_drop_ends_a_cell_that_ignores_everything() {
    let mut bench = Bench::start(Form::Terminal);
    let told =
        bench.run("import os, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); os.getpid()");
    let pid = told.shown()[0].to_owned();
    let id = bench.submit("print('go')\nwhile True: print('flood')", Stdin::Terminal);
    bench.until(|event| {
        matches!(event, RuntimeEvent::Started { id: of } if *of == id).then_some(())
    });
    // Nobody takes events any more, and the cell never stops printing.
    bench.runtime = None;
    assert!(!PathBuf::from(format!("/proc/{pid}")).exists());
}

#[test]
fn programs_that_own_the_screen_are_marked() {
    let mut bench = Bench::start(Form::Terminal);
    let terminal = bench.terminal();
    let id = bench.submit(
        "print('before')\n!echo inside; read answer\nprint('after')",
        Stdin::Terminal,
    );
    let mut owned = None;
    let told = bench.collect(id, |_, text| {
        if text.contains("inside") && owned.is_none() {
            owned = Some(terminal.mode());
            terminal.type_bytes(b"\r");
        }
    });
    assert_eq!(
        told.steps.first().unwrap(),
        &("tty", "before\r\n".into()),
        "{told:?}"
    );
    assert_eq!(
        told.steps.last().unwrap(),
        &("tty", "after\r\n".into()),
        "{told:?}"
    );
    assert!(
        told.steps[1].0 == "foreign" && told.steps[1].1.starts_with("inside"),
        "{told:?}"
    );
    assert_eq!(told.steps.len(), 3, "{told:?}");
    assert!(!terminal.mode().foreground_program);
    let told = bench.run("import tty, termios, os\nprint('line')\nold = termios.tcgetattr(0)\ntermios.tcdrain(1)\nimport time; time.sleep(0.2)\ntty.setraw(0)\nos.write(1, b'\\x1b[2J')\ntime.sleep(0.2)");
    assert!(
        told.steps.contains(&("foreign", "\x1b[2J".into())),
        "{told:?}"
    );
}

#[test]
fn a_lack_of_descriptors_is_told() {
    let this = std::env::current_exe().unwrap();
    let script =
        "ulimit -n 12; exec \"$0\" --exact runtime::under_a_low_limit --ignored --nocapture";
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

#[test]
#[ignore = "run by a_lack_of_descriptors_is_told, in a process of its own"]
fn under_a_low_limit() {
    let (plan, folder) = plan(Form::Pipes);
    let mut bench = Bench::with(plan, folder);
    let failure = bench.until(|event| match event {
        RuntimeEvent::StartFailed(failure) => Some(failure.clone()),
        _ => None,
    });
    assert!(failure.message.contains("open files"), "{failure:?}");
}

#[test]
fn the_runners_own_tests_pass() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let outcome = Command::new("python3")
        .args([
            "-m",
            "unittest",
            "discover",
            "-s",
            "tests/runner",
            "-t",
            "tests/runner",
        ])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .current_dir(root)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&outcome.stderr);
    assert!(outcome.status.success(), "{said}");
    assert!(!said.contains("Ran 0 tests"), "{said}");
}

/// Not a test of a limit: prints what a round trip and a flood cost. `cargo test -- --ignored --nocapture figures`.
#[test]
#[ignore = "prints figures, asserts nothing about time"]
fn figures() {
    use std::io::Write;
    let mut report = std::io::stderr().lock();
    let cache = tempfile::tempdir().unwrap();
    let start = |form| {
        let (mut plan, folder) = plan(form);
        plan.cache_dir = cache.path().to_owned();
        Bench::with(plan, folder)
    };
    for form in BOTH {
        // Compiles the runner's parts.
        start(form).run("1+1");
        let mut whole: Vec<[Duration; 3]> = (0..20)
            .map(|_| {
                let began = Instant::now();
                let mut bench = start(form);
                bench.ready();
                let ready = began.elapsed();
                bench.run("1+1");
                let first = began.elapsed();
                drop(bench);
                [began.elapsed(), first, ready]
            })
            .collect();
        whole.sort();
        let mut plain: Vec<Duration> = (0..20)
            .map(|_| {
                let began = Instant::now();
                Command::new("python3").args(["-c", "1"]).status().unwrap();
                began.elapsed()
            })
            .collect();
        plain.sort();
        let mut bench = start(form);
        let mut trips: Vec<Duration> = (0..1000)
            .map(|_| {
                let began = Instant::now();
                bench.run("1+1");
                began.elapsed()
            })
            .collect();
        trips.sort();
        bench.run("import os\nblob = (b'x' * 79 + b'\\n') * (50_000_000 // 80)");
        let began = Instant::now();
        let code = "view = memoryview(blob)\nwhile view: view = view[os.write(1, view):]";
        let id = bench.submit(code, Stdin::Refuse);
        let mut arrived = 0;
        bench.until(|event| {
            match event {
                RuntimeEvent::Output { bytes, .. } => arrived += bytes.len(),
                RuntimeEvent::Finished { id: of, .. } if *of == id => return Some(()),
                _ => {}
            }
            None
        });
        writeln!(
            report,
            "{form:?}: [whole, first result, ready] {:?}, python3 -c 1 {:?}; 1+1 median {:?} least {:?}; {arrived} bytes in {:?}",
            whole[10],
            plain[10],
            trips[500],
            trips[0],
            began.elapsed(),
        )
        .unwrap();
    }
}

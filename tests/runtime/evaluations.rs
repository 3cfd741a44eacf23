//! Code beside the cells, on the real interpreter: evaluations, snapshots, tools that ask.

use ipycodex::output::mime::MimeBundle;
use ipycodex::runtime::{
    InputReply, ReferenceValue, RequestId, RuntimeEvent, RuntimeReply, RuntimeRequest, Snapshot,
    Stdin, split_parts,
};

use crate::support::{await_true, peers};

use super::harness::{BOTH, Form, Harness, plan};

/// Both engines, where the interpreter of the tests has IPython, on pipes and on a terminal.
pub(super) fn benches() -> Vec<(String, Harness)> {
    let ipython = peers::python();
    let mut benches = Vec::new();
    for form in BOTH {
        benches.push((format!("{form:?}"), Harness::start(form)));
        if let Some(python) = &ipython {
            let (mut plan, folder) = plan(form);
            plan.no_ipython = false;
            plan.interpreter = Some(python.into());
            benches.push((format!("IPython {form:?}"), Harness::with(plan, folder)));
        }
    }
    benches
}

/// The answer to a request, and what was printed under its id; `act` sees the text so far whenever there is more.
fn ask_while(
    harness: &mut Harness,
    request: RuntimeRequest,
    mut act: impl FnMut(&mut Harness, RequestId, &RuntimeEvent),
) -> (RuntimeReply, String) {
    let asked = harness.runtime().submit(request);
    let mut printed = Vec::new();
    loop {
        let event = harness.next();
        act(harness, asked, &event);
        match event {
            RuntimeEvent::Output { id, bytes, .. } if id == Some(asked) => printed.extend(bytes),
            RuntimeEvent::Replied { id, answer } if id == asked => {
                let printed = String::from_utf8_lossy(&printed).replace("\r\n", "\n");
                return (answer, printed);
            }
            RuntimeEvent::Started { id } => assert_ne!(id, asked, "only cells start"),
            _ => {}
        }
    }
}

fn ask(harness: &mut Harness, request: RuntimeRequest) -> (RuntimeReply, String) {
    ask_while(harness, request, |_, _, _| {})
}

fn evaluate(
    harness: &mut Harness,
    variables: &[&str],
    shells: &[&str],
) -> (Vec<ReferenceValue>, Vec<String>) {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let request = RuntimeRequest::Evaluate {
        variables: owned(variables),
        shells: owned(shells),
    };
    match ask(harness, request).0 {
        RuntimeReply::Evaluated { variables, shells } => (variables, shells),
        other => panic!("{other:?}"),
    }
}

fn look(harness: &mut Harness, code: &str) -> (String, Result<MimeBundle, String>) {
    let request = RuntimeRequest::Snapshot {
        code: code.into(),
        unprotected: false,
    };
    match ask(harness, request).0 {
        RuntimeReply::Snapshot(Snapshot::Ran { printed, result }) => {
            let events = |error: ipycodex::output::traceback::CellError| {
                format!("{}: {}", error.name, error.value)
            };
            (printed, result.map_err(events))
        }
        other => panic!("{other:?}"),
    }
}

fn tool(name: &str, stdin: Stdin) -> RuntimeRequest {
    RuntimeRequest::CallTool {
        name: name.into(),
        arguments: serde_json::json!({}),
        stdin,
    }
}

#[test]
fn references_are_evaluated_once_in_order() {
    for (which, mut harness) in benches() {
        harness.run(
            "n = 0\ndef count(by=1):\n    global n\n    n += by\n    return n\nword = 'é\\ud800'",
        );
        let (variables, shells) = evaluate(
            &mut harness,
            &[
                "count()",
                "count(3)",
                "n",
                "absent",
                "count(absent + other)",
                "1/0",
                "word",
            ],
            &[
                "echo hi; echo not >&2",
                "printf 'a \\n\\n'; exit 3",
                "echo why >&2; exit 4",
            ],
        );
        let events: Vec<String> = variables
            .iter()
            .map(|variable| match variable {
                ReferenceValue::Value {
                    type_name, text, ..
                } => format!("{type_name} {text}"),
                ReferenceValue::Undefined { names, .. } => format!("? {names:?}"),
            })
            .collect();
        let expected = [
            "int 1",
            "int 4",
            "int 4",
            r#"? ["absent"]"#,
            r#"? ["absent", "other"]"#,
            "ZeroDivisionError Error: ZeroDivisionError: division by zero",
            "str é\u{fffd}",
        ];
        assert_eq!(events, expected, "{which}");
        let expected = ["hi", "a\nError: exit status 3", "Error: exit status 4: why"];
        assert_eq!(shells, expected, "{which}");
    }
}

#[test]
fn a_snapshot_sees_everything_and_changes_nothing() {
    for (which, mut harness) in benches() {
        harness
            .run("import os\nx = 41\nfile = open('kept', 'w+'); file.write('kept'); file.flush()");
        let (printed, result) = look(&mut harness, "print(x, end='')\nx += 1\nos.chdir('/')\nx");
        assert_eq!(printed, "41", "{which}");
        assert_eq!(result.unwrap().text("text/plain").as_deref(), Some("42"));
        let refused = [
            ("open('new', 'w')", "PermissionError"),
            ("os.remove('kept')", "PermissionError"),
            ("os.chmod('kept', 0)", "PermissionError"),
            ("os.utime('kept')", "PermissionError"),
            ("os.kill(os.getppid(), 9)", "PermissionError"),
            ("import socket; socket.socket()", "PermissionError"),
            ("file.write('!'); file.flush()", "OSError"),
            ("input()", "EOFError"),
            (
                "os._exit(7)",
                "ChildProcessError: the copy of the interpreter ended without a result, with exit code 7",
            ),
            (
                "os.abort()",
                "ChildProcessError: the copy of the interpreter was ended by signal 6 (SIGABRT)",
            ),
            (
                "import subprocess; subprocess.run(['touch', 'new'], check=True)",
                "CalledProcessError",
            ),
        ];
        for (code, expected) in refused {
            let events = look(&mut harness, code).1.unwrap_err();
            assert!(events.starts_with(expected), "{which} {code}: {events}");
        }
        let (printed, _) = look(&mut harness, "!ls | cat");
        assert_eq!(printed, "cache\nkept\n", "{which}");
        let events = harness.run("x, sorted(os.listdir()), file.tell(), open('kept').read()");
        assert_eq!(
            events.shown(),
            ["(41, ['cache', 'kept'], 4, 'kept')"],
            "{which}"
        );
    }
}

#[test]
fn an_interrupted_snapshot_leaves_nothing_behind() {
    for (which, mut harness) in benches() {
        // Of this run of the test and no other.
        let sleepers = [1, 2].map(|n| format!("{}{n}", std::process::id()));
        let [first, second] = &sleepers;
        let code = format!(
            "import subprocess, sys\nprint('before')\nsys.stdout.flush()\n\
             subprocess.run('sleep {first} & sleep {second}', shell=True)"
        );
        harness.run("marker = 1");
        let request = RuntimeRequest::Snapshot {
            code,
            unprotected: false,
        };
        let interrupter = harness.interrupter();
        let asked = harness.runtime().submit(request);
        await_true("both sleepers sleep", || {
            is_running(&sleepers[0]) && is_running(&sleepers[1])
        });
        interrupter.interrupt();
        let answer = harness.until(|event| match event {
            RuntimeEvent::Replied { id, answer } if *id == asked => Some(answer.clone()),
            _ => None,
        });
        let RuntimeReply::Snapshot(Snapshot::Ran { printed, result }) = answer else {
            panic!("{which} {answer:?}")
        };
        assert_eq!(printed, "before\n", "{which}");
        assert_eq!(result.unwrap_err().name, "KeyboardInterrupt", "{which}");
        assert_eq!(harness.run("marker").shown(), ["1"], "{which}");
        for sleeper in &sleepers {
            await_true("no sleeper is left", || !is_running(sleeper));
        }
    }
}

/// Whether a `sleep` of that many seconds runs.
pub(super) fn is_running(seconds: &str) -> bool {
    let wanted = format!("sleep\0{seconds}\0").into_bytes();
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .any(|entry| std::fs::read(entry.path().join("cmdline")).is_ok_and(|line| line == wanted))
}

#[test]
fn a_tool_asks_or_is_refused_and_never_reads_the_terminal() {
    for (which, mut harness) in benches() {
        harness.run(
            "import os, subprocess\nfrom getpass import getpass\n\
             def asks():\n    return input('n? ') + getpass('p? ')\n\
             def reads():\n    return [os.read(0, 9).decode(), subprocess.run(['cat'], stdout=-1).stdout.decode()]\n\
             def debugs():\n    import pdb; pdb.set_trace()\n    return 'after'",
        );
        let mut asked = Vec::new();
        let (answer, _) = ask_while(
            &mut harness,
            tool("asks", Stdin::Ask),
            |harness, id, event| {
                if let RuntimeEvent::InputRequested {
                    id: of,
                    call,
                    prompt,
                    password,
                } = event
                {
                    assert_eq!(*of, id);
                    asked.push((prompt.clone(), *password));
                    let reply = InputReply::Line(prompt[..1].to_uppercase());
                    harness
                        .runtime()
                        .submit(RuntimeRequest::ReplyInput { call: *call, reply });
                }
            },
        );
        assert_eq!(text(&answer), "NP", "{which}");
        assert_eq!(asked, [("n? ".to_owned(), false), ("p? ".to_owned(), true)]);
        for (name, expected) in [("asks", "EOFError"), ("debugs", "BdbQuit")] {
            let (answer, _) = ask(&mut harness, tool(name, Stdin::Refuse));
            assert_eq!(text(&answer), expected, "{which} {name}");
        }
        for stdin in [Stdin::Ask, Stdin::Refuse] {
            let (answer, _) = ask(&mut harness, tool("reads", stdin));
            assert_eq!(text(&answer), r#"["", ""]"#, "{which}");
        }
        assert_eq!(harness.run("5").shown(), ["5"], "{which}");
    }
}

/// A tool's text, or the name of what it raised.
fn text(answer: &RuntimeReply) -> String {
    match answer {
        RuntimeReply::ToolResult(Ok(bundle)) => bundle.text("text/plain").unwrap_or_default(),
        RuntimeReply::ToolResult(Err(error)) => error.name.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_interrupt_ends_a_tool_wherever_it_is() {
    for (which, mut harness) in benches() {
        harness.run(
            "import asyncio, subprocess, time\ndef naps():\n    print('go', flush=True)\n    time.sleep(1000)\n\
             def spins():\n    print('go', flush=True)\n    while True: pass\n\
             def runs():\n    print('go', flush=True)\n    subprocess.run(['sleep', '1000'])\n\
             async def waits():\n    print('go', flush=True)\n    await asyncio.sleep(1000)",
        );
        let interrupter = harness.interrupter();
        for name in ["naps", "spins", "runs", "waits"] {
            let mut pressed = false;
            let (answer, printed) =
                ask_while(&mut harness, tool(name, Stdin::Refuse), |_, id, event| {
                    if matches!(event, RuntimeEvent::Output { id: of, .. } if *of == Some(id))
                        && !pressed
                    {
                        pressed = true;
                        interrupter.interrupt();
                    }
                });
            assert_eq!(text(&answer), "KeyboardInterrupt", "{which} {name}");
            assert!(printed.starts_with("go\n"), "{which} {name}: {printed:?}");
        }
        // Pressed at once, before it can have begun.
        let asked = harness.runtime().submit(tool("naps", Stdin::Refuse));
        interrupter.interrupt();
        let ended = harness.until(|event| match event {
            RuntimeEvent::Replied { id, answer } if *id == asked => Some(answer.clone()),
            _ => None,
        });
        match &ended {
            RuntimeReply::Failed(why) => assert_eq!(why, "interrupted", "{which}"),
            ended => assert_eq!(text(ended), "KeyboardInterrupt", "{which}"),
        }
        assert_eq!(harness.run("6").shown(), ["6"], "{which}");
    }
}

#[test]
fn results_keep_their_pictures_in_order() {
    let png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let mut harness = Harness::start(Form::Pipes);
    harness.run(&format!(
        "import base64\npng = base64.b64decode('{png}')\ndef two(): return ['a', png, png, 'b']\n\
                        def one(): return png"
    ));
    let mut shown = |name: &str| -> Vec<String> {
        let (answer, _) = ask(&mut harness, tool(name, Stdin::Refuse));
        let RuntimeReply::ToolResult(Ok(bundle)) = answer else {
            panic!("{answer:?}")
        };
        let parts = split_parts(&bundle);
        let form = |part: &MimeBundle| part.text("image/png").or_else(|| part.text("text/plain"));
        parts.iter().filter_map(form).collect()
    };
    assert_eq!(shown("two"), ["a", png, png, "b"]);
    assert_eq!(shown("one"), [png]);
    let (variables, _) = evaluate(&mut harness, &["png"], &[]);
    let url = format!("data:image/png;base64,{png}");
    assert!(
        matches!(&variables[0], ReferenceValue::Value { image: Some(image), .. } if *image == url),
        "{variables:?}"
    );
}

#[test]
fn hostile_names_and_values_do_no_harm() {
    for (which, mut harness) in benches() {
        let huge = "n".repeat(1 << 20);
        harness.run("def echo(**named): return [len(key) for key in named]\ndef nul(a): return a\n\
                   def deep():\n    value = []\n    for n in range(5000): value = [value]\n    return value\n\
                   def wide(): return {'application/json': {'n': 10**400, 'deep': [[[[0]]]]}}");
        let (variables, _) = evaluate(&mut harness, &[&huge, "a\0b", "\u{202e}x"], &[]);
        assert!(
            matches!(&variables[0], ReferenceValue::Undefined { names, .. } if names[0] == huge),
            "{which}"
        );
        let mut call = |name: &str, arguments| {
            let request = RuntimeRequest::CallTool {
                name: name.into(),
                arguments,
                stdin: Stdin::Refuse,
            };
            text(&ask(&mut harness, request).0)
        };
        assert_eq!(call(&huge, serde_json::json!({})), "NameError", "{which}");
        assert_eq!(
            call("echo", serde_json::json!({huge.as_str(): 1})),
            "[1048576]",
            "{which}"
        );
        assert_eq!(
            call("nul", serde_json::json!({"a": "x\0\u{fffe}\u{1f600}"})),
            "x\0\u{fffe}\u{1f600}",
            "{which}"
        );
        assert!(
            call("deep", serde_json::json!({})).starts_with("[[["),
            "{which}"
        );
        assert!(
            call("wide", serde_json::json!({})).contains("\"application/json\""),
            "{which}"
        );
        let events = harness.run("value = []\nfor n in range(500): value = [value]\n\
                              display({'application/json': {'n': 10**400, 'deep': value}, 'text/plain': 'kept'}, \
                              raw=True)");
        assert_eq!(events.shown(), ["kept"], "{which}");
        let (printed, _) = look(&mut harness, "print('x' * (1 << 26))");
        assert!(
            printed.contains("67,108,865 characters, 1 line in all"),
            "{which}"
        );
        assert_eq!(harness.run("6").shown(), ["6"], "{which}");
    }
}

#[test]
fn without_protection_nothing_runs_unless_told_so() {
    let (mut plan, folder) = plan(Form::Pipes);
    plan.variables
        .insert("IPYCODEX_NO_LANDLOCK".into(), "1".into());
    let mut harness = Harness::with(plan, folder);
    let snapshot = |unprotected| RuntimeRequest::Snapshot {
        code: "open('made', 'w').close()\n7".into(),
        unprotected,
    };
    let made = harness.folder.path().join("made");
    let (answer, _) = ask(&mut harness, snapshot(false));
    assert!(
        matches!(&answer, RuntimeReply::Snapshot(Snapshot::Unprotected(why)) if why.contains("IPYCODEX_NO_LANDLOCK")),
        "{answer:?}"
    );
    assert!(!made.exists());
    let (answer, _) = ask(&mut harness, snapshot(true));
    assert!(
        matches!(
            &answer,
            RuntimeReply::Snapshot(Snapshot::Ran { result: Ok(_), .. })
        ),
        "{answer:?}"
    );
    assert!(made.exists());
}

//! Cells on the real interpreter: order, streams, interrupts, questions, tools.

use ipycodex::runtime::{
    Ending, InputReply, RuntimeEvent, RuntimeReply, RuntimeRequest, Stdin, ToolLookup,
};
use std::path::PathBuf;
use std::process::Command;

use super::harness::{BOTH, Form, Harness, plan};

#[test]
fn values_errors_and_streams_arrive() {
    let mut harness = Harness::start(Form::Pipes);
    let info = harness.ready();
    assert!(
        info.process > Some(1) && info.version.starts_with('3') && !info.restarted,
        "{info:?}"
    );
    let events = harness.run("import sys\nprint('a')\nprint('b', file=sys.stderr)\n1+1");
    assert_eq!(events.finish.ending, Ending::Ok);
    assert_eq!(events.shown(), ["2"]);
    assert!(events.steps.contains(&("out", "a\n".into())), "{events:?}");
    assert!(events.steps.contains(&("err", "b\n".into())), "{events:?}");
    let events = harness.run("1/0");
    assert_eq!(events.finish.ending, Ending::Error);
    assert_eq!(
        events.error.as_deref(),
        Some("ZeroDivisionError: division by zero"),
        "{events:?}"
    );
    assert_eq!(
        events.finish.cwd.map(PathBuf::from),
        Some(harness.folder.path().canonicalize().unwrap())
    );
}

#[test]
fn output_and_displays_keep_their_order() {
    for form in BOTH {
        let mut harness = Harness::start(form);
        let events = harness.run("for n in range(100):\n    print('p', n)\n    display(n)");
        let expected: Vec<String> = (0..100)
            .flat_map(|n| [format!("p {n}\n"), n.to_string()])
            .collect();
        let got: Vec<String> = events
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
        let mut harness = Harness::start(form);
        let events = harness
            .run("import os\ndata = b'x' * (4 << 20)\nwhile data: data = data[os.write(1, data):]");
        assert_eq!(events.text().len(), 4 << 20, "{form:?}");
        assert!(events.text().bytes().all(|b| b == b'x'), "{form:?}");
    }
}

#[test]
fn forged_marks_are_output() {
    for form in BOTH {
        let mut harness = Harness::start(form);
        let events = harness.run("print('\\x1b]7717;0123456789abcdef;9\\x07!')");
        assert_eq!(
            events.text(),
            "\x1b]7717;0123456789abcdef;9\x07!\n",
            "{form:?}"
        );
    }
}

#[test]
fn a_closed_stdout_costs_nothing() {
    for form in BOTH {
        let mut harness = Harness::start(form);
        let events = harness.run("import os; os.close(1)");
        assert_ne!(events.finish.ending, Ending::Interrupted);
        assert_eq!(harness.run("print('back')\n5").shown(), ["5"], "{form:?}");
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
        let mut harness = Harness::start(form);
        harness.run("kept = 4");
        let interrupter = harness.interrupter();
        for code in cells {
            let id = harness.submit(code, Stdin::Refuse);
            let events = harness.interrupt_at(id, "go");
            assert_eq!(events.finish.ending, Ending::Interrupted, "{form:?} {code}");
        }
        interrupter.interrupt();
        assert_eq!(harness.run("kept").shown(), ["4"]);
    }
}

#[test]
fn an_interrupt_before_the_start_cancels_what_waits() {
    for form in BOTH {
        let mut harness = Harness::start(form);
        let interrupter = harness.interrupter();
        let id = harness.submit("import time; time.sleep(1000)", Stdin::Refuse);
        interrupter.interrupt();
        assert_eq!(
            harness.collect(id, |_, _| {}).finish.ending,
            Ending::Interrupted
        );
        assert_eq!(harness.run("6").shown(), ["6"]);
    }
}

#[test]
fn output_after_the_end_belongs_to_no_cell() {
    for form in BOTH {
        let mut harness = Harness::start(form);
        let events = harness.run(
            "import os, threading, time\n\
             def late():\n    while not os.path.exists('go'): time.sleep(0.005)\n    print('late', flush=True)\n\
             threading.Thread(target=late, daemon=True).start()",
        );
        assert_eq!(events.text(), "");
        harness.ask(RuntimeRequest::SetVariables {
            values: vec![("x".into(), Some("y".into()))],
        });
        harness.run("pass");
        std::fs::write(harness.folder.path().join("go"), "").unwrap();
        let (id, text) = harness.until(|event| match event {
            RuntimeEvent::Output { id, bytes, .. } => Some((*id, bytes.clone())),
            _ => None,
        });
        assert_eq!(id, None, "{form:?}");
        assert_eq!(text.trim_ascii_end(), b"late");
    }
}

#[test]
fn input_is_asked_for_or_refused() {
    let mut harness = Harness::start(Form::Pipes);
    for (reply, expected) in [
        (InputReply::Line("5".into()), Ok("'5'")),
        (InputReply::Eof, Err("EOFError")),
    ] {
        let id = harness.submit("input('n? ')", Stdin::Ask);
        let call = harness.until(|event| match event {
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
        harness
            .runtime()
            .submit(RuntimeRequest::ReplyInput { call, reply });
        let events = harness.collect(id, |_, _| {});
        match expected {
            Ok(shown) => assert_eq!(events.shown(), [shown]),
            Err(name) => assert!(events.error.unwrap().starts_with(name)),
        }
    }
    let events = harness.run("input()");
    assert!(events.error.unwrap().starts_with("EOFError"));
}

#[test]
fn tools_are_described_and_called() {
    let mut harness = Harness::start(Form::Pipes);
    harness.run("def add(a: int, b: int = 2):\n    'Adds.'\n    print('adding')\n    return a + b\nplain = 3");
    let ask = |harness: &mut Harness, request| {
        let id = harness.runtime().submit(request);
        let mut printed = String::new();
        let answer = harness.until(|event| match event {
            RuntimeEvent::Output { id: of, bytes, .. } => {
                assert_eq!(*of, Some(id));
                printed += std::str::from_utf8(bytes).unwrap();
                None
            }
            RuntimeEvent::Replied { id: of, answer } if *of == id => Some(answer.clone()),
            _ => None,
        });
        (answer, printed)
    };
    let names = ["add", "plain", "absent"].map(String::from).to_vec();
    let (answer, _) = ask(&mut harness, RuntimeRequest::DescribeTools { names });
    let RuntimeReply::Tools(tools) = answer else {
        panic!("{answer:?}")
    };
    assert!(
        matches!(&tools[0],
            ToolLookup::Found { name, description, .. } if name == "add" && description.contains("Adds.")),
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
        stdin: Stdin::Refuse,
    };
    let (answer, printed) = ask(&mut harness, call(serde_json::json!({"a": 40})));
    let RuntimeReply::ToolResult(Ok(bundle)) = answer else {
        panic!("{answer:?}")
    };
    assert_eq!(bundle.text("text/plain").as_deref(), Some("42"));
    assert_eq!(printed, "adding\n");
    let (answer, _) = ask(&mut harness, call(serde_json::json!({"a": null})));
    let RuntimeReply::ToolResult(Err(error)) = answer else {
        panic!("{answer:?}")
    };
    assert_eq!(error.name, "TypeError");
}

#[test]
fn lone_surrogates_do_no_harm() {
    let mut harness = Harness::start(Form::Pipes);
    let events = harness.run("raise ValueError('x\\ud800y')");
    assert_eq!(events.error.as_deref(), Some("ValueError: x\\ud800y"));
    assert_eq!(harness.run("'\\ud800'").finish.ending, Ending::Ok);
}

#[test]
fn a_large_value_passes_and_a_larger_one_is_replaced() {
    let mut harness = Harness::start(Form::Pipes);
    let show = |n: usize| format!("class Big:\n    def __repr__(self): return 'x' * {n}\nBig()");
    let events = harness.run(&show(30 << 20));
    assert_eq!(events.finish.ending, Ending::Ok);
    assert!(!events.shown().is_empty());
    let events = harness.run(&show(65 << 20));
    assert_eq!(events.finish.ending, Ending::Ok);
    assert_eq!(harness.run("1").shown(), ["1"]);
}

/// Pythons that have IPython are a matter of the machine; without one there is nothing to prove here.
fn has_ipython() -> bool {
    let found = Command::new("python3")
        .args(["-c", "import IPython"])
        .output();
    found.is_ok_and(|outcome| outcome.status.success())
}

#[test]
fn ipython_keeps_order_interrupts_and_names() {
    if !has_ipython() {
        return;
    }
    for form in BOTH {
        let (mut plan, folder) = plan(form);
        plan.no_ipython = false;
        plan.interpreter = None;
        let mut harness = Harness::with(plan, folder);
        assert!(harness.ready().banner.starts_with("IPython "));
        let events = harness.run("for n in range(100):\n    print('p', n)\n    display(n)");
        let texts: Vec<String> = events
            .steps
            .iter()
            .map(|(_, text)| text.trim_end().to_owned())
            .collect();
        let expected: Vec<String> = (0..100)
            .flat_map(|n| [format!("p {n}"), n.to_string()])
            .collect();
        assert_eq!(texts, expected, "{form:?}");
        for code in [
            "kept = 8\nimport time; print('go', flush=True); time.sleep(1000)",
            "print('go', flush=True)\n!sleep 1000",
        ] {
            let id = harness.submit(code, Stdin::Refuse);
            let events = harness.interrupt_at(id, "go");
            assert_ne!(
                events.finish.ending,
                Ending::Error,
                "{form:?} {code} {events:?}"
            );
        }
        assert_eq!(harness.run("kept").shown(), ["8"]);
        let events = harness.run("1/0");
        assert_eq!(
            events.error.as_deref(),
            Some("ZeroDivisionError: division by zero"),
            "{events:?}"
        );
        let events = harness.run("%cd /\n!pwd");
        assert!(events.text().ends_with("/\n"), "{events:?}");
        assert_eq!(events.finish.cwd.as_deref(), Some("/"));
    }
}

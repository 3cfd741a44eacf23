//! Cells and questions on the real ipykernel.

use std::time::{Duration, Instant};

use ipycodex::runtime::connect::JupyterTarget;
use ipycodex::runtime::{
    CommMessage, CommOp, Completeness, Death, Ending, Execute, InputReply, ReferenceValue,
    RuntimeEvent, RuntimeReply, RuntimeRequest, Snapshot, Stdin, ToolLookup,
};
use ipycodex::text::offset::CodePoints;
use serde_json::{Map, json};

use super::harness::{Harness, SLEEPS, kernels, ok, plan};
use crate::support::await_true;

#[test]
fn a_python_kernel_shows_what_cells_show() {
    let Some(mut harness) = Harness::start("python3") else {
        return;
    };
    let info = harness.ready();
    assert_eq!((info.language.as_str(), info.restarted), ("Python", false));
    assert!(info.banner.starts_with("IPython "), "{info:?}");
    for (code, shown) in [
        ("1 + 1", "<Out[7] 2>"),
        ("print('a'); 'b'", "a\n<Out[7] 'b'>"),
        (
            "h = display('x', display_id='d'); h.update('y')",
            "<show 'x'><update 'y'>",
        ),
        (
            "from IPython.display import clear_output; clear_output(True)",
            "<clear true>",
        ),
        (
            "import asyncio; await asyncio.sleep(0); 'later'",
            "<Out[7] 'later'>",
        ),
        ("!echo shell", "shell\r\n"),
    ] {
        assert_eq!(harness.run(code), ok(shown), "{code}");
    }
    let (shown, ending) = harness.run("1 / 0");
    assert_eq!(ending, Ending::Error);
    assert_eq!(shown, "<ZeroDivisionError: division by zero>");
    let (page, _) = harness.run("len?");
    assert!(
        page.starts_with("<page ") && page.contains("Return the number"),
        "{page}"
    );
    let mut there = Execute::numbered("import os; print(os.getcwd(), os.environ['A'])".into(), 8);
    there.directory = Some("/".into());
    there.environment = vec![("A".into(), Some("é\"1".into()))];
    let id = harness.runtime().submit(RuntimeRequest::Execute(there));
    assert_eq!(harness.told(id), ok("/ é\"1\n"));
}

#[test]
fn a_python_kernel_answers_what_is_asked_beside_cells() {
    let Some(mut harness) = Harness::start("python3") else {
        return;
    };
    harness.run("value = 41\nimport os");
    let found = harness.completions("é; os.getcw");
    assert!(
        found
            .iter()
            .any(|one| one.text.ends_with("getcwd") && one.end == CodePoints(11)),
        "{found:?}"
    );
    let looked = harness.ask(RuntimeRequest::Inspect {
        code: "value".into(),
        position: CodePoints(5),
        detailed: false,
    });
    assert!(
        matches!(&looked, RuntimeReply::Inspection(Some(look)) if look.for_model().contains("41")),
        "{looked:?}"
    );
    for (code, expected) in [
        ("for x in y:", Completeness::Incomplete("    ".into())),
        ("1 + 1", Completeness::Complete),
        ("1 +* 1", Completeness::Invalid),
    ] {
        let told = harness.ask(RuntimeRequest::IsComplete { code: code.into() });
        assert!(
            matches!(&told, RuntimeReply::Completeness(told) if *told == expected),
            "{code}: {told:?}"
        );
    }
}

#[test]
fn tools_references_and_looks_work_on_a_python_kernel_and_leave_no_name() {
    if let Some(harness) = Harness::start("python3") {
        tools_references_and_looks(harness);
    }
}

/// What needs parts of our runner in the kernel.
pub(super) fn tools_references_and_looks(mut harness: Harness) {
    harness.run(
        "x = 41\ndef add(a: int, b: int = 1) -> int:\n    'Adds.'\n    print('adding')\n    return a + b\n\
         async def later(): return 'soon'\nnames = set(globals())",
    );
    let told = harness.ask(RuntimeRequest::DescribeTools {
        names: vec!["add".into(), "x".into(), "nobody".into()],
    });
    let RuntimeReply::Tools(tools) = told else {
        panic!("{told:?}");
    };
    let [
        ToolLookup::Found {
            description,
            schema,
            ..
        },
        ToolLookup::NotCallable(_),
        ToolLookup::Missing(_),
    ] = &tools[..]
    else {
        panic!("{tools:?}");
    };
    assert!(description.starts_with("Adds."), "{description}");
    assert_eq!(schema["properties"]["a"]["type"], "integer");
    let call = harness.runtime().submit(RuntimeRequest::CallTool {
        name: "add".into(),
        arguments: json!({"a": 1}),
        stdin: Stdin::Refuse,
    });
    let mut printed = Vec::new();
    let result = loop {
        match harness.next() {
            RuntimeEvent::Output { id, bytes, .. } if id == Some(call) => printed.extend(bytes),
            RuntimeEvent::Replied { id, answer } if id == call => break answer,
            _ => {}
        }
    };
    assert_eq!(printed, b"adding\n");
    assert!(
        matches!(&result, RuntimeReply::ToolResult(Ok(value)) if value.for_model() == "2"),
        "{result:?}"
    );
    let failed = harness.ask(RuntimeRequest::CallTool {
        name: "add".into(),
        arguments: json!({"a": "x"}),
        stdin: Stdin::Refuse,
    });
    assert!(
        matches!(&failed, RuntimeReply::ToolResult(Err(_))),
        "{failed:?}"
    );
    let told = harness.ask(RuntimeRequest::Evaluate {
        variables: ["x", "x + 1", "add(2)", "await later()", "gone"]
            .map(str::to_owned)
            .into(),
        shells: vec!["echo out; exit 3".into()],
    });
    let RuntimeReply::Evaluated { variables, shells } = told else {
        panic!("{told:?}");
    };
    let texts: Vec<_> = variables
        .iter()
        .map(|one| match one {
            ReferenceValue::Value { text, .. } => text.as_str(),
            ReferenceValue::Undefined { .. } => "undefined",
        })
        .collect();
    assert_eq!(texts, ["41", "42", "3", "soon", "undefined"]);
    assert!(
        shells[0].starts_with("out\nError: exit status 3"),
        "{shells:?}"
    );
    let looked = harness.ask(RuntimeRequest::Snapshot {
        code: "x = 100\nprint('seen')\nx + 1".into(),
        unprotected: true,
    });
    let RuntimeReply::Snapshot(Snapshot::Ran { printed, result }) = looked else {
        panic!("{looked:?}");
    };
    assert_eq!(
        (printed.as_str(), result.unwrap().for_model().as_str()),
        ("seen\n", "101")
    );
    let failed = harness.ask(RuntimeRequest::Snapshot {
        code: "type('Odd', (), {'__repr__': lambda self: 1 / 0})()".into(),
        unprotected: true,
    });
    assert!(
        matches!(&failed, RuntimeReply::Snapshot(Snapshot::Ran { result: Err(error), .. })
            if error.name == "ZeroDivisionError"),
        "{failed:?}"
    );
    harness.ask(RuntimeRequest::SetVariables {
        values: vec![("told".into(), Some("text".into()))],
    });
    let missing = harness.ask(RuntimeRequest::FindMissingNames {
        sources: vec!["x = 1\nlost = 2".into()],
    });
    assert!(
        matches!(&missing, RuntimeReply::Missing(names) if names == &["lost"]),
        "{missing:?}"
    );
    let (left, _) = harness
        .run("sorted(n for n in set(globals()) - names if n[0] != '_' and n != 'names'), x, told");
    assert_eq!(left, "<Out[7] (['told'], 41, 'text')>");
}

#[test]
fn input_is_asked_for_and_answered() {
    let Some(mut harness) = Harness::start("python3") else {
        return;
    };
    let id = harness.submit("print(input('name? ').upper())", Stdin::Ask);
    let (call, prompt) = harness.until(|event| match event {
        RuntimeEvent::InputRequested { call, prompt, .. } => Some((*call, prompt.clone())),
        _ => None,
    });
    assert_eq!(prompt, "name? ");
    let reply = InputReply::Line("né".into());
    harness
        .runtime()
        .submit(RuntimeRequest::ReplyInput { call, reply });
    assert_eq!(harness.told(id), ok("NÉ\n"));
    let id = harness.submit("import getpass; getpass.getpass()", Stdin::Ask);
    let call = harness.until(|event| match event {
        RuntimeEvent::InputRequested {
            call,
            password: true,
            ..
        } => Some(*call),
        _ => None,
    });
    let reply = InputReply::Eof;
    harness
        .runtime()
        .submit(RuntimeRequest::ReplyInput { call, reply });
    assert_eq!(harness.told(id).1, Ending::Error);
}

#[test]
fn comms_travel_with_their_buffers() {
    let Some(mut harness) = Harness::start("python3") else {
        return;
    };
    harness.run(
        "import comm\ndef opened(c, m): c.send({'got': m['content']['data']}, buffers=[bytes(m['buffers'][0])[::-1]])\n\
         comm.get_comm_manager().register_target('t', opened)",
    );
    harness.runtime().submit(RuntimeRequest::Comm(CommMessage {
        comm_id: "one".into(),
        op: CommOp::Open { target: "t".into() },
        data: json!([1]),
        metadata: Map::new(),
        buffers: vec![vec![0, 255]],
    }));
    let told = harness.until(|event| match event {
        RuntimeEvent::Comm { message, .. } => Some(message.clone()),
        _ => None,
    });
    assert_eq!((told.comm_id.as_str(), &told.op), ("one", &CommOp::Msg));
    assert_eq!(
        (told.data, told.buffers),
        (json!({"got": [1]}), vec![vec![255, 0]])
    );
}

#[test]
fn an_interrupt_keeps_what_is_there_and_a_restart_does_not() {
    let Some(mut harness) = Harness::start("python3") else {
        return;
    };
    harness.run("x = 1");
    harness.is_interrupted_in(SLEEPS);
    assert_eq!(harness.run("x"), ok("<Out[7] 1>"));
    harness.calls().kill();
    let restarting = harness.until(|event| match event {
        RuntimeEvent::Died { death, restarting } => Some((death.clone(), *restarting)),
        _ => None,
    });
    assert_eq!(restarting, (Death::Killed, true));
    assert!(harness.ready().restarted);
    assert_eq!(harness.run("x").1, Ending::Error);
    // What was sent as code is sent again.
    let told = harness.ask(RuntimeRequest::FindMissingNames {
        sources: vec!["y = 1".into()],
    });
    assert!(matches!(told, RuntimeReply::Missing(_)), "{told:?}");
}

#[test]
fn a_cell_ends_whenever_it_is_interrupted() {
    let Some(mut harness) = Harness::start("python3") else {
        return;
    };
    harness.ready();
    for delay in 0..30 {
        // Not stored: an interrupt in IPython's history can leave a lock held (`Event.set`), and the kernel hangs.
        let cell = Execute {
            store_history: false,
            ..Execute::numbered("sum(range(20000))".into(), 7)
        };
        let id = harness.runtime().submit(RuntimeRequest::Execute(cell));
        std::thread::sleep(Duration::from_micros(400 * delay));
        harness.calls().interrupt();
        let (_, ending) = harness.told(id);
        // An interrupt outside the handler of ipykernel 7.4.0 ends it (2 of 1,400 sent by `jupyter_client` did).
        let kernel_left = matches!(ending, Ending::Died(Death::Exited(0) | Death::Signalled(2)));
        assert!(
            kernel_left || matches!(ending, Ending::Ok | Ending::Interrupted),
            "{ending:?}"
        );
    }
    assert_eq!(harness.run("1"), ok("<Out[7] 1>"));
}

#[test]
fn a_kernel_that_hangs_at_its_exit_is_not_waited_for_by_who_wants_to_leave() {
    for kills in [true, false] {
        let Some(mut harness) = Harness::start("python3") else {
            return;
        };
        harness.run(
            "import atexit, pathlib, time\n\
             def leave():\n    pathlib.Path('began').touch(); time.sleep(2.5); pathlib.Path('ended').touch()\n\
             atexit.register(leave)",
        );
        let folder = harness.folder.path().to_owned();
        let shutdown = RuntimeRequest::Shutdown { stays: false };
        let id = harness.runtime().submit(shutdown);
        await_true("its exit", || folder.join("began").exists());
        if kills {
            harness.calls().kill();
            harness.until(|event| match event {
                RuntimeEvent::Replied { id: of, .. } if *of == id => Some(()),
                _ => None,
            });
        }
        harness.runtime = None;
        assert!(!folder.join("ended").exists(), "killed: {kills}");
    }
}

#[test]
fn what_was_started_ends_and_what_was_found_stays() {
    let Some(mut ours) = Harness::start("python3") else {
        return;
    };
    let process = ours.ready().process.unwrap();
    ours.run("kept = 'here'");
    let connections = ours.folder.path().join("connections");
    let file = std::fs::read_dir(&connections)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    for expected in ["'here'", "'changed'"] {
        let (plan, folder) = plan(JupyterTarget::Running(file.clone()), &kernels().unwrap());
        let mut guest = Harness::with(plan, folder);
        guest.ready();
        let able = guest.runtime().capabilities();
        assert!(able.attached && !able.restart && able.tools, "{able:?}");
        assert_eq!(guest.run("kept"), ok(&format!("<Out[7] {expected}>")));
        guest.run("kept = 'changed'");
        guest.is_interrupted_in(SLEEPS);
    }
    assert_eq!(ours.run("kept"), ok("<Out[7] 'changed'>"));
    let began = Instant::now();
    ours.runtime = None;
    assert!(began.elapsed() < Duration::from_secs(10));
    assert!(!std::path::Path::new(&format!("/proc/{process}")).exists());
    assert_eq!(std::fs::read_dir(&connections).unwrap().count(), 0);
}

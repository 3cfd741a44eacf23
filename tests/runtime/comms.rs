//! Comms through the package `comm`, both ways and with buffers; displays of what a cell left running.

use ipycodex::runtime::{CommMessage, CommOp, RuntimeEvent, RuntimeReply, RuntimeRequest};
use serde_json::{Map, Value, json};

use super::harness::{Form, Harness, plan};
use crate::support::peers;

/// Both engines, where there is an interpreter with the package.
fn benches() -> Vec<Harness> {
    let Some(python) = peers::notebook_python() else {
        return Vec::new();
    };
    let harness = |no_ipython| {
        let (mut plan, folder) = plan(Form::Pipes);
        plan.no_ipython = no_ipython;
        plan.interpreter = Some(python.clone());
        Harness::with(plan, folder)
    };
    vec![harness(true), harness(false)]
}

fn said(harness: &mut Harness) -> CommMessage {
    harness.until(|event| match event {
        RuntimeEvent::Comm { message, .. } => Some(message.clone()),
        _ => None,
    })
}

fn message(comm: &str, act: CommOp, data: Value, buffers: Vec<Vec<u8>>) -> CommMessage {
    CommMessage {
        comm_id: comm.into(),
        op: act,
        data,
        metadata: Map::new(),
        buffers,
    }
}

#[test]
fn messages_travel_both_ways_with_buffers() {
    for mut harness in benches() {
        let id = harness.submit(
            "import comm\nc = comm.create_comm(target_name='t', data={'a': 1}, buffers=[b'\\x00\\xff'])\n\
             def echo(m): c.send(m['content']['data'], buffers=[bytes(m['buffers'][0])[::-1]])\n\
             c.on_msg(echo)\n\
             comm.get_comm_manager().register_target('mine', lambda c, m: c.send({'hello': 1}))",
            ipycodex::runtime::Stdin::Refuse,
        );
        let (of, opened) = harness.until(|event| match event {
            RuntimeEvent::Comm { id, message } => Some((*id, message.clone())),
            _ => None,
        });
        assert_eq!(of, Some(id));
        let target = "t".to_owned();
        let expected = message(
            &opened.comm_id,
            CommOp::Open { target },
            json!({"a": 1}),
            vec![vec![0, 255]],
        );
        assert_eq!(opened, expected);
        let mut tell = |message: CommMessage| {
            let id = harness.runtime().submit(RuntimeRequest::Comm(message));
            let events = said(&mut harness);
            let answer = harness.until(|event| match event {
                RuntimeEvent::Replied { id: of, answer } if *of == id => Some(answer.clone()),
                _ => None,
            });
            assert!(matches!(answer, RuntimeReply::Done), "{answer:?}");
            events
        };
        let comm = opened.comm_id.as_str();
        assert_eq!(
            tell(message(comm, CommOp::Msg, json!([1]), vec![vec![1, 2, 3]])),
            message(comm, CommOp::Msg, json!([1]), vec![vec![3, 2, 1]])
        );
        let open = |target: &str| CommOp::Open {
            target: target.into(),
        };
        assert_eq!(
            tell(message("x", open("mine"), json!({}), Vec::new())),
            message("x", CommOp::Msg, json!({"hello": 1}), Vec::new())
        );
        assert_eq!(
            tell(message("y", open("nobody"), json!({}), Vec::new())),
            message("y", CommOp::Close, json!({}), Vec::new())
        );
    }
}

#[test]
fn without_the_package_what_is_opened_is_closed() {
    let mut harness = Harness::start(Form::Pipes);
    let act = CommOp::Open { target: "t".into() };
    harness.runtime().submit(RuntimeRequest::Comm(message(
        "x",
        act,
        json!({}),
        Vec::new(),
    )));
    assert_eq!(said(&mut harness).op, CommOp::Close);
}

#[test]
fn what_a_cell_left_running_shows_as_the_cells() {
    for code in [
        "import threading\nthreading.Timer(0.2, lambda: display('late')).start()",
        "import asyncio\nasync def later():\n    await asyncio.sleep(0.2)\n    display('late')\n\
         task = asyncio.create_task(later())\nawait asyncio.sleep(0)",
    ] {
        let mut harness = Harness::start(Form::Pipes);
        let first = harness.submit(code, ipycodex::runtime::Stdin::Refuse);
        let other = harness.submit(
            "import time; time.sleep(0.1)",
            ipycodex::runtime::Stdin::Refuse,
        );
        let of = harness.until(|event| match event {
            RuntimeEvent::Display { id, .. } => Some(*id),
            _ => None,
        });
        assert_eq!(of, Some(first), "not {other:?}: {code}");
    }
}

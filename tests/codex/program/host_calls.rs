//! Code that the agent runs asks with `ipycodex.ask`, and the user presses Ctrl-C meanwhile, on a terminal.

use serde_json::{Value, json};

use super::{asked, leave, program};
use crate::support::await_true;
use crate::support::responses::reply::Event;
use crate::support::responses::{Endpoint, Reply};

/// The model runs code in this kernel; what that code asks is never answered; later prompts are.
fn asks_in(kernel: &'static str, code: &'static str) -> Endpoint {
    Endpoint::answering(move |_, request| {
        let input = request["input"].to_string();
        if !input.contains("<user-request>") {
            return Reply::Stream(vec![Event::Begun(vec!["half an".into()]), Event::Hold]);
        }
        match input.contains("what now") || input.contains("call_output") {
            true => Reply::text("fine"),
            false => {
                let cells = json!({"kernel": kernel, "cells": [{"code": code}]});
                Reply::calls(&[("c1", "run_cells", cells)])
            }
        }
    })
}

#[test]
fn ctrl_c_stops_the_question_the_code_and_the_turn() {
    let plain = "import ipycodex\nprint('it ' + 'asks')\nx = ipycodex.ask('beside it')\nprint('went ' + 'on')";
    let threads = "import ipycodex, threading\n\
                   asking = [threading.Thread(target=ipycodex.ask, args=[f'n{n}']) for n in \
                   range(3)]\n[each.start() for each in asking]\n[each.join() for each in asking]\n\
                   print('went ' + 'on')";
    let waits = "import ipycodex\nx = await ipycodex.ask_async('beside it')\nprint('went ' + 'on')";
    let live = [("live", plain), ("live", threads), ("live", waits)];
    for (kernel, code) in live
        .into_iter()
        .chain([("scratch", plain), ("fresh", plain)])
    {
        let Some(program) = program("gpt-5.5", asks_in(kernel, code)) else {
            return;
        };
        program.configure(json!({"run_cells": "auto"}));
        let pty = program.repl();
        pty.send_line(".go");
        program.endpoint.wait_for(2);
        pty.send("\x03");
        let next = if kernel == "live" { 3 } else { 2 };
        pty.wait_for(&format!("In [{next}]:"));
        await_true("the end of the question at the endpoint", || {
            program.endpoint.abandoned() == 1
        });
        // The interpreter, the agent and later questions work.
        pty.send_line("6 * 7");
        pty.wait_for(&format!("Out[{next}]: 42"));
        pty.wait_for(&format!("In [{}]:", next + 1));
        pty.send_line(".what now?");
        pty.wait_for("fine");
        pty.wait_for(&format!("In [{}]:", next + 2));
        leave(&pty);
        program.endpoint.release();
        let screen = pty.all_text();
        assert!(!screen.contains("went on"), "{kernel}: {screen}");
        assert!(
            !screen.contains("Exception in thread"),
            "{kernel}: {screen}"
        );
        let stopped = screen.lines().filter(|line| *line == "stopped");
        assert_eq!(stopped.count(), 1, "{kernel}: {screen}");
        let states = program.recorded("SELECT state FROM ipycodex_turns ORDER BY id");
        assert_eq!(states, ["cancelled", "complete"], "{kernel}");
        // Nothing is asked again behind the user's back, and the model is told of the stop.
        let requests: Vec<Value> = program.endpoint.requests();
        assert_eq!(requests.len(), 3, "{kernel}: {requests:?}");
        assert!(asked(&requests[2]).ends_with("<user-request>what now?</user-request>"));
        let told = requests[2]["input"].to_string();
        assert!(told.contains("user interrupted"), "{kernel}: {told}");
    }
}

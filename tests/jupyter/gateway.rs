//! Kernels behind the real `jupyter_kernel_gateway`, and behind gateways that refuse, lie, hang and close.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::time::{Duration, Instant};

use ipycodex::jupyter::Gateway;
use ipycodex::runtime::connect::{GatewayPlan, GatewayTarget, RuntimePlan};
use ipycodex::runtime::{
    CommMessage, CommOp, Death, Ending, RuntimeEvent, RuntimeRequest, StartFailure, Stdin,
};
use serde_json::{Map, json};

use super::cells::tools_references_and_looks;
use super::gateway_server::{Served, TOKEN, gateway};
use super::harness::{Harness, SLEEPS, ok};
use super::proxy::between;
use crate::support::home::Home;
use crate::support::{await_true, peers};

pub(super) fn harness(gateway: Gateway, kernel: Option<&str>) -> Harness {
    let plan = plan(gateway, kernel, BTreeMap::new());
    Harness::of(RuntimePlan::Gateway(plan), tempfile::tempdir().unwrap())
}

fn plan(
    gateway: Gateway,
    kernel: Option<&str>,
    variables: BTreeMap<OsString, OsString>,
) -> GatewayPlan {
    GatewayPlan {
        gateway: GatewayTarget::Running(gateway),
        kernel: kernel.map(str::to_owned),
        variables,
        patience: Duration::from_secs(60),
    }
}

fn works(more: &[&str]) {
    let Some(served) = Served::start(more) else {
        return;
    };
    let mut harness = harness(served.gateway(), None);
    let info = harness.ready();
    assert_eq!(info.language, "Python");
    assert!(info.location.starts_with("http://127.0.0.1:"), "{info:?}");
    assert_eq!(
        harness.run("x = 41; print('\u{e9}'); x + 1"),
        ok("\u{e9}\n<Out[7] 42>")
    );
    let id = harness.submit("input('name? ')", Stdin::Ask);
    harness.answers_with("n\u{e9}");
    assert_eq!(harness.told(id), ok("<Out[7] 'n\u{e9}'>"));
    harness.run(
        "import comm\ndef opened(c, m): c.send({'n': 1}, buffers=[bytes(m['buffers'][0])[::-1]])\n\
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
    assert_eq!(
        (told.data, told.buffers),
        (json!({"n": 1}), vec![vec![255, 0]])
    );
    harness.is_interrupted_in(SLEEPS);
    assert_eq!(harness.run("x"), ok("<Out[7] 41>"));
    harness.calls().kill();
    let death = harness.until(|event| match event {
        RuntimeEvent::Died { death, .. } => Some(death.clone()),
        _ => None,
    });
    assert_eq!(death, Death::Killed);
    assert!(harness.ready().restarted);
    assert_eq!(harness.run("x").1, Ending::Error);
    await_true("the old kernel ends", || served.running() == 1);
    harness.runtime = None;
    await_true("the kernel ends", || served.running() == 0);
}

#[test]
fn a_kernel_behind_a_gateway_does_what_others_do() {
    works(&[]);
}

#[test]
fn the_older_form_of_messages_does_the_same() {
    works(&[
        "--GatewayWebSocketConnection.kernel_ws_protocol=",
        "--ZMQChannelsWebsocketConnection.kernel_ws_protocol=",
    ]);
}

#[test]
fn a_hundred_megabytes_come_in_one_message() {
    // It leaves out what comes faster than a megabyte a second, unless it is told not to.
    let Some(served) = Served::start(&["--ZMQChannelsWebsocketConnection.limit_rate=False"]) else {
        return;
    };
    let mut harness = harness(served.gateway(), None);
    harness.ready();
    let id = harness.submit(
        "display({'text/plain': 'x' * 100_000_000}, raw=True)",
        Stdin::Refuse,
    );
    let shown = harness.told(id).0;
    assert_eq!(shown.len(), 100_000_000 + "<show >".len(), "{:.300}", shown);
    assert_eq!(harness.run("1"), ok("<Out[7] 1>"));
}

#[test]
fn what_a_gateway_leaves_out_is_said_in_its_own_words() {
    let Some(served) = Served::start(&[]) else {
        return;
    };
    let mut harness = harness(served.gateway(), None);
    harness.ready();
    let (shown, ending) = harness.run("for _ in range(50_000): print('x' * 99)");
    assert_eq!(ending, Ending::Ok);
    assert!(shown.matches('x').count() < 50_000 * 99);
    let said = "IOPub data rate exceeded";
    assert!(shown.contains(said), "{} bytes", shown.len());
}

#[test]
fn a_kernel_that_dies_behind_a_gateway_is_told_and_replaced() {
    let Some(served) = Served::start(&[]) else {
        return;
    };
    let mut harness = harness(served.gateway(), None);
    harness.ready();
    let (_, ending) = harness.run("import os; os._exit(3)");
    assert!(
        matches!(&ending, Ending::Died(Death::Reported(why)) if why.contains("restarting")),
        "{ending:?}"
    );
    assert_eq!(harness.run("1 + 1"), ok("<Out[7] 2>"));
}

#[test]
fn what_is_said_while_the_connection_is_broken_still_comes() {
    let Some(served) = Served::start(&[]) else {
        return;
    };
    let (address, way) = between(&served);
    let mut harness = harness(gateway(&address, TOKEN), None);
    harness.ready();
    let id = harness.submit(
        "import time; print('on', flush=True); time.sleep(1); 'kept'",
        Stdin::Refuse,
    );
    harness.until(|event| matches!(event, RuntimeEvent::Output { .. }).then_some(()));
    for stream in way.open.lock().unwrap().drain(..) {
        let _ = stream.shutdown(Shutdown::Both);
    }
    assert_eq!(harness.told(id), ok("<Out[7] 'kept'>"));
    assert_eq!(harness.run("1"), ok("<Out[7] 1>"));
}

fn failure(harness: &mut Harness) -> StartFailure {
    harness.until(|event| match event {
        RuntimeEvent::StartFailed(failure) => Some(failure.clone()),
        _ => None,
    })
}

#[test]
fn a_token_that_is_wrong_names_the_variable_to_set() {
    let Some(served) = Served::start(&[]) else {
        return;
    };
    let refused = failure(&mut harness(gateway(&served.address, "wrong"), None));
    assert!(
        refused.message.contains("refused access (HTTP 40"),
        "{refused:?}"
    );
    assert!(
        refused.hint.contains("IPYCODEX_GATEWAY_TOKEN"),
        "{refused:?}"
    );
    let unknown = failure(&mut harness(served.gateway(), Some("nobody")));
    assert!(
        unknown
            .message
            .contains("has no kernel `nobody`; it has: python3, bash"),
        "{unknown:?}"
    );
}

/// What is said of a gateway that answers every request with this and closes.
fn answering(answer: &'static str) -> StartFailure {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    failure(&mut harness(gateway(&address, TOKEN), None))
}

#[test]
fn gateways_that_lie_close_and_fail_are_told_apart() {
    for (answer, said) in [
        ("", "does not answer"),
        ("SSH-2.0-OpenSSH\r\n", "does not answer"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi",
            "is not a Jupyter gateway",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
            "lists no `kernelspecs`",
        ),
        (
            "HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            "HTTP 404",
        ),
        (
            "HTTP/1.1 403 No\r\nContent-Length: 25\r\nConnection: close\r\n\r\n{\"message\": \"not a user\"}",
            "refused access (HTTP 403: not a user)",
        ),
        (
            "HTTP/1.1 503 No\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno\x1b",
            "answers HTTP 503: no",
        ),
    ] {
        let failure = answering(answer);
        assert!(failure.message.contains(said), "{answer:?}: {failure:?}");
        assert!(!failure.message.contains('\x1b'), "{failure:?}");
    }
}

#[test]
fn a_gateway_that_hangs_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let began = Instant::now();
    let mut harness = harness(gateway(&address, TOKEN), None);
    let failure = failure(&mut harness);
    assert!(failure.message.contains("does not answer"), "{failure:?}");
    assert!(began.elapsed() < Duration::from_secs(30));
    harness.runtime = None;
    assert!(began.elapsed() < Duration::from_secs(35));
}

#[test]
fn the_program_runs_cells_behind_a_gateway() {
    let Some(served) = Served::start(&[]) else {
        return;
    };
    let mut home = Home::new();
    home.set("IPYCODEX_GATEWAY_TOKEN", TOKEN);
    let url = format!("gateway:http://{}", served.address);
    let ran = home.run(&["--runtime", &url, "-c", "print(1 + 1)"], "");
    assert_eq!((ran.code(), ran.stdout.as_str()), (0, "2\n"), "{ran:?}");
    let ran = home.run(
        &["--runtime", &format!("{url}#bash"), "-c", "x=4; echo $x"],
        "",
    );
    assert_eq!((ran.code(), ran.stdout.as_str()), (0, "4\n"), "{ran:?}");
    await_true("the kernel ends", || served.running() == 0);
    let ran = home.run(&["--runtime", "gateway:ftp://example.org", "-c", "1"], "");
    assert_eq!(ran.code(), 2, "{ran:?}");
    assert!(
        ran.stderr.contains("is not the address of a gateway"),
        "{ran:?}"
    );
    home.set("IPYCODEX_GATEWAY_URL", format!("http://{}", served.address));
    let ran = home.run(&["--runtime", "gateway:auto", "-c", "print('auto')"], "");
    assert_eq!((ran.code(), ran.stdout.as_str()), (0, "auto\n"), "{ran:?}");
}

#[test]
fn tools_references_and_looks_work_behind_a_gateway_and_other_languages_say_that_they_do_not() {
    let Some(served) = Served::start(&[]) else {
        return;
    };
    tools_references_and_looks(harness(served.gateway(), None));
    let mut home = Home::new();
    home.set("IPYCODEX_GATEWAY_TOKEN", TOKEN);
    let url = format!("gateway:http://{}", served.address);
    let ran = home.run(
        &["--runtime", &url, "--agent", "demo"],
        "x = 41\ndef add(a: int, b: int) -> int:\n    return a + b\n\n.what is $`x`, use &`add`\n\"a note\"\n\
         %ipycodex context\n%ipycodex tools\nimport os; 'IPYCODEX_SESSION' in os.environ\n",
    );
    assert_eq!(ran.code(), 0, "{ran:?}");
    for said in [
        "The tool `add` says: 2",
        "<note>a note</note>",
        "pyrun",
        "True\n",
    ] {
        assert!(ran.stdout.contains(said), "{said}: {ran:?}");
    }
    let bash = format!("{url}#bash");
    let ran = home.run(
        &["--runtime", &bash, "--agent", "demo"],
        "x=hello\n.what is $`x`?\necho $x there\n%ipycodex tools\n",
    );
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(ran.stdout.contains("hello there\n"), "{ran:?}");
    assert!(!ran.stdout.contains("pyrun"), "{ran:?}");
    let said = "the Bash runtime cannot evaluate references (`$name`)";
    assert!(ran.stderr.contains(said), "{ran:?}");
}

#[test]
fn a_gateway_is_told_of_the_session_where_it_is_told_of_the_user() {
    let allowed = "--JupyterWebsocketPersonality.env_whitelist=IPYCODEX_SESSION";
    let Some(served) = Served::start(&[allowed]) else {
        return;
    };
    let told = vec![("IPYCODEX_SESSION".to_owned(), Some("7".to_owned()))];
    let home = "echo $IPYCODEX_SESSION, $KERNEL_USERNAME, ${HOME:+at home}";
    for (user, shown) in [(None, ", , at home\n"), (Some("alice"), "7, alice,\n")] {
        let user = user.map(|user| ("KERNEL_USERNAME".into(), user.into()));
        let plan = plan(served.gateway(), Some("bash"), user.into_iter().collect());
        let plan = RuntimePlan::Gateway(plan).with_environment(&told);
        let mut harness = Harness::of(plan, tempfile::tempdir().unwrap());
        // With variables a Kernel Gateway starts a kernel with those alone.
        assert_eq!(harness.run(home), ok(shown));
    }
}

#[test]
fn a_gateway_that_runs_as_many_kernels_as_it_may_says_so() {
    let Some(served) = Served::start(&["--KernelGatewayApp.max_kernels=1"]) else {
        return;
    };
    let mut one = harness(served.gateway(), Some("bash"));
    one.ready();
    let mut home = Home::new();
    home.set("IPYCODEX_GATEWAY_TOKEN", TOKEN);
    let url = format!("gateway:http://{}#bash", served.address);
    let ran = home.run(&["--runtime", &url, "-c", "echo there"], "");
    assert_eq!(ran.code(), 1, "{ran:?}");
    for said in [
        "has reached its limit of kernels: Resource Limit",
        "`max_kernels`",
    ] {
        assert!(ran.stderr.contains(said), "{said}: {ran:?}");
    }
    drop(one);
    let ran = home.run(&["--runtime", &url, "-c", "echo there"], "");
    assert_eq!((ran.code(), ran.stdout.as_str()), (0, "there\n"), "{ran:?}");
}

#[test]
fn an_enterprise_gateway_is_one_too() {
    let Some(python) = peers::jupyter::enterprise_gateway() else {
        return;
    };
    let served = Served::of(&python, ("enterprise_gateway", "EnterpriseGatewayApp"), &[]);
    let mut home = Home::new();
    home.set("IPYCODEX_GATEWAY_TOKEN", TOKEN);
    let url = format!("gateway:http://{}", served.address);
    // Who asks is whose kernel it is: it starts none for root.
    home.set("KERNEL_USERNAME", "root");
    let ran = home.run(&["--runtime", &url, "-c", "1"], "");
    assert_eq!(ran.code(), 1, "{ran:?}");
    for said in [
        "(HTTP 403: User 'root' is not authorized",
        "KERNEL_USERNAME",
    ] {
        assert!(ran.stderr.contains(said), "{said}: {ran:?}");
    }
    home.set("KERNEL_USERNAME", "alice");
    let ran = home.run(
        &["--runtime", &url, "--agent", "demo"],
        "x = 41\ndef add(a: int, b: int) -> int:\n    return a + b\n\n.what is $`x`, use &`add`\nprint(x + 1)\n",
    );
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(ran.stdout.contains("The tool `add` says: 2"), "{ran:?}");
    assert!(ran.stdout.ends_with("42\n"), "{ran:?}");
}

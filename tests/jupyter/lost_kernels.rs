//! Kernels that are gone from their gateway, or restarted there by somebody else, while we wait for them; gateways that
//! do not say.

use std::io::{Read, Write};
use std::net::TcpStream;

use ipycodex::runtime::{Death, Ending, RuntimeEvent, Stdin};

use super::gateway::harness;
use super::gateway_server::{Served, TOKEN, gateway};
use super::harness::{Harness, ok};
use super::proxy::between;

/// The name of a kernel at its gateway.
const NAME: &str = "import ipykernel; ipykernel.get_connection_file().split('kernel-')[-1][:-5]";

fn name(harness: &mut Harness) -> String {
    let (shown, _) = harness.run(NAME);
    let quoted = shown.split('\'').nth(1);
    quoted.unwrap_or_else(|| panic!("{shown}")).to_owned()
}

/// Somebody else restarts a kernel.
fn restart(served: &Served, name: &str) {
    let mut stream = TcpStream::connect(&served.address).unwrap();
    let head = format!(
        "POST /api/kernels/{name}/restart HTTP/1.1\r\nHost: here\r\nAuthorization: token {TOKEN}\r\n\
         Content-Length: 2\r\nConnection: close\r\n\r\n{{}}"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// A cell that a kernel that is asked to leave cannot end.
const STUBBORN: &str = "import signal, threading, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
threading.Thread(target=print, args=('on',), kwargs={'flush': True}).start()
while True: time.sleep(0.01)";

/// What becomes of a cell that does not end when this is done to its kernel.
fn ends_when(harness: &mut Harness, act: impl FnOnce(&Harness)) -> Ending {
    let id = harness.submit(STUBBORN, Stdin::Refuse);
    harness.until(|event| matches!(event, RuntimeEvent::Output { .. }).then_some(()));
    act(harness);
    harness.told(id).1
}

#[test]
fn a_kernel_that_its_gateway_no_longer_has_ends_what_waits_for_it() {
    let Some(served) = Served::start(&[]) else {
        return;
    };
    let gone = |ending: &Ending| matches!(ending, Ending::Died(Death::Reported(why)) if why.contains("no longer has"));
    // While a cell waits; while it is interrupted; between two cells.
    for interrupts in [Some(false), Some(true), None] {
        let mut harness = harness(served.gateway(), None);
        harness.ready();
        let name = name(&mut harness);
        let end = |harness: &Harness| {
            served.gateway().end(&name).unwrap();
            if interrupts == Some(true) {
                harness.calls().interrupt();
            }
        };
        let ending = match interrupts {
            Some(_) => ends_when(&mut harness, end),
            None => {
                end(&harness);
                harness.run("1").1
            }
        };
        assert!(gone(&ending), "{ending:?}");
        assert_eq!(harness.run("1 + 1"), ok("<Out[7] 2>"));
    }
}

#[test]
fn a_kernel_that_somebody_else_restarts_ends_what_waits_for_it() {
    let Some(served) = Served::start(&[]) else {
        return;
    };
    let mut harness = harness(served.gateway(), None);
    harness.ready();
    let name = name(&mut harness);
    let ending = ends_when(&mut harness, |_| restart(&served, &name));
    assert!(
        matches!(&ending, Ending::Died(Death::Reported(why)) if why.contains("restarted"))
            || matches!(&ending, Ending::Lost(why) if why.contains("restarted")),
        "{ending:?}"
    );
    assert_eq!(harness.run("1 + 1"), ok("<Out[7] 2>"));
}

#[test]
fn a_gateway_that_does_not_say_whether_it_has_the_kernel_is_told_and_waited_for() {
    let Some(served) = Served::start(&[]) else {
        return;
    };
    let (address, way) = between(&served);
    let mut harness = harness(gateway(&address, TOKEN), None);
    harness.ready();
    for (answer, said) in [
        (
            "HTTP/1.1 503 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            "answers HTTP 503",
        ),
        (
            "HTTP/1.1 403 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            "refused access (HTTP 403",
        ),
        ("", "does not answer"),
    ] {
        let works = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\nos.remove('go'); os.getcwd()";
        let id = harness.submit(works, Stdin::Refuse);
        let status = |event: &RuntimeEvent| match event {
            RuntimeEvent::Status { text, .. } => Some(text.clone()),
            _ => None,
        };
        *way.answers.lock().unwrap() = Some(answer);
        let told = harness.until(status);
        assert!(
            told.contains(said) && told.contains("may still run"),
            "{told}"
        );
        *way.answers.lock().unwrap() = None;
        assert_eq!(harness.until(status), "");
        std::fs::write(served.home().join("go"), "").unwrap();
        assert_eq!(harness.told(id).1, Ending::Ok);
    }
}

//! Kernels and gateways that misbehave under the real program: each fault ends in bounded time, is said, and the next
//! input works.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;

use crate::support::home::Home;
use crate::support::peers::plain_python;
use crate::support::ways::Outcome::{Dies, Hangs, IsSaid, Stops, Works};
use crate::support::ways::{Case, Outcome, both_ways};

const FINE: Outcome = Works("fine");

/// These words, or the line that each of the cells ends with.
const fn says(words: &'static [&'static str]) -> Outcome<'static> {
    IsSaid(words, "fine")
}

const LOST: &[&str] = &["the connection to the", "was lost: "];

/// What stands behind the runtime: a kernel of ours, or one behind a gateway.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Kernel,
    Gateway,
}
use Way::{Gateway, Kernel};

/// What `tests/fakes/kernel.py` or `tests/fakes/gateway.py` plays: at its start, and under a cell; what comes of it.
#[rustfmt::skip]
const FAULTS: &[(Way, &str, &str, Outcome)] = &[
    // It does not start.
    (Kernel, "gone at once", "echo fine", says(&["ended before it answered: exit code 1", "it said: no home"])),
    (Kernel, "exit at info", "echo fine", says(&["ended before it answered: exit code 3"])),
    (Kernel, "no sockets", "echo fine", says(&["could not connect to the kernel", "no connection within 30 s"])),
    (Kernel, "silent", "echo fine", says(&["has not answered for 60 s"])),
    (Kernel, "quiet iopub", "echo fine", says(&["has not answered for 60 s"])),
    (Kernel, "unsigned info", "echo fine", says(&["has not answered for 60 s"])),
    (Kernel, "list info", "echo fine", says(&["has not answered for 60 s"])),
    (Kernel, "http", "echo fine", says(&["kernel"])),
    (Kernel, "half a greeting", "echo fine", says(&["kernel"])),
    (Kernel, "old greeting", "echo fine", says(&["kernel"])),
    (Kernel, "secure greeting", "echo fine", says(&["kernel"])),
    (Kernel, "closed greeting", "echo fine", says(&["kernel"])),
    // It says odd things of itself.
    (Kernel, "number info", "echo fine", says(&["has not answered for 60 s"])),
    (Kernel, "empty info", "echo fine", FINE),
    (Kernel, "error info", "echo fine", FINE),
    (Kernel, "odd info", "echo fine", FINE),
    (Kernel, "broken info", "echo fine", FINE),
    (Kernel, "loud", "echo fine", FINE),
    // What it sends is no message, or too much of one.
    (Kernel, "", "broken-parts fine", FINE),
    (Kernel, "", "unsigned fine", FINE),
    (Kernel, "", "short fine", FINE),
    (Kernel, "", "buffers fine", FINE),
    (Kernel, "", "huge fine", Works("shown")),
    (Kernel, "", "commands fine", FINE),
    (Kernel, "", "gigabytes fine", says(LOST)),
    (Kernel, "", "terabyte fine", says(LOST)),
    (Kernel, "", "endless fine", says(LOST)),
    (Kernel, "", "negative fine", says(LOST)),
    (Kernel, "", "close-shell fine", says(LOST)),
    (Kernel, "", "close-iopub fine", says(LOST)),
    (Kernel, "", "close-control fine", says(LOST)),
    (Kernel, "", "close-stdin fine", says(LOST)),
    // What it means makes no sense, or comes out of turn.
    (Kernel, "", "types fine", FINE),
    (Kernel, "", "channels fine", FINE),
    (Kernel, "", "twice fine", FINE),
    (Kernel, "", "no-idle fine", FINE),
    (Kernel, "", "no-reply fine", FINE),
    (Kernel, "", "replies fine", FINE),
    (Kernel, "", "number-reply fine", FINE),
    (Kernel, "", "questions fine", FINE),
    (Kernel, "", "flood fine", FINE),
    (Kernel, "", "displays fine", FINE),
    (Kernel, "", "late fine", FINE),
    (Kernel, "", "loud fine", FINE),
    // It does not end what it began.
    (Kernel, "", "sleeps", Stops("begun")),
    (Kernel, "", "mute", Hangs("begun")),
    (Kernel, "", "neither begun", Hangs("begun")),
    (Kernel, "", "past-an-interrupt", Hangs("begun")),
    (Kernel, "", "deaf", Hangs("begun")),
    (Kernel, "", "stop", Hangs("begun")),
    (Kernel, "", "at-an-interrupt", Stops("begun")),
    // It ends.
    (Kernel, "", "dies", Dies("exit code 3")),
    (Kernel, "", "dies-asking", Dies("exit code 3")),
    (Kernel, "", "dies-replied", Dies("exit code 3")),
    (Kernel, "", "killed", Dies("SIGKILL")),
    (Kernel, "", "restarts", says(LOST)),
    // It does not want to end.
    (Kernel, "", "stays fine", FINE),
    (Kernel, "", "leaves-a-child fine", FINE),
    // The gateway starts no kernel.
    (Gateway, "500 at kernelspecs", "echo fine", says(&["answers HTTP 500"])),
    (Gateway, "401 at kernelspecs", "echo fine", says(&["refused access (HTTP 401"])),
    (Gateway, "302 at kernelspecs", "echo fine", says(&["answers HTTP 302"])),
    (Gateway, "html at kernelspecs", "echo fine", says(&["is not a Jupyter gateway"])),
    (Gateway, "deep at kernelspecs", "echo fine", says(&["is not a Jupyter gateway"])),
    (Gateway, "bytes at kernelspecs", "echo fine", says(&["gateway"])),
    (Gateway, "number at kernelspecs", "echo fine", says(&["lists no `kernelspecs`"])),
    (Gateway, "garbage at kernelspecs", "echo fine", says(&["does not answer"])),
    (Gateway, "half at kernelspecs", "echo fine", says(&["does not answer"])),
    (Gateway, "silence at kernelspecs", "echo fine", says(&["does not answer"])),
    (Gateway, "slow at kernelspecs", "echo fine", says(&["does not answer"])),
    (Gateway, "endless at kernelspecs", "echo fine", says(&["does not answer"])),
    (Gateway, "endless head at kernelspecs", "echo fine", says(&["does not answer"])),
    (Gateway, "loud head at kernelspecs", "echo fine", says(&["too many headers"])),
    (Gateway, "500 at kernels", "echo fine", FINE),
    (Gateway, "403 at kernels", "echo fine", says(&["refused access (HTTP 403"])),
    (Gateway, "404 at kernels", "echo fine", says(&["does not know `/api/kernels`"])),
    (Gateway, "302 at kernels", "echo fine", says(&["answers HTTP 302"])),
    (Gateway, "list at kernels", "echo fine", says(&["is not a Jupyter gateway"])),
    (Gateway, "path at kernels", "echo fine", says(&["is not a Jupyter gateway"])),
    (Gateway, "number at kernels", "echo fine", says(&["is not a Jupyter gateway"])),
    // It opens no websocket.
    (Gateway, "500 at channels", "echo fine", says(&["answers HTTP 500: it did not open a websocket"])),
    (Gateway, "403 at channels", "echo fine", says(&["refused access (HTTP 403"])),
    (Gateway, "404 at channels", "echo fine", says(&["does not know `one`"])),
    (Gateway, "302 at channels", "echo fine", says(&["answers HTTP 302: it did not open a websocket"])),
    (Gateway, "html at channels", "echo fine", says(&["it did not open a websocket"])),
    (Gateway, "garbage at channels", "echo fine", says(&["does not answer"])),
    (Gateway, "silence at channels", "echo fine", says(&["no websocket within 10 s"])),
    (Gateway, "slow at channels", "echo fine", says(&["no websocket within 10 s"])),
    (Gateway, "endless head at channels", "echo fine", says(&["does not answer"])),
    (Gateway, "wrong key at channels", "echo fine", says(&["does not answer"])),
    (Gateway, "other protocol at channels", "echo fine", FINE),
    (Gateway, "no protocol at channels", "echo fine", FINE),
    // The kernel behind it misbehaves.
    (Gateway, "", "broken-parts fine", FINE),
    (Gateway, "no protocol at channels", "types fine", FINE),
    (Gateway, "", "types fine", FINE),
    (Gateway, "", "no-idle fine", FINE),
    (Gateway, "", "questions fine", FINE),
    (Gateway, "", "no-reply fine", FINE),
    (Gateway, "", "replaced fine", says(&["the kernel was restarted, or the request did not reach it"])),
    (Gateway, "", "mute", Hangs("begun")),
    (Gateway, "", "deaf", Hangs("begun")),
    (Gateway, "", "dies", Dies("the gateway says: restarting")),
    (Gateway, "", "gone-dead", Dies("the gateway says: dead")),
    // Frames that no gateway sends: it is connected to again, and what was said meanwhile comes.
    (Gateway, "", "masked fine", FINE),
    (Gateway, "", "fragmented-ping fine", FINE),
    (Gateway, "", "long-ping fine", FINE),
    (Gateway, "", "reserved-bits fine", FINE),
    (Gateway, "", "unknown-opcode fine", FINE),
    (Gateway, "", "unknown-control fine", FINE),
    (Gateway, "", "endless-frame fine", FINE),
    (Gateway, "", "large-frame fine", FINE),
    (Gateway, "", "negative-frame fine", FINE),
    (Gateway, "", "many-fragments fine", FINE),
    (Gateway, "", "no-beginning fine", FINE),
    (Gateway, "", "two-beginnings fine", FINE),
    (Gateway, "", "bad-text fine", FINE),
    (Gateway, "", "half fine", FINE),
    (Gateway, "", "closes fine", FINE),
    (Gateway, "", "closes-oddly fine", FINE),
    (Gateway, "", "closes-in-words fine", FINE),
    (Gateway, "", "closes-in-no-words fine", FINE),
    (Gateway, "", "closes-of-the-future fine", FINE),
    (Gateway, "", "hangs-up fine", FINE),
    // Frames that are allowed, and no messages.
    (Gateway, "", "texts fine", FINE),
    (Gateway, "", "binaries fine", FINE),
    (Gateway, "", "pings fine", FINE),
    (Gateway, "", "pongs fine", FINE),
    (Gateway, "", "fragments fine", FINE),
    // The connection breaks and does not come again at once, or never.
    (Gateway, "", "gone fine", Dies("no longer has the kernel")),
    (Gateway, "", "not-again fine", says(LOST)),
    (Gateway, "", "refused-again fine", FINE),
    (Gateway, "", "slow-again fine", FINE),
    (Gateway, "", "strange-again fine", FINE),
    (Gateway, "", "garbage-again fine", FINE),
    (Gateway, "", "silent-again fine", FINE),
    (Gateway, "", "deep-state fine", FINE),
    (Gateway, "", "number-state fine", FINE),
    (Gateway, "", "500-state fine", FINE),
    // It does not interrupt, or does not end.
    (Gateway, "", "no-interrupt", Stops("begun")),
    (Gateway, "", "slow-interrupt", Stops("begun")),
    (Gateway, "", "lost-interrupt", Stops("begun")),
    (Gateway, "", "no-end fine", FINE),
    (Gateway, "", "slow-end fine", FINE),
    (Gateway, "", "silent-end fine", FINE),
    (Gateway, "", "garbage-end fine", FINE),
];

fn fake(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fakes")
        .join(name)
}

/// A kernel of ours with this fault, in a new home.
fn kernel(fault: &str) -> Home {
    let mut home = Home::new();
    let program = [
        plain_python(),
        "-B".into(),
        fake("kernel.py"),
        "{connection_file}".into(),
    ];
    let mut words: Vec<String> = program.map(|path| path.display().to_string()).into();
    words.push(fault.to_owned());
    let spec = json!({"argv": words, "display_name": "fake", "language": "fake"});
    home.write("jupyter/kernels/fake/kernel.json", spec.to_string());
    home.set("JUPYTER_PATH", home.work().join("jupyter"));
    home.write_config(
        "config.json",
        json!({"runtime": "jupyter:fake"}).to_string(),
    );
    home
}

/// All gateways, in one process that ends with this.
struct Gateways {
    child: Child,
    port: String,
    next: AtomicU32,
}

impl Gateways {
    fn start() -> Gateways {
        let mut command = Command::new(plain_python());
        command.arg("-B").arg(fake("gateway.py"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut port = String::new();
        let output = child.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut port).unwrap();
        Gateways {
            child,
            port: port.trim().to_owned(),
            next: AtomicU32::new(0),
        }
    }

    /// A home whose cells run behind a new one with this fault.
    fn home(&self, fault: &str) -> Home {
        let (port, number) = (&self.port, self.next.fetch_add(1, Ordering::Relaxed));
        let fault = fault.replace(' ', "_");
        let url = format!("gateway:http://127.0.0.1:{port}/{number}/{fault}");
        let home = Home::new();
        home.write_config("config.json", json!({"runtime": url}).to_string());
        home
    }
}

impl Drop for Gateways {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Each of so many faults, on a terminal and through a pipe.
pub fn each_way(count: u32) -> String {
    let name =
        |(way, fault, cell, _): &(Way, &str, &str, Outcome)| format!("{way:?} {fault} {cell}");
    let gateways = Gateways::start();
    both_ways(FAULTS, count, name, |(way, fault, cell, outcome)| {
        let case = Case {
            arguments: &["--agent", "demo"],
            first: cell,
            outcome: *outcome,
            second: ("echo well", "well"),
        };
        let home = match way {
            Kernel => kernel(fault),
            Gateway => gateways.home(fault),
        };
        (home, case)
    })
}

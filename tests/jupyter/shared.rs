//! `gateway:auto`: the real gateway, started where none runs, shared, and ended when nobody uses it.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ipycodex::runtime::RuntimeEvent;
use ipycodex::runtime::connect::{GatewayPlan, GatewayTarget, RuntimePlan, SharedPlan};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::harness::Harness;
use crate::support::home::{Home, Ran};
use crate::support::{await_true, peers};

/// How long a gateway without users stays where that is tested.
const IDLE: Duration = Duration::from_secs(2);

/// A home whose Python has a gateway; the gateway ends with it.
struct Sharing {
    home: Home,
    python: PathBuf,
}

impl Sharing {
    fn new() -> Option<Self> {
        let python = peers::kernels()?;
        let home = Home::new();
        Some(Sharing { home, python })
    }

    fn run(&self, kernel: &str, code: &str) -> Ran {
        let python = self.python.to_str().unwrap();
        let runtime = format!("gateway:auto{kernel}");
        let words = ["--python", python, "--runtime", &runtime, "-c", code];
        self.home.run(&words, "")
    }

    fn prints(&self, kernel: &str, code: &str) -> String {
        let ran = self.run(kernel, code);
        assert_eq!(ran.code(), 0, "{ran:?}");
        ran.stdout
    }

    fn record(&self) -> Value {
        record(&self.home.path().join("state/ipycodex/gateways")).expect("a gateway runs")
    }

    fn address(&self) -> String {
        let url = self.record()["url"].as_str().unwrap().to_owned();
        url.strip_prefix("http://").unwrap().to_owned()
    }
}

impl Drop for Sharing {
    fn drop(&mut self) {
        if let Some(record) = record(&self.home.path().join("state/ipycodex/gateways")) {
            signal(&record["keeper"], Signal::TERM);
        }
    }
}

fn gateway_file(gateways: &Path) -> Option<PathBuf> {
    let rooms = std::fs::read_dir(gateways).ok()?.flatten();
    let mut files = rooms.map(|room| room.path().join("gateway.json"));
    files.find(|file| file.exists())
}

fn record(gateways: &Path) -> Option<Value> {
    serde_json::from_slice(&std::fs::read(gateway_file(gateways)?).ok()?).ok()
}

fn signal(process: &Value, signal: Signal) {
    let process = i32::try_from(process.as_i64().unwrap()).unwrap();
    // It may have ended by itself.
    let _ = kill_process(Pid::from_raw(process).unwrap(), signal);
}

fn children(process: &str) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task"));
    let tasks = tasks.into_iter().flatten().flatten();
    let told = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    told.flat_map(|told| {
        told.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    })
    .collect()
}

/// What a gateway answers without a token, to a page of another origin.
fn asked_by_a_page(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = "GET /api/kernelspecs HTTP/1.1\r\nHost: x\r\nOrigin: http://evil\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

#[test]
fn whoever_comes_shares_one_gateway_and_keeps_what_is_theirs() {
    let Some(mut sharing) = Sharing::new() else {
        return;
    };
    // What the user's own gateways may be set to opens nothing here.
    sharing.home.set("KG_ALLOW_ORIGIN", "*");
    sharing.home.set("KG_AUTH_TOKEN", "");
    let settings = sharing.home.path().join("home/.jupyter");
    std::fs::create_dir_all(&settings).unwrap();
    std::fs::write(
        settings.join("jupyter_kernel_gateway_config.py"),
        "c.KernelGatewayApp.ip = '0.0.0.0'\nc.KernelGatewayApp.allow_origin = '*'\n\
         c.KernelGatewayApp.auth_token = ''\n",
    )
    .unwrap();
    sharing.home.set("MARK", "one");
    let code = "import os; print(os.getcwd(), os.environ['MARK'], 'KG_AUTH_TOKEN' in os.environ)";
    let work = sharing.home.work();
    let theirs = format!("{} one False\n", work.display());
    std::thread::scope(|scope| {
        let both = [(); 2].map(|()| scope.spawn(|| sharing.prints("", code)));
        for one in both {
            assert_eq!(one.join().unwrap(), theirs);
        }
    });
    let first = sharing.record();
    assert!(!first["token"].as_str().unwrap().is_empty());
    sharing.home.set("MARK", "two");
    let starts = "tr '\\0' '\\n' < /proc/$$/environ | grep -c ^IPYCODEX_SESSION=";
    let told = sharing.prints("#bash", &format!("pwd; echo $MARK; {starts}"));
    assert_eq!(told, format!("{}\ntwo\n1\n", work.display()));
    assert_eq!(sharing.record(), first, "all of them had the same");
    let answer = asked_by_a_page(&sharing.address());
    let refused = answer.starts_with("HTTP/1.1 401") || answer.starts_with("HTTP/1.1 403");
    assert!(refused, "{answer}");
    assert!(
        !answer.contains("Access-Control-Allow-Origin: *"),
        "{answer}"
    );
    let pid = first["keeper"].to_string();
    let looks = || {
        let ran = sharing.home.run(&["doctor"], "");
        let mut lines = ran.stdout.lines().map(str::to_owned);
        let found = lines.find(|line| line.contains("our gateway"));
        found.unwrap_or_else(|| panic!("{ran:?}"))
    };
    let said = format!("runs in process {pid}, 0 kernels running");
    assert!(looks().contains(&said), "{}", looks());
    let ran = sharing.run("#nobody", "1");
    assert!(
        ran.stderr.contains("`--runtime gateway:auto#NAME`"),
        "{ran:?}"
    );
}

#[test]
fn a_gateway_that_hangs_or_has_ended_is_replaced() {
    let Some(sharing) = Sharing::new() else {
        return;
    };
    assert_eq!(sharing.prints("", "print(1)"), "1\n");
    let first = sharing.record();
    let keeper = first["keeper"].to_string();
    let gateway = children(&children(&keeper)[0]);
    let gateway: Value = gateway[0].parse::<i64>().unwrap().into();
    signal(&gateway, Signal::STOP);
    assert_eq!(sharing.prints("", "print(2)"), "2\n");
    let second = sharing.record();
    assert_ne!(second["token"], first["token"]);
    assert!(!Path::new(&format!("/proc/{keeper}")).exists());
    signal(&second["keeper"], Signal::KILL);
    await_true("its gateway ends with it", || {
        TcpStream::connect(
            second["url"]
                .as_str()
                .unwrap()
                .trim_start_matches("http://"),
        )
        .is_err()
    });
    assert_eq!(sharing.prints("", "print(3)"), "3\n");
    assert_ne!(sharing.record()["token"], second["token"]);
}

#[test]
fn it_ends_when_nobody_has_used_it_for_a_while() {
    let Some(python) = peers::kernels() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let gateways = folder.path().join("gateways");
    let mut variables: BTreeMap<_, _> = std::env::vars_os().collect();
    for name in ["HOME", "IPYTHONDIR"] {
        variables.insert(name.into(), folder.path().into());
    }
    let shared = SharedPlan {
        folder: gateways.clone(),
        python: Some(python),
        program: env!("CARGO_BIN_EXE_ipycodex").into(),
        cwd: folder.path().to_owned(),
        variables,
        idle: IDLE,
    };
    let plan = GatewayPlan {
        gateway: GatewayTarget::Shared(shared),
        kernel: None,
        variables: BTreeMap::new(),
        patience: Duration::from_secs(60),
    };
    let start = || {
        let folder = tempfile::tempdir().unwrap();
        let mut harness = Harness::of(RuntimePlan::Gateway(plan.clone()), folder);
        let info = harness.ready();
        assert!(info.location.starts_with("http://127.0.0.1:"), "{info:?}");
        harness
    };
    let mut one = start();
    let two = start();
    drop(two);
    let alone = SystemTime::now() + IDLE;
    await_true("the keeper looks when it could have ended it", || {
        let touched =
            gateway_file(&gateways).and_then(|file| file.metadata().ok()?.modified().ok());
        touched.is_some_and(|touched| touched > alone)
    });
    assert_eq!(
        one.run("6 * 7").0,
        "<Out[7] 42>",
        "it stays for the other one"
    );
    let first = record(&gateways).unwrap();
    // Killed, the kernel is replaced behind the same gateway.
    one.calls().kill();
    one.until(|event| matches!(event, RuntimeEvent::Died { .. }).then_some(()));
    assert_eq!(one.run("6 * 7").0, "<Out[7] 42>");
    assert_eq!(record(&gateways).unwrap(), first);
    drop(one);
    await_true("the gateway ends", || record(&gateways).is_none());
    let keeper = format!("/proc/{}", first["keeper"]);
    await_true("its keeper ends", || {
        // It is a child of this process, which has waited for it by then.
        !Path::new(&keeper).exists()
    });
}

#[test]
fn a_python_without_a_gateway_names_what_to_install() {
    let home = Home::new();
    let ran = home.run(&["--runtime", "gateway:auto", "-c", "1"], "");
    assert_eq!(ran.code(), 1, "{ran:?}");
    for said in [
        "`gateway:auto` needs a Jupyter Kernel Gateway",
        "lacks `kernel_gateway`",
        "-m pip install jupyter_kernel_gateway ipykernel`",
        "IPYCODEX_GATEWAY_URL",
    ] {
        assert!(ran.stderr.contains(said), "{said}: {ran:?}");
    }
    let ran = home.run(&["--runtime", "gateway:auto", "doctor"], "");
    let said = "error   our gateway  `gateway:auto` needs a Jupyter Kernel Gateway";
    assert!(ran.stdout.contains(said), "{ran:?}");
}

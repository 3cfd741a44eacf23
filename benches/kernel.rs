//! The kernel of Jupyter beside ipykernel, from the same client, in the same Python.
//!
//! The floor of a cell there and back, in instructions (callgrind; Python 3.11, IPython 9, ipykernel 7): the client,
//! `jupyter_client`, spends 2.5 M of them on our cell and 2.8 M on ipykernel's; IPython spends 1.7 M of the 9.0 M of
//! ipykernel. With nothing but these, a kernel that runs IPython takes 0.35 times as many as ipykernel with its client;
//! ours takes 0.42 (1.9 M in the interpreter, 0.6 M in the program).

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support::home::{Home, finish_within};
use crate::support::peers;
use crate::table::{Row, Target, in_turn};

const RUNS: usize = 5;

/// Of what takes a minute.
const LONG_RUNS: usize = 2;

/// The slowest prints 500 MB at 15 MB/s.
const PATIENCE: Duration = Duration::from_secs(200);

/// MB that the kernel, its guard and its Python hold at most, whatever is printed and however slowly it is read.
const HELD: f64 = 120.0;

pub fn rows() -> Vec<Row> {
    let clients = peers::clients().ok_or("the clients of kernels cannot be had");
    let home = clients.map(|python| (installed(&python), python));
    [
        (
            "start to kernel_info_reply",
            "start",
            "ms",
            Target::TimesPeerAtMost(0.5),
        ),
        (
            "a cell there and back over Jupyter (floor 0.35 x)",
            "round_trip",
            "ms",
            Target::TimesPeerAtMost(1.0 / 3.0),
        ),
        (
            "interrupt over Jupyter",
            "interrupt",
            "ms",
            Target::AtMost(50.0),
        ),
        (
            "50 MB printed over Jupyter",
            "printed",
            "MB/s",
            Target::TimesPeerAtLeast(2.0),
        ),
        (
            "memory of the kernel with its Python",
            "memory",
            "MB",
            Target::None,
        ),
        (
            "500 MB printed to a client that reads nothing",
            "deaf",
            "MB",
            Target::AtMost(HELD),
        ),
        (
            "100 MB printed to one that reads 10 MB/s",
            "slow",
            "MB",
            Target::AtMost(HELD),
        ),
        (
            "of these 100 MB, it gets",
            "kept",
            "MB",
            // The peer may publish a warning of its own beside them.
            Target::TimesPeerAtLeast(0.9999),
        ),
    ]
    .map(|(what, name, unit, target)| {
        let measure = |kernel: &str| {
            let (home, python) = home.as_ref().map_err(|why| (*why).to_owned())?;
            measured(home, python, name, kernel)
        };
        let runs = match name {
            "deaf" | "slow" | "kept" => LONG_RUNS,
            _ => RUNS,
        };
        let [ours, peer] = in_turn(
            runs,
            [&mut || measure("ipycodex"), &mut || measure("python3")],
        );
        Row {
            what: what.into(),
            unit,
            ours,
            peer: Some(("ipykernel", peer)),
            target,
        }
    })
    .into()
}

/// A home with our kernel; ipykernel is found in the environment of its Python.
fn installed(python: &Path) -> Home {
    let mut home = Home::new();
    let prefix = home.path().join("prefix");
    home.set("JUPYTER_PATH", prefix.join("share/jupyter"));
    let words = ["kernel", "install", "--prefix"].map(PathBuf::from);
    let mut words = words.to_vec();
    words.extend([prefix, "--python".into(), python.to_owned()]);
    home.run(&words, "");
    home
}

fn measured(home: &Home, python: &Path, what: &str, kernel: &str) -> Result<f64, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers/kernel.py");
    let words = [script.as_os_str(), what.as_ref(), kernel.as_ref()];
    let ran = finish_within(home.foreign(python, &words), b"", PATIENCE);
    let figure = ran.stdout.trim().parse();
    figure.map_err(|_| format!("{kernel} gave no figure: {}", ran.stderr))
}

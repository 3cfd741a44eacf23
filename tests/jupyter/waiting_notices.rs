//! What a cell is told that it waits for: a kernel that comes up slowly, one that does something else.

use ipycodex::runtime::connect::JupyterTarget;
use ipycodex::runtime::{Ending, RuntimeEvent, Stdin};
use serde_json::json;

use super::harness::{Harness, kernels, plan};
use crate::support::peers;

/// What is told next.
fn status(harness: &mut Harness) -> String {
    harness.until(|event| match event {
        RuntimeEvent::Status { text, .. } => Some(text.clone()),
        _ => None,
    })
}

#[test]
fn a_kernel_that_comes_up_slowly_is_said_to_start() {
    let Some(python) = peers::kernels() else {
        return;
    };
    let prefix = tempfile::tempdir().unwrap();
    let spec = prefix.path().join("share/jupyter/kernels/slow");
    std::fs::create_dir_all(&spec).unwrap();
    let go = prefix.path().join("go");
    let script = "while [ ! -e \"$1\" ]; do sleep 0.05; done; exec \"$2\" -m bash_kernel -f \"$3\"";
    let text = json!({
        "argv": ["sh", "-c", script, "sh", &go, python, "{connection_file}"],
        "display_name": "Slow",
        "language": "bash",
    });
    std::fs::write(spec.join("kernel.json"), text.to_string()).unwrap();
    let (plan, folder) = plan(JupyterTarget::Installed("slow".into()), prefix.path());
    let mut harness = Harness::with(plan, folder);
    let id = harness.submit("echo here", Stdin::Refuse);
    assert_eq!(status(&mut harness), "the kernel is starting");
    std::fs::write(&go, "").unwrap();
    assert_eq!(status(&mut harness), "");
    assert_eq!(harness.told(id), ("here\n".to_owned(), Ending::Ok));
}

#[test]
fn a_kernel_that_does_something_else_is_said_to() {
    let Some(mut ours) = Harness::start("python3") else {
        return;
    };
    ours.ready();
    let connections = ours.folder.path().join("connections");
    let file = std::fs::read_dir(connections).unwrap().next().unwrap();
    let file = file.unwrap().path();
    let works = "import os, time\nprint('on')\nwhile not os.path.exists('go'): time.sleep(0.01)";
    let work = ours.submit(works, Stdin::Refuse);
    ours.until(|event| matches!(event, RuntimeEvent::Output { .. }).then_some(()));
    let (plan, folder) = plan(JupyterTarget::Running(file), &kernels().unwrap());
    let mut other = Harness::with(plan, folder);
    other.ready();
    let id = other.submit("1 + 1", Stdin::Refuse);
    let said = status(&mut other);
    assert_eq!(said, "the kernel is busy with something else");
    std::fs::write(ours.folder.path().join("go"), "").unwrap();
    assert_eq!(status(&mut other), "");
    assert_eq!(other.told(id), ("<Out[7] 2>".to_owned(), Ending::Ok));
    assert_eq!(ours.told(work).1, Ending::Ok);
}

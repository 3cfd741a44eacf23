//! Kernels of other languages: what they can do is done, and the rest is not offered.

use std::time::Duration;

use ipycodex::runtime::connect::JupyterTarget;
use ipycodex::runtime::{Completeness, Ending, RuntimeAnswer, RuntimeEvent, RuntimeRequest, Stdin};
use ipycodex::text::offset::CodePoints;

use super::bench::{Bench, plan};
use crate::support::peers;

fn ok(text: &str) -> (String, Ending) {
    (text.to_owned(), Ending::Ok)
}

#[test]
fn the_cells_of_bash_are_bash() {
    let Some(mut bench) = Bench::start("bash") else {
        return;
    };
    let info = bench.ready();
    assert_eq!((info.language.as_str(), info.banner.as_str()), ("Bash", ""));
    let able = bench.runtime().capabilities();
    assert!(
        !able.tools && !able.references && !able.snapshot && able.restart,
        "{able:?}"
    );
    assert_eq!(bench.run("x=41; echo $((x+1))"), ok("42\n"));
    assert_eq!(bench.run("echo é | tr a-z A-Z").1, Ending::Ok);
    assert_eq!(bench.run("false").1, Ending::Error);
    let found = bench.ask(RuntimeRequest::Complete {
        code: "ech".into(),
        position: CodePoints(3),
        deep: false,
    });
    let RuntimeAnswer::Completions(found) = found else {
        panic!("{found:?}");
    };
    assert!(
        found
            .iter()
            .any(|one| one.text == "echo" && one.start == CodePoints(0)),
        "{found:?}"
    );
    let id = bench.submit("sleep 50", Stdin::Refuse);
    bench.until(|event| matches!(event, RuntimeEvent::Started { .. }).then_some(()));
    std::thread::sleep(Duration::from_millis(300));
    bench.calls().interrupt();
    assert_eq!(bench.told(id).1, Ending::Interrupted);
    assert_eq!(bench.run("echo $x"), ok("41\n"));
}

#[test]
fn the_cells_of_javascript_are_javascript_and_its_kernel_says_what_is_whole() {
    let Some(prefix) = peers::jupyter::javascript() else {
        return;
    };
    let (plan, folder) = plan(JupyterTarget::Installed("javascript".into()), &prefix);
    let mut bench = Bench::with(plan, folder);
    let info = bench.ready();
    assert_eq!(info.language, "JavaScript");
    let able = bench.runtime().capabilities();
    assert!(
        !able.tools && !able.references && !able.snapshot && able.restart,
        "{able:?}"
    );
    assert_eq!(bench.run("let x = 41; x + 1"), ok("42\n"));
    assert_eq!(bench.run("['\u{e9}', x].join()"), ok("\u{e9},41\n"));
    let (raised, ending) = bench.run("throw new Error('bad')");
    assert!(
        raised.contains("bad") && ending == Ending::Error,
        "{raised}"
    );
    let mut whole = |code: &str| {
        let told = bench.ask(RuntimeRequest::IsComplete { code: code.into() });
        matches!(told, RuntimeAnswer::Completeness(Completeness::Complete))
    };
    assert!(whole("x + 1") && !whole("for (const a of [1]) {"));
    let found = bench.ask(RuntimeRequest::Complete {
        code: "Math.ma".into(),
        position: CodePoints(7),
        deep: false,
    });
    let RuntimeAnswer::Completions(found) = found else {
        panic!("{found:?}");
    };
    assert!(found.iter().any(|one| one.text == "max"), "{found:?}");
    let told = bench.ask(RuntimeRequest::Inspect {
        code: "Math.max".into(),
        position: CodePoints(8),
        detailed: false,
    });
    let RuntimeAnswer::Inspection(Some(told)) = told else {
        panic!("{told:?}");
    };
    assert!(told.for_model().contains("max"), "{told:?}");
    bench.calls().kill();
    bench.until(|event| matches!(event, RuntimeEvent::Died { .. }).then_some(()));
    assert!(bench.ready().restarted);
    assert_eq!(bench.run("x").1, Ending::Error, "it is a new one");
}

//! Kernels of other languages: what they can do is done, and the rest is not offered.

use ipycodex::runtime::connect::{JupyterTarget, RuntimePlan};
use ipycodex::runtime::{
    Completeness, Ending, Execute, RuntimeEvent, RuntimeReply, RuntimeRequest, Stdin,
};
use ipycodex::text::offset::CodePoints;

use super::harness::{Harness, kernels, ok, plan};
use crate::support::peers;

#[test]
fn the_cells_of_bash_are_bash() {
    let Some(mut harness) = Harness::start("bash") else {
        return;
    };
    let info = harness.ready();
    assert_eq!((info.language.as_str(), info.banner.as_str()), ("Bash", ""));
    let able = harness.runtime().capabilities();
    assert!(
        !able.tools && !able.references && !able.snapshot && able.restart,
        "{able:?}"
    );
    assert_eq!(harness.run("x=41; echo $((x+1))"), ok("42\n"));
    assert_eq!(harness.run("echo é | tr a-z A-Z").1, Ending::Ok);
    assert_eq!(harness.run("false").1, Ending::Error);
    let found = harness.completions("ech");
    assert!(
        found
            .iter()
            .any(|one| one.text == "echo" && one.start == CodePoints(0)),
        "{found:?}"
    );
    harness.is_interrupted_in("bash -c 'echo on; exec sleep 50'");
    assert_eq!(harness.run("echo $x"), ok("41\n"));
}

/// What a kernel of Bash finds of the session: in the environment it was started with, and in that of its cells.
fn session_of(harness: &mut Harness) -> String {
    harness
        .run("tr '\\0' '\\n' < /proc/$$/environ | grep ^IPYCODEX_SESSION=; echo now $IPYCODEX_SESSION")
        .0
}

#[test]
fn a_kernel_of_any_language_is_told_of_the_session_when_it_starts_and_bash_later_too() {
    let session = |number: &str| vec![("IPYCODEX_SESSION".to_owned(), Some(number.to_owned()))];
    let Some(prefix) = kernels() else {
        return;
    };
    let (started, folder) = plan(JupyterTarget::Installed("bash".into()), &prefix);
    let started = RuntimePlan::Jupyter(started).with_environment(&session("7"));
    let mut harness = Harness::of(started, folder);
    assert_eq!(session_of(&mut harness), "IPYCODEX_SESSION=7\nnow 7\n");
    let mut there = Execute::numbered("pwd; echo $A, $IPYCODEX_SESSION".into(), 8);
    there.directory = Some("/".into());
    there.environment = session("8 o'clock");
    there.environment.push(("A".into(), None));
    let id = harness.runtime().submit(RuntimeRequest::Execute(there));
    assert_eq!(harness.told(id), ok("/\n, 8 o'clock\n"));
    let now = "IPYCODEX_SESSION=7\nnow 8 o'clock\n";
    assert_eq!(session_of(&mut harness), now);
    // Another one is started for the session of now.
    harness.calls().kill();
    harness.ready();
    let now = "IPYCODEX_SESSION=8 o'clock\nnow 8 o'clock\n";
    assert_eq!(session_of(&mut harness), now);
}

#[test]
fn the_cells_of_javascript_are_javascript_and_its_kernel_says_what_is_whole() {
    let Some(prefix) = peers::jupyter::javascript() else {
        return;
    };
    let (plan, folder) = plan(JupyterTarget::Installed("javascript".into()), &prefix);
    let mut harness = Harness::with(plan, folder);
    let info = harness.ready();
    assert_eq!(info.language, "JavaScript");
    let able = harness.runtime().capabilities();
    assert!(
        !able.tools && !able.references && !able.snapshot && able.restart,
        "{able:?}"
    );
    assert_eq!(harness.run("let x = 41; x + 1"), ok("42\n"));
    assert_eq!(harness.run("['\u{e9}', x].join()"), ok("\u{e9},41\n"));
    let (raised, ending) = harness.run("throw new Error('bad')");
    assert!(
        raised.contains("bad") && ending == Ending::Error,
        "{raised}"
    );
    let mut whole = |code: &str| {
        let told = harness.ask(RuntimeRequest::IsComplete { code: code.into() });
        matches!(told, RuntimeReply::Completeness(Completeness::Complete))
    };
    assert!(whole("x + 1") && !whole("for (const a of [1]) {"));
    let found = harness.completions("Math.ma");
    assert!(found.iter().any(|one| one.text == "max"), "{found:?}");
    let told = harness.ask(RuntimeRequest::Inspect {
        code: "Math.max".into(),
        position: CodePoints(8),
        detailed: false,
    });
    let RuntimeReply::Inspection(Some(told)) = told else {
        panic!("{told:?}");
    };
    assert!(told.for_model().contains("max"), "{told:?}");
    harness.calls().kill();
    harness.until(|event| matches!(event, RuntimeEvent::Died { .. }).then_some(()));
    assert!(harness.ready().restarted);
    assert_eq!(harness.run("x").1, Ending::Error, "it is a new one");
}

#[test]
fn a_kernel_that_is_interrupted_by_message_asks_and_changes_its_displays() {
    let Some(prefix) = peers::jupyter::typescript() else {
        return;
    };
    let (plan, folder) = plan(JupyterTarget::Installed("typescript".into()), &prefix);
    let mut harness = Harness::with(plan, folder);
    assert_eq!(harness.ready().language, "TypeScript");
    harness.run("let x: number = 41");
    harness.is_interrupted_in("console.log('on'); while (true) {}");
    assert_eq!(
        harness.run("if (x !== 41) throw new Error('gone')").1,
        Ending::Ok
    );
    let show = |kind: &str, text: &str| {
        format!(
            "await Deno.jupyter.broadcast('{kind}', {{data: {{'text/plain': '{text}'}}, metadata: {{}}, \
             transient: {{display_id: 'd'}}}});"
        )
    };
    let code = [
        show("display_data", "one"),
        show("update_display_data", "two"),
    ]
    .concat();
    harness.submit(&code, Stdin::Refuse);
    // What a cell shows, this kernel may send when the cell has ended.
    for (update, text) in [(false, "one"), (true, "two")] {
        let shown = harness.until(|event| match event {
            RuntimeEvent::Display { display, .. } => Some(display.clone()),
            _ => None,
        });
        assert_eq!(
            (shown.update, shown.bundle.text("text/plain")),
            (update, Some(text.to_owned()))
        );
    }
    let found = harness.completions("Math.ma");
    assert!(found.iter().any(|one| one.text == "max"), "{found:?}");
    let asks = "if (prompt('name? ') !== 'n\u{e9}') throw new Error('other')";
    let id = harness.submit(asks, Stdin::Ask);
    harness.answers_with("n\u{e9}");
    assert_eq!(harness.told(id).1, Ending::Ok);
}

//! Inputs of earlier sessions, as the code of a cell reads them.

use crate::support::home::Home;
use crate::support::peers;

/// What the magics of both engines stand on.
const LOOK: &str = "import sys\n\
    from _ipycodex_runner.record import Record\n\
    with Record(sys.modules['_ipycodex_runner'].host) as record:\n    \
        print(record.session, record.inputs(SESSION), len(record.inputs(0)))\n";

#[test]
fn ipythons_history_magics_reach_every_session() {
    let Some(python) = peers::python() else {
        return;
    };
    let home = Home::new();
    let cell = |code: &str| {
        let python = python.to_str().unwrap();
        home.run(&["--python", python, "-c", code], "")
    };
    cell("a = 41 + 1");
    home.demo(&["ask", "why 41?"], "");
    for (code, shown) in [
        ("%hist ~2/", "a = 41 + 1\n"),
        ("%hist -g 41", " 1/1: a = 41 + 1\n   1: %hist -g 41\n"),
        ("%hist -l 1", "%hist -g 41\n"),
        (
            "%rerun 1/1",
            "=== Executing: ===\na = 41 + 1\n=== Output: ===\n",
        ),
        ("%hist", "%hist\n"),
    ] {
        let ran = cell(code);
        assert_eq!((ran.stdout.as_str(), ran.code()), (shown, 0), "{code}");
    }
    let wrong = cell("%nosuch");
    assert_eq!(wrong.stderr.matches("UsageError").count(), 1, "{wrong:?}");
}

#[test]
fn a_cell_reads_the_record_and_finds_itself_in_it() {
    let home = Home::new();
    home.run(&["-c", "a = 1"], "");
    home.demo(&["ask", "why?"], "");
    let cells_of = |session: &str, options: &[&str]| {
        let code = LOOK.replace("SESSION", session);
        home.run(&[options, &["-c", &code]].concat(), "")
    };
    assert_eq!(cells_of("-1", &[]).stdout, "3 [] 1\n");
    assert_eq!(cells_of("-3", &[]).stdout, "4 [(1, 1, 'a = 1')] 1\n");
    let unrecorded = cells_of("1", &["--no-record"]);
    assert!(unrecorded.stderr.contains("not recorded"), "{unrecorded:?}");
}

//! Variables that are kept when a session ends, and the end itself when it takes long.

use super::resume::{engines, resumed};
use super::shell::{CTRL_C, CTRL_D, Shell, with_settings};
use crate::support::home::Home;

#[test]
fn what_leaving_waits_for_is_said_and_ctrl_c_leaves_at_once() {
    let hangs = "type('Slow', (), {'__reduce__': lambda self: time.sleep(600)})()";
    let tells =
        "import signal, time; _ = signal.signal(15, lambda *_: open('asked to leave', 'w'))";
    for (code, what, then) in [
        (
            format!("{tells}; x = {hangs}"),
            "keeping the variables",
            "variables were not kept\n",
        ),
        (
            format!("{tells}; import atexit; _ = atexit.register(time.sleep, 600)"),
            "waiting for functions that run at exit",
            "To resume: ipycodex -r 1",
        ),
    ] {
        // The time for the variables is 0.8 s: on a busy machine it can end before the key comes.
        let shell = (0..10)
            .find_map(|_| {
                let home = with_settings(r#"{"keep_variables": true}"#);
                let shell = Shell::start(home, &["--agent", "demo"], (100, 50));
                shell.cell(1, &code);
                shell.pty.send(CTRL_D);
                shell.shows(&format!("{what}; Ctrl-C leaves at once"));
                shell.pty.send(CTRL_C);
                assert_eq!(shell.pty.exit_status().exit_code(), 0);
                (!shell.text().contains("it took too long")).then_some(shell)
            })
            .expect("a Ctrl-C that comes within the limit");
        shell.shows(then);
        shell.lacks("busy until the end");
        // An interpreter that was asked would be waited for.
        assert!(!shell.home.work().join("asked to leave").exists());
    }
}

#[test]
fn ctrl_c_is_heard_from_the_moment_of_leaving() {
    let shell = Shell::new();
    let terminal = shell.pty.device().display();
    let look = format!("termios.tcgetattr(open('{terminal}'))[3] & termios.ISIG > 0");
    let tells = format!("atexit.register(lambda: print('Ctrl-C is heard:', {look}))");
    shell.cell(1, &format!("import atexit, termios; _ = {tells}"));
    assert_eq!(shell.leave(), 0);
    shell.shows("Ctrl-C is heard: True");
}

#[test]
fn variables_are_kept_at_the_end_and_brought_back_when_the_user_agrees() {
    let wide = (160, 50);
    for engine in engines() {
        let keeps = |home: Home, session: Option<&str>| {
            let mut arguments = engine.clone();
            arguments.extend(session.into_iter().flat_map(|it| ["-r".into(), it.into()]));
            Shell::start(home, &arguments, wide)
        };
        let shell = keeps(with_settings(r#"{"keep_variables": true}"#), None);
        shell.cell(1, "import sys; data, text = {'a': [1, 2]}, 'x'");
        shell.cell(2, "out = open('/dev/null')");
        assert_eq!(shell.leave(), 0);
        shell.shows("kept 2 variables (");
        shell.shows(
            " B) for `ipycodex -r 1`; left out: out (cannot pickle '_io.TextIOWrapper' object)",
        );
        let shell = keeps(shell.home, Some("1"));
        let asked = |shell: &Shell| {
            shell.pty.wait_for("▸ n no");
            shell.shows("? The variables of this session were kept ");
            shell.shows("    data  ");
            shell.shows("Bring them back?");
        };
        asked(&shell);
        shell.pty.send("y");
        shell.at(3);
        shell.shows("brought back 2 variables: data, text");
        shell.shows("not in this interpreter: sys, out");
        shell.cell(3, "data, text");
        shell.shows("Out[3]: ({'a': [1, 2]}, 'x')");
        // Another session leaves this one's as they are, and what is there stays.
        shell.at(4);
        shell.pty.send_line("%ipycodex new");
        shell.at(1);
        shell.shows("kept 2 variables (");
        shell.cell(1, "data = 'mine'");
        shell.at(2);
        shell.pty.send_line("%ipycodex resume 1");
        asked(&shell);
        shell.pty.send("y");
        shell.at(5);
        shell.shows(
            "brought back 0 variables; left out: data (a variable of that name already exists), text (",
        );
        assert_eq!(shell.leave(), 0);
        // A no loses nothing: what is not there at the end stays kept.
        let shell = keeps(shell.home, Some("1"));
        asked(&shell);
        shell.pty.send("n");
        shell.at(5);
        shell.shows("✗ not now");
        shell.cell(
            5,
            "[name for name in ('data', 'text') if name in globals()]",
        );
        shell.shows("Out[5]: []");
        assert_eq!(shell.leave(), 0);
        let shell = keeps(shell.home, Some("1"));
        asked(&shell);
        shell.pty.send("y");
        shell.at(6);
        shell.cell(6, "data, text");
        shell.shows("Out[6]: ('mine', 'x')");
        assert_eq!(shell.leave(), 0);
    }
}

#[test]
fn nothing_is_kept_unless_it_is_wanted() {
    let shell = Shell::new();
    shell.cell(1, "a = 1");
    assert_eq!(shell.leave(), 0);
    shell.lacks("kept 1 variable");
    let shell = resumed(shell.home, &["--agent".into(), "demo".into()], "1");
    shell.at(2);
    shell.shows("not in this interpreter: a");
    shell.lacks("Bring them back?");
}

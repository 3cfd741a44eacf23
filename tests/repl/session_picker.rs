//! `-r`: sessions picked from a list, named, deleted; by number and by name.

use super::recall::ran_in;
use super::shell::{CTRL_C, CTRL_R, Shell, record};
use crate::support::home::Home;
use crate::support::pty::{Pty, SIZE};
use crate::support::tmux::Tmux;

const DOWN: &str = "\x1b[B";
const CTRL_X: &str = "\x18";
const CTRL_F: &str = "\x06";

/// Sessions 1 to 3 here, 4 elsewhere.
fn home() -> Home {
    let home = Home::new();
    ran_in(&home, "", &["first = 1", "needle = 2", "third = 3"]);
    ran_in(&home, "elsewhere", &["fourth = 4"]);
    home
}

fn pick(home: Home, size: (u16, u16)) -> Shell {
    let shell = Shell::start(home, &["--agent", "demo", "-r"], size);
    shell.pty.wait_for("Resume session");
    chosen(&shell.pty, 3);
    shell
}

/// Waits until this session is the chosen one.
fn chosen(pty: &Pty, id: i64) {
    pty.wait_until(&format!("session {id} is chosen"), |screen| {
        let line = format!("> {id:>6}  ");
        screen.contents().lines().any(|row| row.starts_with(&line))
    });
}

fn sessions(home: &Home) -> Vec<i64> {
    let record = record(&home.history());
    let mut rows = record
        .prepare("select distinct session from history order by 1")
        .unwrap();
    let rows = rows.query_map([], |row| row.get(0));
    rows.unwrap().map(Result::unwrap).collect()
}

#[test]
fn enter_resumes_what_was_chosen() {
    for size in [SIZE, (40, 12)] {
        let shell = pick(home(), size);
        shell.pty.send(DOWN);
        chosen(&shell.pty, 2);
        shell.pty.wait_for("In [1]: needle = 2");
        shell.pty.send("\r");
        shell.cell(2, "7");
        shell.shows("Out[2]: 7");
        shell.lacks("Resume session");
        assert_eq!(shell.leave(), 0);
        shell.shows("To resume: ipycodex -r 2");
    }
}

#[test]
fn cancelling_starts_a_fresh_session_without_a_word() {
    for key in ["\x1b", CTRL_C, "\x07", "\x04", "abc\x1b"] {
        let shell = pick(home(), SIZE);
        shell.pty.send(key);
        shell.at(1);
        assert_eq!(shell.text().trim_end(), "In [1]:");
        shell.cell(1, "9");
        assert_eq!(shell.leave(), 0);
        shell.shows("To resume: ipycodex -r 5");
    }
}

#[test]
fn without_sessions_it_says_so_and_starts_a_fresh_one() {
    let home = Home::new();
    let shell = Shell::start(home, &["--agent", "demo", "-r"], SIZE);
    shell.at(1);
    shell.shows("No sessions found for this directory.");
    shell.cell(1, "1");
    assert_eq!(shell.leave(), 0);
}

#[test]
fn typing_narrows_and_tab_shows_all_directories() {
    let shell = pick(home(), SIZE);
    // In the others no such letter stands before the sign.
    shell.pty.send("need=");
    chosen(&shell.pty, 2);
    shell.pty.wait_for("1/3");
    shell.pty.wait_gone("third");
    shell.pty.send("\x15\t");
    chosen(&shell.pty, 4);
    shell.pty.wait_for("all directories");
    shell.pty.send("\r");
    shell.at(2);
}

#[test]
fn a_search_looks_into_everything_recorded() {
    let home = Home::new();
    ran_in(&home, "", &["hidden = 'gold'", "x = 1", "y = 2"]);
    let shell = pick(home, SIZE);
    shell.pty.send("gold");
    shell.pty.wait_for("> gold");
    shell.pty.send(CTRL_F);
    chosen(&shell.pty, 1);
    shell.pty.wait_for("[1] hidden = 'gold'");
    shell.pty.send("\r");
    shell.at(2);
}

#[test]
fn a_session_is_named_and_resumed_by_its_name() {
    let shell = pick(home(), SIZE);
    shell.pty.send(DOWN);
    chosen(&shell.pty, 2);
    shell.pty.send(&format!("{CTRL_R}my work"));
    shell.pty.wait_for("Name: my work");
    shell.pty.send("\r");
    shell.pty.wait_for("session 2 is named `my work`");
    shell.pty.wait_for("[my work] needle = 2");
    shell.pty.send(CTRL_C);
    shell.at(1);
    assert_eq!(shell.leave(), 0);
    let listed = shell.home.run(&["sessions"], "");
    assert!(listed.stdout.contains("[my work]"), "{}", listed.stdout);
    let again = Shell::start(shell.home, &["--agent", "demo", "-r", "my work"], SIZE);
    again.cell(2, "5");
    assert_eq!(again.leave(), 0);
    again.shows("To resume: ipycodex -r 2");
}

#[test]
fn a_deletion_is_confirmed_and_complete() {
    let home = home();
    let shell = pick(home, SIZE);
    shell.pty.send(DOWN);
    chosen(&shell.pty, 2);
    shell.pty.send(CTRL_X);
    shell
        .pty
        .wait_for("Delete session 2 and everything in it? (y/N)");
    shell.pty.send("n");
    shell.pty.wait_for("session 2 is kept");
    assert_eq!(sessions(&shell.home), [1, 2, 3, 4]);
    shell.pty.send(CTRL_X);
    shell.pty.wait_for("(y/N)");
    shell.pty.send("y");
    shell.pty.wait_for("session 2 deleted");
    assert_eq!(sessions(&shell.home), [1, 3, 4]);
    chosen(&shell.pty, 1);
    shell.pty.send("\r");
    shell.at(2);
}

#[test]
fn a_session_that_is_open_elsewhere_is_not_deleted() {
    let home = home();
    let other = Pty::spawn(&home, &["--agent", "demo", "-r", "3"], SIZE);
    other.wait_for("In [2]:");
    let shell = pick(home, SIZE);
    shell.pty.send(&format!("{CTRL_X}y"));
    shell
        .pty
        .wait_for("not deleted: session 3 is open in another ipycodex");
    assert_eq!(sessions(&shell.home), [1, 2, 3, 4]);
    shell.pty.send(CTRL_C);
    shell.at(1);
    drop(other);
}

#[test]
fn a_resized_terminal_is_drawn_anew() {
    let shell = pick(home(), SIZE);
    shell.pty.resize(40, 10);
    shell.pty.wait_until("drawn for 40 columns", |screen| {
        screen
            .contents()
            .lines()
            .any(|row| row.starts_with(">      3  "))
            && screen.contents().contains("Start         Last prompt")
    });
    shell.pty.resize(100, 30);
    shell
        .pty
        .wait_for("Start                  Cmds  Last prompt");
    shell.pty.send("\r");
    shell.at(2);
}

#[test]
fn a_signal_while_picking_gives_the_terminal_back() {
    let shell = pick(home(), SIZE);
    // Held, or the terminal would be a new one by the time it is looked at.
    let _device = shell.pty.open_device();
    shell.pty.signal(rustix::process::Signal::TERM);
    shell.pty.exit_status();
    shell
        .pty
        .wait_until("the main screen", |screen| !screen.alternate_screen());
    let canonical = rustix::termios::LocalModes::ICANON;
    assert!(shell.pty.termios().local_modes.contains(canonical));
    assert_eq!(sessions(&shell.home), [1, 2, 3, 4]);
}

#[test]
fn it_works_in_tmux() {
    let home = home();
    let Some(tmux) = Tmux::start(&home, &["--agent", "demo", "-r"], SIZE) else {
        return;
    };
    chosen(&tmux.pty, 3);
    tmux.keys(&["Down"]);
    chosen(&tmux.pty, 2);
    tmux.keys(&["Enter"]);
    tmux.pty.wait_for("In [2]:");
    tmux.keys(&["draft"]);
    tmux.pty.wait_for("In [2]: draft");
    tmux.keys(&["C-r"]);
    tmux.pty.wait_for("(reverse-search)");
    tmux.keys(&["thi"]);
    tmux.pty.wait_for("> third = 3");
    tmux.keys(&["Escape"]);
    tmux.pty.wait_for("In [2]: draft");
    tmux.keys(&["C-r"]);
    tmux.pty.wait_for("(reverse-search)");
    tmux.keys(&["thi"]);
    tmux.pty.wait_for("> third = 3");
    tmux.keys(&["Enter"]);
    tmux.pty.at_line("In [2]: third = 3");
    let pane = tmux.pane();
    assert!(!pane.contains("reverse-search"), "{pane}");
}

#[test]
fn what_cannot_be_resumed_is_said() {
    let home = home();
    for (arguments, code, said) in [
        (&["-r", "99"][..], 1, "Session 99 not found"),
        (&["-r", "nobody"], 1, "Session nobody not found"),
        (
            &["-r"],
            2,
            "`-r` needs the number or name of a session here: there is no list to pick it from",
        ),
        (
            &["-r", "--agent", "demo", "-c", "1"],
            2,
            "`-r` needs the number or name of a session",
        ),
    ] {
        let ran = home.run(arguments, "");
        assert_eq!(ran.code(), code, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{arguments:?}: {}", ran.stderr);
        assert!(
            ran.stderr.contains("ipycodex sessions --all"),
            "{}",
            ran.stderr
        );
    }
    assert_eq!(sessions(&home), [1, 2, 3, 4]);
}

#[test]
fn a_running_shell_lets_pick_the_session_to_go_on_with() {
    for size in [SIZE, (40, 12)] {
        let shell = Shell::start(home(), &["--agent", "demo"], size);
        shell.cell(1, "kept = 5");
        shell.at(2);
        shell.pty.send_line("%ipycodex resume");
        shell.pty.wait_for("Resume session");
        // The session that goes on, number 5, is not offered.
        chosen(&shell.pty, 3);
        shell.pty.send("\x1b");
        shell.at(3);
        assert!(
            shell
                .text()
                .trim_end()
                .ends_with("In [2]: %ipycodex resume\n\nIn [3]:"),
            "{}",
            shell.text()
        );
        shell.pty.send_line("%ipycodex resume");
        shell.pty.wait_for("Resume session");
        chosen(&shell.pty, 3);
        shell.pty.send(DOWN);
        chosen(&shell.pty, 2);
        shell.pty.send("\r");
        shell.shows("session 2");
        shell.cell(2, "kept + 1");
        shell.shows("Out[2]: 6");
        assert_eq!(shell.leave(), 0);
        shell.shows("To resume: ipycodex -r 2");
    }
}

#[test]
fn a_running_shell_without_other_sessions_says_so() {
    let shell = Shell::new();
    shell.cell(1, "%ipycodex resume");
    shell.shows("No sessions found for this directory.");
    shell.lacks("Resume session");
    assert_eq!(shell.leave(), 0);
}

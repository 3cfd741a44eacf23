//! The doors of shells: who is let in, which shell is meant, what is left when one ends.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;

use serde_json::json;

use super::client::{Client, knock, socket};
use crate::repl::shell::Shell;
use crate::support::await_true;
use crate::support::home::Home;

fn open() -> Shell {
    let shell = Shell::new();
    await_true("a door", || socket(&shell.home, shell.pty.pid()).exists());
    shell
}

#[test]
fn the_files_of_a_door_are_the_users_own_and_go_with_the_shell() {
    let shell = open();
    let path = socket(&shell.home, shell.pty.pid());
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    assert_eq!(mode(&path.with_extension("key")), 0o600);
    shell.cell(1, "1");
    shell.at(2);
    assert_eq!(mode(&path), 0o600);
    // Nothing of it is on the network.
    let process = shell.pty.pid();
    for table in ["tcp", "tcp6"] {
        let listed = std::fs::read_to_string(format!("/proc/{process}/net/{table}")).unwrap();
        let sockets: Vec<&str> = listed
            .lines()
            .filter(|line| line.contains(" 0A "))
            .collect();
        let ours = std::fs::read_dir(format!("/proc/{process}/fd"))
            .unwrap()
            .flatten();
        let ours: Vec<String> = ours
            .filter_map(|fd| std::fs::read_link(fd.path()).ok())
            .map(|target| target.display().to_string())
            .collect();
        for socket in sockets {
            let inode = socket.split_whitespace().nth(9).unwrap();
            assert!(!ours.contains(&format!("socket:[{inode}]")), "{socket}");
        }
    }
    assert_eq!(shell.leave(), 0);
    assert!(!path.exists() && !path.with_extension("key").exists());
}

#[test]
fn whoever_does_not_know_the_token_is_refused() {
    let shell = open();
    let process = shell.pty.pid();
    for line in [
        "",
        "{}",
        "not json",
        &json!({"token": "0".repeat(64)}).to_string(),
    ] {
        let said = knock(&shell.home, process, line);
        assert!(said.contains("the token is wrong"), "{line:?}: {said}");
    }
    let long = "x".repeat(100_000);
    assert!(knock(&shell.home, process, &long).contains("the token is wrong"));
    let key = socket(&shell.home, process).with_extension("key");
    let token = std::fs::read_to_string(key).unwrap();
    let said = knock(&shell.home, process, &json!({"token": token}).to_string());
    assert!(
        said.contains("\"session\":1") && said.contains("\"inside\":false"),
        "{said}"
    );
    shell.leave();
}

#[test]
fn a_shell_that_was_killed_leaves_nothing_that_is_taken_for_one() {
    let shell = open();
    let path = socket(&shell.home, shell.pty.pid());
    shell.pty.signal(rustix::process::Signal::KILL);
    shell.pty.exit_status();
    assert!(path.exists());
    let (code, said) = Client::start(&shell.home, &["--here"]).leave();
    assert!(code == 1 && said.contains("no shell runs in"), "{said}");
    assert!(!path.exists() && !path.with_extension("key").exists());
}

#[test]
fn a_shell_that_a_signal_ends_leaves_nothing_and_the_next_takes_away_what_a_killed_one_left() {
    use rustix::process::Signal;
    for signal in [Signal::TERM, Signal::HUP] {
        let shell = open();
        let path = socket(&shell.home, shell.pty.pid());
        shell.pty.signal(signal);
        shell.pty.exit_status();
        assert!(!path.exists() && !path.with_extension("key").exists());
    }
    let killed = open();
    let path = socket(&killed.home, killed.pty.pid());
    killed.pty.signal(Signal::KILL);
    killed.pty.exit_status();
    let Shell { home, .. } = killed;
    let other = Shell::of(home);
    await_true("a clean folder", || {
        !path.exists() && !path.with_extension("key").exists()
    });
    assert!(socket(&other.home, other.pty.pid()).exists());
    other.leave();
}

#[test]
fn a_session_that_is_not_open_is_named_with_those_that_are() {
    let home = Home::new();
    let (code, said) = Client::start(&home, &["--session", "7"]).leave();
    assert_eq!(code, 1);
    assert!(
        said.contains("no running shell has session 7 open"),
        "{said}"
    );
    assert!(said.contains("ipycodex -r 7"), "{said}");
    let shell = Shell::of(home);
    await_true("a door", || socket(&shell.home, shell.pty.pid()).exists());
    let (code, said) = Client::start(&shell.home, &["--session", "7"]).leave();
    assert!(
        code == 1 && said.contains("sessions open in running shells: 1 in `"),
        "{said}"
    );
    let (code, said) = Client::start(&shell.home, &["--session", "nobody"]).leave();
    assert!(
        code == 1 && said.contains("Session nobody not found"),
        "{said}"
    );
    let (code, said) = Client::start(&shell.home, &["--shell", "1"]).leave();
    assert!(
        code == 1 && said.contains("there is no running shell 1"),
        "{said}"
    );
    shell.leave();
}

#[test]
fn a_folder_that_others_can_write_is_refused_on_both_sides() {
    let home = Home::new();
    let folder = home.path().join("run/ipycodex");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).unwrap();
    let (code, said) = Client::start(&home, &["--here"]).leave();
    assert!(
        code == 1 && said.contains("can be written by other users"),
        "{said}"
    );
    // Wide enough: where a terminal is slow to tell its cursor, a message of two rows may be painted over.
    let shell = Shell::start(home, &["--agent", "demo"], (240, 24));
    shell.at(1);
    shell.shows("can be written by other users");
    shell.leave();
}

#[test]
fn a_shell_that_ends_hangs_up_on_its_clients() {
    let shell = open();
    let mut client = Client::greeted(&shell.home, &["--here"]);
    assert_eq!(client.call("pyrun", json!({"code": "1"})).0, "1");
    shell.leave();
    let ended = client.child.wait().unwrap();
    assert_eq!(ended.code(), Some(1));
    let (_, said) = client.leave();
    assert!(said.contains("has ended"), "{said}");
}

/// What a process of another user is told; `None` (and a passed test) where there can be none.
fn knocked_by_another(path: &std::path::Path) -> Option<String> {
    let script = "use IO::Socket::UNIX; \
                  my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or do { print \"$!\"; exit }; \
                  my $said = <$s>; print $said;";
    let mut command = std::process::Command::new("/usr/bin/perl");
    command.args(["-e", script]).arg(path).uid(65534).gid(65534);
    match command.output() {
        Ok(output) if output.status.success() => {
            Some(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        other => {
            eprintln!("skipped: nobody else can be: {other:?}");
            None
        }
    }
}

#[test]
fn another_user_is_kept_out_by_the_folder_and_refused_by_the_shell() {
    let shell = open();
    let path = socket(&shell.home, shell.pty.pid());
    let Some(said) = knocked_by_another(&path) else {
        return;
    };
    assert!(said.contains("Permission denied"), "{said}");
    // Even where somebody opens all doors on the way.
    let everybody = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let mut above = path.parent().unwrap();
    while above.starts_with(shell.home.path()) {
        everybody(above, 0o755);
        above = above.parent().unwrap();
    }
    everybody(&path, 0o666);
    let said = knocked_by_another(&path).unwrap();
    assert!(said.contains("belongs to another user"), "{said}");
    shell.leave();
}

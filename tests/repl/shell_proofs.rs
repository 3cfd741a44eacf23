//! Shell mode with what users do in shells: virtual environments, programs that take the screen, a shell that leaves at
//! once; and what the model then sees of each, at the endpoint of the real Codex.

use super::shell::{CTRL_Z, Shell};
use super::shell_mode::{
    ALT_S, BASH, Own, ZSH, at, command, home, in_shell_mode, recorded, with_both,
};
use crate::support::home::Home;
use crate::support::peers;
use crate::support::pty::SIZE;
use crate::support::responses::{Endpoint, Reply};

with_both!(
    a_virtual_environment_is_active_until_it_is_left,
    programs_take_the_screen_and_give_it_back,
    jobs_stop_go_on_in_the_background_and_come_back,
    the_mode_is_entered_by_a_command_and_a_bang_is_for_one_cell,
    a_shell_that_ends_at_once_is_named,
    jobs_count_from_one_and_the_last_word_is_kept_in_commands_of_several_lines,
    the_model_sees_each_command_with_its_status_and_what_it_said,
);

fn a_virtual_environment_is_active_until_it_is_left(own: Own) {
    let shell = in_shell_mode(home(own, ""));
    let python = peers::plain_python();
    let make = format!(
        "{} -m venv --without-pip env && echo made",
        python.display()
    );
    command(&shell, 1, &make);
    command(&shell, 2, ". env/bin/activate");
    command(
        &shell,
        3,
        "python -c 'import sys; print(sys.prefix[-4:], sys.prefix != sys.base_prefix)'",
    );
    shell.shows("\n/env True");
    command(
        &shell,
        4,
        "echo at ${VIRTUAL_ENV##*/}; deactivate; echo left ${VIRTUAL_ENV:-it}",
    );
    shell.shows("\nat env\nleft it");
    shell.lacks("(env)");
}

fn programs_take_the_screen_and_give_it_back(own: Own) {
    let shell = in_shell_mode(home(own, ""));
    let lines: String = (0..200).map(|line| format!("line {line}\n")).collect();
    shell.home.write("long.txt", lines);
    for (number, line, shown, leave) in [
        (1, "less long.txt", "line 20", "q"),
        (2, "top", "load average", "q"),
        (3, "vim -u NONE -N long.txt", "line 20", ":q!\r"),
        (4, "htop", "F10Quit", "q"),
    ] {
        if !is_there(line) {
            command(&shell, number, "true");
            continue;
        }
        at(&shell, number);
        shell.pty.send_line(line);
        shell.pty.wait_for(shown);
        shell.pty.send(leave);
        at(&shell, number + 1);
    }
    command(
        &shell,
        5,
        "stty -a | grep -o -- '-\\?icanon'; echo $((COLUMNS > 0))",
    );
    shell.shows("\nicanon\n1");
    let rows = recorded(&shell);
    assert!(rows.iter().take(4).all(|row| row.2 == Some(0)), "{rows:?}");
    assert!(
        rows.iter().take(4).all(|row| !row.3.contains('~')),
        "{rows:?}"
    );
}

fn jobs_stop_go_on_in_the_background_and_come_back(own: Own) {
    let shell = in_shell_mode(home(own, ""));
    at(&shell, 1);
    // It forks nothing: a shell that is stopped between fork and exec does not stop.
    let waits = "mkfifo go; sh -c 'echo begun; read line < go; echo gone'";
    shell.pty.send_line(waits);
    shell.pty.wait_for("\nbegun");
    shell.pty.send(CTRL_Z);
    at(&shell, 2);
    command(
        &shell,
        2,
        "jobs > listed; grep -c -i 'stopped\\|suspended' listed",
    );
    command(&shell, 3, "bg; jobs > listed; grep -c -i running listed");
    at(&shell, 4);
    shell.pty.send_line("fg %1");
    shell.pty.wait_until("the job in front", |screen| {
        screen.contents().matches("read line < go").count() > 3
    });
    shell.home.write("go", "\n");
    command(&shell, 5, "echo status $?; jobs > listed; grep -c . listed");
    shell.shows("\ngone\n");
    shell.shows("\nstatus 0\n0\n");
    // An editor is put aside and taken up again.
    at(&shell, 6);
    shell.pty.send_line("vim -u NONE -N note");
    shell.pty.wait_for("[New]");
    shell.pty.send("ihalf\x1b\x1a");
    at(&shell, 7);
    command(&shell, 7, "echo between; ls note");
    shell.pty.send_line("fg");
    shell
        .pty
        .wait_until("vim again", |screen| screen.contents().starts_with("half"));
    shell.pty.send(":wq\r");
    command(&shell, 9, "cat note");
    shell.shows("\nhalf\n");
    let rows = recorded(&shell);
    assert_eq!((rows[1].3.as_str(), rows[2].2), ("1", Some(0)), "{rows:?}");
}

fn the_mode_is_entered_by_a_command_and_a_bang_is_for_one_cell(own: Own) {
    let shell = Shell::of(home(own, "mine=kept\n"));
    shell.pty.send_line("%ipycodex shell");
    command(&shell, 2, "x=1; echo $mine in {1+1}");
    shell.shows("\nkept in {1+1}\n");
    // IPython's own: names of the interpreter count, those of the shell do not.
    command(&shell, 3, "!echo in {1+1} ${x-a process of its own}");
    shell.shows("\nin 2 a process of its own\n");
    shell.pty.send_line("%ipycodex shell");
    shell.cell(5, "6 * 7");
    shell.shows("Out[5]: 42");
    assert_eq!(recorded(&shell).len(), 1);
}

/// The program a command names can be had.
fn is_there(command: &str) -> bool {
    let name = command.split(' ').next().unwrap_or_default();
    let there = std::path::Path::new("/usr/bin").join(name).exists();
    if !there {
        eprintln!("skipped: this machine has no {name}");
    }
    there
}

fn a_shell_that_ends_at_once_is_named(own: Own) {
    let mut home = home(own, "");
    let name = own.path.trim_start_matches("/bin/");
    home.install_script(name, "exit 7");
    let path = home.path().join("bin").join(name);
    assert!(path.exists(), "{path:?}");
    home.set("SHELL", &path);
    let shell = Shell::start(home, &["--agent", "demo"], (160, 40));
    shell.at(1);
    shell.pty.send(ALT_S);
    command(&shell, 1, "echo never");
    shell.shows(&format!("{name}` ended at once (exit code 7)"));
    shell.lacks("\nnever");
    shell.pty.send(ALT_S);
    shell.cell(2, "6 * 7");
    shell.shows("Out[2]: 42");
}

fn jobs_count_from_one_and_the_last_word_is_kept_in_commands_of_several_lines(own: Own) {
    let shell = in_shell_mode(home(own, ""));
    let mut number = 1;
    let mut next = |text: &str| {
        command(&shell, number, &format!("\x1b[200~{text}\x1b[201~"));
        number += 1;
    };
    for (text, name) in [
        ("sleep 300 &\rtrue two lines", "lines"),
        ("sleep 300 & # it's\r# a comment\rtrue a comment", "comment"),
        (
            "cat <<END > /dev/null && sleep 300 &\rin it\rEND\rtrue a document",
            "document",
        ),
        (
            "for i in 1 2; do\r  (exit $i)\rdone; sleep 300 &\rtrue a loop",
            "loop",
        ),
    ] {
        next(text);
        next("echo \"kept $_, $(jobs %1 | grep -c sleep) is first\"");
        shell.shows(&format!("\nkept {name}, 1 is first"));
        next("kill %1; wait");
    }
    // To us this document has an end, to the shell it has none: it ends with the text.
    next("cat <<END\r\tEND");
    next("echo 'a name #'; echo again # it's");
    shell.shows("\na name #\nagain\n");
    // A command that cannot be read says so, and none of it is run twice.
    next("echo once >> times\r}\r{ echo twice >> times\r}");
    next("grep -c . times || true");
    shell.lacks("__ipycodex");
    let rows = recorded(&shell);
    assert!(rows[12].3.ends_with("END"), "{rows:?}");
    assert!(
        ["1", "grep: times: No such file or directory"].contains(&rows[15].3.as_str()),
        "{rows:?}"
    );
}

fn the_model_sees_each_command_with_its_status_and_what_it_said(own: Own) {
    let Some(codex) = peers::codex() else {
        return;
    };
    let settings = "printf 'really? '; read -r answer\nfor i in {1..2000}; do echo flood; done\nPS1='mine> '\n\
                    alias hello='echo hello'\n";
    for settings in [Some(settings), None] {
        let endpoint = Endpoint::script(vec![Reply::text("seen")]);
        let home: Home = home(own, settings.unwrap_or_default());
        if settings.is_none() {
            std::fs::remove_file(home.path().join("home").join(own.settings)).unwrap();
        }
        endpoint.write_home(&home.codex(), "gpt-5.5");
        home.install("codex", &codex);
        let shell = Shell::start(home, &["--agent", "codex"], SIZE);
        shell.at(1);
        shell.pty.send(ALT_S);
        at(&shell, 1);
        shell.pty.send_line("alias | grep -c hello= ");
        if settings.is_some() {
            shell.pty.wait_for("really? ");
            shell.pty.send_line("yes");
        }
        at(&shell, 2);
        command(&shell, 2, "mkdir -p a && cd a && (exit 3)");
        command(
            &shell,
            3,
            "printf '\\033[31mred\\033[0m & <b>\\n'; stty raw -echo",
        );
        at(&shell, 4);
        shell.pty.send_line("vim -u NONE -N new.txt");
        shell.pty.wait_for("[New]");
        shell.pty.send("iwritten\x1b:wq\r");
        command(&shell, 5, "cat new.txt");
        shell.pty.send(ALT_S);
        shell.at(6);
        shell.pty.send_line(".what did I do?");
        shell.at(7);
        shell.shows("seen");
        let seen = endpoint.requests()[0]["input"].to_string();
        let (exit, hello) = match settings {
            Some(_) => (0, 1),
            None => (1, 0),
        };
        let first = format!(
            "<shell cmd=\\\"alias | grep -c hello=\\\" exit=\\\"{exit}\\\">{hello}</shell>"
        );
        for part in [
            first.as_str(),
            "<shell cmd=\\\"mkdir -p a &amp;&amp; cd a &amp;&amp; (exit 3)\\\" exit=\\\"3\\\"></shell>",
            "exit=\\\"0\\\">red &amp; &lt;b&gt;</shell>",
            "<shell cmd=\\\"cat new.txt\\\" exit=\\\"0\\\">written</shell>",
            "<shell cmd=\\\"vim -u NONE -N new.txt\\\" exit=\\\"0\\\">",
        ] {
            assert!(seen.contains(part), "{part}\n{seen}");
        }
        assert!(!seen.contains("flood") && !seen.contains("mine>"), "{seen}");
        shell.leave();
    }
}

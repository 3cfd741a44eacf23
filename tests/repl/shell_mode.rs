//! Shell mode: the user's own bash or zsh at the prompt, what it keeps and hands to programs, what is recorded of it.

use super::shell::{CTRL_C, CTRL_D, CTRL_Z, Shell, UP};
use crate::support::await_true;
use crate::support::home::Home;
use crate::support::pty::SIZE;

pub(super) const ALT_S: &str = "\x1bs";

/// A shell that users have.
#[derive(Clone, Copy)]
pub(super) struct Own {
    pub(super) path: &'static str,
    pub(super) settings: &'static str,
    /// What begins a cell of a notebook that it runs.
    magic: &'static str,
    /// What it says of a job that Ctrl-Z stops, and of one that goes on.
    stopped: &'static str,
    goes_on: &'static str,
}

pub(super) const BASH: Own = Own {
    path: "/bin/bash",
    settings: ".bashrc",
    magic: "%%bash",
    stopped: "Stopped",
    goes_on: "fg\nsh -c",
};

pub(super) const ZSH: Own = Own {
    path: "/bin/zsh",
    settings: ".zshrc",
    magic: "%%script zsh",
    stopped: "suspended",
    goes_on: "continued",
};

/// A command that tells which shell runs it.
const SHELLS_OWN: &str = "echo ${ZSH_VERSION:+zsh}${BASH_VERSION:+bash}";

/// Each test with each shell.
macro_rules! with_both {
    ($($test:ident),* $(,)?) => {
        mod bash {$(
            #[test]
            fn $test() {
                super::$test(super::BASH);
            }
        )*}
        mod zsh {$(
            #[test]
            fn $test() {
                match std::path::Path::new(super::ZSH.path).exists() {
                    true => super::$test(super::ZSH),
                    false => eprintln!("skipped: this machine has no {}", super::ZSH.path),
                }
            }
        )*}
    };
}
pub(super) use with_both;

with_both!(
    a_shell_keeps_what_a_shell_keeps_and_the_interpreter_follows_it,
    a_command_its_status_and_its_output_are_recorded_and_told,
    ctrl_c_ends_the_command_and_ctrl_z_stops_its_job,
    a_program_has_the_whole_terminal_and_leaves_nothing_behind,
    what_is_typed_ahead_is_read_by_the_command_or_by_the_next_prompt,
    settings_that_ask_print_without_end_or_leave_are_survived,
    a_shell_that_ends_is_followed_by_a_new_one,
    leaving_with_jobs_is_warned_of_once,
    earlier_commands_come_back_as_they_were_typed_and_are_saved_as_cells,
    files_and_programs_complete_and_clear_clears,
    a_line_is_what_it_is_at_the_shells_own_prompt,
);

/// A home whose user has this shell, with these settings of theirs.
pub(super) fn home(own: Own, settings: &str) -> Home {
    let mut home = Home::new();
    home.set("SHELL", own.path);
    std::fs::write(home.path().join("home").join(own.settings), settings).unwrap();
    home
}

/// At the first prompt of shell mode.
pub(super) fn in_shell_mode(home: Home) -> Shell {
    let shell = Shell::start(home, &["--agent", "demo"], SIZE);
    shell.at(1);
    shell.pty.send(ALT_S);
    at(&shell, 1);
    shell
}

/// Waits for the prompt of shell mode with this number.
pub(super) fn at(shell: &Shell, number: u32) {
    shell.pty.at_line(&format!("$ [{number}]:"));
}

/// Types a command, Enter, and waits for the prompt after it.
pub(super) fn command(shell: &Shell, number: u32, command: &str) {
    at(shell, number);
    shell.pty.send_line(command);
    at(shell, number + 1);
}

/// What the record holds of commands, once all have ended: number, text, status, output.
pub(super) fn recorded(shell: &Shell) -> Vec<(u32, String, Option<i32>, String)> {
    let record = shell.record();
    await_true("the ends of all commands in the record", || {
        let running =
            "select count(*) from ipycodex_entries where shell is not null and state = 'running'";
        let count = record.query_row(running, [], |row| row.get::<_, u32>(0));
        count.is_ok_and(|count| count == 0)
    });
    let select = "select e.line, e.shell, e.exit, coalesce(o.output, '') from ipycodex_entries e
        left join output_history o using (session, line) where e.shell is not null order by e.line";
    let mut rows = record.prepare(select).unwrap();
    let rows = rows.query_map([], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
    });
    rows.unwrap().map(Result::unwrap).collect()
}

fn a_shell_keeps_what_a_shell_keeps_and_the_interpreter_follows_it(own: Own) {
    let shell = in_shell_mode(home(
        own,
        "alias greet='echo hello from'\nexport KNOWN=settings\n",
    ));
    command(&shell, 1, "greet $KNOWN; mkdir -p deep/er");
    shell.shows("hello from settings");
    command(
        &shell,
        2,
        "cd deep/er && export MINE=5; count() { echo ${#1} letters; }",
    );
    command(&shell, 3, "count four$MINE; false");
    shell.shows("5 letters");
    command(&shell, 4, "echo status $?");
    shell.shows("status 1");
    shell.pty.send(ALT_S);
    shell.cell(5, "import os; os.path.basename(os.getcwd())");
    shell.shows("Out[5]: 'er'");
    shell.cell(6, "os.chdir('..')");
    shell.pty.send(ALT_S);
    command(&shell, 7, "echo now in ${PWD##*/}");
    shell.shows("now in deep");
}

fn a_command_its_status_and_its_output_are_recorded_and_told(own: Own) {
    let shell = in_shell_mode(home(own, ""));
    command(
        &shell,
        1,
        "printf '\\033[31mred\\033[0m <tag>\\n'; (exit 7)",
    );
    command(&shell, 2, "for i in 1 2; do\n  echo \"line $i\"\ndone");
    let expected = [
        (
            1,
            "printf '\\033[31mred\\033[0m <tag>\\n'; (exit 7)".to_owned(),
            Some(7),
            "red <tag>".to_owned(),
        ),
        (
            2,
            "for i in 1 2; do\n  echo \"line $i\"\ndone".to_owned(),
            Some(0),
            "line 1\nline 2".to_owned(),
        ),
    ];
    assert_eq!(recorded(&shell), expected);
    shell.pty.send_line("%ipycodex context");
    at(&shell, 4);
    let text = shell.text().replace("\n", "");
    assert!(
        text.contains("exit=\"7\">red &lt;tag&gt;</shell>"),
        "{text}"
    );
    assert!(
        text.contains("exit=\"0\">line 1line 2</shell></context>"),
        "{text}"
    );
}

fn ctrl_c_ends_the_command_and_ctrl_z_stops_its_job(own: Own) {
    let shell = in_shell_mode(home(own, ""));
    at(&shell, 1);
    shell
        .pty
        .send_line("x=1; sh -c 'echo begun; exec sleep 600'");
    shell.pty.wait_for("\nbegun");
    shell.pty.send(CTRL_C);
    command(&shell, 2, "echo status $? x $x");
    shell.shows("status 130 x 1");
    shell.pty.send_line("echo loops; while :; do :; done");
    shell.pty.wait_for("\nloops");
    shell.pty.send(CTRL_C);
    at(&shell, 4);
    shell
        .pty
        .send_line("sh -c 'echo reading; exec cat > typed'");
    shell.pty.wait_for("\nreading");
    shell.pty.send_line("one");
    // The key takes with it what has not been read.
    let typed = shell.home.work().join("typed");
    await_true("the line in the file", || {
        std::fs::read_to_string(&typed).is_ok_and(|text| text == "one\n")
    });
    shell.pty.send(CTRL_Z);
    at(&shell, 5);
    shell.shows(own.stopped);
    command(&shell, 5, "jobs");
    shell.shows("\n[1]");
    shell.pty.send_line("fg");
    shell.pty.wait_for(own.goes_on);
    shell.pty.send_line("two");
    shell.pty.send("\x04");
    command(&shell, 7, "paste -s -d+ typed");
    shell.shows("one+two");
}

fn a_program_has_the_whole_terminal_and_leaves_nothing_behind(own: Own) {
    let shell = in_shell_mode(home(own, ""));
    at(&shell, 1);
    shell.pty.send_line("vim -u NONE -N note");
    shell.pty.wait_for("[New]");
    shell.pty.send("iwritten in vim\x1b:wq\r");
    command(&shell, 2, "cat note; stty raw -echo");
    shell.shows("written in vim");
    command(&shell, 3, "echo still a terminal");
    shell.shows("still a terminal");
    let rows = recorded(&shell);
    assert!(!rows[0].3.contains('~'), "{rows:?}");
}

fn what_is_typed_ahead_is_read_by_the_command_or_by_the_next_prompt(own: Own) {
    let shell = in_shell_mode(home(own, ""));
    at(&shell, 1);
    shell
        .pty
        .send_line("echo begun; read -r line; sleep 0.3; echo got $line");
    shell.pty.wait_for("\nbegun");
    shell.pty.send_line("for the command");
    shell.pty.send_line("echo prompt $((1 + 1))");
    shell.pty.send("half");
    shell.pty.at_line("$ [3]: half");
    // The terminal echoes `half`, before the output or after it.
    shell.shows("got for the command");
    shell.shows("prompt 2");
}

fn settings_that_ask_print_without_end_or_leave_are_survived(own: Own) {
    let asks = in_shell_mode(home(
        own,
        "printf 'update? '; read -r answer\nmine() { PS1='mine> '; }; PROMPT_COMMAND=mine; precmd_functions=(mine)\n",
    ));
    at(&asks, 1);
    asks.pty.send_line("echo answered $answer");
    asks.pty.wait_for("update? ");
    asks.pty.send_line("no");
    at(&asks, 2);
    asks.shows("answered no");
    asks.lacks("mine> ");
    assert_eq!(recorded(&asks)[0].3.lines().last(), Some("answered no"));

    let floods = in_shell_mode(home(
        own,
        "for i in {1..20000}; do echo flood flood flood flood; done\n",
    ));
    command(&floods, 1, "echo after the flood");
    floods.shows("after the flood");
    assert_eq!(recorded(&floods)[0].3, "after the flood");

    let leaves = in_shell_mode(home(own, "exit 4\n"));
    command(&leaves, 1, "echo here all the same");
    let name = own.path.trim_start_matches("/bin/");
    leaves.shows(&format!(
        "{name} ended (exit code 4) while it read its settings; it is started without them"
    ));
    leaves.shows("\nhere all the same");

    let sleeps = in_shell_mode(home(own, "echo slow; sleep 600\n"));
    at(&sleeps, 1);
    sleeps.pty.send_line("echo never");
    sleeps.pty.wait_for("\nslow");
    sleeps.pty.send(CTRL_C);
    at(&sleeps, 2);
    sleeps.lacks("\nnever");
}

fn a_line_is_what_it_is_at_the_shells_own_prompt(own: Own) {
    let hooks = match own.settings {
        ".zshrc" => "precmd() { n=$((n+1)); }; preexec() { m=$((m+1)); }\n",
        _ => "PROMPT_COMMAND='n=$((n+1)) m=$n'\n",
    };
    let shell = in_shell_mode(home(own, hooks));
    command(&shell, 1, "was=$n had=$m");
    command(&shell, 2, "echo $((n - was)) and $((m - had)) more");
    shell.shows("\n1 and 1 more");
    command(&shell, 3, "echo )");
    command(&shell, 4, "(($?)) && echo 'was #refused';");
    shell.shows("\nwas #refused");
    command(&shell, 5, "sleep 300 & ");
    command(&shell, 6, "sleep 301&");
    command(&shell, 7, "jobs -p %1 %2 | grep -c .; kill %1 %2; wait");
    shell.shows("\n2\n");
    command(&shell, 8, "ls nowhere || echo \"status $?\"");
    shell.shows("\nstatus 2");
    command(
        &shell,
        9,
        "\x1b[200~cat <<END\rin it\rEND\recho last\x1b[201~",
    );
    shell.shows("\nin it\nlast");
    command(&shell, 10, "true its end");
    command(&shell, 11, "echo $_ again");
    shell.shows("\nend again");
}

fn a_shell_that_ends_is_followed_by_a_new_one(own: Own) {
    let shell = in_shell_mode(home(own, ""));
    command(&shell, 1, "cd /; x=1; exit 3");
    shell.shows("the shell ended (exit code 3); the next command starts a new one");
    command(&shell, 2, "echo x is ${x-gone}");
    shell.shows("x is gone");
    at(&shell, 3);
    shell.pty.send_line("exit");
    assert_eq!(shell.pty.exit_status().exit_code(), 0);
}

fn leaving_with_jobs_is_warned_of_once(own: Own) {
    let shell = in_shell_mode(home(own, ""));
    // A fork has the shell's own command line until it runs its program.
    let wait = "until grep -q sleep /proc/$!/cmdline; do :; done";
    command(&shell, 1, &format!("sleep 1234 & {wait}"));
    shell.pty.send(CTRL_D);
    shell.shows("these jobs would end: `sleep 1234`");
    at(&shell, 2);
    command(&shell, 2, "echo not left");
    shell.pty.send_line("exit");
    at(&shell, 3);
    shell.pty.send(CTRL_D);
    assert_eq!(shell.pty.exit_status().exit_code(), 0);
}

fn earlier_commands_come_back_as_they_were_typed_and_are_saved_as_cells(own: Own) {
    let shell = in_shell_mode(home(own, ""));
    command(&shell, 1, "echo one two");
    shell.pty.send(UP);
    shell.pty.at_line("$ [2]: echo one two");
    shell.pty.send("\r");
    at(&shell, 3);
    command(&shell, 3, SHELLS_OWN);
    shell.pty.send_line("%ipycodex save saved");
    at(&shell, 5);
    let saved = std::fs::read_to_string(shell.home.work().join("saved.ipynb")).unwrap();
    let saved: serde_json::Value = serde_json::from_str(&saved).unwrap();
    let cells: Vec<_> = saved["cells"].as_array().unwrap().iter().collect();
    let magic = own.magic;
    let source = |cell: &serde_json::Value| {
        let lines = cell["source"].as_array().expect("lines").iter();
        lines.filter_map(|line| line.as_str()).collect::<String>()
    };
    let with = cells
        .iter()
        .filter(|cell| source(cell) == format!("{magic}\necho one two"));
    assert_eq!(with.count(), 2, "{saved:#}");
    let outputs: Vec<_> = cells
        .iter()
        .map(|cell| cell["outputs"].to_string())
        .collect();
    assert!(outputs[0].contains("one two"), "{outputs:?}");
    assert_eq!(source(cells[2]), format!("{magic}\n{SHELLS_OWN}"));
    // The same shell runs them again.
    let ran = shell.home.run(&["run", "saved.ipynb"], "");
    let name = own.path.trim_start_matches("/bin/");
    assert_eq!(ran.stdout, format!("one two\none two\n{name}\n"), "{ran:?}");
}

fn files_and_programs_complete_and_clear_clears(own: Own) {
    let shell = in_shell_mode(home(own, ""));
    shell
        .home
        .write("folder/notes-of-mine.txt", "in the file\n");
    at(&shell, 1);
    for (typed, becomes) in [
        ("cat fold\t", "cat folder/"),
        ("no\t", "cat folder/notes-of-mine.txt"),
    ] {
        shell.pty.send(typed);
        shell.pty.at_line(&format!("$ [1]: {becomes}"));
    }
    shell.pty.send("\r");
    shell.shows("in the file");
    command(&shell, 2, "echo gone; clear; echo stays");
    shell.pty.wait_until("a cleared screen", |screen| {
        let text = screen.contents();
        text.contains("stays") && !text.contains("echo gone")
    });
}

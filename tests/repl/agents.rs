//! Choosing the agent in a session, and what is said about logging in.

use super::shell::Shell;
use crate::support::await_true;
use crate::support::home::Home;
use crate::support::pty::SIZE;

fn offline_agents(shell: &Shell) -> usize {
    let is_agent = |process: &&u32| {
        let line = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains("demo-agent")
    };
    shell.pty.processes().iter().filter(is_agent).count()
}

#[test]
fn an_agent_is_chosen_and_the_one_before_ends() {
    let home = Home::with(&[("IPYAI_CODEX_CMD", "/nowhere/my\\ codex")]);
    let shell = Shell::of(home);
    shell.cell(1, ".hello");
    shell.shows("0 prompts before");
    assert_eq!(offline_agents(&shell), 1);
    shell.cell(2, "%ipycodex agent codex");
    shell.shows("agent is codex");
    let remark = "select remark from sessions where session = 1";
    await_true("the record names it", || {
        let remark: String = shell
            .record()
            .query_row(remark, [], |row| row.get(0))
            .unwrap();
        remark.contains(r#""provider": "codex""#) || remark.contains(r#""provider":"codex""#)
    });
    await_true("the old agent has ended", || offline_agents(&shell) == 0);
    shell.cell(3, "%ipycodex login");
    shell.shows("Log in with `'/nowhere/my codex' login`");
    shell.pty.send_line(".there?");
    shell.shows("the AI agent is not installed: `/nowhere/my codex` was not found");
    shell.at_with(5, ".there?");
    shell.pty.send("\x03");
    shell.cell(5, "%ipycodex agent dem");
    shell.shows("there is no agent `dem` (did you mean `demo`?)");
    shell.shows("choose one of: codex, demo;");
    shell.cell(6, "%ipycodex agent demo");
    shell.cell(7, ".again");
    shell.shows("1 prompt before");
    assert_eq!(shell.leave(), 0);
    // Taken up with another agent it is said, in a new shell and in a running one, and with its own nothing is.
    let other = "the agent of this session was demo, it is codex now";
    let shell = Shell::start::<&str>(shell.home, &["-r", "1"], SIZE);
    shell.at(8);
    shell.shows(other);
    shell.cell(8, "%ipycodex agent demo");
    assert_eq!(shell.leave(), 0);
    let shell = Shell::start(shell.home, &["-r", "1", "--agent", "demo"], SIZE);
    shell.at(9);
    shell.lacks(other);
    shell.pty.send_line("%ipycodex new");
    shell.cell(1, "%ipycodex agent codex");
    shell.pty.send_line("%ipycodex resume 1");
    shell.at(10);
    shell.shows(other);
    assert_eq!(shell.leave(), 0);
}

#[test]
fn without_a_command_of_its_own_codex_logs_in_as_usual() {
    let shell = Shell::start::<&str>(Home::new(), &[], SIZE);
    shell.cell(1, "%ipycodex login");
    shell.shows("Log in with `codex login`: in another terminal, or here as `!codex login`.");
}

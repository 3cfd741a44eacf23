//! What the agent works with: Python here, its own shell, or both; and no Python where there is no interpreter.

use super::*;
use crate::codex::app_server::tool_names;
use crate::support::responses::shell_tool;

/// Whether a request offers our Python, and whether a shell.
fn tools(request: &Value) -> (bool, bool) {
    let names = tool_names(request);
    let has = |name: &str| names.iter().any(|known| known == name);
    (
        has("pyrun") && has("run_cells"),
        shell_tool(request).is_some(),
    )
}

#[test]
fn the_agent_works_with_what_agent_tools_says() {
    let Some(program) = program("gpt-5.5", Endpoint::answering(|_, _| Reply::text("done"))) else {
        return;
    };
    let ran = program.piped(
        "1\n.one\n%ipycodex agent_tools python\n.two\n%ipycodex agent_tools shell\n.three\n\
         %ipycodex agent_tools all\n",
    );
    assert!(
        ran.stderr.contains("both/python/shell, got 'all'"),
        "{ran:?}"
    );
    let requests = program.endpoint.requests();
    let offered: Vec<_> = requests.iter().map(tools).collect();
    assert_eq!(offered, [(true, true), (true, false), (false, true)]);
    // The conversation went along.
    let third = requests[2]["input"].to_string();
    assert!(third.contains("one") && third.contains("two"), "{third}");
}

#[test]
fn the_environment_is_before_the_file_and_no_interpreter_means_no_python() {
    let Some(mut program) = program("gpt-5.5", Endpoint::answering(|_, _| Reply::text("done")))
    else {
        return;
    };
    program.configure(json!({"agent_tools": "shell", "python": "/nowhere/python"}));
    program.home.set("IPYCODEX_TOOLS", "python");
    let ran = program.piped(".one\n1\n.two\n%ipycodex agent_tools\n");
    assert!(ran.stdout.contains("python"), "{ran:?}");
    let said = "there is no interpreter: the agent cannot use Python here";
    assert_eq!(ran.stderr.matches(said).count(), 1, "{ran:?}");
    let offered: Vec<_> = program.endpoint.requests().iter().map(tools).collect();
    assert_eq!(offered.last(), Some(&(false, false)), "{offered:?}");
}

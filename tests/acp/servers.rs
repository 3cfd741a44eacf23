//! MCP servers of agents: those the user adds, and our own, by which our tools reach an agent of the protocol.

use serde_json::Value;

use super::harness::fake;
use super::program::command;
use crate::codex::faults::python;
use crate::repl::shell::Shell;
use crate::support::home::Home;
use crate::support::pty::SIZE;

fn shell() -> Shell {
    let shell = Shell::start(Home::new(), &["--agent", &command("")], SIZE);
    shell.cell(1, "x = 41");
    shell.at(2);
    shell
}

fn settings(shell: &Shell) -> Value {
    let text = std::fs::read_to_string(shell.home.config().join("config.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn our_tools_reach_the_agent_in_its_turn_and_are_recorded_once() {
    let shell = shell();
    shell.cell(2, r#".mcp:pyrun:{"code":"x+1"}"#);
    shell.shows("pyrun(code='x+1') => 42");
    shell.cell(3, "def weather(city): return 'sunny in ' + city");
    shell.cell(4, r#".use &`weather` mcp:weather:{"city":"Rome"}"#);
    shell.shows("weather(city='Rome') => sunny in Rome");
    let stored = shell.answers(2);
    assert!(
        stored[0].1.contains("pyrun of pyrun look_back run_cells"),
        "{stored:?}"
    );
    assert!(stored[1].1.contains("load_skill weather"), "{stored:?}");
    for (answer, tool) in [(&stored[0].1, "pyrun"), (&stored[1].1, "weather")] {
        assert_eq!(answer.matches("<details").count(), 1, "{answer}");
        assert!(
            answer.contains(&format!("\"function\": \"{tool}\"")),
            "{answer}"
        );
        assert!(!answer.contains("mcp__"), "{answer}");
    }
    shell.leave();
}

#[test]
fn cells_of_the_agent_are_asked_for_and_run_in_its_turn() {
    let shell = shell();
    shell
        .pty
        .send_line(r#".mcp:run_cells:{"cells":[{"code":"y=x+1;print('it','is',y)"}]}"#);
    shell.shows("Run this in your session?");
    shell.pty.send("y");
    shell.shows("it is 42");
    shell.at(4);
    shell.cell(4, "y");
    shell.shows("42");
    let asks =
        r#".mcp:run_cells:{"kernel":"fresh","cells":[{"code":"__import__('ipycodex').ask('x')"}]}"#;
    shell.pty.send_line(asks);
    shell.shows("the agent answers one prompt at a time, and waits for this code");
    shell.leave();
}

#[test]
fn our_tools_reach_an_agent_beside_the_prompt_in_its_own_fork() {
    let shell = shell();
    let cells = r#"{"cells":[{"code":"x=x+1;y=2;print('it','is',x)"}]}"#;
    shell.cell(2, &format!("%ipycodex aside .mcp:run_cells:{cells}"));
    shell.shows("In [2] has answered after ");
    shell.shows("1 cell; added y; changed x; ");
    shell.cell(3, "x");
    shell.shows("Out[3]: 41");
    shell.cell(4, "%ipycodex show 2");
    shell.shows("it is 42");
    shell.pty.send_line("%ipycodex merge 2");
    shell.shows("Bring it here?");
    shell.pty.send("m");
    shell.shows("Brought over from In [2]: x, y");
    shell.at(7);
    shell.cell(7, "x, y");
    shell.shows("Out[7]: (42, 2)");
    // What we write for the agent is no way around.
    let notebook = shell.home.work().join("n.ipynb");
    let insert = r#"{"action":"insert","path":"n.ipynb","cell":0,"content":"1"}"#;
    shell.cell(8, &format!("%ipycodex aside .mcp:notebook:{insert}"));
    shell.shows("In [8] has answered after ");
    shell.cell(9, "%ipycodex show 8");
    let text = shell
        .text()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(
        text.contains("the user has to allow it and there is nobody here to ask"),
        "{text}"
    );
    assert!(!notebook.exists());
    shell.cell(10, &format!(".mcp:notebook:{insert}"));
    assert!(notebook.exists(), "in front it may");
    shell.leave();
}

#[test]
fn our_tools_reach_an_agent_that_is_asked_without_a_terminal() {
    let home = Home::new();
    let prompt = r#"mcp:pyrun:{"code":"6*7"}"#;
    let ran = home.run(&["--agent", &command(""), "ask", prompt], "");
    assert!(ran.code() == 0 && ran.stdout.contains(": 42"), "{ran:?}");
    let ran = home.run(
        &["--agent", &command("")],
        "x = 20\n.mcp:pyrun:{\"code\":\"x+2\"}\n",
    );
    assert!(ran.code() == 0 && ran.stdout.contains(": 22"), "{ran:?}");
    let cells = r#"mcp:run_cells:{"cells":[{"code":"1"}]}"#;
    let ran = home.run(&["--agent", &command(""), "ask", cells], "");
    assert!(ran.stdout.contains("nobody here to ask"), "{ran:?}");
}

#[test]
fn the_agents_calls_of_other_servers_are_shown_and_recorded() {
    let shell = shell();
    let elicits = shell.home.path().join("elicits.json");
    std::fs::write(&elicits, "{}").unwrap();
    let line = format!(
        "%ipycodex mcp add asker -- {} {} {}",
        python(),
        fake("mcp.py").display(),
        elicits.display()
    );
    shell.cell(2, &line);
    shell.cell(3, ".server:asker:survey");
    shell.shows("mcp__asker__survey");
    let stored = shell.answers(1);
    assert!(stored[0].1.contains("survey of survey"), "{stored:?}");
    assert_eq!(stored[0].1.matches("<details").count(), 1, "{stored:?}");
    shell.leave();
}

#[test]
fn servers_are_added_listed_handed_on_and_removed() {
    let shell = shell();
    shell.cell(2, "%ipycodex mcp");
    shell.shows("No MCP servers yet");
    shell.cell(
        3,
        "%ipycodex mcp add web -e KEY=hush -e B=2 -- web-server --port '1 2'",
    );
    shell.shows("MCP server `web` was added to");
    shell.cell(4, "%ipycodex mcp list");
    shell.shows("web  web-server --port '1 2'  (sets KEY, B)");
    let web = &settings(&shell)["mcp_servers"]["web"];
    assert_eq!(web["command"], "web-server");
    assert_eq!(web["env"]["KEY"], "hush");
    shell.cell(5, ".servers");
    shell.cell(6, "%ipycodex mcp remove wep");
    shell.shows("there is no MCP server `wep` (did you mean `web`?)");
    shell.cell(7, "%ipycodex mcp remove web");
    shell.cell(8, ".servers");
    let stored = shell.answers(2);
    let servers: Value = serde_json::from_str(stored[0].1.trim()).unwrap();
    assert_eq!(servers[0]["name"], "web");
    assert_eq!(servers[0]["args"], serde_json::json!(["--port", "1 2"]));
    assert_eq!(servers[0]["env"][0]["value"], "hush");
    assert_eq!(servers[1]["name"], "ipycodex");
    let servers: Value = serde_json::from_str(stored[1].1.trim()).unwrap();
    assert_eq!(
        (
            servers[0]["name"].as_str(),
            servers.as_array().unwrap().len()
        ),
        (Some("ipycodex"), 1)
    );
    assert_eq!(settings(&shell)["mcp_servers"], serde_json::json!({}));
    shell.cell(9, "%ipycodex mcp add 'a b' -- x");
    shell.shows("`a b` cannot name an MCP server");
    shell.cell(10, "%ipycodex mcp add ab -e K -- x");
    shell.shows("`-e` takes a variable as NAME=VALUE");
    shell.leave();
}

//! Recorded sessions of real agents, played again: what each said in a turn arrives, and what it asked is asked.

use ipycodex::agent::{AgentEvent, AgentReply, AgentUpdate, Lookup, LookupReply, QuestionAnswer};
use serde_json::Value;
use std::path::Path;

use super::harness::{careful, fake, plan};
use crate::codex::harness::{Harness, TurnEvents, folder};

/// A turn as it was recorded.
#[derive(Debug, Default)]
struct Turn {
    /// What the agent said.
    text: String,
    /// The ids of the options that were chosen; empty: none was.
    answers: Vec<String>,
}

/// The turns up to what a prompt alone does not do, and how the recorded client logged in.
fn recorded(name: &str) -> (Vec<Turn>, Option<String>) {
    let (mut turns, mut login): (Vec<Turn>, _) = (Vec::new(), None);
    let path = format!("{}/tests/data/acp/{name}", env!("CARGO_MANIFEST_DIR"));
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        let message = &entry["message"];
        if entry["direction"] == "client->agent" {
            match message["method"].as_str() {
                Some("session/prompt") => turns.push(Turn::default()),
                Some("authenticate") => {
                    login = message["params"]["methodId"].as_str().map(str::to_owned);
                }
                Some("initialize" | "session/new") => {}
                Some("session/cancel") => {
                    turns.pop();
                    return (turns, login);
                }
                Some(_) => return (turns, login),
                None => {
                    let outcome = &message["result"]["outcome"];
                    if outcome.is_object() {
                        let chosen = outcome["optionId"].as_str().unwrap_or_default();
                        turns.last_mut().unwrap().answers.push(chosen.to_owned());
                    }
                }
            }
        } else if message["params"]["update"]["sessionUpdate"] == "agent_message_chunk"
            && let Some(turn) = turns.last_mut()
        {
            let content = &message["params"]["update"]["content"];
            turn.text
                .push_str(content["text"].as_str().unwrap_or_default());
        }
    }
    (turns, login)
}

/// The agent of a recording, without the recorded requests of these methods.
fn player(name: &str, left_out: &[&str], folder: &Path) -> Harness {
    let path = format!("{}/tests/data/acp/{name}", env!("CARGO_MANIFEST_DIR"));
    let replay = fake("replay.py").display().to_string();
    let arguments: Vec<&str> = [&[&*replay, &*path], left_out].concat();
    Harness::new(plan(&arguments, folder))
}

/// Plays a recording; what our side was told in each turn.
fn play(name: &str) -> Vec<TurnEvents> {
    let (turns, login) = recorded(name);
    let folder = folder();
    let mut harness = player(name, &[], folder.path());
    if let Some(method) = login {
        let done = harness.agent.log_in(&method).blocking_recv().unwrap();
        assert_eq!(done, Ok(()), "{name}");
    }
    let mut all: Vec<TurnEvents> = Vec::new();
    for turn in turns {
        let mut request = careful("as it was", folder.path());
        if let Some(Ok((false, thread))) = all.last().and_then(|events| events.end.clone()) {
            request.thread = thread;
        }
        let mut answers = turn.answers.iter();
        let id = harness.agent.start(request);
        let events = harness.finish(id, |agent, id, event| {
            if let AgentEvent::QuestionAsked { question, .. } = event {
                let answer = match answers.next().map(String::as_str) {
                    None | Some("") => QuestionAnswer::Declined,
                    Some(chosen) => {
                        let offered = question.options.iter().any(|it| it.id == chosen);
                        assert!(offered, "{name}: {question:?}");
                        QuestionAnswer::Chosen(chosen.to_owned())
                    }
                };
                let question = question.id.clone();
                agent.reply(id, AgentReply::Answer { question, answer });
            }
        });
        let text: String = events.messages.values().map(String::as_str).collect();
        assert_eq!(text, turn.text, "{name}");
        assert_eq!(
            events.questions.len(),
            turn.answers.len(),
            "{name}: {events:?}"
        );
        let over = matches!(events.end, Some(Ok(_)));
        assert!(over, "{name}: {events:?}");
        all.push(events);
        if matches!(
            all.last().and_then(|events| events.end.clone()),
            Some(Ok((true, _)))
        ) {
            // Another session would follow, which was not recorded.
            break;
        }
    }
    assert!(!all.is_empty(), "{name}");
    all
}

#[test]
fn what_codex_acp_said_arrives() {
    let all = play("codex-acp-2.6.0_basic.ndjson");
    assert!(all.len() > 4, "{}", all.len());
    assert!(!all[1].thoughts.is_empty());
    let command = &all[2].commands[0];
    assert_eq!(command.command, "echo hello-from-shell; pwd");
    assert_eq!(command.output, "hello-from-shell\n/home/user/project\n");
    assert_eq!(
        (command.exit_code, command.status.as_str()),
        (Some(0), "completed")
    );
    assert_eq!(all[2].usage.map(|usage| usage.input), Some(200));
    assert_eq!(all[4].files[0].path, "/home/user/project/hello.py");
}

#[test]
fn what_it_asked_is_asked_and_its_tools_are_named() {
    let all = play("codex-acp-2.6.0_permissions_images_config_cancel.ndjson");
    assert_eq!(all[0].questions[0].options.len(), 3);
    let all = play("codex-acp-2.6.0_mcp_tool.ndjson");
    let titles: Vec<&str> = all[0].work.iter().map(|work| work.title.as_str()).collect();
    assert!(
        titles
            .iter()
            .any(|title| title.starts_with("pyns.run_python(")),
        "{titles:?}"
    );
    play("codex-acp-2.6.0_stream_terminal_cancel_429.ndjson");
}

#[test]
fn so_do_an_older_codex_acp_and_gemini() {
    let all = play("zed-codex-acp-0.16.0_plan_patch_permission.ndjson");
    assert_eq!(all[1].plans[0].len(), 3);
    assert_eq!(all[3].files[0].path, "/home/user/project/hello.py");
    assert_eq!(
        all[4].commands[0].command,
        "touch /home/user/outside.txt && echo done"
    );
    let all = play("gemini-cli-0.61.0_edit_existing_file.ndjson");
    let asked = &all[0].questions[0];
    assert_eq!(asked.options[0].id, "proceed_always");
    play("gemini-cli-0.61.0_fs_permission.ndjson");
}

/// What an agent says of itself before the first prompt, up to its commands, and its models.
fn introduction(name: &str) -> (Vec<AgentUpdate>, LookupReply) {
    let folder = folder();
    let mut harness = player(name, &[], folder.path());
    harness.agent.start(careful("as it was", folder.path()));
    let mut news = Vec::new();
    while !matches!(news.last(), Some(AgentUpdate::Commands(_))) {
        if let AgentEvent::Update(one) = harness.next() {
            news.push(one);
        }
    }
    let models = harness.look_up(Lookup::Models).unwrap();
    (news, models)
}

#[test]
fn what_claude_code_and_opencode_offer_is_known() {
    let (news, models) = introduction("claude-agent-acp-0.49.0_init_new.ndjson");
    let modes = news.iter().find_map(|one| match one {
        AgentUpdate::Modes(modes) => Some(modes.current.as_str()),
        _ => None,
    });
    assert_eq!(modes, Some("default"), "{news:?}");
    let Some(AgentUpdate::Commands(commands)) = news.last() else {
        panic!("{news:?}");
    };
    assert_eq!(commands[0].id, "deep-research");
    let LookupReply::Models(models) = models else {
        panic!("{models:?}");
    };
    assert!(models.iter().any(|model| model.is_default), "{models:?}");

    let (news, models) = introduction("opencode-1.18.33_init_new.ndjson");
    let Some(AgentUpdate::Commands(commands)) = news.last() else {
        panic!("{news:?}");
    };
    assert_eq!(commands[0].id, "customize-opencode");
    let LookupReply::Models(models) = models else {
        panic!("{models:?}");
    };
    let current = models.iter().find(|model| model.is_default);
    assert_eq!(
        current.map(|model| model.name.as_str()),
        Some("opencode/big-pickle")
    );
}

#[test]
fn sessions_of_codex_acp_are_listed_and_one_is_gone_on_with() {
    let folder = folder();
    let name = "codex-acp-2.6.0_list_load_resume_delete.ndjson";
    let mut harness = player(name, &["session/load", "session/close"], folder.path());
    let Ok(LookupReply::Sessions(kept)) = harness.look_up(Lookup::Sessions) else {
        panic!("no sessions");
    };
    assert_eq!(kept[0].title, "escalate now");
    let mut asked = careful("hello after resume", folder.path());
    asked.thread = Some(kept[0].id.clone());
    let turn = harness.agent.start(asked);
    let events = harness.finish(turn, |_, _, _| {});
    assert!(
        events.text().contains("You said: hello after resume"),
        "{events:?}"
    );
    assert_eq!(events.thread(), kept[0].id);
}

//! `session/update` in, events of the turn out.
//!
//! Pure. A change of `messageId` begins another message, and so does any update between two pieces of text; the
//! same holds for pieces of reasoning. Updates of an unknown kind are reported by name.

use serde_json::Value;

use super::content;
use super::tool_calls::{TerminalOutput, ToolCalls};
use crate::failure::one_line;
use crate::{AgentEvent, AgentNotice, Cost, InputPart, PlanStep, TurnId, Usage, WorkStatus};

#[derive(Debug)]
pub(super) struct EventMapper {
    turn: TurnId,
    text: MessageCounter,
    thought: MessageCounter,
    pub(super) tool_calls: ToolCalls,
    cost: Option<Cost>,
    /// Tokens in the model's context window, and its size.
    window: Option<(u64, u64)>,
}

/// Numbers messages, or parts of the reasoning.
#[derive(Debug, Default)]
struct MessageCounter {
    number: u64,
    id: Option<String>,
    open: bool,
}

impl MessageCounter {
    /// The number of the message that `update` continues or begins.
    fn number_of(&mut self, update: &Value) -> u64 {
        let id = update["messageId"].as_str();
        if !self.open || self.id.as_deref() != id {
            self.number += 1;
            self.id = id.map(str::to_owned);
            self.open = true;
        }
        self.number
    }
}

impl EventMapper {
    pub(super) fn new(turn: TurnId) -> Self {
        EventMapper {
            turn,
            text: MessageCounter::default(),
            thought: MessageCounter::default(),
            tool_calls: ToolCalls::default(),
            cost: None,
            window: None,
        }
    }

    /// Maps an update of the turn's session; `terminal` looks up the output of a terminal.
    pub(super) fn update(
        &mut self,
        update: &Value,
        terminal: &dyn Fn(&str) -> Option<TerminalOutput>,
    ) -> Vec<AgentEvent> {
        let turn = self.turn;
        let mut out = Vec::new();
        let progress = |message: &str| AgentEvent::Progress {
            turn,
            message: one_line(message),
        };
        match update["sessionUpdate"].as_str().unwrap_or_default() {
            "agent_message_chunk" => {
                self.thought.open = false;
                if let Some(InputPart::Image(url)) = content::parse_block(&update["content"]) {
                    let aside = AgentNotice::Picture(url);
                    out.push(AgentEvent::Notice {
                        turn,
                        notice: aside,
                    });
                }
                if let Some(delta) = content::as_text(&update["content"]) {
                    let message = self.text.number_of(update);
                    out.push(AgentEvent::Text {
                        turn,
                        message,
                        delta,
                    });
                }
            }
            "agent_thought_chunk" => {
                self.text.open = false;
                if let Some(delta) = content::as_text(&update["content"]) {
                    let part = self.thought.number_of(update);
                    out.push(AgentEvent::Thought { turn, part, delta });
                }
            }
            "tool_call" | "tool_call_update" => {
                (self.text.open, self.thought.open) = (false, false);
                let grown = self.tool_calls.output(update);
                self.tool_calls.update(turn, update, terminal, &mut out);
                if let Some((id, delta)) = grown {
                    // Earlier output goes between the beginning of the command and its end.
                    let begun = matches!(out.first(), Some(AgentEvent::CommandStarted { .. }));
                    let delta = delta.to_owned();
                    out.insert(
                        usize::from(begun),
                        AgentEvent::CommandOutput { turn, id, delta },
                    );
                }
            }
            "plan" => out.push(AgentEvent::PlanUpdated {
                turn,
                steps: plan(update),
            }),
            "notice" => {
                let texts = [
                    &update["message"],
                    &update["content"]["text"],
                    &update["text"],
                ];
                out.extend(texts.into_iter().find_map(Value::as_str).map(progress));
            }
            "session_info_update" => {
                let error = update["_meta"]["codex"]["error"]["message"].as_str();
                out.extend(error.map(progress));
            }
            "compaction_update" => {
                out.push(progress("shortening the conversation for the model"));
            }
            ""
            | "user_message_chunk"
            | "available_commands_update"
            | "current_mode_update"
            | "config_option_update"
            | "compaction_summary_chunk" => {}
            "usage_update" => {
                let (amount, currency) = (&update["cost"]["amount"], &update["cost"]["currency"]);
                let told = amount.as_f64().zip(currency.as_str());
                let cost = told.and_then(|(amount, currency)| Cost::new(amount, currency));
                self.cost = cost.or(self.cost);
                let window = update["used"].as_u64().zip(update["size"].as_u64());
                self.window = window.or(self.window);
            }
            unknown => out.push(AgentEvent::Notice {
                turn,
                notice: AgentNotice::UnknownUpdate(one_line(unknown)),
            }),
        }
        out
    }

    /// Adds to the counts of a turn what the agent said of the conversation meanwhile.
    pub(super) fn complete(&self, usage: Option<Usage>) -> Option<Usage> {
        if self.cost.is_none() && self.window.is_none() {
            return usage;
        }
        Some(Usage {
            cost: self.cost,
            filled: self.window.map(|(filled, _)| filled),
            window: self.window.map(|(_, size)| size),
            ..usage.unwrap_or_default()
        })
    }

    /// Ends the calls that are still open, when the turn is over.
    pub(super) fn close(&mut self) -> Vec<AgentEvent> {
        let mut out = Vec::new();
        self.tool_calls.close(self.turn, &mut out);
        out
    }
}

fn plan(update: &Value) -> Vec<PlanStep> {
    let entries = update["entries"].as_array();
    let steps = entries.into_iter().flatten().filter_map(|entry| {
        Some(PlanStep {
            text: one_line(entry["content"].as_str()?),
            status: match entry["status"].as_str().unwrap_or_default() {
                "completed" => WorkStatus::Done,
                "in_progress" => WorkStatus::Running,
                "failed" => WorkStatus::Failed,
                _ => WorkStatus::Waiting,
            },
        })
    });
    steps.collect()
}

pub(super) fn usage(answer: &Value) -> Option<Usage> {
    let usage = answer["usage"].as_object()?;
    let count = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or(0);
    Some(Usage {
        input: count("inputTokens"),
        cached: count("cachedReadTokens"),
        output: count("outputTokens"),
        reasoning: count("thoughtTokens"),
        ..Usage::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Change, command_title};
    use serde_json::json;

    fn told(updates: &[Value]) -> Vec<AgentEvent> {
        let mut mapper = EventMapper::new(TurnId(1));
        let terminal = |id: &str| (id == "t1").then(|| ("of ours\n".to_owned(), Some(3)));
        let mut events: Vec<AgentEvent> = updates
            .iter()
            .flat_map(|update| mapper.update(update, &terminal))
            .collect();
        events.extend(mapper.close());
        events
    }

    #[test]
    fn what_is_said_of_the_conversation_is_kept() {
        let mut mapper = EventMapper::new(TurnId(1));
        let none = |_: &str| None;
        for (cost, kept) in [
            (json!(null), None),
            (
                json!({"amount": 0.0421, "currency": "USD"}),
                Some("0.0421 USD"),
            ),
            (
                json!({"amount": "much", "currency": "USD"}),
                Some("0.0421 USD"),
            ),
            (
                json!({"amount": 12.5, "currency": "EUR"}),
                Some("12.50 EUR"),
            ),
        ] {
            let update =
                json!({"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": cost});
            assert!(mapper.update(&update, &none).is_empty());
            let usage = mapper.complete(None).unwrap();
            let told = usage.cost.map(|cost| cost.to_string());
            assert_eq!(told.as_deref(), kept, "{update}");
            assert_eq!((usage.filled, usage.window), (Some(1), Some(2)));
        }
        let unknown = EventMapper::new(TurnId(1)).complete(None);
        assert_eq!(unknown, None);
    }

    fn words(updates: &[Value]) -> Vec<String> {
        let word = |event: AgentEvent| match event {
            AgentEvent::Text { message, delta, .. } => format!("{message}: {delta}"),
            AgentEvent::Thought { part, delta, .. } => format!("({part}: {delta})"),
            AgentEvent::CommandStarted { command, title, .. } => {
                format!("begin {}", command_title(&title, &command))
            }
            AgentEvent::CommandOutput { delta, .. } => format!("+{delta}"),
            AgentEvent::CommandEnded { command, title, .. } => format!(
                "ran {} => {} {:?} {}",
                command_title(&title, &command.command),
                command.output,
                command.exit_code,
                command.status
            ),
            AgentEvent::ActivityUpdated { activity, .. } => {
                format!(
                    "{} {}",
                    activity.status.as_str(),
                    activity.title_with_locations()
                )
            }
            AgentEvent::FilesChanged { changes, .. } => {
                let changes = changes
                    .iter()
                    .map(|it| format!("{} {}", it.change.as_str(), it.path));
                changes.collect::<Vec<_>>().join(", ")
            }
            AgentEvent::PlanUpdated { steps, .. } => format!("plan of {}", steps.len()),
            AgentEvent::Progress { message, .. } => format!("~ {message}"),
            AgentEvent::Notice {
                notice: AgentNotice::UnknownUpdate(kind),
                ..
            } => format!("?{kind}"),
            other => format!("{other:?}"),
        };
        told(updates).into_iter().map(word).collect()
    }

    fn chunk(kind: &str, id: Option<&str>, text: &str) -> Value {
        json!({"sessionUpdate": kind, "messageId": id, "content": {"type": "text", "text": text}})
    }

    fn call(mut fields: Value) -> Value {
        fields["sessionUpdate"] = json!("tool_call_update");
        fields["toolCallId"] = json!("c");
        fields
    }

    #[test]
    fn messages_are_told_apart_by_their_ids_and_by_what_stands_between() {
        let text = "agent_message_chunk";
        assert_eq!(
            words(&[
                chunk(text, None, "a"),
                chunk(text, None, "b"),
                chunk(text, Some("m"), "c"),
                chunk("agent_thought_chunk", Some("r"), "t"),
                chunk("agent_thought_chunk", Some("r"), "u"),
                chunk(text, Some("m"), "d"),
                chunk("user_message_chunk", None, "x"),
                json!({"sessionUpdate": "from the future", "x": 1}),
                json!({}),
                json!(7),
            ]),
            [
                "1: a",
                "1: b",
                "2: c",
                "(1: t)",
                "(1: u)",
                "3: d",
                "?from the future"
            ]
        );
    }

    #[test]
    fn a_command_is_told_from_its_beginning_to_its_end_whoever_has_its_output() {
        let begin = |content: Value| {
            call(
                json!({"kind": "execute", "title": "ls", "status": "in_progress", "content": content}),
            )
        };
        let end = || call(json!({"status": "completed"}));
        let check = |updates: &[Value], expected: &[&str]| assert_eq!(words(updates), expected);
        let delta =
            json!({"terminal_output_delta": {"data": "x\n"}, "terminal_exit": {"exit_code": 1}});
        check(
            &[
                begin(json!([])),
                call(json!({"_meta": delta, "status": "failed"})),
                end(),
            ],
            &["begin ls", "+x\n", "ran ls => x\n Some(1) failed"],
        );
        check(
            &[
                begin(json!([{"type": "terminal", "terminalId": "t1"}])),
                end(),
            ],
            &["begin ls", "ran ls => of ours\n Some(3) completed"],
        );
        let raw = call(
            json!({"status": "completed", "rawOutput": {"formatted_output": "y", "exit_code": 0},
            "rawInput": {"command": ["/bin/bash", "-lc", "pwd"]}, "kind": "execute"}),
        );
        check(&[raw], &["begin pwd", "ran pwd => y Some(0) completed"]);
        // The title may be sent first, or at the end.
        let titled = |title: &str, status: &str| {
            call(
                json!({"kind": "execute", "title": title, "status": status, "rawInput": {"command": "pytest -q"}}),
            )
        };
        check(
            &[
                titled("bash", "in_progress"),
                titled("Runs the tests", "completed"),
            ],
            &[
                "begin bash: pytest -q",
                "ran Runs the tests: pytest -q =>  None completed",
            ],
        );
        let text = json!([{"type": "content", "content": {"type": "text", "text": "z"}}]);
        check(
            &[
                begin(json!([])),
                call(json!({"status": "completed", "content": text})),
            ],
            &["begin ls", "ran ls => z None completed"],
        );
        // A command without an end is ended with its turn; one that was only asked about never began.
        check(
            &[begin(json!([]))],
            &["begin ls", "ran ls =>  None in_progress"],
        );
        check(
            &[call(
                json!({"kind": "execute", "title": "ls", "status": "pending"}),
            )],
            &[],
        );
    }

    #[test]
    fn edits_are_told_with_both_texts_and_other_work_by_its_title() {
        let diff = json!([{"type": "diff", "path": "/p/a", "oldText": null, "newText": "1"},
            {"type": "diff", "path": "/p/b", "oldText": "1", "newText": "2"}]);
        let edit = |status: &str| {
            call(json!({"kind": "edit", "title": "Edit", "status": status, "content": diff}))
        };
        assert_eq!(
            words(&[edit("in_progress"), edit("completed")]),
            ["add /p/a, update /p/b"]
        );
        assert_eq!(words(&[edit("pending"), edit("failed")]), ["failed Edit"]);
        let events = told(&[edit("completed")]);
        assert!(
            matches!(&events[0], AgentEvent::FilesChanged { changes, .. }
                if matches!(&changes[1].change, Change::Rewritten { old, .. } if old == "1"))
        );
        let read = json!({"kind": "read", "title": "Read", "status": "completed",
            "locations": [{"path": "/p/a", "line": 2}]});
        assert_eq!(words(&[call(read)]), ["done Read (/p/a:2)"]);
        let mcp = json!({"kind": "execute", "title": "mcp.ns.run", "status": "completed",
            "rawInput": {"server": "ns", "tool": "run", "arguments": {"x": 1}}});
        assert_eq!(words(&[call(mcp)]), ["done ns.run(x=1)"]);
        assert_eq!(
            words(&[call(json!({"status": "failed"}))]),
            ["failed a tool"]
        );
    }

    #[test]
    fn what_the_user_did_not_allow_is_not_told_again() {
        for kind in ["other", "fetch", "edit", "execute"] {
            let mut mapper = EventMapper::new(TurnId(1));
            let none = |_: &str| None;
            let mcp = json!({"server": "ns", "tool": "run"});
            let told = |status: &str| {
                call(json!({"kind": kind, "title": "Deploy", "status": status, "rawInput": mcp}))
            };
            mapper.update(&told("in_progress"), &none);
            mapper.tool_calls.deny("c");
            let events = mapper.update(&told("failed"), &none);
            assert!(
                matches!(&events[..], [AgentEvent::ActivityUpdated { activity, .. }]
                    if activity.is_over() && activity.summary_line().is_none()),
                "{events:?}"
            );
        }
    }

    #[test]
    fn plans_notices_and_retries_are_told() {
        let plan = json!({"sessionUpdate": "plan", 
            "entries": [{"content": "a", "status": "completed"}, {"content": "b"}, {}]});
        let retry = json!({"sessionUpdate": "session_info_update",
            "_meta": {"codex": {"error": {"message": "Reconnecting... 1/5"}}}});
        assert_eq!(
            words(&[plan, retry]),
            ["plan of 2", "~ Reconnecting... 1/5"]
        );
    }
}

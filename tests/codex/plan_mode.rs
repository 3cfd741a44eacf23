//! Plan mode of the real app-server: its mode comes and goes with ours, its plan is text, and nothing is changed.

use ipycodex::agent::{AgentEvent, AgentReply, Approvals, PlanMode, QuestionAnswer, Sandbox};
use serde_json::{Value, json};

use super::app_server::real;
use super::harness::exchange;
use crate::support::responses::{Endpoint, Reply, tool_outputs};

const PLAN: &str =
    "Before.\n<proposed_plan>\n# Clean\n\n1. look\n2. drop\n</proposed_plan>\nBehind.\n";

/// The names of the modes that the model has been told of, in order.
fn modes(request: &Value) -> Vec<&'static str> {
    let text = request["input"].to_string();
    let told = text.split("<collaboration_mode># ").skip(1);
    let name = |text: &str| match text {
        _ if text.starts_with("Plan Mode") => "plan",
        _ if text.starts_with("Collaboration Mode: Default") => "default",
        _ => panic!("{}", &text[..text.len().min(80)]),
    };
    told.map(name).collect()
}

#[test]
fn the_mode_comes_and_goes_and_the_plan_is_part_of_the_answer() {
    let answers = ["hello", PLAN, PLAN, "done", "more"].map(Reply::text);
    let Some(real) = real("gpt-5.5", Endpoint::script(answers.into())) else {
        return;
    };
    let mut harness = real.harness();
    let mut history = Vec::new();
    let mut thread = None;
    let told: [(PlanMode, &[&str]); 5] = [
        (PlanMode::Off, &[]),
        (PlanMode::On, &["plan"]),
        (PlanMode::On, &["plan"]),
        (PlanMode::Left, &["plan", "default"]),
        (PlanMode::Left, &["plan", "default"]),
    ];
    for (number, (plan, expected)) in told.into_iter().enumerate() {
        let mut request = real.request(&format!("prompt {number}"));
        request.settings.plan = plan;
        request.settings.sandbox = match plan {
            PlanMode::On => Sandbox::ReadOnly,
            PlanMode::Off | PlanMode::Left => Sandbox::WorkspaceWrite,
        };
        (request.history, request.thread) = (history.clone(), thread.clone());
        let events = harness.run(request);
        if plan == PlanMode::On {
            let texts: Vec<&str> = events.messages.values().map(|text| text.trim()).collect();
            assert_eq!(texts, ["Before.", "# Clean\n\n1. look\n2. drop", "Behind."]);
        }
        let Some(Ok((false, Some(now)))) = &events.end else {
            panic!("{events:?}");
        };
        assert!(
            thread.as_ref().is_none_or(|before| before == now),
            "one thread"
        );
        thread = Some(now.clone());
        history.push(exchange(&format!("prompt {number}"), &events.text()));
        let requests = real.endpoint.requests();
        let request = requests.last().unwrap();
        assert_eq!(modes(request), expected, "prompt {number}");
        // Our own instructions stay.
        assert!(request["input"].to_string().contains("Be brief."));
    }
}

#[test]
fn commands_that_look_run_unasked_and_a_refusal_has_its_reason() {
    let steps = [
        json!({"cmd": "echo seen"}),
        json!({"cmd": "touch made || true"}),
        json!({"cmd": "touch made", "sandbox_permissions": "require_escalated", "justification": "to make it"}),
    ];
    let mut replies: Vec<Reply> = steps
        .into_iter()
        .map(|step| Reply::calls(&[("c", "exec_command", step)]))
        .collect();
    replies.extend(["refused", "ok"].map(Reply::text));
    let Some(real) = real("gpt-5.5", Endpoint::script(replies)) else {
        return;
    };
    let mut request = real.request("make it");
    request.settings.plan = PlanMode::On;
    request.settings.sandbox = Sandbox::ReadOnly;
    request.settings.approvals = Approvals::Ask;
    let mut harness = real.harness();
    let turn = harness.agent.start(request);
    let events = harness.finish(turn, |agent, turn, event| {
        if let AgentEvent::QuestionAsked { question, .. } = event {
            let question = question.id.clone();
            let answer = QuestionAnswer::RejectedWithReason("plan mode is on".into());
            agent.reply(turn, AgentReply::Answer { question, answer });
        }
    });
    assert_eq!(events.questions.len(), 1, "{events:?}");
    assert!(!real.work().join("made").exists());
    let requests = real.endpoint.requests();
    let outputs = tool_outputs(&requests[1]);
    assert!(outputs[0].to_string().contains("seen"), "{outputs:?}");
    let last = requests.last().unwrap()["input"].to_string();
    assert!(last.contains("My reason: plan mode is on"), "{last}");
}

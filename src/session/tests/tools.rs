//! Live functions as tools: offered, called, answered.

use super::*;

#[test]
fn a_tool_is_described_called_and_answered() {
    let call = ToolCall {
        id: "c1".into(),
        name: "f".into(),
        arguments: json!({"x": 1}),
    };
    let mut turn = vec![AgentEvent::ToolCalled { turn: TURN, call }];
    turn.extend(says("done"));
    let stage = stage(vec![turn, says("later")]);
    assert_eq!(
        stage.run(".use &`f`"),
        [
            "[1]",
            "f(x=1)…",
            "printed",
            "f(x=1) => got 1",
            "> done",
            "Complete"
        ]
    );
    let content = vec![InputPart::Text("got 1".into())];
    assert_eq!(
        stage.agent.replies(),
        [AgentReply::ToolResult {
            call: "c1".into(),
            success: true,
            content
        }]
    );
    stage.run(".go on");
    let names = |n: usize| {
        stage.agent.requests()[n]
            .tools
            .iter()
            .map(|tool| tool.name.clone())
            .collect::<Vec<_>>()
    };
    let offered = [
        "pyrun",
        "look_back",
        "run_cells",
        "read_output",
        "notebook",
        "f",
    ];
    assert_eq!(
        (names(0), names(1)),
        (
            offered.map(str::to_owned).into(),
            offered.map(str::to_owned).into()
        )
    );
    assert!(
        stage.agent.requests()[1].history[0]
            .assistant
            .contains("tool-usage-details")
    );
}

#[test]
fn a_missing_tool_sends_nothing_and_gives_the_prompt_back() {
    let stage = stage(Vec::new());
    assert_eq!(
        stage.run(".use &`g` and &`h`"),
        [
            "[1]",
            "NameError: Missing tool(s) in user_ns: g, h",
            "refill .use &`g` and &`h`"
        ]
    );
    assert!(stage.agent.requests().is_empty());
}

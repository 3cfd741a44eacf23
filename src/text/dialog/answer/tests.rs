//! The stored form of answers, byte for byte.

use super::*;

fn weather() -> ToolRecord {
    ToolRecord {
        id: "call_1".into(),
        name: "weather".into(),
        arguments: json!({"city": "Brisbane"}),
        result: "Sunny".into(),
        success: true,
    }
}

const WEATHER: &str = "<details class='tool-usage-details'>\n\
    <summary><code>weather(city=&#x27;Brisbane&#x27;)</code></summary>\n\n```json\n\
    {\"id\": \"call_1\", \"call\": {\"function\": \"weather\", \"arguments\": {\"city\": \"Brisbane\"}}, \
    \"result\": \"Sunny\", \"success\": true}\n```\n\n</details>\n";

#[test]
fn the_stored_form() {
    let mut answer = AnswerBuilder::default();
    assert_eq!(answer.stored(), "");
    answer.push_thought(0, "hm");
    answer.push_thought(0, "m\n");
    assert_eq!(answer.stored(), "<thinking>\nhmm\n</thinking>\n\n");
    answer.push_text(1, "Let me ");
    answer.push_text(1, "look.");
    answer.push_tool(&weather());
    answer.push_text(2, "It is sunny.");
    answer.push_text(3, "Bye.");
    let stored = answer.stored();
    assert_eq!(
        stored,
        format!("<thinking>\nhmm\n</thinking>\n\nLet me look.\n{WEATHER}\nIt is sunny.\n\nBye.")
    );
    assert_eq!(tool_records(&stored), [weather()]);
    assert_eq!(
        display_form(&stored),
        "> hmm\n\nLet me look.\n🔧 weather(city='Brisbane') => Sunny\n\nIt is sunny.\n\nBye."
    );
    assert_eq!(
        interrupted(&stored),
        format!("{stored}\n<system>user interrupted</system>")
    );
    assert_eq!(interrupted(""), "");
}

#[test]
fn a_restarted_message_is_replaced() {
    let mut answer = AnswerBuilder::default();
    answer.push_text(1, "wro");
    answer.restart_message(1);
    answer.push_text(1, "right");
    assert_eq!(answer.stored(), "right");
}

#[test]
fn empty_thoughts_leave_nothing() {
    let mut answer = AnswerBuilder::default();
    answer.push_thought(0, " \n");
    answer.push_text(0, "");
    assert_eq!(answer.stored(), "");
}

#[test]
fn a_command() {
    let mut answer = AnswerBuilder::default();
    answer.push_command(&CommandRecord {
        id: "c".into(),
        command: "ls '<x>'".into(),
        cwd: "/tmp".into(),
        output: "a\n```\n</details>\nb\n".into(),
        exit_code: Some(2),
        status: "failed".into(),
    });
    let stored = answer.stored();
    assert_eq!(
        stored,
        "<details class='tool-usage-details'>\n<summary><code>ls &#x27;&lt;x&gt;&#x27;</code></summary>\n\n```json\n\
         {\"id\": \"c\", \"call\": {\"function\": \"commandExecution\", \"arguments\": {\"command\": \"ls '<x>'\", \
         \"cwd\": \"/tmp\"}}, \"result\": \"a\\n```\\n</details>\\nb\\n\", \"exit_code\": 2, \"status\": \"failed\"}\n\
         ```\n\n</details>\n"
    );
    assert_eq!(
        display_form(&stored),
        "🔧 ls '<x>' [exit 2] => a ``` </details> b\n"
    );
    assert!(tool_records(&stored).is_empty());
}

#[test]
fn one_line_for_a_call() {
    let check = |arguments: Value, result: &str, line: &str| {
        assert_eq!(tool_line("f", &arguments, result), line)
    };
    check(json!({"x": 1}), "2", "f(x=1) => 2");
    check(json!({}), "", "f()");
    check(
        json!({"b": [true, null, 1.5], "a": {"k": "it's \"\n\\"}}),
        "x\ny",
        "f(a={'k': 'it\\'s \"\\n\\\\'}, b=[True, None, 1.5]) => x y",
    );
    check(
        json!({"s": "it's"}),
        &"é".repeat(101),
        &format!("f(s=\"it's\") => {}...", "é".repeat(97)),
    );
    check(
        json!({"s": ""}),
        &"é".repeat(100),
        &format!("f(s='') => {}", "é".repeat(100)),
    );
    let cells = |count: usize| json!({"cells": vec![json!({"code": "x"}); count]});
    assert_eq!(call_line("run_cells", &cells(1)), "run_cells(1 cell)");
    assert_eq!(
        tool_line("run_cells", &cells(2), "ran\nIn[3]:\na  b\nIn[4]:\n1"),
        "run_cells(2 cells) => ran In[3], In[4]"
    );
    assert_eq!(call_line("run_cells", &json!([])), "run_cells([])");
    let long = call_line("f", &json!({"code": "é".repeat(300)}));
    assert_eq!(long, format!("f(code='{}...)", "é".repeat(188)));
}

#[test]
fn a_block_the_model_writes_is_no_tools_block() {
    let mut answer = AnswerBuilder::default();
    answer.push_text(0, &format!("see:\n\n{WEATHER}"));
    let stored = answer.stored();
    assert_eq!(tool_records(&stored), []);
    assert_eq!(
        stored.replace('"', "'"),
        format!("see:\n\n{WEATHER}").replace('"', "'")
    );
}

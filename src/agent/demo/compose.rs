//! The answers of the offline agent: markdown made of the content of the prompt. The same prompt has the same
//! answer.

use std::cmp::Ordering;

use serde_json::{Map, Value, json};

use super::context::{DemoContext, named_tools, quoted_after};
use super::threads::Tool;
use crate::text::counted;

#[derive(Debug, PartialEq)]
pub(super) struct DemoAnswer {
    pub(super) thought: String,
    /// Tools called one after the other before the answer: name and arguments.
    pub(super) calls: Vec<(String, Value)>,
    /// A command to ask approval for after the calls; never run.
    pub(super) approval: Option<&'static str>,
    /// The approval has no reason, as one for a command that stays in the sandbox.
    pub(super) in_sandbox: bool,
    /// A plan is shown and carried out before the answer.
    pub(super) plans: bool,
    pub(super) text: String,
    /// The text is sent with pauses, so that the answer can be interrupted.
    pub(super) slowly: bool,
}

impl DemoAnswer {
    /// Replaces the text by an example that fits the schema.
    pub(super) fn constrained_to(mut self, schema: Option<&Value>) -> Self {
        if let Some(schema) = schema.filter(|schema| schema.is_object()) {
            self.text = arguments(schema).to_string();
        }
        self
    }
}

/// The answer to `input`, given the number of exchanges before it and the functions offered.
pub(super) fn compose(input: &str, earlier: usize, tools: &[Tool]) -> DemoAnswer {
    let context = DemoContext::read(input);
    let mut calls: Vec<(String, Value)> = named_tools(&context.request)
        .into_iter()
        .filter_map(|name| {
            let tool = tools.iter().find(|tool| tool.name == name)?;
            Some((name, arguments(&tool.schema)))
        })
        .collect();
    calls.extend(requested_calls(&context.request, tools));
    let proposes = input
        .contains("<plan-mode>")
        .then(|| plan(&context.request));
    if proposes.is_some() {
        calls.retain(|(name, _)| name == "pyrun" || name == "look_back");
    }
    report_steps(&context.request, tools, &mut calls);
    let cells = context.cells.len();
    let earlier = earlier + context.turns;
    let thought = format!(
        "The context holds {}. {}",
        counted(cells, "cell"),
        match calls.len() {
            0 => "No tool is named.".to_owned(),
            count => format!("{} named.", counted_is(count, "tool")),
        }
    );
    DemoAnswer {
        thought,
        calls,
        approval: context.request.contains("approve").then_some("echo hello"),
        in_sandbox: context.request.contains("sandbox"),
        plans: context
            .request
            .split_whitespace()
            .any(|word| word == "plan"),
        text: text(&context, earlier) + &proposes.unwrap_or_default(),
        slowly: context.request.contains("slowly"),
    }
}

/// A plan for the request, as plan mode wants it.
fn plan(request: &str) -> String {
    let act = match quoted_after(request, "run") {
        Some(code) => format!("run `{code}`"),
        None => "do what you asked, if I could".to_owned(),
    };
    format!("\n## Plan\n\n1. look at what the context holds\n2. {act}\n3. tell you about it\n")
}

/// Puts reports of the steps around the calls, where the request is to carry out a plan.
fn report_steps(request: &str, tools: &[Tool], calls: &mut Vec<(String, Value)>) {
    let steps = request.strip_prefix("Carry out this plan:\n");
    let offered = tools.iter().any(|tool| tool.name == "show_plan");
    let Some(steps) = steps.filter(|_| offered) else {
        return;
    };
    let steps = steps.lines().filter_map(|line| line.split_once(". "));
    let steps: Vec<&str> = steps.map(|(_, step)| step).collect();
    let report = |done: usize| {
        let steps = steps.iter().enumerate().map(|(at, step)| {
            let status = match at.cmp(&done) {
                Ordering::Less => "completed",
                Ordering::Equal => "in_progress",
                Ordering::Greater => "pending",
            };
            json!({"step": step, "status": status})
        });
        (
            "show_plan".to_owned(),
            json!({"steps": steps.collect::<Vec<_>>()}),
        )
    };
    calls.splice(0..0, [report(0), report(1)]);
    calls.extend((2..=steps.len()).map(report));
}

/// The calls that a prompt requests: ``run `1+1` ``, ``pyrun `a` ``, ``skill `path` ``, as far as the tool is
/// offered.
fn requested_calls(request: &str, tools: &[Tool]) -> Vec<(String, Value)> {
    let offered = |name: &str| tools.iter().any(|tool| tool.name == name);
    let mut calls = Vec::new();
    if let Some(code) = quoted_after(request, "run") {
        if offered("run_cells") {
            calls.push(("run_cells", json!({"cells": [{"code": code}]})));
        } else {
            calls.push(("pyrun", json!({"code": code})));
        }
    }
    for tool in ["pyrun", "look_back"] {
        calls.extend(quoted_after(request, tool).map(|code| (tool, json!({"code": code}))));
    }
    calls.extend(quoted_after(request, "skill").map(|path| ("load_skill", json!({"path": path}))));
    calls.retain(|(name, _)| offered(name));
    calls
        .into_iter()
        .map(|(name, arguments)| (name.to_owned(), arguments))
        .collect()
}

fn text(context: &DemoContext, earlier: usize) -> String {
    let mut text = String::from(
        "# Demo answer\n\nI am the built-in offline agent. I am **no AI**: I only tell what the context holds.\n\n",
    );
    text.push_str("You asked:\n\n");
    for line in context.request.lines() {
        text.push_str(&format!("> {line}\n"));
    }
    text.push_str("\n## What ran\n\n");
    text.push_str(&format!(
        "- {} since the last prompt\n- {}\n- {} before this one\n",
        counted(context.cells.len(), "cell"),
        counted(context.notes.len(), "note"),
        counted(earlier, "prompt"),
    ));
    if let Some(code) = context.cells.last() {
        text.push_str("\nThe last cell:\n\n");
        text.push_str(&fenced("python", code));
    }
    if let Some(output) = context.outputs.last() {
        text.push_str("\nIts output, or that of a cell before it:\n\n");
        text.push_str(&fenced("text", output));
    }
    if let Some(error) = context.last_error() {
        text.push_str(&format!("\n**Last error:** `{}`\n", error.trim()));
    }
    text.push_str(&format!(
        "\n## Counts\n\n| what | how many |\n|---|---:|\n| cells | {} |\n| outputs | {} |\n| characters asked | {} |\n",
        context.cells.len(),
        context.outputs.len(),
        context.request.chars().count(),
    ));
    text.push_str("\nTry this:\n\n");
    text.push_str(&fenced("python", "sum(range(10))"));
    text
}

/// Depth of examples where a schema refers to itself.
const DEEPEST: usize = 6;

/// Arguments that fit `schema`, one for each required property.
fn arguments(schema: &Value) -> Value {
    object(schema, schema, 0)
}

fn object(schema: &Value, root: &Value, depth: usize) -> Value {
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    let mut arguments = Map::new();
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        let property = properties.and_then(|properties| properties.get(name));
        let value = property.map_or(json!(1), |it| example(it, root, depth + 1));
        arguments.insert(name.into(), value);
    }
    Value::Object(arguments)
}

fn example(property: &Value, root: &Value, depth: usize) -> Value {
    if let Some(reference) = property.get("$ref").and_then(Value::as_str) {
        let target = reference.strip_prefix('#').and_then(|it| root.pointer(it));
        return target.map_or(json!(1), |target| example(target, root, depth + 1));
    }
    for key in ["default", "const"] {
        if let Some(value) = property.get(key) {
            return value.clone();
        }
    }
    let first = |key: &str| property.get(key)?.as_array()?.first();
    if let Some(value) = first("enum") {
        return value.clone();
    }
    if let Some(choice) = first("anyOf") {
        let options = property["anyOf"].as_array().into_iter().flatten();
        let null = options.rev().find(|option| option["type"] == "null");
        let choice = if depth > DEEPEST {
            null.unwrap_or(choice)
        } else {
            choice
        };
        return example(choice, root, depth + 1);
    }
    let kinds = property.get("type").and_then(Value::as_array);
    // A value that may be null is null.
    if kinds.is_some_and(|kinds| kinds.contains(&json!("null"))) {
        return Value::Null;
    }
    match property.get("type").and_then(Value::as_str) {
        Some("string") => json!("demo"),
        Some("number") => json!(1.5),
        Some("boolean") => json!(true),
        Some("array") if depth > DEEPEST => json!([]),
        Some("array") => {
            let items = property.get("items");
            let least = property
                .get("minItems")
                .and_then(Value::as_u64)
                .unwrap_or(1)
                .clamp(1, 100);
            let item = || items.map_or(json!(1), |items| example(items, root, depth + 1));
            Value::Array((0..least).map(|_| item()).collect())
        }
        Some("object") => object(property, root, depth),
        Some("null") => Value::Null,
        _ => json!(1),
    }
}

/// `code` in a fence longer than any fence in it.
fn fenced(language: &str, code: &str) -> String {
    let longest = code
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}{language}\n{}\n{fence}\n", code.trim_end())
}

fn counted_is(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun} is"),
        _ => format!("{count} {noun}s are"),
    }
}

#[cfg(test)]
mod tests {
    use super::{arguments, compose, fenced};
    use crate::demo::threads::Tool;
    use serde_json::{Value, json};

    #[test]
    fn an_answer_tells_what_the_context_holds() {
        let input = "<context><code>1/0</code><output>Traceback (most recent call last):\n\
                     ZeroDivisionError: division by zero</output></context>\n\
                     <user-request>why? use &`f`, slowly</user-request>";
        let tools = [Tool {
            name: "f".into(),
            schema: json!({"properties": {"x": {"type": "integer"}}, "required": ["x"]}),
        }];
        let answer = compose(input, 2, &tools);
        assert_eq!(answer, compose(input, 2, &tools));
        assert_eq!(answer.calls, [("f".to_owned(), json!({"x": 1}))]);
        assert!(answer.slowly);
        for part in [
            "no AI",
            "> why? use",
            "1 cell since",
            "2 prompts before",
            "```python\n1/0\n```",
            "`ZeroDivisionError: division by zero`",
            "| cells | 1 |",
        ] {
            assert!(answer.text.contains(part), "{part}: {}", answer.text);
        }
        assert!(compose("hello", 0, &[]).calls.is_empty());
    }

    #[test]
    fn a_plan_is_proposed_in_plan_mode_and_reported_when_it_is_carried_out() {
        let tools = ["run_cells", "show_plan"].map(|name| Tool {
            name: name.into(),
            schema: json!({}),
        });
        let input = "<plan-mode>Look.</plan-mode>\n<user-request>run `x = 1`</user-request>";
        let answer = compose(input, 0, &tools);
        assert!(answer.calls.is_empty());
        let plan =
            "## Plan\n\n1. look at what the context holds\n2. run `x = 1`\n3. tell you about it\n";
        assert!(answer.text.ends_with(plan), "{}", answer.text);
        let input = "<user-request>Carry out this plan:\n1. look\n2. run `x = 1`</user-request>";
        let calls = compose(input, 0, &tools).calls;
        let names: Vec<&str> = calls.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["show_plan", "show_plan", "run_cells", "show_plan"]);
        let status = |at: usize| [0, 1].map(|step| calls[at].1["steps"][step]["status"].clone());
        assert_eq!(status(0), ["in_progress", "pending"]);
        assert_eq!(status(1), ["completed", "in_progress"]);
        assert_eq!(status(3), ["completed", "completed"]);
    }

    #[test]
    fn words_call_the_tools_there_are() {
        let tools = |names: &[&str]| -> Vec<Tool> {
            let tool = |name: &&str| Tool {
                name: (*name).to_owned(),
                schema: json!({}),
            };
            names.iter().map(tool).collect()
        };
        for (request, offered, name, arguments) in [
            (
                "run `1+1`",
                vec!["pyrun", "run_cells"],
                "run_cells",
                json!({"cells": [{"code": "1+1"}]}),
            ),
            ("run `1+1`", vec!["pyrun"], "pyrun", json!({"code": "1+1"})),
            (
                "pyrun `a`",
                vec!["pyrun", "run_cells"],
                "pyrun",
                json!({"code": "a"}),
            ),
            (
                "load the skill `s`",
                vec!["load_skill"],
                "load_skill",
                json!({"path": "s"}),
            ),
        ] {
            let answer = compose(request, 0, &tools(&offered));
            assert_eq!(answer.calls, [(name.to_owned(), arguments)], "{request}");
            assert!(compose(request, 0, &[]).calls.is_empty());
        }
        assert_eq!(compose("approve", 0, &[]).approval, Some("echo hello"));
    }

    #[test]
    fn arguments_fit_their_schema() {
        for (property, value) in [
            (json!({"type": "string"}), json!("demo")),
            (json!({"enum": ["a", "b"]}), json!("a")),
            (json!({"type": "string", "default": "x"}), json!("x")),
            (
                json!({"type": "array", "items": {"type": "boolean"}}),
                json!([true]),
            ),
            (
                json!({"anyOf": [{"type": "number"}, {"type": "null"}]}),
                json!(1.5),
            ),
            (json!({}), json!(1)),
        ] {
            let schema = json!({"properties": {"a": property, "b": {}}, "required": ["a"]});
            assert_eq!(arguments(&schema), json!({"a": value}));
        }
        assert_eq!(arguments(&json!(true)), json!({}));
    }

    #[test]
    fn an_answer_is_held_to_a_schema() {
        let schema = json!({"properties": {"a": {"type": "string"}}, "required": ["a"]});
        let said = |schema: Value| compose("hello", 0, &[]).constrained_to(Some(&schema)).text;
        assert_eq!(said(schema), r#"{"a":"demo"}"#);
        assert!(said(Value::Null).starts_with("# Demo"));
    }

    #[test]
    fn a_fence_holds_fences() {
        assert_eq!(fenced("text", "a ``` b\n"), "````text\na ``` b\n````\n");
    }
}

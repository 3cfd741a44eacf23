//! Commands that need the record or the agent: what they say, and that it is what would be sent.

use tokio::sync::oneshot;

use super::*;
use crate::agent::{AgentFailure, FailureKind, Limit, Model, Usage};

/// A stage whose agent is `script`.
fn with_agent(script: scripted::Script) -> Stage {
    let agent = script.clone();
    let mut stage = stage_with(Vec::new(), move |parts| {
        let plan = AgentConfig {
            kind: AgentKind::Scripted(agent),
            variables: Default::default(),
            cwd: "/".into(),
            client_version: "0".into(),
            timeouts: Timeouts::default(),
        };
        parts.agent = Box::new(move || crate::agent::connect::connect(plan));
    });
    stage.agent = script;
    stage
}

pub(super) fn said(stage: &Stage, text: &str) -> String {
    stage.run(text)[1..].join("\n")
}

#[test]
fn context_tells_what_is_sent() {
    let stage = stage(vec![says("one"), says("two"), says("three")]);
    let first = said(&stage, "%ipycodex context");
    assert!(
        first.contains(
            "\nearlier exchanges: none\nthread: new; nothing has been said yet\ncontext: none\n"
        ),
        "{first}"
    );
    for text in [
        "a = '<é>'",
        ".first",
        "figure",
        "'note'",
        ".use &`f`",
        "b",
        "c",
    ] {
        stage.run(text);
    }
    for (change, fate) in [
        ("%ipycodex think h", "continued (T)"),
        (
            "%ipycodex model m",
            "new, rebuilt from the record; these have changed: model",
        ),
        (
            "%ipycodex hide 3",
            "new, rebuilt from the record; these have changed: model, conversation",
        ),
        (
            "%ipycodex run_cells off",
            "new, rebuilt from the record; these have changed: model, tools, conversation",
        ),
    ] {
        stage.run(change);
        let text = said(&stage, "%ipycodex context");
        assert!(
            text.contains(&format!("\nthread: {fate}\n")),
            "{change}: {text}"
        );
    }
    let text = said(&stage, "%ipycodex context");
    assert_eq!(stage.agent.requests().len(), 2, "nothing was sent");
    stage.run(".third");
    let request = stage.agent.requests().pop().unwrap();
    assert_eq!(request.thread, None);
    let sent = stage.sent(2);
    let context = sent
        .strip_suffix("<user-request>third</user-request>")
        .unwrap();
    assert!(context.starts_with("<context><code>b</code>"), "{context}");
    assert!(
        text.contains(&format!(":\n{context}")) || text.contains(&format!("characters\n{context}")),
        "{text}"
    );
    let number = |text: &str| text.chars().count();
    assert!(
        text.starts_with(&format!(
            "instructions: {} characters\n",
            number(&request.instructions)
        )),
        "{text}"
    );
    let names = request.tools.iter().map(|tool| tool.name.as_str());
    let names = names.collect::<Vec<_>>().join(", ");
    assert!(text.contains(&format!("\ntools: {names} (")), "{text}");
    let beside =
        "added to the instructions, because there are tools: 17 characters\n  Beside the tools.\n";
    assert!(text.contains(beside), "{text}");
    for (turn, (line, pictures)) in request.history.iter().zip([(6, ", 1 picture")]) {
        let line = format!(
            "\n  [{line}] {} + {} characters{pictures}\n",
            number(&turn.user),
            number(&turn.assistant)
        );
        assert!(text.contains(&line), "{line}: {text}");
    }
    // Sizes are of all there is, counted as said.
    let mut all = request.instructions.clone() + "Beside the tools." + context;
    for tool in &request.tools {
        all.push_str(
            &[&tool.name, &tool.description, &tool.schema.to_string()]
                .map(String::as_str)
                .concat(),
        );
    }
    for turn in &request.history {
        all.push_str(&(turn.user.clone() + &turn.assistant));
    }
    let total = text.lines().find(|line| line.starts_with("[in all "));
    let total = total.unwrap();
    let digits = |text: &str| {
        text.replace(',', "")
            .split_whitespace()
            .find_map(|word| word.parse::<usize>().ok())
    };
    assert_eq!(digits(total), Some(number(&all)), "{total}");
    let tokens = total.split("about ").nth(1).and_then(digits).unwrap();
    assert!(tokens.abs_diff(all.len() / 4) <= 20, "{total}");
}

/// The tokens of a row of `%ipycodex context`, and its share.
fn row<'a>(text: &'a str, name: &str) -> (usize, &'a str) {
    let mut rows = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let (first, count, share) = (words.next()?, words.next()?, words.next()?);
        let count = count.replace(',', "").parse().ok()?;
        (first == name).then_some((count, share))
    });
    rows.next().unwrap_or_else(|| panic!("{name}: {text}"))
}

#[test]
fn context_shows_how_the_window_fills_and_what_to_hide() {
    let long = "word ".repeat(800);
    let used = AgentEvent::Usage {
        turn: TURN,
        usage: Usage {
            filled: Some(2_500),
            window: Some(10_000),
            ..Usage::default()
        },
    };
    let mut told = says(&long);
    told.insert(0, used);
    let stage = stage(vec![told, says("two")]);
    let text = said(&stage, "%ipycodex context");
    assert!(
        text.contains("\n[shares of what is sent; the size of the window"),
        "{text}"
    );
    assert_eq!(row(&text, "answers"), (0, "0.0%"));
    let source = format!("a = '{}'", "b".repeat(400));
    for text in [source.as_str(), ".first", "figure", "'a note'"] {
        stage.run(text);
    }
    let text = said(&stage, "%ipycodex context");
    assert!(
        text.contains(" of the 10,000 tokens of the window, "),
        "{text}"
    );
    assert!(
        text.contains("\n[the last turn left 2,500 tokens in it, 25%, "),
        "{text}"
    );
    assert_eq!(row(&text, "answers"), (1_000, "10%"));
    assert_eq!(row(&text, "prompts").0, 2);
    let (cells, _) = row(&text, "cells");
    assert!((100..300).contains(&cells), "{text}");
    assert!(row(&text, "pictures").0 > 0, "{text}");
    assert!(
        row(&text, "tools").0 > 0 && row(&text, "instructions").0 > 0,
        "{text}"
    );
    let longest = text.lines().max_by_key(|line| line.matches('█').count());
    let all =
        ["instructions", "tools", "cells", "answers", "pictures"].map(|name| row(&text, name).0);
    let most = all.iter().max().unwrap();
    let longest = longest.unwrap().split_whitespace().nth(1).unwrap();
    assert_eq!(&longest.replace(',', "").parse::<usize>().unwrap(), most);
    // What is advised saves what it says: In [3] is the exchange, whose cells stay.
    let (_, advice) = text.split_once("[hide to save most]\n").expect("advice");
    let advice: Vec<(&str, &str)> = advice
        .lines()
        .filter_map(|line| line.split_once(" about "))
        .collect();
    let commands: Vec<&str> = advice.iter().map(|(command, _)| command.trim()).collect();
    assert_eq!(
        commands,
        [4, 3, 2].map(|line| format!("%ipycodex hide {line}"))
    );
    assert!(advice[1].1.ends_with(" tokens: .first"), "{advice:?}");
    let promised = advice[1].1.split(' ').next().unwrap().replace(',', "");
    let promised: usize = promised.parse().unwrap();
    let sum = |text: &str| -> usize {
        ["cells", "prompts", "answers"]
            .map(|name| row(text, name).0)
            .iter()
            .sum()
    };
    let before = sum(&text);
    stage.run("%ipycodex hide 3");
    let text = said(&stage, "%ipycodex context");
    let saved = before - sum(&text);
    assert!(
        saved.abs_diff(promised) <= 3,
        "{saved} of {promised}: {text}"
    );
    assert_eq!(row(&text, "answers").0, 0);
}

#[test]
fn a_thread_that_is_lost_is_said() {
    let stage = stage(vec![vec![AgentEvent::Text {
        turn: TURN,
        message: 1,
        delta: "par".into(),
    }]]);
    let run = stage.submit(".slow");
    while !matches!(run.next_blocking(Some(Duration::from_secs(60))),
        NextEvent::Event(event) if matches!(*event, SessionEvent::Answer(_)))
    {}
    stage.session.interrupt();
    words(&run);
    let text = said(&stage, "%ipycodex context");
    assert!(
        text.contains(
            "\nthread: new, rebuilt from the record; the agent has no thread with this conversation\n"
        ),
        "{text}"
    );
    stage.run("%ipycodex threads ephemeral");
    let text = said(&stage, "%ipycodex context");
    assert!(
        text.contains("\nthread: new for each prompt, sent with the earlier exchanges\n"),
        "{text}"
    );
}

#[test]
fn tools_are_listed_with_their_source() {
    let stage = stage(vec![says("one")]);
    let names = |text: &str| -> Vec<String> {
        text.lines()
            .map(|line| {
                line.split_whitespace()
                    .take(3)
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect()
    };
    let builtin = names(&said(&stage, "%ipycodex tools"));
    assert!(
        builtin.contains(&"pyrun built in".to_owned()),
        "{builtin:?}"
    );
    stage.run(".use &`f`");
    let with_f = names(&said(&stage, "%ipycodex tools"));
    assert_eq!(with_f.len(), builtin.len() + 1);
    assert!(with_f.contains(&"f prompt [2]".to_owned()), "{with_f:?}");
    stage.run("%ipycodex hide 2");
    assert_eq!(names(&said(&stage, "%ipycodex tools")), builtin);
}

#[test]
fn tokens_are_told_for_each_turn_and_in_sum() {
    let counted = |input, cached| {
        let usage = Usage {
            input,
            cached,
            output: 57,
            reasoning: 21,
            ..Usage::default()
        };
        let mut turn = vec![AgentEvent::Usage { turn: TURN, usage }];
        turn.extend(says("ok"));
        turn
    };
    let mut script =
        scripted::Script::new(vec![counted(1200, 1024), says("none"), counted(3400, 0)]);
    script.limits = vec![Limit {
        window: "5 h".into(),
        used_percent: 41.6,
        resets_at: None,
    }];
    let stage = with_agent(script);
    assert_eq!(
        said(&stage, "%ipycodex usage"),
        "No tokens have been counted in this session.\n5 h: 42% used"
    );
    for text in [".a", ".b", ".c", "%ipycodex hide 2"] {
        stage.run(text);
    }
    assert_eq!(
        said(&stage, "%ipycodex usage"),
        "    In         Input        Cached        Output     Reasoning\n     2         1,200         1,024            \
         57            21\n     4         3,400             0            57            21\n   Sum         \
         4,600         1,024           114            42\n5 h: 42% used"
    );
}

fn models() -> Vec<Model> {
    let model = |name: &str, is_default| Model {
        name: name.into(),
        description: format!("The {name}."),
        efforts: vec!["low".into(), "high".into()],
        default_effort: "low".into(),
        is_default,
    };
    vec![model("big", true), model("small", false)]
}

#[test]
fn models_are_listed_and_one_that_is_not_is_set_with_a_warning() {
    let mut script = scripted::Script::new(vec![says("ok")]);
    script.models = models();
    let stage = with_agent(script);
    assert_eq!(
        said(&stage, "%ipycodex model"),
        "model is not set\n* big    low (default), high [default]  The big.\n  small  low (default), high  The small."
    );
    let kept = |name: &str, value: &str| {
        format!("{name} is {value}\nfor this session; `%ipycodex set {name} {value}` keeps it")
    };
    assert_eq!(
        said(&stage, "%ipycodex model small"),
        kept("model", "small")
    );
    assert!(said(&stage, "%ipycodex model").contains("\n* small  low"));
    assert_eq!(
        said(&stage, "%ipycodex model huge"),
        kept("model", "huge") + "\nthe agent does not list a model `huge`"
    );
    assert_eq!(
        said(&stage, "%ipycodex completion_model small"),
        kept("completion_model", "small")
    );
    assert!(
        said(&stage, "%ipycodex completion_model").starts_with("completion_model is small\n  big ")
    );
    stage.run(".a");
    assert_eq!(
        stage.agent.requests()[0].settings.model.as_deref(),
        Some("huge")
    );
}

#[test]
fn an_agent_that_is_missing_costs_one_line() {
    let mut script = scripted::Script::new(Vec::new());
    script.lookup_failure = Some(AgentFailure {
        kind: FailureKind::Missing,
        message: "`codex` was not found".into(),
        hints: vec!["install it".into()],
    });
    let stage = with_agent(script);
    assert_eq!(
        said(&stage, "%ipycodex model"),
        "model is not set\nthe models could not be read: `codex` was not found"
    );
    assert!(said(&stage, "%ipycodex model any").starts_with("model is any\n"));
    assert_eq!(
        said(&stage, "%ipycodex usage"),
        "No tokens have been counted in this session.\nthe limits of the account could not be read: `codex` was not \
         found"
    );
}

#[test]
fn a_command_is_done_before_the_next_input() {
    let stage = talking();
    let runs: Vec<Run> = [
        "%ipycodex undo",
        ".b",
        "%ipycodex rename it",
        "%ipycodex sessions",
    ]
    .map(|text| stage.submit(text))
    .into();
    let said: Vec<_> = runs.iter().map(words).collect();
    assert_eq!(
        said[0][1],
        "Taken out of the conversation: [1] a (`%ipycodex show 1` puts it back)"
    );
    assert_eq!(said[1], ["[3]", "> two", "Complete"]);
    assert!(stage.agent.requests()[1].history.is_empty());
    assert_eq!(said[2][1], "Session 1 is named `it`.");
    assert!(said[3][1].ends_with("  [it] b"), "{said:?}");
}

fn talking() -> Stage {
    let stage = stage(vec![says("one"), says("two")]);
    stage.run(".a");
    stage
}

#[test]
fn an_interrupt_by_command_goes_beside_the_queue() {
    let stage = stage(Vec::new());
    assert_eq!(said(&stage, "%ipycodex interrupt"), "nothing is running");
    let cell = stage.submit("hang");
    let after = stage.submit("after");
    let minute = Some(Duration::from_secs(60));
    while !matches!(cell.next_blocking(minute), NextEvent::Event(event) if word(&event) == "= 42") {
    }
    assert_eq!(stage.run("%ipycodex interrupt"), ["[3]"]);
    assert!(words(&cell).contains(&"Interrupted".to_owned()));
    assert_eq!(words(&after), ["[4]", "ran after", "= 42", "Ok"]);
}

#[test]
fn ctrl_c_ends_the_waiting_for_an_agent_that_does_not_tell() {
    let stage = stage_with(Vec::new(), |parts| {
        parts.agent = Box::new(|| {
            let (agent, events) = scripted_mute();
            (agent, events)
        });
    });
    let run = stage.submit("%ipycodex model");
    while !matches!(run.next_blocking(Some(Duration::from_secs(60))),
        NextEvent::Event(event) if word(&event) == "model is not set")
    {}
    stage.session.interrupt();
    assert_eq!(words(&run), ["stopped waiting"]);
    assert_eq!(stage.run("x"), ["[2]", "ran x", "= 42", "Ok"]);
}

/// An agent that never tells anything.
fn scripted_mute() -> (
    Box<dyn crate::agent::Agent>,
    tokio::sync::mpsc::Receiver<AgentEvent>,
) {
    use crate::agent::{
        Agent, AgentCapabilities, Lookup, LookupReply, SuggestReply, SuggestRequest, TurnRequest,
    };
    struct Mute(Vec<oneshot::Sender<Result<LookupReply, AgentFailure>>>);
    impl Agent for Mute {
        fn capabilities(&self) -> AgentCapabilities {
            AgentCapabilities::full("mute")
        }
        fn start(&mut self, _: TurnRequest) -> TurnId {
            TurnId(1)
        }
        fn reply(&mut self, _: TurnId, _: AgentReply) {}
        fn cancel(&mut self, _: TurnId) {}
        fn look_up(&mut self, _: Lookup) -> oneshot::Receiver<Result<LookupReply, AgentFailure>> {
            let (tell, told) = oneshot::channel();
            self.0.push(tell);
            told
        }
        fn suggest(&mut self, _: SuggestRequest) -> oneshot::Receiver<SuggestReply> {
            oneshot::channel().1
        }
    }
    let (_, events) = tokio::sync::mpsc::channel(1);
    (Box::new(Mute(Vec::new())), events)
}

#[test]
fn logging_in_is_explained() {
    let stage = stage(Vec::new());
    assert_eq!(
        said(&stage, "%ipycodex login"),
        "The agent `scripted` needs no login."
    );
}

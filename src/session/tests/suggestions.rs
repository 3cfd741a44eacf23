//! Completions at the cursor: what the agent is asked, what comes back, and that nothing else notices.

use std::sync::mpsc;

use super::*;
use crate::agent::{AgentFailure, FailureKind, SuggestReply, SuggestRequest};
use crate::{Draft, PendingSuggestion};

fn suggesting(turns: Vec<Vec<AgentEvent>>, suggested: Vec<SuggestReply>) -> Stage {
    let mut script = scripted::Script::new(turns);
    script.suggestions = suggested;
    let agent = script.clone();
    let mut stage = stage_with(Vec::new(), move |parts| {
        parts.choices.completion_model = "small".into();
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

fn draft(before: &str, after: &str) -> Draft {
    Draft {
        before: before.into(),
        after: after.into(),
        mode: Mode::Cells,
    }
}

impl Stage {
    fn suggest(&self, draft: Draft) -> (PendingSuggestion, mpsc::Receiver<SuggestReply>) {
        let (tell, told) = mpsc::channel();
        let take = Box::new(move |suggested| drop(tell.send(suggested)));
        (self.session.suggest(draft, take), told)
    }

    fn suggestion(&self, before: &str, after: &str) -> SuggestReply {
        let (_open, told) = self.suggest(draft(before, after));
        told.recv_timeout(Duration::from_secs(60)).unwrap()
    }

    /// Once the agent has been asked `count` times.
    fn asked(&self, count: usize) -> Vec<SuggestRequest> {
        let deadline = std::time::Instant::now() + Duration::from_secs(60);
        loop {
            let requests = self.agent.suggest_requests();
            if requests.len() >= count {
                return requests;
            }
            assert!(std::time::Instant::now() < deadline, "never asked");
            std::thread::yield_now();
        }
    }
}

fn failure() -> AgentFailure {
    AgentFailure {
        kind: FailureKind::LoggedOut,
        message: "nobody".into(),
        hints: Vec::new(),
    }
}

#[test]
fn a_completion_is_asked_with_the_context_of_a_prompt() {
    let replies = vec![
        Ok("al".to_owned()),
        Ok("```python\nx = total\n```".to_owned()),
        Ok("does it fail?".to_owned()),
        Err(failure()),
    ];
    let stage = suggesting(vec![says("an answer")], replies);
    for text in ["old = 1", ".first", "a < b", "'note'"] {
        stage.run(text);
    }
    assert_eq!(stage.suggestion("x = tot", " \n"), Ok("al".into()));
    assert_eq!(stage.suggestion("x = tot", " # end"), Ok("al".into()));
    assert_eq!(stage.suggestion(".why ", ""), Ok("does it fail?".into()));
    assert_eq!(stage.suggestion("x", ""), Err(failure()));
    let requests = stage.asked(4);
    let context = "<context><code>a &lt; b</code><output>ran a &lt; b\n42</output><note>note</note></context>\n";
    let code = "Answer only with the code to insert right after the prefix.";
    assert_eq!(
        requests[0].input,
        format!("{context}<current-input>\n<prefix>x = tot</prefix>\n</current-input>\n{code}")
    );
    assert_eq!(
        requests[1].input,
        format!(
            "{context}<current-input>\n<prefix>x = tot</prefix>\n<suffix> # end</suffix>\n</current-input>\n{code}"
        )
    );
    assert!(requests[2].input.contains("<prefix>.why </prefix>"));
    assert!(requests[2].input.ends_with("a request to an assistant."));
    let first = &requests[0];
    assert_eq!(first.model.as_deref(), Some("small"));
    assert!(first.instructions.contains("at a cursor"));
    assert_ne!(first.instructions, "be brief");
}

#[test]
fn nothing_is_asked_for_a_blank_text() {
    let stage = suggesting(Vec::new(), Vec::new());
    assert_eq!(stage.suggestion("", ""), Ok(String::new()));
    assert_eq!(stage.suggestion(" \n", "  "), Ok(String::new()));
    assert!(stage.agent.suggest_requests().is_empty());
}

#[test]
fn one_that_is_not_wanted_any_more_is_stopped() {
    let stage = suggesting(Vec::new(), Vec::new());
    let (open, told) = stage.suggest(draft("x", ""));
    stage.asked(1);
    assert_eq!(stage.agent.pending_suggestions(), 1);
    drop(open);
    assert!(told.recv().is_err(), "nothing is told");
    assert_eq!(stage.agent.pending_suggestions(), 0);
}

#[test]
fn a_turn_that_runs_is_neither_waited_for_nor_disturbed() {
    let text = AgentEvent::Text {
        turn: TURN,
        message: 1,
        delta: "begun".into(),
    };
    let stage = suggesting(vec![vec![text], says("two")], vec![Ok("y".into())]);
    let run = stage.submit(".first");
    loop {
        match run.next_blocking(Some(Duration::from_secs(60))) {
            NextEvent::Event(event) if matches!(*event, SessionEvent::Answer(_)) => break,
            NextEvent::Event(_) => {}
            other => panic!("an answer begins, not {other:?}"),
        }
    }
    assert_eq!(stage.suggestion("x = ", ""), Ok("y".into()));
    stage.session.interrupt();
    assert_eq!(words(&run), ["Interrupted"]);
    stage.run(".second");
    let request = stage.agent.requests().pop().unwrap();
    assert_eq!(request.history.len(), 1, "{:?}", request.history);
    assert!(!format!("{request:?}").contains("x = "));
    assert_eq!(stage.session.next_line(), 3);
}

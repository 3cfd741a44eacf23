//! What an agent does besides talking, and what it tells outside of turns.

use std::time::Instant;

use super::*;
use crate::agent::{
    Activity, ActivityKind, AgentUpdate, Change, ConfigOption, Decision, Descriptor, FileChange,
    FileLocation, PlanStep, QuestionAnswer, QuestionOption, Subject, WorkStatus,
};
use crate::{QuestionChoice, Reply};

fn plan(first: WorkStatus) -> AgentEvent {
    let step = |text: &str, status| PlanStep {
        text: text.into(),
        status,
    };
    AgentEvent::PlanUpdated {
        turn: TURN,
        steps: vec![step("look", first), step("tell", WorkStatus::Waiting)],
    }
}

fn worked(status: WorkStatus) -> AgentEvent {
    AgentEvent::ActivityUpdated {
        turn: TURN,
        activity: Activity {
            id: "w".into(),
            kind: ActivityKind::Read,
            title: "Read".into(),
            status,
            content: vec![InputPart::Text("x = 1".into())],
            denied: false,
            locations: vec![FileLocation {
                path: "a.py".into(),
                line: Some(3),
            }],
        },
    }
}

fn modes(current: &str) -> AgentEvent {
    let offering = |id: &str| Descriptor {
        id: id.into(),
        ..Descriptor::default()
    };
    AgentEvent::Update(AgentUpdate::Modes(ConfigOption {
        descriptor: offering("mode"),
        current: current.into(),
        values: vec![offering("code"), offering("plan")],
    }))
}

#[test]
fn plans_work_and_changes_are_shown_as_they_come_and_recorded_as_they_stood_last() {
    let rewritten = AgentEvent::FilesChanged {
        turn: TURN,
        changes: vec![FileChange {
            path: "a.py".into(),
            change: Change::Rewritten {
                old: "x = 1\n".into(),
                new: "x = 2\n".into(),
            },
        }],
    };
    let mut turn = vec![
        plan(WorkStatus::Running),
        worked(WorkStatus::Running),
        worked(WorkStatus::Done),
        plan(WorkStatus::Done),
        rewritten,
    ];
    turn.extend(says("one"));
    let stage = stage(vec![turn, says("two")]);
    assert_eq!(
        stage.run(".first"),
        [
            "[1]",
            "plan look, tell",
            "⌛ Read (a.py:3)",
            "Read (a.py:3)",
            "plan look, tell",
            "update a.py",
            "> one",
            "Complete",
        ]
    );
    stage.run(".second");
    let told = &stage.agent.requests()[1].history[0].assistant;
    assert_eq!(
        crate::dialog::display_form(told),
        "- ☑ look\n- ☐ tell\n\n\n🔧 Read (a.py:3)\n\n🔧 update a.py\n\none"
    );
}

#[test]
fn news_belong_to_no_turn_and_are_listed_for_whoever_asks() {
    let mut first = vec![
        modes("code"),
        AgentEvent::Update(AgentUpdate::Title("Sums".into())),
        modes("plan"),
    ];
    first.extend(says("one"));
    // Published after the end of the turn, as commands and titles are.
    first.push(AgentEvent::Update(AgentUpdate::Commands(vec![
        Descriptor {
            id: "review".into(),
            ..Descriptor::default()
        },
    ])));
    let stage = stage(vec![first]);
    assert_eq!(
        stage.run(".first"),
        ["[1]", "the agent's mode is now `plan`", "> one", "Complete"]
    );
    let mut listed = stage.run("%ipycodex agent");
    // What comes after the turn may come after this input, too.
    let deadline = Instant::now() + Duration::from_secs(60);
    while !listed[2].contains("review") && Instant::now() < deadline {
        listed = stage.run("%ipycodex agent");
    }
    assert_eq!(
        listed[1..],
        [
            "agent is demo",
            "title: Sums\nmode: plan (one of code, plan)\n./review"
        ]
    );
}

/// Asks with options in the agent's words, the lasting one first.
fn asks() -> Vec<AgentEvent> {
    let option = |id: &str, kind| QuestionOption {
        id: id.into(),
        name: id.to_uppercase(),
        kind,
    };
    let question = crate::agent::AgentQuestion {
        id: "q".into(),
        subject: Subject::Command {
            command: "rm x".into(),
            cwd: "/".into(),
            reason: None,
        },
        options: vec![
            option("always", Decision::AllowAlways),
            option("yes", Decision::AllowOnce),
            option("no", Decision::RejectOnce),
        ],
        accepts_reason: false,
        reads: false,
    };
    let mut turn = vec![AgentEvent::QuestionAsked {
        turn: TURN,
        question,
    }];
    turn.extend(says("done"));
    turn
}

#[test]
fn an_agents_own_options_are_offered_and_what_was_chosen_goes_back() {
    let stage = stage(vec![asks(), asks()]);
    for (choice, expected) in [
        (QuestionChoice::Named(0), "always"),
        (QuestionChoice::No, "no"),
    ] {
        let run = stage.submit(".go");
        let mut offered = Vec::new();
        while let NextEvent::Event(event) = run.next_blocking(Some(Duration::from_secs(60))) {
            if let SessionEvent::Question(QuestionEvent::Asked(question)) = *event {
                offered = question.choices();
                stage.session.answer(question.id, Reply::Chosen(choice));
            }
        }
        // One that lasts is the agent's to keep: the next question is asked again.
        assert_eq!(offered, [0, 1, 2].map(QuestionChoice::Named));
        let Some(AgentReply::Answer { answer, .. }) = stage.agent.replies().pop() else {
            panic!("no answer: {:?}", stage.agent.replies());
        };
        assert_eq!(answer, QuestionAnswer::Chosen(expected.into()));
    }
}

#[test]
fn where_nobody_can_be_asked_the_option_that_changes_nothing_is_taken() {
    let stage = stage_with(vec![asks()], |parts| parts.asks = false);
    stage.run(".go");
    let answer = QuestionAnswer::Chosen("no".into());
    let question = "q".into();
    assert_eq!(
        stage.agent.replies(),
        [AgentReply::Answer { question, answer }]
    );
}

#[test]
fn commands_of_the_agent_begin_the_input_and_options_of_its_are_set() {
    let command = |id: &str| Descriptor {
        id: id.into(),
        ..Descriptor::default()
    };
    let mut first = vec![
        modes("code"),
        AgentEvent::Update(AgentUpdate::Commands(vec![command("review")])),
    ];
    first.extend(says("one"));
    let able = crate::agent::AgentCapabilities {
        commands: true,
        modes: true,
        sessions: true,
        files: true,
        ..crate::agent::AgentCapabilities::full("able")
    };
    let mut script = scripted::Script::new(vec![first, says("two"), says("three")]);
    script.capabilities = able.into();
    script.sessions = vec![crate::agent::ListedSession {
        id: "S1".into(),
        title: "Sums".into(),
        updated: String::new(),
    }];
    let agent = script.clone();
    let stage = stage_with(Vec::new(), move |parts| {
        parts.agent = super::agents::connecting(&agent);
    });
    let said = |line: &str| stage.run(line)[1..].join("\n");
    assert_eq!(
        said("%ipycodex option"),
        "the agent `able` offers no modes or options"
    );
    stage.run(".first");
    stage.run("x");
    stage.run("./review the last cell");
    stage.run("./nothing like it");
    let input = |at: usize| script.requests()[at].input.clone();
    assert_eq!(
        input(1)[0],
        InputPart::Text("/review the last cell".into()),
        "a command is known by the first word"
    );
    let context = input(1)[1].as_text().unwrap_or_default().to_owned();
    assert!(context.contains("<code>x</code>"), "{context}");
    assert!(!context.contains("user-request"), "{context}");
    assert!(
        input(2)[0]
            .as_text()
            .is_some_and(|text| text.contains("<user-request>/nothing"))
    );
    assert_eq!(said("%ipycodex option"), "mode: code (one of code, plan)");
    assert_eq!(said("%ipycodex option mode plan"), "mode: plan");
    assert_eq!(
        script.option_changes(),
        [("mode".to_owned(), "plan".to_owned())]
    );
    assert_eq!(
        said("%ipycodex option mode"),
        "mode: plan (one of code, plan)"
    );
    assert_eq!(
        said("%ipycodex option mode plam"),
        "mode must be one of code/plan, got 'plam' (did you mean `plan`?)"
    );
    assert_eq!(
        said("%ipycodex option mod plan"),
        "the agent has no option `mod` (did you mean `mode`?)"
    );
    assert!(said("%ipycodex agent").ends_with("kept:  S1  Sums"));
    let around = stage.session.surroundings();
    assert_eq!(around.commands, [("review".to_owned(), String::new())]);
    assert_eq!(around.options[0].0, "mode");
}

#[test]
fn a_file_goes_whole_to_an_agent_that_takes_files_and_as_text_to_others() {
    for files in [true, false] {
        let mut script = scripted::Script::new(vec![says("one"), says("two")]);
        script.capabilities = crate::agent::AgentCapabilities {
            files,
            ..crate::agent::AgentCapabilities::full("able")
        }
        .into();
        let agent = script.clone();
        let stage = stage_with(Vec::new(), move |parts| {
            parts.agent = super::agents::connecting(&agent);
        });
        let file = InputPart::File {
            path: "a<b".into(),
            text: "x < 1".into(),
        };
        let run = stage.session.submit(Submission {
            text: ".look".into(),
            attached: vec![file.clone()],
            ..Submission::default()
        });
        words(&run);
        let recorded = "<file path=\"a&lt;b\">x &lt; 1</file>\n";
        let asked = "<user-request>look</user-request>";
        let expected = match files {
            true => vec![file, InputPart::Text(asked.into())],
            false => vec![InputPart::Text(format!("{recorded}{asked}"))],
        };
        assert_eq!(script.requests()[0].input, expected);
        // It stays part of the exchange: the thread goes on, and a new one would be told of it.
        words(&stage.session.submit(Submission {
            text: ".more".into(),
            ..Submission::default()
        }));
        let again = &script.requests()[1];
        assert_eq!(again.history[0].user, format!("{recorded}{asked}"));
        assert!(again.thread.is_some());
    }
}

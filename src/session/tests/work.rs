//! What an agent does besides talking, and what it tells outside of turns.

use super::*;
use crate::agent::{
    Activity, ActivityKind, Change, Choosable, Decision, FileChange, FilePlace, News, Offering,
    PlanStep, QuestionAnswer, Selection, Subject, WorkStatus,
};
use crate::session::{Choice, Reply};

fn plan(first: WorkStatus) -> AgentEvent {
    let step = |text: &str, status| PlanStep {
        text: text.into(),
        status,
    };
    AgentEvent::Planned {
        turn: TURN,
        steps: vec![step("look", first), step("tell", WorkStatus::Waiting)],
    }
}

fn worked(status: WorkStatus) -> AgentEvent {
    AgentEvent::Worked {
        turn: TURN,
        activity: Activity {
            id: "w".into(),
            kind: ActivityKind::Read,
            title: "Read".into(),
            status,
            content: vec![InputPart::Text("x = 1".into())],
            places: vec![FilePlace {
                path: "a.py".into(),
                line: Some(3),
            }],
        },
    }
}

fn modes(current: &str) -> AgentEvent {
    let offering = |id: &str| Offering {
        id: id.into(),
        ..Offering::default()
    };
    AgentEvent::News(News::Modes(Selection {
        of: offering("mode"),
        current: current.into(),
        values: vec![offering("code"), offering("plan")],
    }))
}

#[test]
fn plans_work_and_changes_are_shown_as_they_come_and_are_no_part_of_the_answer() {
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
    assert_eq!(stage.agent.requests()[1].history[0].assistant, "one");
}

#[test]
fn news_belong_to_no_turn_and_are_listed_for_whoever_asks() {
    let mut first = vec![
        modes("code"),
        AgentEvent::News(News::Title("Sums".into())),
        modes("plan"),
    ];
    first.extend(says("one"));
    // Told after the end of the turn, as commands and titles are.
    first.push(AgentEvent::News(News::Commands(vec![Offering {
        id: "review".into(),
        ..Offering::default()
    }])));
    let stage = stage(vec![first]);
    assert_eq!(
        stage.run(".first"),
        ["[1]", "the agent's mode is now `plan`", "> one", "Complete"]
    );
    let mut listed = stage.run("%ipycodex agent");
    // What comes after the turn may come after this input, too.
    for _ in 0..100 {
        if !listed[2].contains("review") {
            listed = stage.run("%ipycodex agent");
        }
    }
    assert_eq!(
        listed[1..],
        [
            "self.agent='demo'",
            "title: Sums\nmode: plan (one of code, plan)\n./review"
        ]
    );
}

/// Asks with options in the agent's words, the lasting one first.
fn asks() -> Vec<AgentEvent> {
    let option = |id: &str, kind| Choosable {
        id: id.into(),
        name: id.to_uppercase(),
        kind,
    };
    let question = crate::agent::Question {
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
        reasons: false,
    };
    let mut turn = vec![AgentEvent::Asked {
        turn: TURN,
        question,
    }];
    turn.extend(says("done"));
    turn
}

#[test]
fn an_agents_own_options_are_offered_and_what_was_chosen_goes_back() {
    let stage = stage(vec![asks(), asks()]);
    for (choice, expected) in [(Choice::Named(0), "always"), (Choice::No, "no")] {
        let run = stage.submit(".go");
        let mut offered = Vec::new();
        while let Next::Event(event) = run.next_blocking(Some(Duration::from_secs(60))) {
            if let SessionEvent::Question(QuestionEvent::Asked(question)) = *event {
                offered = question.choices();
                stage.session.answer(question.id, Reply::Chosen(choice));
            }
        }
        // One that lasts is the agent's to keep: the next question is asked again.
        assert_eq!(offered, [0, 1, 2].map(Choice::Named));
        let Some(AgentReply::Answered { answer, .. }) = stage.agent.replies().pop() else {
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
        [AgentReply::Answered { question, answer }]
    );
}

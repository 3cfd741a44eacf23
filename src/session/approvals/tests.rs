//! Questions as tables of events: which question is shown, and which requester gets the answer.

use super::*;
use crate::agent::Subject;
use crate::events::SessionEvent;

fn command(text: &str) -> QuestionSubject {
    QuestionSubject::Agent(Subject::Command {
        command: text.into(),
        cwd: "/".into(),
        reason: None,
    })
}

fn agent(question: &str) -> ApprovalRequester {
    let subject = Subject::Command {
        command: String::new(),
        cwd: String::new(),
        reason: None,
    };
    ApprovalRequester::Agent {
        question: question.into(),
        options: subject.default_options(),
        reasons: true,
    }
}

fn wanted(about: QuestionSubject, asker: &str) -> ApprovalEvent {
    ApprovalEvent::Requested {
        about,
        asker: agent(asker),
        caller: None,
        line: 2,
        can_ask: true,
    }
}

fn answered(question: u64, choice: QuestionChoice) -> ApprovalEvent {
    ApprovalEvent::Answered {
        question,
        reply: Reply::Chosen(choice),
    }
}

/// Plays events as the loop does; returns a word for each effect.
fn play(asking: &mut ApprovalQueue, events: Vec<ApprovalEvent>) -> Vec<String> {
    let now = SystemTime::UNIX_EPOCH;
    let mut words = Vec::new();
    for event in events {
        let mut effects = VecDeque::from(asking.on(event, now));
        while let Some(effect) = effects.pop_front() {
            words.push(match effect {
                Effect::Raise(Event::NextQuestion) => {
                    effects.extend(asking.next(now));
                    continue;
                }
                Effect::Emit(To::Caller, _) => continue,
                Effect::Emit(_, SessionEvent::Question(QuestionEvent::Asked(question))) => {
                    format!("ask {}", question.id)
                }
                Effect::Emit(_, SessionEvent::Question(QuestionEvent::Over(id))) => {
                    format!("over {id}")
                }
                Effect::Emit(_, SessionEvent::Notice(notice)) => notice.message,
                Effect::Record(RecordWrite::Decision(decided)) => {
                    format!("[{}] {}", decided.line, decided.decision)
                }
                Effect::Raise(Event::Replied(
                    ApprovalRequester::Agent { question, .. },
                    Reply::Chosen(choice),
                )) => format!("{question} {choice:?}"),
                Effect::Raise(Event::Replied(..)) => "deliver".into(),
                _ => "other".into(),
            });
        }
    }
    words
}

#[test]
fn one_question_is_open_at_a_time_and_each_asker_hears_its_own() {
    let events = vec![
        wanted(command("a"), "A"),
        wanted(command("b"), "B"),
        answered(7, QuestionChoice::Once),
        answered(1, QuestionChoice::Once),
        answered(1, QuestionChoice::No),
        answered(2, QuestionChoice::No),
    ];
    assert_eq!(
        play(&mut ApprovalQueue::default(), events),
        ["ask 1", "[2] once", "A Once", "ask 2", "[2] no", "B No"]
    );
}

#[test]
fn a_yes_for_the_session_is_not_asked_again_until_the_session_is_left() {
    let mut asking = ApprovalQueue::default();
    let yes = vec![
        wanted(command("a"), "A"),
        answered(1, QuestionChoice::Session),
    ];
    assert_eq!(
        play(&mut asking, yes),
        ["ask 1", "[2] session", "A Session"]
    );
    let again = || vec![wanted(command("a"), "B")];
    assert_eq!(play(&mut asking, again()), ["[2] session", "B Session"]);
    assert_eq!(
        play(&mut asking, vec![wanted(command("b"), "C")]),
        ["ask 2"]
    );
    asking.grants = SessionGrants::default();
    let over = vec![ApprovalEvent::TurnOver];
    assert_eq!(play(&mut asking, over), ["over 2"]);
    assert_eq!(play(&mut asking, again()), ["ask 3"]);
}

#[test]
fn the_end_of_the_turn_drops_what_is_open_and_what_waits() {
    let events = vec![
        wanted(command("a"), "A"),
        wanted(command("b"), "B"),
        ApprovalEvent::TurnOver,
        ApprovalEvent::TurnOver,
        answered(1, QuestionChoice::Once),
    ];
    assert_eq!(
        play(&mut ApprovalQueue::default(), events),
        ["ask 1", "over 1"]
    );
}

#[test]
fn what_the_agent_no_longer_wants_to_know_is_not_asked() {
    let withdrawn = |question: &str| ApprovalEvent::Withdrawn {
        question: question.into(),
    };
    let events = vec![
        wanted(command("a"), "A"),
        wanted(command("b"), "B"),
        wanted(command("c"), "C"),
        withdrawn("B"),
        withdrawn("other"),
        withdrawn("A"),
        answered(1, QuestionChoice::Once),
        answered(2, QuestionChoice::No),
    ];
    assert_eq!(
        play(&mut ApprovalQueue::default(), events),
        ["ask 1", "over 1", "ask 2", "[2] no", "C No"]
    );
}

#[test]
fn where_nobody_can_be_asked_the_answer_is_no_and_is_said() {
    let wanted = ApprovalEvent::Requested {
        caller: None,
        about: command("a"),
        asker: agent("A"),
        line: 2,
        can_ask: false,
    };
    let said = play(&mut ApprovalQueue::default(), vec![wanted]);
    assert_eq!(said.len(), 2);
    assert!(
        said[0].starts_with("the agent was not given permission (command)"),
        "{said:?}"
    );
    assert_eq!(said[1], "A No");
}

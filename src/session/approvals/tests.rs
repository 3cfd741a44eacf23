//! Questions as tables of events: which question is shown, and which requester gets the answer.

use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::agent::{Change, FileChange, FormField, Subject};
use crate::config::RunCells;
use crate::events::SessionEvent;
use crate::lasting::LastingSubject;

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
        reads: false,
    }
}

fn wanted(about: QuestionSubject, asker: &str) -> ApprovalEvent {
    ApprovalEvent::Requested {
        about,
        asker: agent(asker),
        caller: None,
        line: 2,
        can_ask: true,
        refusal: None,
        coverage: Coverage::None,
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
fn a_yes_that_lasts_is_kept_and_answers_without_asking() {
    let lasting = Lasting {
        directory: "/".into(),
        what: LastingSubject::Command("make".into()),
    };
    let request = |coverage, can_ask| ApprovalEvent::Requested {
        about: subject(0),
        asker: agent("A"),
        caller: None,
        line: 2,
        can_ask,
        refusal: None,
        coverage,
    };
    let now = SystemTime::UNIX_EPOCH;
    let mut asking = ApprovalQueue::default();
    asking.on(
        request(Coverage::Offered(Box::new(lasting.clone())), true),
        now,
    );
    let effects = asking.on(answered(1, QuestionChoice::Always), now);
    let kept = effects.iter().filter_map(|effect| match effect {
        Effect::Raise(Event::MadeLasting(kept)) => Some(&**kept),
        _ => None,
    });
    assert_eq!(kept.collect::<Vec<_>>(), [&lasting]);
    // Nothing was offered: the same answer is a no.
    let mut asking = ApprovalQueue::default();
    let said = play(
        &mut asking,
        vec![
            request(Coverage::None, true),
            answered(1, QuestionChoice::Always),
        ],
    );
    assert_eq!(said, ["ask 1", "[2] no", "A No"]);
    for can_ask in [true, false] {
        let mut asking = ApprovalQueue::default();
        let said = play(&mut asking, vec![request(Coverage::Allowed, can_ask)]);
        assert_eq!(said, ["[2] always in this directory", "A Once"]);
    }
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
        refusal: None,
        coverage: Coverage::None,
    };
    let said = play(&mut ApprovalQueue::default(), vec![wanted]);
    let refused = "the agent was not given permission (command), because nobody can be asked here: a (in /); with \
                   `approvals` set to `never` the sandbox decides";
    assert_eq!(said, [refused, "A No"]);
    let form = Subject::Form {
        server: String::new(),
        message: "Where to?".into(),
        fields: vec![FormField {
            question: "Which port?".into(),
            ..FormField::default()
        }],
    };
    let wanted = ApprovalEvent::Requested {
        caller: None,
        about: QuestionSubject::Agent(form),
        asker: agent("A"),
        line: 2,
        can_ask: false,
        refusal: None,
        coverage: Coverage::None,
    };
    let said = play(&mut ApprovalQueue::default(), vec![wanted]);
    let open = "a question of the agent was left open (form), because nobody can be asked here: Where to? Which port?";
    assert_eq!(said, [open, "deliver"]);
}

#[test]
fn who_cancels_ends_only_its_own_questions() {
    let mut asking = ApprovalQueue::default();
    let events = vec![
        wanted(command("a"), "A"),
        wanted(command("b"), "B"),
        wanted(command("c"), "C"),
        ApprovalEvent::Cancelled(agent("B")),
    ];
    assert_eq!(play(&mut asking, events), ["ask 1"]);
    assert!(asking.is_asked_by(&agent("A")) && !asking.is_asked_by(&agent("C")));
    let cancel = vec![ApprovalEvent::Cancelled(agent("A"))];
    assert_eq!(play(&mut asking, cancel), ["over 1", "ask 2"]);
    assert!(asking.is_asked_by(&agent("C")));
}

#[test]
fn a_yes_for_the_session_holds_for_what_it_covers() {
    for granted in 0..SUBJECTS {
        for about in 0..SUBJECTS {
            let mut asking = ApprovalQueue::default();
            let yes = answered(1, QuestionChoice::Session);
            play(&mut asking, vec![wanted(subject(granted), "A"), yes]);
            let said = play(&mut asking, vec![wanted(subject(about), "B")]);
            let expected: &[&str] = match covers(granted, about) {
                true => &["[2] session", "B Session"],
                false => &["ask 2"],
            };
            assert_eq!(said, expected, "{granted}, {about}");
            // An agent that lists no such answer is not given it.
            let listed = ApprovalEvent::Requested {
                about: subject(granted),
                asker: ApprovalRequester::Agent {
                    question: "C".into(),
                    options: Vec::new(),
                    reasons: false,
                    reads: false,
                },
                caller: None,
                line: 2,
                can_ask: true,
                refusal: None,
                coverage: Coverage::None,
            };
            let mut asking = ApprovalQueue::default();
            let yes = answered(1, QuestionChoice::Session);
            let asks = play(
                &mut asking,
                vec![wanted(subject(granted), "A"), yes, listed],
            );
            assert_eq!(asks.last().unwrap(), "ask 2", "{granted}");
        }
    }
}

/// A step of a session with an agent: what it wants, what the user says, what ends.
#[derive(Debug, Clone, Copy)]
enum SessionStep {
    Wants(usize, bool),
    Answers(u64, QuestionChoice),
    Withdraws(usize),
    EndsTurn,
    WantsCells { live: bool, resets: bool },
    GrantsCells,
    Sets(RunCells),
    Leaves,
}

fn steps() -> impl Strategy<Value = Vec<SessionStep>> {
    use QuestionChoice::{No, NoBecause, Once, Remember, Session, Stop};
    use SessionStep::*;
    let choices = vec![Once, Session, Session, Remember, No, NoBecause, Stop];
    let settings = vec![
        RunCells::Off,
        RunCells::Ask,
        RunCells::Preview,
        RunCells::Auto,
    ];
    let step = prop_oneof![
        6 => (0..SUBJECTS, any::<bool>()).prop_map(|(about, can_ask)| Wants(about, can_ask)),
        6 => (0u64..40, select(choices)).prop_map(|(id, choice)| Answers(id, choice)),
        1 => (0..SUBJECTS).prop_map(Withdraws),
        1 => Just(EndsTurn),
        3 => (any::<bool>(), any::<bool>()).prop_map(|(live, resets)| WantsCells { live, resets }),
        1 => Just(GrantsCells),
        1 => select(settings).prop_map(Sets),
        1 => Just(Leaves),
    ];
    prop::collection::vec(step, 1..80)
}

/// Numbers of [`subject`].
const SUBJECTS: usize = 9;

/// Commands in two directories, with and without a reason; what is typed into programs; files.
fn subject(number: usize) -> QuestionSubject {
    let reason = |given: bool| given.then(|| "because".to_owned());
    let edit = |paths: &[&str], reason| Subject::Edit {
        changes: paths
            .iter()
            .map(|path| FileChange {
                path: (*path).to_owned(),
                change: Change::Added("x".into()),
            })
            .collect(),
        reason,
    };
    let about = match number {
        0..=3 => Subject::Command {
            command: "rm".into(),
            cwd: ["/a", "/b"][number % 2].into(),
            reason: reason(number >= 2),
        },
        4 | 5 => Subject::Input {
            program: ["sh", "python"][number % 2].into(),
            text: "x".into(),
            cwd: "/".into(),
            reason: None,
        },
        6 => edit(&["/a"], None),
        7 => edit(&["/a", "/b"], None),
        _ => edit(&["/a"], reason(true)),
    };
    QuestionSubject::Agent(about)
}

/// What a yes for the session to each subject of [`subject`] covers.
fn covers(granted: usize, about: usize) -> bool {
    match (granted, about) {
        // With any reason, and without one.
        (2 | 3, 0..=3) => granted % 2 == about % 2,
        // Both files.
        (7, 6) => true,
        // A change with a reason wants more than the file.
        (8, _) | (_, 8) => false,
        _ => granted == about,
    }
}

proptest! {
    #![proptest_config(crate::properties::cases(10_000))]

    /// Whatever happens in whatever order: nothing is allowed that the user has not allowed in this session.
    #[test]
    fn a_yes_never_widens_by_itself(steps in steps(), setting in select(vec![RunCells::Ask, RunCells::Preview])) {
        let (mut asking, mut run_cells) = (ApprovalQueue::default(), setting);
        // What the user said: to subjects and to cells in this session, and by the setting.
        let (mut granted, mut cells, mut chosen) = (Vec::new(), false, setting);
        let mut asked: Vec<(u64, usize)> = Vec::new();
        let now = SystemTime::UNIX_EPOCH;
        for step in steps {
            let event = match step {
                SessionStep::Wants(about, can_ask) => ApprovalEvent::Requested {
                    about: subject(about),
                    asker: agent(&about.to_string()),
                    caller: None,
                    line: 1,
                    can_ask,
                    refusal: None,
                    coverage: Coverage::None,
                },
                SessionStep::Answers(question, choice) => {
                    let open = asking.open.as_ref().map(|open| open.id);
                    if let Some((_, about)) = asked.iter().find(|(id, _)| *id == question)
                        && (open, choice) == (Some(question), QuestionChoice::Session)
                    {
                        granted.push(*about);
                    }
                    answered(question, choice)
                }
                SessionStep::Withdraws(about) => ApprovalEvent::Withdrawn { question: about.to_string() },
                SessionStep::EndsTurn => ApprovalEvent::TurnOver,
                other => {
                    let can_ask = true;
                    let mut policy =
                        ApprovalPolicy { run_cells: &mut run_cells, grants: &mut asking.grants, can_ask };
                    match other {
                        SessionStep::WantsCells { live, resets } => {
                            let may = match chosen {
                                RunCells::Off => false,
                                RunCells::Auto => true,
                                RunCells::Ask | RunCells::Preview => cells && !(live && resets),
                            };
                            let verdict = policy.cells(live, resets);
                            prop_assert!(verdict != Verdict::Allowed || may, "{chosen:?}, {cells}: {other:?}");
                        }
                        // Asked for, and answered with yes for the session.
                        SessionStep::GrantsCells => {
                            if policy.cells(true, false) == Verdict::Ask {
                                policy.grant_cells();
                                cells = true;
                            }
                        }
                        // The same again is no news: the grant goes on, and ends with the session.
                        SessionStep::Sets(setting) => {
                            let before = *policy.run_cells;
                            policy.choose(setting);
                            if before != setting {
                                (cells, chosen) = (false, setting);
                            }
                        }
                        _ => {
                            policy.end_session();
                            (cells, granted) = (false, Vec::new());
                            prop_assert_eq!(run_cells, chosen, "the setting is the user's");
                        }
                    }
                    continue;
                }
            };
            let mut effects = VecDeque::from(asking.on(event, now));
            while let Some(effect) = effects.pop_front() {
                match effect {
                    Effect::Raise(Event::NextQuestion) => effects.extend(asking.next(now)),
                    Effect::Emit(To::Caller, SessionEvent::Question(QuestionEvent::Asked(question))) => {
                        let about = (0..SUBJECTS).find(|about| subject(*about) == question.about);
                        asked.push((question.id, about.expect("one of them")));
                    }
                    Effect::Raise(Event::Replied(_, Reply::Chosen(choice))) => {
                        if let SessionStep::Wants(about, _) = step {
                            let may = granted.iter().any(|granted| covers(*granted, about));
                            let no = choice == QuestionChoice::No;
                            prop_assert!(no || may, "{about} is allowed by {granted:?}");
                        }
                    }
                    _ => {}
                }
            }
        }
    }
}

//! Why a reader wakes; and keys typed before a question, which must not answer it.

use std::fs::File;
use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::*;
use crate::agent::{FormField, Subject};
use crate::config::Images;
use crate::display::{Display, Keyboard, Pictures, RunRenderer, Typeahead};
use crate::environment::Environment;
use crate::markdown::Appearance;
use crate::properties;
use crate::runtime::{InputReply, TerminalMode, TerminalSize};
use crate::screen::{ColorChoice, Screen};
use crate::session::{
    ProposedCell, Question, QuestionChoice, QuestionEvent, QuestionSubject, Reply, SessionEvent,
    SessionHandle, Submission,
};
use crate::terminal::keys::key_queue::SharedKeyQueue;

#[test]
fn wake_reasons_come_in_order_and_only_to_a_reader() {
    let told = ReaderWaker::default();
    assert!(!told.interrupt());
    let mut listener = told.listen().unwrap();
    told.resumed();
    assert!(told.clone().interrupt());
    told.close();
    assert!(!told.interrupt());
    let heard = [(); 3].map(|()| next_reason(&mut listener));
    assert_eq!(
        heard,
        [WakeReason::Resumed, WakeReason::Interrupt, WakeReason::Over]
    );
}

/// A terminal that is not in line mode.
struct Unlined;

impl CellTerminal for Unlined {
    fn type_bytes(&self, bytes: &[u8]) -> usize {
        bytes.len()
    }
    fn take_lines(&self) -> Vec<u8> {
        Vec::new()
    }
    fn has_lines(&self) -> bool {
        false
    }
    fn is_waiting_for_input(&self) -> bool {
        false
    }
    fn resize(&self, _: TerminalSize) {}
    fn mode(&self) -> TerminalMode {
        TerminalMode {
            signals: true,
            canonical: false,
            foreground_program: false,
            job_control: false,
        }
    }
}

#[test]
fn a_cell_that_has_not_started_takes_the_key_that_moves_it_to_the_background() {
    let session = SessionHandle::ended();
    let display = session.submit(Submission::default()).waker();
    let queue = SharedKeyQueue::default();
    let key = 2;
    let router = InputRouter::new(
        session,
        display,
        queue,
        Some(key),
        crate::input::Mode::Cells,
    );
    let mut keys = KeyDispatcher {
        router: Arc::clone(&router),
        on_signal: |_| {},
        stopped: false,
        within: Decoder::default(),
    };
    router.set_cell(Some(Arc::new(Unlined)));
    keys.take(b"a\x02b");
    assert_eq!(router.state().kept, b"ab");
    router.open();
    keys.take(b"\x02");
    assert_eq!(
        router.state().refused,
        b"ab\x02",
        "a program of the cell has the terminal"
    );
}

/// Keys of questions, those that move in them, lines, a paste; some in two pieces.
const KEYS: [&[&str]; 21] = [
    &["y"],
    &["Y"],
    &["s"],
    &["a"],
    &["d"],
    &["n"],
    &["w"],
    &["x"],
    &["1"],
    &["2"],
    &[" "],
    &["\t"],
    &["\r"],
    &["\n"],
    &["\x1b"],
    &["\x1by"],
    &["\x1b[A"],
    &["\x1b[", "B"],
    &["\x1b[13", "u"],
    &["\x1b[200~y\r\x1b[201~"],
    &["\x1b[200~y", "\ry\x1b[201~"],
];

/// The real keyboard, whose answers are kept here.
struct Watched {
    router: Arc<InputRouter>,
    answers: Mutex<Vec<Reply>>,
}

impl Keyboard for Watched {
    fn typeahead(&self) -> Typeahead {
        self.router.typeahead()
    }
    fn since_last_key(&self) -> Duration {
        self.router.since_last_key()
    }
    fn capture(&self) {
        self.router.capture();
    }
    fn take_captured(&self) -> Vec<u8> {
        self.router.take_captured()
    }
    fn release(&self, rest: &[u8]) {
        self.router.release(rest);
    }
    fn take_resumed(&self) -> bool {
        self.router.take_resumed()
    }
    fn is_interrupted(&self) -> bool {
        self.router.is_interrupted()
    }
    fn interrupt(&self) {}
    fn answer(&self, _: u64, reply: Reply) {
        self.answers.lock().unwrap().push(reply);
    }
    fn reply_input(&self, _: u64, _: InputReply) {}
}

/// One user in front of one question.
struct Desk {
    keys: KeyDispatcher<fn(KeyboardEvent)>,
    display: Display,
    keyboard: Arc<Watched>,
    /// What is typed before, and once the question is on the screen but takes no keys.
    before: Vec<&'static str>,
    then: Vec<&'static str>,
    question: QuestionSubject,
    /// When the last key was typed, or the question came up behind it.
    last: Instant,
}

/// Nobody reads a question and answers it in less.
const PAUSE: Duration = Duration::from_millis(300);

fn questions() -> Vec<QuestionSubject> {
    let cell = ProposedCell {
        code: "a".into(),
        title: String::new(),
        reset: false,
    };
    let field = |options: &[&str]| FormField {
        id: "f".into(),
        question: "f?".into(),
        options: options
            .iter()
            .map(|it| ((*it).to_owned(), String::new()))
            .collect(),
        ..FormField::default()
    };
    let form = |fields| {
        QuestionSubject::Agent(Subject::Form {
            server: String::new(),
            message: String::new(),
            fields,
        })
    };
    vec![
        QuestionSubject::Agent(Subject::Command {
            command: "rm it".into(),
            cwd: "/".into(),
            reason: None,
        }),
        QuestionSubject::Cells(vec![cell]),
        QuestionSubject::SkillCode {
            skill: "s".into(),
            path: "/s".into(),
            blocks: vec!["x".into()],
        },
        form(vec![field(&["one", "two"])]),
        form(vec![field(&[])]),
    ]
}

impl Desk {
    fn new(
        screen: &Screen,
        question: QuestionSubject,
        typed: Vec<&'static [&'static str]>,
        at: usize,
    ) -> Desk {
        let session = SessionHandle::ended();
        let display = session.submit(Submission::default()).waker();
        let router = InputRouter::new(
            session,
            display,
            SharedKeyQueue::default(),
            None,
            crate::input::Mode::Cells,
        );
        router.state().turn = true;
        let keyboard = Arc::new(Watched {
            router: Arc::clone(&router),
            answers: Mutex::default(),
        });
        let pictures = Pictures::new(&Environment::default(), Images::Off);
        let shared: Arc<dyn Keyboard> = keyboard.clone();
        let mut before: Vec<&str> = typed.concat();
        let then = before.split_off(at.min(before.len()));
        Desk {
            keys: KeyDispatcher {
                router,
                on_signal: |_| {},
                stopped: false,
                within: Decoder::default(),
            },
            display: Display::new(
                screen.clone(),
                Appearance::default(),
                pictures,
                None,
                Some(shared),
            ),
            keyboard,
            before,
            then,
            question,
            last: Instant::now(),
        }
    }

    fn takes_keys(&self) -> bool {
        self.keyboard.router.state().asked.is_some()
    }

    fn answers(&self) -> Vec<Reply> {
        self.keyboard.answers.lock().unwrap().clone()
    }
}

#[test]
fn ten_thousand_sequences_of_keys_answer_no_question_that_comes_up() {
    const COUNT: usize = 10_000;
    let environment = Environment {
        variables: [("TERM".into(), "xterm".into())].into(),
        stdout_is_terminal: true,
        ..Environment::default()
    };
    let nowhere = File::options().write(true).open("/dev/null").unwrap();
    let screen = Screen::onto(&nowhere, &environment, ColorChoice::Never).unwrap();
    let typed = prop::collection::vec(select(KEYS.to_vec()), 1..16);
    let desk = (select(questions()), typed, 0usize..20);
    let mut runner = TestRunner::new(properties::cases(1));
    let mut desks: Vec<Desk> = (0..COUNT)
        .map(|_| {
            let (question, typed, at) = desk.new_tree(&mut runner).unwrap().current();
            Desk::new(&screen, question, typed, at)
        })
        .collect();
    let sequences: Vec<_> = desks
        .iter()
        .map(|desk| [desk.before.clone(), desk.then.clone()])
        .collect();
    let check = |desk: &Desk, number: usize| {
        let answers = desk.answers();
        assert!(
            answers.is_empty(),
            "{:?} gave {answers:?} to {:?}",
            sequences[number],
            desk.question
        );
    };
    let in_time = |desk: &Desk, number: usize| {
        let early = desk.takes_keys() && desk.last.elapsed() < PAUSE;
        assert!(
            !early,
            "{:?}: {:?} takes keys at once",
            sequences[number], desk.question
        );
    };
    for (number, desk) in desks.iter_mut().enumerate() {
        for key in std::mem::take(&mut desk.before) {
            desk.keys.take(key.as_bytes());
        }
        let asked = Question::usual(1, desk.question.clone());
        let asked = SessionEvent::Question(QuestionEvent::Asked(asked));
        desk.display.on_event(asked).unwrap();
        desk.last = Instant::now();
        desk.display.tick().unwrap();
        in_time(desk, number);
        check(desk, number);
    }
    // All the time, a key here and there: no question takes keys before its user has stopped typing.
    let mut waiting = true;
    while waiting {
        waiting = false;
        for (number, desk) in desks.iter_mut().enumerate() {
            if desk.takes_keys() {
                check(desk, number);
                continue;
            }
            waiting = true;
            if !desk.then.is_empty() {
                desk.last = Instant::now();
                desk.keys.take(desk.then.remove(0).as_bytes());
            }
            desk.display.tick().unwrap();
            in_time(desk, number);
            check(desk, number);
        }
    }
    // Esc is a no, or no answer to a form.
    for desk in &mut desks {
        desk.keys.take(b"\x1b");
        desk.display.tick().unwrap();
    }
    while desks.iter().any(|desk| desk.answers().is_empty()) {
        for desk in &mut desks {
            desk.display.tick().unwrap();
        }
    }
    for (desk, sequence) in desks.iter().zip(&sequences) {
        let no = [Reply::Chosen(QuestionChoice::No), Reply::Declined];
        let answers = desk.answers();
        assert!(
            answers.len() == 1 && no.contains(&answers[0]),
            "{sequence:?} and Esc gave {answers:?} to {:?}",
            desk.question
        );
    }
}

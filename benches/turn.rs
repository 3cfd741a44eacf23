//! Enter to the turn on the wire, and a delta to the screen: the real program on a pseudo-terminal, with an agent of
//! each protocol that answers at once (`peers/fake_app_server.py`, `peers/fake_acp.py`) and tells us on a socket when
//! something passes it.

use std::os::unix::net::UnixDatagram;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::home::Home;
use crate::support::peers;
use crate::support::pty::Pty;
use crate::table::{Figures, Row, Target, guarded, median};

const RUNS: usize = 20;

const DEADLINE: Duration = Duration::from_secs(20);

/// An agent: its protocol, its file in `peers`, and what it calls the begin of a turn.
type Agent = (&'static str, &'static str, &'static str);

const AGENTS: [Agent; 2] = [
    ("codex", "fake_app_server.py", "turn/start"),
    ("ACP", "fake_acp.py", "session/prompt"),
];

pub fn rows() -> Vec<Row> {
    let rows = AGENTS.into_iter().flat_map(rows_of);
    rows.chain([among_files()]).collect()
}

/// The begin of a turn in a tree of 20,000 files that has not changed, with their history and without.
fn among_files() -> Row {
    let measured = |setting: &str| {
        let mut wire = Vec::new();
        let fill = |home: &Home| {
            for number in 0..20_000 {
                let name = format!("{}/{number}.txt", number / 100);
                home.write(&name, format!("file {number}\n"));
            }
            home.write_config("config.json", format!(r#"{{"rewind_files": "{setting}"}}"#));
        };
        let result = guarded(|| measure(AGENTS[0], fill, &mut wire, &mut Vec::new()));
        result.and_then(|result| result).map(|()| wire)
    };
    let (ours, peer) = (measured("ask"), measured("off"));
    // What the history may add.
    let without = peer.as_ref().ok().and_then(|figures| median(figures));
    Row {
        what: "Enter to turn/start among 20,000 files".into(),
        unit: "ms",
        ours,
        peer: Some(("rewind_files off", peer)),
        target: Target::AtMost(without.unwrap_or_default() + 5.0),
    }
}

fn rows_of(agent: Agent) -> [Row; 2] {
    let mut wire = Vec::new();
    let mut screen = Vec::new();
    let result =
        guarded(|| measure(agent, |_| {}, &mut wire, &mut screen)).and_then(|result| result);
    let row = |what: String, figures: Vec<f64>, most| {
        let ours: Figures = result.clone().map(|()| figures);
        Row {
            what,
            unit: "ms",
            ours,
            peer: None,
            target: Target::AtMost(most),
        }
    };
    let (protocol, _, begin) = agent;
    [
        row(format!("Enter to {begin} on the wire"), wire, 2.0),
        row(
            format!("delta on the wire to the screen, {protocol}"),
            screen,
            16.0,
        ),
    ]
}

fn measure(
    (protocol, file, begin): Agent,
    fill: impl FnOnce(&Home),
    wire: &mut Vec<f64>,
    screen: &mut Vec<f64>,
) -> Result<(), String> {
    let mut home = Home::new();
    fill(&home);
    let python = peers::plain_python();
    let socket = home.path().join("s");
    let passed = listen(&socket)?;
    let script = format!("{}/benches/peers/{file}", env!("CARGO_MANIFEST_DIR"));
    let words = [python.to_str(), Some(&script), socket.to_str()]
        .map(|word| word.expect("our paths are UTF-8"));
    let command = shlex::try_join(words).expect("paths have no NUL");
    let agent = match protocol {
        "ACP" => format!("acp:{command}"),
        _ => {
            home.set("IPYAI_CODEX_CMD", command);
            protocol.into()
        }
    };

    let mut pty = Pty::spawn(&home, &["--no-ipython", "--agent", &agent], (100, 30));
    pty.patience = DEADLINE;
    pty.wait_for("In [1]:");
    // The answer comes once the files that are there are read.
    pty.send("%ipycodex changes\r");
    pty.wait_for("In [2]:");
    for number in 0..=RUNS {
        let prompt = format!(".question{number}");
        pty.send(&prompt);
        pty.wait_for(&prompt);
        let enter = Instant::now();
        pty.send("\r");
        let turn = wait(&passed, begin)?;
        let delta = wait(&passed, "delta")?;
        pty.wait_for(&format!("answer{number}."));
        let seen = Instant::now();
        wait(&passed, "completed")?;
        let next = format!("In [{}]:", number + 3);
        pty.wait_for(&next);
        // The first one starts the agent.
        if number > 0 {
            wire.push((turn - enter).as_secs_f64() * 1e3);
            screen.push(seen.saturating_duration_since(delta).as_secs_f64() * 1e3);
        }
    }
    Ok(())
}

/// What passed the app-server, and when it did by our clock.
fn listen(path: &std::path::Path) -> Result<Receiver<(String, Instant)>, String> {
    let socket =
        UnixDatagram::bind(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let (sender, passed) = channel();
    thread::spawn(move || {
        let mut buffer = [0; 256];
        while let Ok(count) = socket.recv(&mut buffer) {
            let now = Instant::now();
            let name = String::from_utf8_lossy(&buffer[..count]).into_owned();
            if sender.send((name, now)).is_err() {
                return;
            }
        }
    });
    Ok(passed)
}

fn wait(passed: &Receiver<(String, Instant)>, wanted: &str) -> Result<Instant, String> {
    let deadline = Instant::now() + DEADLINE;
    loop {
        match passed.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok((name, when)) if name == wanted => return Ok(when),
            Ok(_) => {}
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                return Err(format!("no {wanted} on the wire after {DEADLINE:?}"));
            }
        }
    }
}

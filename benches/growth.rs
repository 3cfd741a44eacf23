//! How what we do grows with its work: each path at 1, 10 and 100 times its work, and the exponent between the last two
//! (1: linear, 2: quadratic). The sizes at the right are hostile ones.
//!
//! In: the release binary, and this program for what is a function. Out: a table of its own, since it has no peer. A
//! time is the least of three in ms, without what the path takes with no work at all.
//!
//! Invariant: a path whose exponent is over [`STEEPEST`] is named as such, and the run fails.

use std::fmt::Write as _;
use std::os::unix::net::UnixDatagram;
use std::time::{Duration, Instant};

use ipycodex::input::{Mode, classify};
use ipycodex::runtime::{RuntimeReply, RuntimeRequest};
use ipycodex::session::write_file;
use serde_json::{Map, Value, json};

use crate::completion;
use crate::dialog::{begin, fill, wait};
use crate::markdown::play;
use crate::notebook::memory_folder;
use crate::round_trip::Ours;
use crate::saving::beside;
use crate::support::home::{Home, finish};
use crate::support::peers;
use crate::support::pty::Pty;
use crate::table::{digits, guarded};

/// What a path may grow by when its work grows by 10: 14 times.
const STEEPEST: f64 = 1.15;

/// Below this a time says nothing of growth, in ms.
const LEAST: f64 = 1.0;

/// What grows and its unit, the sizes, and the time in ms at one of them.
type GrowingPath = (&'static str, [usize; 3], fn(usize) -> Result<f64, String>);

const PATHS: [GrowingPath; 24] = [
    ("answer of one paragraph, KB", [10, 100, 1_000], |size| {
        answer("", "lorem **ipsum** dolor sit amet ", "", size)
    }),
    ("answer of one table, KB", [10, 100, 1_000], |size| {
        answer(
            "| a | b |\n|---|---|\n",
            "| a row | some `value` |\n",
            "",
            size,
        )
    }),
    ("answer of one list, KB", [10, 100, 1_000], |size| {
        answer("", "- an item with `code` and some more words\n", "", size)
    }),
    ("answer of one code block, KB", [10, 100, 1_000], |size| {
        answer(
            "```python\n",
            "value = f(1, 'two')  # three\n",
            "```\n",
            size,
        )
    }),
    ("one string in a cell, KB", [500, 5_000, 50_000], |size| {
        piped(&format!("len('{}')\n", "x".repeat(size * 1_000)))
    }),
    ("lines of a cell", [10_000, 100_000, 1_000_000], |lines| {
        script(&"a = 1\n".repeat(lines))
    }),
    (
        "lines of a cell, classified",
        [10_000, 100_000, 1_000_000],
        |lines| {
            let cell = "a = [1, 2]\n".repeat(lines);
            let began = Instant::now();
            std::hint::black_box(classify(&cell, Mode::Cells));
            Ok(ms(began))
        },
    ),
    ("printed by a cell, KB", [1_000, 10_000, 100_000], |size| {
        piped(&format!(
            "for _ in range({size}): print('{}' * 10)\n",
            "x".repeat(99)
        ))
    }),
    (
        "cells with a value on a pipe",
        [100, 1_000, 10_000],
        |cells| piped(&"1 + 1\n".repeat(cells)),
    ),
    ("context of a turn, KB", [50, 500, 5_000], |size| {
        let cell = format!("a = '{}'\n", "x".repeat(1_000));
        demo(&Home::new(), &(cell.repeat(size) + ".hello\n"))
    }),
    ("skills of a turn", [10, 100, 1_000], |skills| {
        let home = Home::new();
        for n in 0..skills {
            let text = format!("---\nname: skill-{n}\ndescription: Does {n}.\n---\nDo it.\n");
            home.write(&format!(".agents/skills/skill-{n}/SKILL.md"), text);
        }
        demo(&home, ".hello\n")
    }),
    (
        "cells of a session, context",
        [100, 1_000, 10_000],
        |cells| recorded(cells, false),
    ),
    ("cells of a session, saved", [100, 1_000, 10_000], |cells| {
        recorded(cells, true)
    }),
    (
        "inputs of a record, sessions listed",
        [20_000, 200_000, 2_000_000],
        |inputs| {
            let home = Home::new();
            let record = home.history();
            std::fs::create_dir_all(record.parent().expect("a folder")).expect("our own folder");
            fill(
                &record,
                i64::try_from(inputs / 1_000).expect("few"),
                1_000,
                0,
            );
            let began = Instant::now();
            let ran = home.run(&["sessions"], "");
            ran.status.success().then_some(()).ok_or(ran.stderr)?;
            Ok(ms(began))
        },
    ),
    ("notebook, one cell edited, MB", [1, 10, 100], |size| {
        notebook(&["edit", "--cell", "3", "--content", "x = 3"], size)
    }),
    ("notebook, shown, MB", [1, 10, 100], |size| {
        notebook(&["show"], size)
    }),
    ("names, completed", [100, 1_000, 10_000], |names| {
        let home = Home::new();
        let mut ours = live(&home)?;
        let names = names.max(2);
        ours.run(&format!(
            "for n in range({names}): globals()[f'name_{{n}}'] = n"
        ))?;
        completion::once(&mut ours, "name_")
    }),
    (
        "entries of a directory, completed",
        [1_000, 10_000, 100_000],
        |entries| {
            let home = Home::new();
            for n in 0..entries.max(2) {
                home.write(&format!("entry-{n}"), "");
            }
            completion::once(&mut live(&home)?, "open('entry")
        },
    ),
    (
        "entries of a directory, behind `@`",
        [1_000, 10_000, 100_000],
        |entries| {
            let home = Home::new();
            for n in 0..entries.max(2) {
                home.write(&format!("entry-{n}"), "");
            }
            let pty = shell(&home);
            pty.send(".what is in @entry");
            pty.at_line("In [1]: .what is in @entry");
            let began = Instant::now();
            pty.send("\t");
            pty.wait_for("entry-1");
            Ok(ms(began))
        },
    ),
    (
        "outputs of a cell on a terminal",
        [1_000, 10_000, 100_000],
        |outputs| {
            let home = Home::new();
            let pty = shell(&home);
            pty.stop_drawing();
            let began = Instant::now();
            pty.send_line(&format!(
                "any(display(n) for n in range({outputs})), 'all' 'shown'"
            ));
            pty.wait_raw(b"allshown", 0);
            Ok(ms(began))
        },
    ),
    (
        "rows of a column, looked at",
        [100_000, 1_000_000, 10_000_000],
        |rows| {
            let home = Home::new();
            let mut ours = live(&home)?;
            ours.run(&format!("column = list(range({rows}))"))?;
            look(&mut ours, "column")
        },
    ),
    (
        "rows of a DataFrame, looked at",
        [100_000, 1_000_000, 10_000_000],
        |rows| {
            let python = peers::schemas().ok_or("there is no pandas")?;
            // It runs from files in there.
            let home = Home::new();
            let mut ours = Ours::start(&home, &python, true)?;
            ours.run(&format!(
                "import numpy, pandas; n = numpy.arange({rows}); frame = pandas.DataFrame({{'n': n, 'half': n / 2}})"
            ))?;
            look(&mut ours, "frame")
        },
    ),
    ("functions offered as tools", [10, 100, 1_000], |tools| {
        let cell = format!(
            "for n in range({tools}): exec(f'def tool_{{n}}(at: int, to: str) -> str: \"Does {{n}}.\"')"
        );
        let names: String = (0..tools).map(|n| format!(" &`tool_{n}`")).collect();
        demo(&Home::new(), &format!("{cell}\n\n.hello{names}\n"))
    }),
    ("MCP servers of an agent", [10, 100, 1_000], |servers| {
        let home = Home::new();
        let server = |n| {
            (
                format!("server-{n}"),
                json!(format!("command-{n} --word {n}")),
            )
        };
        let servers: Map<String, Value> = (0..servers).map(server).collect();
        home.write_config("config.json", json!({"mcp_servers": servers}).to_string());
        let socket = home.path().join("s");
        let _passed = UnixDatagram::bind(&socket).map_err(|error| error.to_string())?;
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers/fake_acp.py");
        let python = peers::plain_python();
        let words = [python.to_str(), Some(script), socket.to_str()]
            .map(|word| word.expect("our paths are UTF-8"));
        let agent = shlex::try_join(words).map_err(|error| error.to_string())?;
        timed(&home, &["--agent", &format!("acp:{agent}")], ".hello\n")
    }),
];

/// Prints the table; the exit code.
pub fn run(words: &[String]) -> i32 {
    println!(
        "{:38} {:>30} {:>11} {:>11} {:>11} {:>9}",
        "what grows", "sizes", "1 x, ms", "10 x, ms", "100 x, ms", "exponent"
    );
    let mut steep = Vec::new();
    let chosen = |name: &str| words.iter().all(|word| name.contains(word.as_str()));
    for (name, sizes, path) in PATHS.into_iter().filter(|(name, ..)| chosen(name)) {
        let least = |size: usize| -> Result<f64, String> {
            let mut least = f64::INFINITY;
            for _ in 0..3 {
                least = least.min(guarded(|| path(size)).and_then(|result| result)?);
            }
            Ok(least)
        };
        let measured = (|| {
            let base = least(0)?;
            let times: Result<Vec<f64>, String> =
                sizes.iter().map(|size| Ok(least(*size)? - base)).collect();
            times
        })();
        let times = match measured {
            Ok(times) => times,
            Err(why) => {
                println!("{name:38} not measured: {why}");
                continue;
            }
        };
        // What cannot be told from nothing is taken for the least that can.
        let exponent = (times[2].max(LEAST) / times[1].max(LEAST)).log10();
        let mut shown = String::new();
        for time in &times {
            let _ = write!(shown, " {:>11}", digits(*time));
        }
        println!(
            "{name:38} {:>30}{shown} {exponent:>9.2}",
            format!("{sizes:?}")
        );
        if exponent > STEEPEST {
            steep.push(name);
        }
    }
    for name in &steep {
        println!("STEEP: {name}");
    }
    i32::from(!steep.is_empty())
}

fn ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

/// An answer that streams in deltas of 4 characters, drawn every 16 ms at 500 deltas a second.
fn answer(before: &str, part: &str, after: &str, kilobytes: usize) -> Result<f64, String> {
    let text = format!(
        "{before}{}{after}",
        part.repeat(kilobytes * 1_000 / part.len())
    );
    let began = Instant::now();
    play(&text, 8);
    Ok(ms(began))
}

fn arguments(words: &[&str]) -> Vec<String> {
    let python = peers::plain_python().display().to_string();
    let mut all: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    all.extend(["--no-ipython".into(), "--python".into(), python]);
    all
}

/// The program with this text, from its start to its end.
fn timed(home: &Home, words: &[&str], text: &str) -> Result<f64, String> {
    let began = Instant::now();
    let ran = finish(home.command(&arguments(words)), text.as_bytes());
    let elapsed = ms(began);
    ran.status.success().then_some(elapsed).ok_or(ran.stderr)
}

fn piped(text: &str) -> Result<f64, String> {
    timed(&Home::new(), &[], text)
}

fn demo(home: &Home, text: &str) -> Result<f64, String> {
    timed(home, &["--agent", "demo"], text)
}

/// A file that is one cell.
fn script(text: &str) -> Result<f64, String> {
    let home = Home::new();
    let file = home.write("cell.py", text);
    timed(&home, &["run", &file.display().to_string()], "")
}

/// What a look at this takes.
fn look(ours: &mut Ours, code: &str) -> Result<f64, String> {
    let code = code.to_owned();
    let look = RuntimeRequest::Snapshot {
        code,
        unprotected: true,
    };
    match ours.ask(look)? {
        (elapsed, RuntimeReply::Snapshot(_)) => Ok(elapsed),
        (_, answer) => Err(format!("a look gave {answer:?}")),
    }
}

fn recorded(cells: usize, saves: bool) -> Result<f64, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = folder.path().join("record.sqlite");
    let cells = u32::try_from(cells).expect("few");
    fill(&path, 1, cells, cells / 10);
    let (record, _reports) = begin(&path, Some(1));
    wait(record.session()).map_err(|why| format!("{why:?}"))?;
    let began = Instant::now();
    if saves {
        let session = wait(record.saved());
        write_file(&session, "Session 1", &beside(&path), |_| {})
            .map_err(|report| report.to_string())?;
    } else {
        std::hint::black_box(wait(record.dialog()).next_context());
    }
    Ok(ms(began))
}

fn notebook(words: &[&str], megabytes: usize) -> Result<f64, String> {
    let home = Home::new();
    let folder = memory_folder();
    let file = crate::notebook::notebook(folder.path(), megabytes);
    // There is no cell to edit in nothing.
    let words = if megabytes == 0 { &["show"][..] } else { words };
    let mut all = vec![
        "notebook",
        words[0],
        file.to_str().expect("our paths are UTF-8"),
    ];
    all.extend(&words[1..]);
    rustix::fs::sync();
    let began = Instant::now();
    let ran = finish(home.command(&all), b"");
    let elapsed = ms(began);
    ran.status.success().then_some(elapsed).ok_or(ran.stderr)
}

/// The shell at its first prompt, with its interpreter.
fn shell(home: &Home) -> Pty {
    let mut pty = Pty::spawn(home, &arguments(&[]), (100, 30));
    pty.patience = Duration::from_secs(60);
    pty.at_line("In [1]:");
    pty
}

fn live(home: &Home) -> Result<Ours, String> {
    Ours::start(home, &peers::plain_python(), true)
}

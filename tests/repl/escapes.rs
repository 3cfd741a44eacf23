//! Nothing foreign commands the terminal: every attack through every way in, then the list is held against all bytes.
//!
//! In: how many attacks. Out: how many ways and cuts there were. Invariants: no sequence that is not ours comes out,
//! and the text behind each attack does. Absent on purpose: `!command`. A program in the foreground owns the terminal
//! until it ends.

use ipycodex::markdown::{Appearance, MarkdownStream};
use ipycodex::output::filter::{Filter, Policy};
use serde_json::{Value, json};

use super::questioning_agent::Asker;
use super::sequences::{ATTACKS, foreign, without_question};
use super::shell::{Shell, UP};
use crate::support::home::Home;
use crate::support::peers;
use crate::support::pty::{Pty, SIZE};

/// Python that knows the attacks as bytes `A` and as text `T`, and offers ways to show them.
const WAYS: &str = r#"
import json, os, sys
A = [bytes(a) for a in json.load(open('attacks.json'))]
def as_text(a):
    try:
        return a.decode()
    except UnicodeDecodeError:
        return a.decode('latin-1')
T = [as_text(a) for a in A]
class Loud:
    def __init__(self, text): self.text = text
    def __repr__(self): return self.text
class Marked:
    def _repr_markdown_(self): return '\n\n'.join(f'{t}md-{n}.' for n, t in enumerate(T))
def printed():
    for n, a in enumerate(A):
        os.write(1, a + b'OUT-%d.\n' % n)
def cut(most):
    for n, a in enumerate(A):
        for k in range(1, min(len(a), most)):
            os.write(1, a[:k])
            sys.stdout.flush()
            os.write(1, a[k:] + b'CUT-%d-%d.\n' % (n, k))
def raised():
    raise ValueError('\n'.join(f'{t}EXC-{n}.' for n, t in enumerate(T)))
def tool():
    "\x1b]0;title\x07Says."
    print(''.join(T))
    return '\n'.join(T)
def bad_tool():
    raise ValueError(''.join(T))
def folders():
    names = [t.replace('/', '').replace('\0', '') for t in T]
    for n, name in enumerate(names):
        os.makedirs(f'dir/{name}{n}', exist_ok=True)
    return [f'dir/{name}{n}' for n, name in enumerate(names)]
F = folders()
def named(n):
    exec(compile('1/0', T[n] + 'name.py', 'exec'))
"#;

/// Cells that show attacks; behind a return, what is typed when they ask.
const CELLS: &[&str] = &[
    "printed()",
    "cut(99)",
    "raised()",
    "Loud(''.join(T))",
    "[Loud(t) for t in T]",
    "Marked()",
    "print(''.join(T), file=sys.stderr)",
    ".use &`tool`",
    ".use &`bad_tool`",
    "%cd {F[0]}",
    "os.chdir(F[5]) if os.path.isdir(F[5]) else None",
    "%pwd",
    "%ipycodex",
    "%ipycodex sessions",
    "%ipycodex context",
    "named(0)",
    "named(len(T) // 4)",
    "name_error_\u{9b}2J",
    "import warnings; warnings.warn(''.join(T))",
    "input(''.join(T).replace(chr(0), '') + chr(27) + chr(92) + 'AS' 'KED')\rx",
    "Loud?",
];

/// Spread over all of them.
fn spread(count: u32) -> Vec<&'static [u8]> {
    let count = (count as usize).min(ATTACKS.len());
    let places = (0..count).map(|index| index * ATTACKS.len() / count);
    places.map(|place| ATTACKS[place]).collect()
}

fn attacked(arguments: &[&str], attacks: &[&[u8]]) {
    let home = Home::with(&[("PAGER", "cat")]);
    home.write("attacks.json", serde_json::to_string(attacks).unwrap());
    home.write("ways.py", WAYS);
    // Into the record, as code and as a prompt, without passing an editor.
    let all: String = attacks
        .iter()
        .filter_map(|attack| std::str::from_utf8(attack).ok())
        .filter(|attack| !attack.contains('\0'))
        .collect();
    let piped = format!("# %%\n'''recalled {all}''' ; 1\n# %%\n.quote {all}end of it\n");
    let ran = home.demo(&[], &piped);
    assert!(ran.stdout.contains("no AI"), "{ran:?}");

    let shell = Shell::start(home, arguments, SIZE);
    shell.cell(1, "0");
    shell.pty.send(&format!("{UP}{UP}{UP}"));
    shell.pty.wait_for("''' ; 1");
    shell.pty.send("\x03");
    shell.at(2);
    shell.pty.send(&format!("{UP}{UP}"));
    shell.pty.wait_for("end of it");
    shell.pty.send("\r");
    shell.at(3);
    shell.pty.wait_for_anywhere("no AI");
    shell.cell(3, "from ways import *");
    let mut number = 4;
    for code in CELLS {
        shell.at(number);
        match code.split_once('\r') {
            Some((asks, answer)) => {
                let from = shell.pty.raw().len();
                shell.pty.send_line(asks);
                shell.pty.wait_raw(b"SKED", from);
                shell.pty.send_line(answer);
            }
            None => shell.pty.send_line(code),
        }
        number += 1;
        shell.at(number);
    }
    let text = shell.text();
    // The first letter may be the end of a sequence that was not complete. Capitals are in no set of line drawing.
    let marks = attacks.iter().enumerate().flat_map(|(n, attack)| {
        let cuts = (1..attack.len()).map(move |cut| format!("UT-{n}-{cut}."));
        [format!("UT-{n}."), format!("XC-{n}.")]
            .into_iter()
            .chain(cuts)
    });
    let missing: Vec<String> = marks.filter(|mark| !text.contains(mark.as_str())).collect();
    assert!(missing.is_empty(), "text was swallowed: {missing:?}");
    shell.leave();
    nothing_foreign("cells", &shell.pty.raw(), attacks);
}

/// No sequence in this is foreign, and none of these is there as it was.
fn nothing_foreign(what: &str, raw: &[u8], attacks: &[&[u8]]) {
    let raw = without_question(raw);
    let found = foreign(&raw);
    assert!(found.is_empty(), "{what}: {found:?}");
    let through: Vec<_> = attacks
        .iter()
        // One that only breaks off, or only moves on, has no bytes of its own.
        .filter(|attack| {
            attack.len() > 3 && !attack.starts_with(b"\x1b[31") && !attack.ends_with(b"titleq2J0;t")
        })
        .filter(|attack| memchr::memmem::find(&raw, attack).is_some())
        .map(|attack| attack.escape_ascii().to_string())
        .collect();
    assert!(through.is_empty(), "{what}: {through:?}");
}

/// An attack as text: bytes that are no UTF-8 are the characters of these numbers.
fn as_text(attack: &[u8]) -> String {
    match std::str::from_utf8(attack) {
        Ok(text) => text.to_owned(),
        Err(_) => attack.iter().copied().map(char::from).collect(),
    }
}

/// What an agent can say: the steps that say a text in these pieces, under this id.
struct Source {
    name: &'static str,
    /// It is shown as it comes: where the pieces end makes a difference.
    streams: bool,
    /// What was said stays on the screen.
    stays: bool,
    steps: fn(&str, &[&str]) -> Vec<Value>,
}

const fn source(
    name: &'static str,
    (streams, stays): (bool, bool),
    steps: fn(&str, &[&str]) -> Vec<Value>,
) -> Source {
    Source {
        name,
        streams,
        stays,
        steps,
    }
}

fn note(method: &str, params: Value) -> Value {
    json!({"note": method, "params": params})
}

fn completed(item: Value) -> Value {
    note("item/completed", json!({"item": item}))
}

fn deltas<'a>(
    method: &'a str,
    id: &'a str,
    pieces: &'a [&str],
) -> impl Iterator<Item = Value> + 'a {
    pieces.iter().map(move |piece| {
        let params = json!({"itemId": id, "delta": piece, "summaryIndex": 0, "contentIndex": 0});
        note(method, params)
    })
}

fn server_call(id: &str, said: Value) -> Vec<Value> {
    let mut item = json!({"type": "mcpToolCall", "id": id, "server": "s", "tool": "t", "arguments": {},
        "status": "completed", "result": null, "error": null});
    for (key, value) in said.as_object().into_iter().flatten() {
        item[key] = value.clone();
    }
    vec![completed(item)]
}

fn command_item(id: &str, command: &str, output: &str) -> Value {
    json!({"type": "commandExecution", "id": id, "command": command, "cwd": "/", "aggregatedOutput": output,
        "exitCode": 1, "status": "failed"})
}

const SOURCES: &[Source] = &[
    source("model text", (true, true), |_, pieces| {
        vec![json!({"pieces": pieces})]
    }),
    source("reasoning", (true, true), |id, pieces| {
        let thought = json!({"type": "reasoning", "id": id, "summary": [pieces.concat()]});
        deltas("item/reasoning/summaryTextDelta", id, pieces)
            .chain([completed(thought)])
            .collect()
    }),
    source("output of a command", (true, false), |id, pieces| {
        let item = command_item(id, "run", &pieces.concat());
        [note("item/started", json!({"item": item}))]
            .into_iter()
            .chain(deltas("item/commandExecution/outputDelta", id, pieces))
            .chain([completed(item)])
            .collect()
    }),
    source("command", (false, true), |id, pieces| {
        let item = command_item(id, &pieces.concat(), "");
        let started = note("item/started", json!({"item": item}));
        vec![started, completed(item)]
    }),
    source("name of a tool", (false, true), |id, pieces| {
        server_call(id, json!({"tool": pieces.concat()}))
    }),
    source("name of a server", (false, true), |id, pieces| {
        server_call(id, json!({"server": pieces.concat()}))
    }),
    source("arguments", (false, true), |id, pieces| {
        server_call(id, json!({"arguments": {"a": pieces.concat()}}))
    }),
    source("result", (false, true), |id, pieces| {
        let content = json!([{"type": "text", "text": pieces.concat()}]);
        server_call(id, json!({"result": {"content": content}}))
    }),
    source("error", (false, true), |id, pieces| {
        let error = json!({"message": pieces.concat()});
        server_call(id, json!({"status": "failed", "error": error}))
    }),
    source("warning", (false, false), |_, pieces| {
        vec![note("warning", json!({"message": pieces.concat()}))]
    }),
    source("name of a file, its text", (false, true), |id, pieces| {
        let text = pieces.concat();
        let change = json!({"path": format!("/{text}"), "kind": {"type": "add"}, "diff": text});
        let item =
            json!({"type": "fileChange", "id": id, "changes": [change], "status": "completed"});
        vec![completed(item)]
    }),
    source("search", (false, true), |id, pieces| {
        let item = json!({"type": "webSearch", "id": id, "query": pieces.concat(), "action": {}});
        vec![completed(item)]
    }),
    source("plan", (false, false), |_, pieces| {
        let plan = json!([{"step": pieces.concat(), "status": "pending"}]);
        vec![note(
            "turn/plan/updated",
            json!({"explanation": null, "plan": plan}),
        )]
    }),
];

/// A scripted agent says each attack in each way: whole, and in each two pieces where pieces make a difference.
fn said_by_an_agent(attacks: &[&[u8]]) -> usize {
    let mut tried = 0;
    let mut turns = Vec::new();
    for source in SOURCES {
        let mut turn = Vec::new();
        for (n, attack) in attacks.iter().enumerate() {
            let text = as_text(attack);
            let cuts = text.char_indices().map(|(at, _)| at);
            for cut in cuts.filter(|at| source.streams || *at == 0) {
                let whole = format!("{text}MARK-{n}-{cut}.\n\n");
                let (first, rest) = whole.split_at(cut);
                turn.extend((source.steps)(&format!("i{n}-{cut}"), &[first, rest]));
                tried += 1;
            }
        }
        turns.push(turn);
    }
    let asker = Asker::of(Home::new(), json!(turns), (300, 60));
    let pty = &asker.shell.pty;
    for (number, source) in (1..).zip(SOURCES) {
        let from = pty.raw_length();
        asker.prompt(number);
        asker.shell.at(number + 1);
        let shown = without_sequences(&pty.raw()[from..]);
        let marks = attacks.iter().enumerate().flat_map(|(n, attack)| {
            let cuts = 0..as_text(attack).chars().count();
            let cuts = cuts.filter(|cut| source.streams || *cut == 0);
            cuts.map(move |cut| (n, cut))
        });
        // Where characters are cut, so are these: `cut` counts bytes.
        let missing: Vec<_> = marks
            .filter(|(n, cut)| {
                let text = as_text(attacks[*n]);
                let at = text.char_indices().nth(*cut).map_or(0, |(at, _)| at);
                source.stays && !shown.contains(&format!("ARK-{n}-{at}."))
            })
            .collect();
        let name = source.name;
        assert!(
            missing.is_empty(),
            "{name}: swallowed behind {missing:?}:\n{shown}"
        );
    }
    asker.shell.leave();
    nothing_foreign("an agent", &pty.raw(), attacks);
    tried
}

/// What is written, without the sequences of ours.
fn without_sequences(raw: &[u8]) -> String {
    let (mut filter, mut out) = (Filter::new(Policy::Text), Vec::new());
    filter.push(raw, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// Files that hold attacks (skills, a notebook and its name, the name of a session), and the commands that read them.
fn read_from_files(attacks: &[&[u8]]) -> usize {
    let home = Home::with(&[("PAGER", "cat")]);
    home.demo(&[], "1\n.hello\n");
    let all: String = attacks.iter().map(|attack| as_text(attack)).collect();
    let record = rusqlite::Connection::open(home.history()).unwrap();
    let name = "insert into ipycodex_sessions (session, name) values (1, ?1) on conflict do update set name = ?1";
    record.execute(name, [&all]).unwrap();
    drop(record);
    for (n, attack) in attacks.iter().enumerate() {
        let text = as_text(attack);
        let (folder, quoted) = (text.replace(['/', '\0'], ""), json!(text));
        let skill = |name: &str, description: &str| {
            format!("---\nname: {name}\ndescription: {description}\n---\n{text}\n")
        };
        let path = format!(".agents/skills/skill-{n}/SKILL.md");
        home.write(&path, skill(&format!("skill-{n}"), &quoted.to_string()));
        let path = format!(".agents/skills/{folder}{n}/SKILL.md");
        home.write(&path, skill(&quoted.to_string(), "named"));
    }
    let streams = attacks.iter().map(|attack| {
        json!({"output_type": "stream", "name": "stdout", "text": as_text(attack) + "MARK\n"})
    });
    let error = json!({"output_type": "error", "ename": all, "evalue": all, "traceback": [all]});
    let data = json!({"text/plain": all, "text/markdown": all});
    let data = json!({"output_type": "display_data", "data": data, "metadata": {}});
    let outputs: Vec<Value> = streams.chain([error, data]).collect();
    let source = format!("'''{all}'''");
    let code = json!({"cell_type": "code", "metadata": {}, "source": source, "id": "a", "outputs": outputs,
        "execution_count": 1});
    let prose = json!({"cell_type": "markdown", "metadata": {}, "source": source, "id": "b"});
    let text = json!({"cells": [code, prose], "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
    let hostile: String = all
        .chars()
        .filter(|c| !matches!(c, '/' | '\0'))
        .take(60)
        .collect();
    let hostile = hostile + ".ipynb";
    home.write("a.ipynb", text.to_string());
    home.write(&hostile, text.to_string().replace("'''", "'''other "));
    let commands: &[&[&str]] = &[
        &["skills"],
        &["sessions"],
        &["notebook", "show", "a.ipynb", "--outputs"],
        &["notebook", "show", &hostile, "--outputs"],
        &["notebook", "show", "missing\x1b]0;t\x07.ipynb"],
        &["notebook", "diff", "a.ipynb", &hostile],
        &["run", "a.ipynb"],
        &["search", "a"],
        &["export", "1"],
        &["doctor"],
        &["-c", "%ipycodex skills"],
        &["-c", "%ipycodex sessions"],
        &["-l", &hostile, "-c", ".hello"],
        &["\x1b]0;t\x07"],
        &["--\x1b]0;t\x07"],
    ];
    for command in commands {
        let pty = Pty::spawn(&home, &[&["--agent", "demo"], *command].concat(), (300, 60));
        pty.read_to_end();
        let raw = pty.raw();
        let what = format!("{command:?}");
        assert!(!raw.is_empty(), "{what} says nothing");
        let panicked = memchr::memmem::find(&raw, b"panicked").is_some();
        assert!(!panicked, "{what}: {}", pty.all_text());
        nothing_foreign(&what, &raw, attacks);
    }
    commands.len()
}

/// At the lowest boundary: wherever an attack is cut, what comes out is the same, no more than is listed, and nothing
/// behind it is swallowed. Returns how many cuts.
fn cut_everywhere(attacks: &[&[u8]]) -> u32 {
    let filtered = |policy: Policy, pieces: &[&[u8]]| {
        let (mut filter, mut out) = (Filter::new(policy), Vec::new());
        pieces.iter().for_each(|piece| filter.push(piece, &mut out));
        filter.finish(&mut out);
        out
    };
    let rendered = |pieces: &[&str]| {
        let mut stream = MarkdownStream::new(Appearance::default());
        let mut lines = Vec::new();
        for piece in pieces {
            stream.push(piece);
            lines.extend(stream.frame(80, usize::MAX).settled);
        }
        stream.finish();
        lines.extend(stream.frame(80, usize::MAX).settled);
        let lines = lines.iter().map(|line| line.to_ansi(false) + "\n");
        lines.collect::<String>()
    };
    let mut cuts = 0;
    for attack in attacks {
        let marked = [*attack, &b"MARK\n"[..]].concat();
        let shown = marked.escape_ascii();
        for policy in [Policy::Text, Policy::Colours, Policy::Cell] {
            let whole = filtered(policy, &[&marked]);
            let through = memchr::memmem::find(&whole, b"ARK\n").is_some();
            assert!(through && foreign(&whole).is_empty(), "{policy:?}: {shown}");
            let bytes: Vec<&[u8]> = marked.chunks(1).collect();
            assert_eq!(
                filtered(policy, &bytes),
                whole,
                "{policy:?}: {shown} byte by byte"
            );
            for first in 0..marked.len() {
                for second in first..marked.len() {
                    let pieces = [&marked[..first], &marked[first..second], &marked[second..]];
                    let out = filtered(policy, &pieces);
                    assert_eq!(
                        out, whole,
                        "{policy:?}: {shown} cut at {first} and {second}"
                    );
                    cuts += 1;
                }
            }
        }
        let text = as_text(&marked);
        let whole = rendered(&[&text]);
        assert!(
            foreign(whole.as_bytes()).is_empty() && whole.contains("MARK"),
            "{whole:?}"
        );
        for (cut, _) in text.char_indices() {
            let (first, rest) = text.split_at(cut);
            assert_eq!(
                rendered(&[first, rest]),
                whole,
                "markdown: {shown} cut at {cut}"
            );
            cuts += 1;
        }
    }
    cuts
}

/// Attacks by all ways in; cells run with either engine.
pub fn foreign_sequences(count: u32) -> String {
    let attacks = spread(count);
    let cuts = cut_everywhere(ATTACKS);
    let commands = read_from_files(&attacks);
    let said = said_by_an_agent(&attacks);
    attacked(&["--agent", "demo"], &attacks);
    if let Some(python) = peers::python() {
        let python = python.to_str().unwrap();
        attacked(&["--agent", "demo", "--python", python], &attacks);
    }
    let (sources, cells) = (SOURCES.len(), CELLS.len());
    format!(
        "{sources} things an agent says ({said} times), {cells} cells, {commands} commands on files, {cuts} cuts: \
         nothing foreign, nothing swallowed"
    )
}

//! Nothing foreign commands the terminal: every attack through every way in, then the list is held against all bytes.
//!
//! Absent on purpose: `!command`. A program in the foreground owns the terminal until it ends.

use super::sequences::{ATTACKS, foreign, without_question};
use super::shell::{Shell, UP};
use crate::support::home::Home;
use crate::support::peers;
use crate::support::pty::SIZE;

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

fn attacked(arguments: &[&str]) {
    let home = Home::with(&[("PAGER", "cat")]);
    let attacks = serde_json::to_string(ATTACKS).unwrap();
    home.write("attacks.json", attacks);
    home.write("ways.py", WAYS);
    // Into the record, as code and as a prompt, without passing an editor.
    let all: String = ATTACKS
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
    for code in [
        "printed()",
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
        "named(24)",
        "name_error_\u{9b}2J",
        "import warnings; warnings.warn(''.join(T))",
        "input(''.join(T))\rx",
        "Loud?",
    ] {
        shell.at(number);
        match code.split_once('\r') {
            Some((asks, answer)) => {
                let from = shell.pty.raw().len();
                shell.pty.send_line(asks);
                // `titleq2J0;t`, in the set of line drawing that an attack before it has chosen.
                shell.pty.wait_raw("├i├┌e─2J0;├".as_bytes(), from);
                shell.pty.send_line(answer);
            }
            None => shell.pty.send_line(code),
        }
        number += 1;
        shell.at(number);
    }
    let text = shell.text();
    // The first letter may be the end of a sequence that was not complete. Capitals are in no set of line drawing.
    let missing: Vec<String> = (0..ATTACKS.len())
        .flat_map(|n| [format!("UT-{n}."), format!("XC-{n}.")])
        .filter(|mark| !text.contains(mark.as_str()))
        .collect();
    assert!(missing.is_empty(), "text was swallowed: {missing:?}");
    shell.leave();
    let raw = without_question(&shell.pty.raw());
    let found = foreign(&raw);
    assert!(found.is_empty(), "{found:?}");
    let through: Vec<_> = ATTACKS
        .iter()
        // One that only breaks off, or only moves on, has no bytes of its own.
        .filter(|attack| {
            attack.len() > 3 && !attack.starts_with(b"\x1b[31") && !attack.ends_with(b"titleq2J0;t")
        })
        .filter(|attack| memchr::memmem::find(&raw, attack).is_some())
        .map(|attack| attack.escape_ascii().to_string())
        .collect();
    assert!(through.is_empty(), "{through:?}");
}

#[test]
fn no_foreign_sequence_reaches_the_terminal() {
    attacked(&["--agent", "demo"]);
}

#[test]
fn no_foreign_sequence_reaches_the_terminal_with_ipython() {
    if let Some(python) = peers::python() {
        attacked(&["--agent", "demo", "--python", python.to_str().unwrap()]);
    }
}

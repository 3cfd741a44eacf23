//! Finds the line of a failed program's standard error that states the cause.
//!
//! Pure. In: the end of standard error, unchanged. Out: one line, foreign text of any length. Failing programs
//! write in known forms: in Node the error stands above its stack and below a caret, in Python below the traceback,
//! in Rust below `panicked at`, in Go behind `panic:`, in npm behind `npm error`. For anything else the last line
//! that is not part of a stack is taken.

/// The cause that `stderr` states; `None` when there is no text.
pub(super) fn cause(stderr: &str) -> Option<String> {
    let text = without_colours(stderr);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let said = dump(&lines)
        .or_else(|| npm(&lines).map(str::to_owned))
        .or_else(|| last(&lines).map(str::to_owned))?;
    (!said.trim().is_empty()).then_some(said)
}

/// The message of the last dump, from its first line to the stack below it.
fn dump(lines: &[&str]) -> Option<String> {
    let begins = |at: &usize| {
        let (line, before) = (lines[*at], &lines[..*at]);
        if line.is_empty() || line.starts_with(char::is_whitespace) {
            return false;
        }
        let above = before.iter().rev().find(|line| !line.is_empty());
        let in_traceback = || {
            let mut above = before.iter().rev();
            let head = above.find(|line| !line.starts_with(char::is_whitespace));
            head.is_some_and(|head| head.starts_with("Traceback (most recent call last)"))
        };
        line.starts_with("panic: ")
            || line.starts_with("FATAL ERROR: ")
            || line.starts_with("Exception in thread ")
            || above.is_some_and(|above| {
                is_carets(above) || above.ends_with(':') && above.contains(" panicked at ")
            })
            || line.contains(" panicked at '")
            || in_traceback()
    };
    let first = (0..lines.len()).rev().find(begins)?;
    let more = lines[first + 1..].iter();
    let more = more.take_while(|line| !line.is_empty() && !is_noise(line));
    let whole: Vec<&str> = std::iter::once(&lines[first])
        .chain(more)
        .copied()
        .collect();
    let whole = whole.join(" ");
    // Node prints such an error with its fields in braces.
    Some(whole.strip_suffix(" {").unwrap_or(&whole).to_owned())
}

/// The first line of npm's error that is neither a code nor the name of a system call.
fn npm<'a>(lines: &[&'a str]) -> Option<&'a str> {
    const BESIDE: [&str; 12] = [
        "code", "errno", "syscall", "path", "dest", "command", "spawn", "signal", "cwd", "A",
        "Log", "",
    ];
    let of_npm = |line: &&str| {
        ["npm error", "npm ERR!"]
            .iter()
            .any(|head| line.starts_with(head))
    };
    let last = lines
        .iter()
        .rev()
        .find(|line| !line.is_empty() && !line.starts_with("npm notice"))?;
    if !of_npm(last) {
        return None;
    }
    let tells = |line: &&&str| {
        of_npm(line) && !BESIDE.contains(&line.split_whitespace().nth(2).unwrap_or_default())
    };
    lines.iter().find(tells).copied()
}

/// The last line that is not part of a stack.
fn last<'a>(lines: &[&'a str]) -> Option<&'a str> {
    let mut said = lines.iter().rev().filter(|line| !line.trim().is_empty());
    let last = said.clone().next();
    said.find(|line| !is_noise(line)).or(last).copied()
}

fn is_carets(line: &str) -> bool {
    line.contains('^') && line.chars().all(|c| matches!(c, ' ' | '^' | '~'))
}

/// True for lines of a stack, for fields of an error, and for the lines that programs print below it.
fn is_noise(line: &str) -> bool {
    let text = line.trim_start();
    let is_version = |name: &str| {
        let rest = text.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    is_version("Node.js v")
        || is_version("Bun v")
        || text.starts_with("at ") && text.len() < line.len()
        || text.starts_with("-----")
        || text.chars().all(|c| "{}[]();,^~".contains(c))
        || [
            "note: ",
            "npm notice",
            "(Use `node",
            "goroutine ",
            "stack backtrace:",
            "exit status ",
        ]
        .iter()
        .any(|head| text.starts_with(head))
        || text.len() < line.len() && text.split_once(": ").is_some_and(|(key, _)| is_field(key))
}

/// True for a field of an error that Node prints: `code`, `[cause]`.
fn is_field(key: &str) -> bool {
    let of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '[' | ']' | '\'' | '$');
    !key.is_empty() && key.chars().all(of_name)
}

/// `text` without CSI sequences, since logs may be coloured.
fn without_colours(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            let mut rest = chars.clone();
            if rest.next() == Some('[') {
                for c in rest.by_ref() {
                    if ('@'..='~').contains(&c) {
                        break;
                    }
                }
                chars = rest;
            }
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_tells_the_cause_is_found() {
        let check = |stderr: &str, expected: &str| {
            assert_eq!(cause(stderr).as_deref().unwrap_or(""), expected, "{stderr}");
        };
        check("", "");
        check("\n \x1b[0m\n", "");
        check("starting\nkey is missing\n\n", "key is missing");
        check("\x1b[31mError: no key\x1b[0m\n", "Error: no key");
        check(
            "Error: once, long ago\nlicence has run out\n",
            "licence has run out",
        );
        // Three outputs of Node v20.20.2.
        check(
            "file:///a.mjs:1\nthrow new Error('no key: set KEY');\n      ^\n\nError: no key: set KEY\n    at \
             file:///a.mjs:1:7\n    at ModuleJob.run (node:internal/modules/esm/module_job:325:25)\n\n\
             Node.js v20.20.2\n",
            "Error: no key: set KEY",
        );
        check(
            "node:internal/modules/cjs/loader:1210\n  throw err;\n  ^\n\nError: Cannot find module '/nope.js'\n    \
             at Module._load (node:internal/modules/cjs/loader:1038:27) {\n  code: 'MODULE_NOT_FOUND',\n  \
             requireStack: []\n}\n\nNode.js v20.20.2\n",
            "Error: Cannot find module '/nope.js'",
        );
        check(
            "[eval]:1\nthrow 'no key'\n^\nno key\n(Use `node --trace-uncaught ...`)\n\nNode.js v20.20.2\n",
            "no key",
        );
        check(
            "a.js:1\nthrow e\n^\n\nError: Command failed: ls\nls: no such file\n    at a.js:1:1 {\n  status: 2\n  \
             [cause]: Error: deeper\n      at b.js:1:1\n}\n\nNode.js v22.1.0",
            "Error: Command failed: ls ls: no such file",
        );
        check(
            "Error: no key\n    at a.js:1:1\n  code: 'E'\n}\n\nNode.js v20.20.2\n",
            "Error: no key",
        );
        check(
            "<--- Last few GCs --->\n\n[1:0x1] 65 ms: Mark-Compact\n\nFATAL ERROR: Reached heap limit Allocation \
             failed - JavaScript heap out of memory\n----- Native stack trace -----\n\n 1: 0xb8 node::Abort()\n",
            "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory",
        );
        check(
            "1 | throw new Error('x')\n          ^\nerror: no key\n      at /a.js:1:7\n\nBun v1.2.3 (Linux x64)\n",
            "error: no key",
        );
        // A Python message may have several lines, and one error may follow another.
        check(
            "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    f()\n    ~^^\n\
             KeyError: 'x'\n\nDuring handling of the above exception, another exception occurred:\n\n\
             Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\napp.Refused: no key\nset KEY\n",
            "app.Refused: no key set KEY",
        );
        check(
            "  File \"a.py\", line 1\n    x =\n       ^\nSyntaxError: invalid syntax\n",
            "SyntaxError: invalid syntax",
        );
        check(
            "\nthread 'main' (7) panicked at src/main.rs:2:5:\nno key\nnote: run with `RUST_BACKTRACE=1` environment \
             variable to display a backtrace\n",
            "no key",
        );
        check(
            "panic: no key\n\ngoroutine 1 [running]:\nmain.main()\n\t/a.go:3 +0x1d\nexit status 2\n",
            "panic: no key",
        );
        let npm = |head: &str| {
            format!(
                "npm warn old\n{head} code E404\n{head} 404 Not Found - GET https://r/x - Not found\n{head} 404\n\
                 {head} 404  \
                 'x@*' is not in this registry.\n{head} A complete log of this run can be found in: /l\n"
            )
        };
        check(
            &npm("npm error"),
            "npm error 404 Not Found - GET https://r/x - Not found",
        );
        check(
            &npm("npm ERR!"),
            "npm ERR! 404 Not Found - GET https://r/x - Not found",
        );
        check(
            "npm error code ENOTFOUND\nnpm error syscall getaddrinfo\nnpm error errno ENOTFOUND\nnpm error network \
             request to https://r/x failed\nnpm error network This is a problem\n",
            "npm error network request to https://r/x failed",
        );
    }
}

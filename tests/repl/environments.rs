//! Odd surroundings: dumb and tiny terminals, no colours, no locale, a broken configuration, a missing interpreter.

use std::os::unix::fs::PermissionsExt;

use super::sequences::foreign;
use super::shell::Shell;
use crate::support::home::Home;
use crate::support::pty::SIZE;

const DEMO: [&str; 2] = ["--agent", "demo"];

#[test]
fn a_dumb_terminal_is_enough() {
    let home = Home::with(&[("TERM", "dumb")]);
    let shell = Shell::start(home, &DEMO, SIZE);
    shell.cell(1, "1 + 1");
    shell.shows("Out[1]: 2");
    let from = shell.pty.raw().len();
    shell.pty.send_line(".hello");
    let end = shell.pty.wait_raw(b" out \xc2\xb7 ", from);
    shell.at(3);
    // The answer moves nothing: it is text from its first word to its last line.
    let raw = shell.pty.raw();
    let start = memchr::memmem::find(&raw[from..end], b"Demo answer").unwrap() + from;
    assert!(
        !raw[start..end].contains(&0x1b),
        "{}",
        raw[start..end].escape_ascii()
    );
}

#[test]
fn no_color_means_no_colour() {
    let home = Home::with(&[("NO_COLOR", "1")]);
    let shell = Shell::start(home, &DEMO, SIZE);
    shell.cell(1, "1/0");
    shell.cell(2, ".hello");
    shell.cell(3, "def f(): return 'text'  # comment");
    shell.leave();
    let raw = String::from_utf8(shell.pty.raw()).unwrap();
    let coloured: Vec<&str> = raw
        .split("\x1b[")
        .skip(1)
        .filter_map(|rest| rest.split_once('m').map(|(parameters, _)| parameters))
        .filter(|parameters| {
            parameters
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b';')
        })
        .filter(|parameters| {
            parameters
                .split(';')
                .any(|number| matches!(number.parse::<u16>(), Ok(30..=49 | 90..=107)))
        })
        .collect();
    assert!(coloured.is_empty(), "{coloured:?}");
    assert_eq!(foreign(raw.as_bytes()), [""; 0]);
}

#[test]
fn twenty_columns_show_an_answer_whole() {
    let shell = Shell::start(Home::new(), &DEMO, (20, 30));
    shell.cell(1, "a = 1");
    shell.cell(2, ".tell me about tables");
    let rows = shell.pty.all_text();
    let words: String = rows.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "I am the built-in offline agent.",
        "1 cell since the last prompt",
        "s asked",
        "sum(range(10))",
    ] {
        assert!(words.contains(part), "{part}: {rows}");
    }
}

#[test]
fn the_c_locale_works() {
    let home = Home::with(&[("LANG", "C"), ("LC_ALL", "C")]);
    let shell = Shell::start(home, &DEMO, SIZE);
    shell.cell(1, "print('päivää'); 'ä' * 2");
    shell.shows("päivää");
    shell.shows("Out[1]: 'ää'");
    shell.cell(2, ".sää?");
    assert_eq!(shell.answers(1)[0].0, "sää?");
}

#[test]
fn a_broken_configuration_is_named_and_the_shell_starts() {
    for (content, mode, parts) in [
        (
            "{\n  \"think\": \"l\",\n  nonsense\n}",
            0o600,
            ["config.json", "line 3"],
        ),
        ("{\n  \"think\": \"q\"\n}", 0o600, ["config.json", "think"]),
        ("[1, 2]", 0o600, ["config.json", "object"]),
        ("\u{0}\u{1}", 0o600, ["config.json", "line 1"]),
    ] {
        let home = Home::new();
        let path = home.write_config("config.json", content);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let shell = Shell::start(home, &DEMO, SIZE);
        shell.cell(1, "6 * 7");
        shell.shows("Out[1]: 42");
        for part in parts {
            shell.shows(part);
        }
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            content,
            "it was changed"
        );
    }
}

#[test]
fn a_configuration_that_is_a_folder_is_named_and_the_shell_starts() {
    let home = Home::new();
    std::fs::create_dir_all(home.config().join("config.json")).unwrap();
    let shell = Shell::start(home, &DEMO, SIZE);
    shell.cell(1, "6 * 7");
    shell.shows("Out[1]: 42");
    shell.shows("config.json");
}

#[test]
fn a_missing_interpreter_is_named_and_prompts_still_work() {
    let shell = Shell::start(
        Home::new(),
        &["--agent", "demo", "--python", "/nonexistent/python"],
        SIZE,
    );
    shell.at(1);
    shell.pty.send_line("1 + 1");
    shell.at(2);
    shell.shows("/nonexistent/python");
    shell.shows("hint:");
    shell.cell(2, ".hello");
    shell.pty.wait_for_anywhere("no AI");
    assert_eq!(shell.leave(), 0);
}

#[test]
fn an_interpreter_that_talks_nonsense_is_named() {
    for script in [
        "#!/bin/sh\necho garbage\nexit 3\n",
        "#!/bin/sh\nwhile :; do echo garbage || exit; done\n",
        "#!/bin/sh\nhead -c 100000 /dev/urandom >&3 2>/dev/null; head -c 100000 /dev/zero; exit 0\n",
    ] {
        let home = Home::new();
        home.install_script("odd", script);
        let odd = home.path().join("bin/odd");
        let shell = Shell::start(
            home,
            &["--agent", "demo", "--python", odd.to_str().unwrap()],
            SIZE,
        );
        shell.at(1);
        shell.pty.send_line("1 + 1");
        shell.pty.wait_for_anywhere("hint:");
        shell.pty.wait_for_anywhere("odd");
        shell.at(2);
        assert_eq!(shell.leave(), 0, "{script}");
    }
}

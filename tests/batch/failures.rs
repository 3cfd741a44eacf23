//! Bad input and bad surroundings without a terminal: a clear message, the right code, nothing half done.

use std::path::Path;

use crate::support::home::{Home, finish};

#[test]
fn invalid_utf8_is_named_and_no_file_of_it_is_run() {
    let home = Home::new();
    let text = &b"_ = open('ran', 'w')\n'\xff'\nopen('more', 'w')\n"[..];
    home.write("bad.py", text);
    for (arguments, stdin, runs) in [
        (&["run", "bad.py"][..], &b""[..], false),
        // What comes bit by bit has been run as far as it could be read.
        (&["run", "-"], text, true),
        (&["--agent", "demo"], text, true),
    ] {
        let ran = home.run(arguments, stdin);
        assert_eq!((ran.code(), ran.stdout.as_str()), (1, ""), "{ran:?}");
        assert!(ran.stderr.contains("byte 22, line 2"), "{ran:?}");
        assert_eq!(home.work().join("ran").exists(), runs);
        assert!(!home.work().join("more").exists());
    }
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let home = Home::new();
    let program = env!("CARGO_BIN_EXE_ipycodex");
    for (arguments, first) in [
        ("-c 'for n in range(200000): print(n)'", "0\n"),
        ("--agent demo ask hello", "# Demo answer\n"),
        ("--help", "Python cells"),
    ] {
        let script = format!("{{ {program} {arguments}; echo code $? >&2; }} | head -1");
        let ran = finish(home.foreign(Path::new("/bin/sh"), &["-c", &script]), b"");
        assert!(ran.stdout.starts_with(first), "{arguments}: {ran:?}");
        assert_eq!(ran.stderr, "code 0\n", "{arguments}");
    }
}

#[test]
fn a_full_disk_is_said() {
    let home = Home::new();
    let program = env!("CARGO_BIN_EXE_ipycodex");
    for arguments in [
        "-c 1+1",
        "--agent demo ask hello",
        "-c \"print('x' * 1000000)\"",
        "--agent demo ask hello --json",
    ] {
        let script = format!("{program} {arguments} > /dev/full; echo code $?");
        let ran = finish(home.foreign(Path::new("/bin/sh"), &["-c", &script]), b"");
        assert_eq!(ran.stdout, "code 1\n", "{arguments}: {ran:?}");
        assert!(ran.stderr.contains("No space left"), "{arguments}: {ran:?}");
    }
}

#[test]
fn a_missing_interpreter_is_named_with_a_remedy() {
    let home = Home::new();
    home.install_script("odd", "#!/bin/sh\necho garbage\nexit 3\n");
    let odd = home.path().join("bin/odd");
    for python in ["/nonexistent/python", odd.to_str().unwrap()] {
        for (arguments, stdin) in [(&["-c", "1"][..], ""), (&[], "1\n2\n")] {
            let ran = home.run(&[&["--python", python], arguments].concat(), stdin);
            assert_eq!((ran.code(), ran.stdout.as_str()), (1, ""), "{ran:?}");
            assert!(
                ran.stderr.contains(python) && ran.stderr.contains("hint:"),
                "{ran:?}"
            );
            // Once for each cell that could not run.
            let told = ran.stderr.matches("no Python could be started").count();
            assert_eq!(told, if stdin.is_empty() { 1 } else { 2 }, "{ran:?}");
        }
    }
}

#[test]
fn a_broken_configuration_is_named_and_cells_run() {
    let home = Home::new();
    for (content, said) in [
        ("{\n\"think\": \"l\",\nx}", "line 3"),
        ("{\"think\": 5}", "think"),
        ("{\"unknown\": 1}", "unknown"),
        ("{\"thnik\": \"l\"}", "did you mean `think`?"),
        (
            "{\"code_theme\": \"nope\"}",
            "`code_theme` cannot be `\"nope\"`",
        ),
        ("{\"code_theme\": \"githbu\"}", "did you mean `github`?"),
    ] {
        home.write_config("config.json", content);
        let ran = home.run(&["-c", "6 * 7"], "");
        assert_eq!((ran.stdout.as_str(), ran.code()), ("42\n", 0), "{ran:?}");
        assert!(
            ran.stderr.contains("config.json") && ran.stderr.contains(said),
            "{ran:?}"
        );
    }
}

#[test]
fn completions_and_manual_pages_are_printed() {
    let home = Home::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = home.run(&["completions", shell], "");
        assert_eq!((ran.code(), ran.stderr.as_str()), (0, ""), "{ran:?}");
        for word in ["notebook", "allow-errors", "clear-outputs"] {
            assert!(ran.stdout.contains(word), "{shell}: {word}");
        }
    }
    let script = home.run(&["completions", "bash"], "").stdout;
    let asked = format!(
        "{script}\nCOMP_WORDS=(ipycodex note) COMP_CWORD=1\n_ipycodex ipycodex note ipycodex\n\
         echo \"${{COMPREPLY[@]}}\""
    );
    let bash = home.foreign("bash".as_ref(), &["--norc", "-c", &asked]);
    let ran = crate::support::home::finish(bash, b"");
    assert_eq!(ran.stdout, "notebook\n", "{ran:?}");
    let page = home.run(&["man"], "").stdout;
    assert!(page.contains(".TH ipycodex 1"), "{page}");
    let page = home.run(&["man", "notebook", "edit"], "").stdout;
    assert!(page.contains("clear\\-outputs"), "{page}");
    let refused = home.run(&["man", "notebok"], "");
    assert_eq!(refused.code(), 2, "{refused:?}");
    assert!(
        refused.stderr.contains("there is no command `notebok`"),
        "{refused:?}"
    );
    assert!(
        home.run(&["completions", "tcsh"], "")
            .stderr
            .contains("possible values")
    );
}

#[test]
fn help_and_version_are_printed() {
    let home = Home::new();
    let number = format!("ipycodex {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(home.run(&["-V"], "").stdout, number);
    let version = home.run(&["--version"], "").stdout;
    let facts = version
        .strip_prefix(&number)
        .unwrap_or_else(|| panic!("{version}"));
    assert!(
        facts.starts_with("build: ") && facts.contains(std::env::consts::ARCH),
        "{facts}"
    );
    for arguments in [
        &["--help"][..],
        &["-h"],
        &["ask", "--help"],
        &["run", "--help"],
    ] {
        let ran = home.run(arguments, "");
        assert_eq!((ran.code(), ran.stderr.as_str()), (0, ""), "{ran:?}");
        assert!(ran.stdout.contains("Usage: ipycodex"), "{ran:?}");
    }
    assert!(!home.history().exists(), "asking for help makes files");
    let wrong = home.run(&["--nonsense"], "");
    assert_eq!(wrong.code(), 2, "{wrong:?}");
    assert!(wrong.stderr.contains("--nonsense"), "{wrong:?}");
}

#[test]
fn an_interrupt_ends_a_batch() {
    let home = Home::new();
    let program = env!("CARGO_BIN_EXE_ipycodex");
    // The cell signals the shell, the parent of its guard, as Ctrl-C on the terminal would.
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let cell = format!(
            "import os, signal, time; guard = open(f\"/proc/{{os.getppid()}}/stat\").read(); \
             os.kill(int(guard.rsplit(\")\")[-1].split()[1]), signal.SIG{signal}); [time.sleep(0.1) for _ in \
             range(6000)]"
        );
        let script = format!("{program} -c '{cell}'; echo code $?");
        let ran = finish(home.foreign(Path::new("/bin/sh"), &["-c", &script]), b"");
        assert_eq!(ran.stdout, format!("code {code}\n"), "{ran:?}");
    }
}

#[test]
fn a_mistyped_command_names_the_one_it_looks_like() {
    let home = Home::new();
    for arguments in [
        &["sesions"][..],
        &["sesions", "--all"],
        &["--agent", "demo", "sesions", "--json"],
    ] {
        let ran = home.run(arguments, "");
        assert_eq!((ran.code(), ran.stdout.as_str()), (2, ""), "{ran:?}");
        for part in ["`sesions` is neither a command", "`ipycodex sessions`?"] {
            assert!(ran.stderr.contains(part), "{part}: {ran:?}");
        }
    }
    let ran = home.run(&["nothing-like-it"], "");
    assert!(ran.stderr.contains("ipycodex --help"), "{ran:?}");
    let ran = home.run(&["sessions", "--nonsense"], "");
    assert!(ran.stderr.contains("--nonsense"), "{ran:?}");
}

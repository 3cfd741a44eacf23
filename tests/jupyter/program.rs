//! The whole program on kernels: what a user sees.

use crate::repl::shell::{CTRL_D, Shell};
use crate::support::home::Home;

use super::harness::kernels;

/// A home where the kernels of these tests are installed.
fn home() -> Option<Home> {
    let prefix = kernels()?;
    let mut home = Home::new();
    home.set("JUPYTER_PATH", prefix.join("share/jupyter"));
    Some(home)
}

#[test]
fn cells_prompts_and_tools_on_a_python_kernel() {
    let Some(home) = home() else {
        return;
    };
    let text = "x = 41\ndef add(a: int, b: int) -> int:\n    return a + b\n\n.what is $`x`, use &`add`\n\
                \"a note\"\n%ipycodex context\nprint(x)\n";
    let ran = home.run(&["--runtime", "jupyter:python3", "--agent", "demo"], text);
    assert_eq!(ran.code(), 0, "{ran:?}");
    for said in ["The tool `add` says: 2", "<note>a note</note>", "41\n"] {
        assert!(ran.stdout.contains(said), "{said}: {ran:?}");
    }
}

#[test]
fn the_module_of_the_shell_does_what_a_kernel_can_and_says_why_not() {
    let Some(home) = home() else {
        return;
    };
    let text = "print('shown before')\nimport ipycodex\n\
                print(ipycodex.read(ipycodex.write('a/b.txt', 'one\\ntwo\\n'), limit=1))\n\
                print('again', ipycodex.output(1))\nipycodex.env('ADDED', 7)\nipycodex.display(6 * 7)\n\
                for ask in (lambda: ipycodex.ask('why'), lambda: ipycodex.tool('load_skill'), ipycodex.status):\n\
                \x20   try:\n        ask()\n    except ipycodex.Error as error:\n        print(error)\n\n";
    let ran = home.run(&["--runtime", "jupyter:python3", "--agent", "demo"], text);
    assert_eq!(ran.code(), 0, "{ran:?}");
    let said = "shown before\none\n\nagain shown before\n'7'\n42\n\
                ask() does not work in a Jupyter kernel: it needs the interpreter of ipycodex itself\n\
                tool() does not work in a Jupyter kernel: it needs the interpreter of ipycodex itself\n\
                status() does not work in a Jupyter kernel; use print() instead\n";
    assert!(ran.stdout.contains(said), "{ran:?}");
}

#[test]
fn what_another_language_lacks_is_said_and_the_rest_works() {
    let Some(home) = home() else {
        return;
    };
    let bash = |arguments: &[&str], text: &str| {
        let mut all = vec!["--runtime", "jupyter:bash", "--agent", "demo"];
        all.extend(arguments);
        home.run(&all, text)
    };
    let ran = bash(
        &[],
        "x=hello\n.what is $`x`?\necho $x there\n%ipycodex tools\n",
    );
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(ran.stdout.contains("hello there\n"), "{ran:?}");
    assert!(!ran.stdout.contains("pyrun"), "{ran:?}");
    assert!(
        ran.stderr
            .contains("the Bash runtime cannot evaluate references (`$name`)"),
        "{ran:?}"
    );
    let ran = bash(&["-c", "echo out; exit 3"], "");
    assert!(ran.stdout.contains("out"), "{ran:?}");
    let script = home.work().join("cells.py");
    std::fs::write(&script, "# %%\nx=5\n# %%\necho $x\n").unwrap();
    let notebook = home.work().join("out.ipynb");
    let ran = home.run(
        &[
            "--runtime",
            "jupyter:bash",
            "run",
            script.to_str().unwrap(),
            "-o",
            notebook.to_str().unwrap(),
        ],
        "",
    );
    assert_eq!((ran.code(), ran.stdout.as_str()), (0, "5\n"), "{ran:?}");
    assert!(
        std::fs::read_to_string(&notebook)
            .unwrap()
            .contains("\"5\\n\"")
    );
}

#[test]
fn kernels_start_with_what_they_are_told_of_the_session() {
    let Some(home) = home() else {
        return;
    };
    // That of the shell the kernel keeps: what the kernel was started with.
    let told = "tr '\\0' '\\n' < /proc/$$/environ | grep ^IPYCODEX_";
    let starts = |more: &[&str]| {
        let words = ["--runtime", "jupyter:bash", "--agent", "demo", "-c", told];
        let ran = home.run(&[more, &words].concat(), "");
        let mut lines: Vec<String> = ran.stdout.lines().map(str::to_owned).collect();
        lines.sort();
        (lines, ran)
    };
    let record = home.path().join("state/ipycodex/history.sqlite");
    let (lines, ran) = starts(&[]);
    assert_eq!(lines.len(), 3, "{ran:?}");
    assert!(
        lines[0].starts_with("IPYCODEX_ARTIFACTS_DIR=/"),
        "{lines:?}"
    );
    assert_eq!(lines[1], "IPYCODEX_SESSION=1");
    assert_eq!(
        lines[2],
        format!("IPYCODEX_SESSION_FILE={}", record.display())
    );
    assert_eq!(starts(&[]).0[1], "IPYCODEX_SESSION=2");
    assert_eq!(starts(&["--no-record"]).0, Vec::<String>::new());
}

#[test]
fn what_bash_would_wait_for_is_refused_and_it_goes_on() {
    let Some(home) = home() else {
        return;
    };
    let bash = ["--runtime", "jupyter:bash", "--agent", "demo"];
    let ran = home.run(&[&bash[..], &["-c", "for x in 1 2; do"]].concat(), "");
    assert_eq!(ran.code(), 1, "{ran:?}");
    let said = "the cell is not finished: line 2: syntax error: unexpected end of file";
    assert!(ran.stderr.contains(said), "{ran:?}");
    let cells = home.work().join("cells.py");
    std::fs::write(&cells, "# %%\nx=5\n# %%\necho \"$x\n# %%\necho $x\n").unwrap();
    let words = ["run", "--allow-errors", cells.to_str().unwrap()];
    let ran = home.run(&[&bash[..], &words].concat(), "");
    assert_eq!((ran.code(), ran.stdout.as_str()), (1, "5\n"), "{ran:?}");
}

#[test]
fn a_notebook_of_another_language_is_offered_its_kernel_and_runs_there() {
    let Some(home) = home() else {
        return;
    };
    let text = r#"{"cells": [{"cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [],
        "source": "x=5; echo $x"}], "metadata": {"kernelspec": {"display_name": "Bash", "language": "bash",
        "name": "bash"}}, "nbformat": 4, "nbformat_minor": 4}"#;
    let notebook = home.work().join("shell.ipynb");
    std::fs::write(&notebook, text).unwrap();
    let bash = ["--runtime", "jupyter:bash", "--agent", "demo"];
    let ways = [vec!["run", "shell.ipynb"], vec!["-l", "shell.ipynb"]];
    for arguments in ways {
        let ran = home.run(&arguments, "");
        assert_eq!((ran.code(), ran.stdout.as_str()), (1, ""), "{ran:?}");
        let said = "`shell.ipynb` is written in bash, and cells here are Python";
        assert!(ran.stderr.contains(said), "{ran:?}");
        assert!(ran.stderr.contains("`--runtime jupyter:bash`"), "{ran:?}");
        let ran = home.run(&[&bash, &*arguments].concat(), "");
        assert_eq!(ran.code(), 0, "{ran:?}");
        assert!(ran.stdout.contains("5\n"), "{ran:?}");
    }
    let python = text.replace("bash", "python").replace("Bash", "Python");
    std::fs::write(home.work().join("p.ipynb"), python).unwrap();
    let ran = home.run(&[&bash[..], &["-l", "p.ipynb"]].concat(), "");
    let said = "`p.ipynb` is written in python, and cells here are Bash";
    assert!(ran.code() == 1 && ran.stderr.contains(said), "{ran:?}");
}

#[test]
fn start_up_files_that_a_kernel_does_not_take_are_named_once() {
    let Some(home) = home() else {
        return;
    };
    home.write(".ipycodex/startup.py", "x = 1\n");
    let (own, kernel) = (
        home.write_config("startup.py", "y = 1\n"),
        "jupyter:python3",
    );
    let ran = home.run(
        &["--runtime", kernel, "--agent", "demo"],
        "'x' in dir()\n2\n",
    );
    assert_eq!(ran.stdout, "False\n2\n", "{ran:?}");
    let said = "start-up files are not run in a kernel of Jupyter: ";
    assert_eq!(ran.stderr.matches(said).count(), 1, "{ran:?}");
    let named = [&own, &home.work().join(".ipycodex")];
    for path in named {
        let path = path.canonicalize().unwrap();
        assert!(ran.stderr.contains(path.to_str().unwrap()), "{ran:?}");
    }
    let scripted = home.run(&["--runtime", kernel, "run", "-"], "print(3)\n");
    // A busy machine is told that it waits.
    let stderr = scripted.stderr.replace("the kernel is starting\n", "");
    assert_eq!((&*scripted.stdout, &*stderr), ("3\n", ""));
}

#[test]
fn a_kernel_that_is_not_there_costs_an_exit_code_and_a_hint() {
    let home = Home::new();
    let ran = home.run(&["--runtime", "jupyter:nobody", "-c", "1"], "");
    assert_eq!(ran.code(), 1, "{ran:?}");
    assert!(
        ran.stderr.contains("no kernel `nobody` is installed"),
        "{ran:?}"
    );
    let ran = home.run(&["--runtime", "elsewhere", "-c", "1"], "");
    assert_eq!(ran.code(), 2, "{ran:?}");
    assert!(ran.stderr.contains("jupyter:NAME"), "{ran:?}");
}

#[test]
fn what_bash_leaves_open_goes_on_in_a_new_line() {
    let Some(home) = home() else {
        return;
    };
    let arguments = ["--runtime", "jupyter:bash", "--agent", "demo"];
    let shell = Shell::start(home, &arguments, (100, 50));
    shell.at(1);
    shell.pty.send_line("for x in 1 2; do");
    shell.pty.wait_for("...: ");
    shell.pty.send_line("echo \"at $x\"");
    shell.pty.send_line("done");
    shell.at(2);
    shell.shows("\nat 1\nat 2\n");
    shell.cell(2, "cd / && pwd");
    shell.shows("\n/\n");
    shell.pty.send(CTRL_D);
    assert!(shell.pty.exit_status().success());
}

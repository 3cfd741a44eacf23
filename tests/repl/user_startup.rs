//! What users have at home counts, while the prompt stands already: files of their own, and IPython's profile.

use super::shell::{CTRL_C, Shell};
use crate::support::home::Home;
use crate::support::peers;

/// Room for a path in one line.
const WIDE: (u16, u16) = (200, 50);
const DEMO: [&str; 2] = ["--agent", "demo"];

/// A home for each engine: the built-in one, and IPython 8 and 9 where they can be had.
fn homes() -> Vec<Home> {
    let mut homes = vec![Home::new()];
    homes.extend(ipythons());
    homes
}

/// A home for each IPython that can be had.
fn ipythons() -> Vec<Home> {
    let found = [peers::python(), peers::ipython_8()];
    let with = |python| {
        let home = Home::new();
        home.install("python3", python);
        home
    };
    found.into_iter().flatten().map(with).collect()
}

/// A file of IPython's profile.
fn profile(home: &Home, name: &str, text: &str) {
    home.write(&format!("../ipython/profile_default/{name}"), text);
}

#[test]
fn files_of_the_users_own_come_first_and_again_after_a_restart() {
    for home in homes() {
        home.write_config(
            "startup.py",
            "first = [__file__[-10:]]\nprint('hello from', 'home')\n",
        );
        home.write_config("modules/20-bad.py", "first.append(20)\nfirst.nothing\n");
        home.write_config("modules/10-good.py", "first.append(10)\n");
        home.write_config("modules/30-leaves.py", "first.append(30)\nquit()\n");
        home.write_config("modules/notes.txt", "not Python");
        home.write_config("startup.ipynb",
            r#"{"cells": [{"cell_type": "code", "source": "first.append('notebook')", "metadata": {}}],
                "nbformat": 4, "nbformat_minor": 5, "metadata": {}}"#,
        );
        let shell = Shell::start(home, &DEMO, WIDE);
        shell.at(2);
        shell.shows("hello from home");
        shell.shows("AttributeError: 'list' object has no attribute 'nothing'");
        shell.shows("20-bad.py failed; the shell goes on");
        shell.shows("30-leaves.py called exit(): the rest of it was not run; the shell continues");
        shell.at(2);
        shell.pty.send_line("first");
        shell.shows("Out[2]: ['startup.py', 10, 20, 30, 'notebook']");
        shell.at(3);
        shell.pty.send_line("%ipycodex restart");
        shell.shows("a new interpreter is ready");
        shell.at(4);
        shell.pty.send_line("first");
        shell.shows("Out[4]: ['startup.py', 10, 20, 30]");
        shell.at(5);
        assert_eq!(shell.leave(), 0);
        // None of it is in the record.
        assert_eq!(shell.inputs(4)[1], "first");
    }
}

#[test]
fn the_prompt_does_not_wait_for_a_profile_and_the_first_input_does() {
    for home in ipythons() {
        profile(
            &home,
            "ipython_config.py",
            "c.InteractiveShellApp.exec_lines = ['%load_ext autoreload', '%autoreload 2']\n\
             c.InteractiveShell.xmode = 'Minimal'\nc.TerminalInteractiveShell.confirm_exit = False\n",
        );
        profile(
            &home,
            "startup/slow.py",
            "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\nslow = 1\n",
        );
        let shell = Shell::start(home, &DEMO, WIDE);
        shell.at(1);
        shell.pty.send_line("slow, get_ipython().xmode");
        shell.shows("waiting for start-up files; Ctrl-C stops it");
        shell.home.write("go", "");
        shell.shows("Out[1]: (1, 'Minimal')");
        shell.shows("have no effect here: TerminalInteractiveShell.confirm_exit");
        shell.at(2);
        shell.cell(2, "%autoreload");
        assert_eq!(shell.leave(), 0);
        let home = shell.home;
        let told = |arguments: &[&str]| {
            let ran = home.run(&[&DEMO[..], arguments].concat(), "'slow' in globals()");
            assert_eq!(ran.code(), 0, "{ran:?}");
            ran.stdout
        };
        // Said once, and it counts without a terminal, too, but not for scripts.
        assert_eq!(told(&[]), "True\n");
        assert_eq!(told(&["-c", "'slow' in globals()"]), "True\n");
        assert_eq!(told(&["--no-profile"]), "False\n");
        assert_eq!(told(&["--no-ipython"]), "False\n");
        assert_eq!(told(&["run", "-"]), "False\n");
        let said = told(&["--profile", "sci"]);
        assert!(said.ends_with("False\n"), "{said}");
        home.write_config("config.json", r#"{"ipython_profile": ""}"#);
        assert_eq!(told(&[]), "False\n");
        assert_eq!(told(&["--profile", "default"]), "True\n");
    }
}

#[test]
fn a_profile_that_sleeps_is_stopped_by_ctrl_c() {
    for home in ipythons() {
        profile(
            &home,
            "startup/10-sleeps.py",
            "import time\nprint('asleep', 'now')\ntime.sleep(60)\n",
        );
        profile(&home, "startup/20-other.py", "other = 1\n");
        let shell = Shell::start(home, &DEMO, WIDE);
        shell.at(1);
        shell.shows("asleep now");
        shell.pty.send_line("'other' in globals()");
        shell.shows("waiting for start-up files; Ctrl-C stops it");
        shell.pty.send(CTRL_C);
        shell.shows("10-sleeps.py was interrupted; not run:");
        shell.shows("Out[1]: False");
        shell.at(2);
        assert_eq!(shell.leave(), 0);
    }
}

#[test]
fn files_that_flood_or_end_the_interpreter_do_not_cost_the_shell() {
    for home in homes() {
        home.write_config(
            "modules/a.py",
            "for _ in range(100): print('x' * 99 * 10_000)\nflooded = 1\n",
        );
        let shell = Shell::start(home, &DEMO, WIDE);
        shell.at(1);
        shell.shows("start-up files printed 99000200 bytes, not all of them shown");
        shell.pty.send_line("flooded");
        shell.shows("Out[1]: 1");
        shell.at(2);
        assert_eq!(shell.leave(), 0);
        let home = shell.home;
        home.write_config("modules/a.py", "import os\nos._exit(3)\n");
        let shell = Shell::start(home, &DEMO, WIDE);
        shell.shows("start-up files ended the interpreter: the next one begins without them");
        shell.at(1);
        shell.pty.send_line("6 * 7");
        shell.shows("Out[1]: 42");
        shell.at(2);
        assert_eq!(shell.leave(), 0);
    }
}

#[test]
fn a_profile_that_raises_floods_or_leaves_does_not_cost_the_shell() {
    for home in ipythons() {
        let after = "after = globals().get('after', 0) + 1\n";
        profile(
            &home,
            "ipython_config.py",
            "c.InteractiveShell.xmode = 'Plain'\nraise RuntimeError('broken', 'config')\n",
        );
        profile(&home, "startup/10-raises.py", "1 / 0\n");
        profile(&home, "startup/11-after.py", after);
        profile(
            &home,
            "startup/20-floods.py",
            "for _ in range(100): print('x' * 1_000_000)\n",
        );
        profile(&home, "startup/21-after.py", after);
        profile(&home, "startup/30-leaves.py", "exit()\n");
        profile(&home, "startup/31-after.py", after);
        let shell = Shell::start(home, &DEMO, WIDE);
        shell.at(1);
        shell.shows("RuntimeError: ('broken', 'config')");
        shell.shows("ZeroDivisionError");
        shell.shows("not all of them shown");
        shell.pty.send_line("after, 6 * 7");
        shell.shows("Out[1]: (3, 42)");
        shell.at(2);
        assert_eq!(shell.leave(), 0);
    }
}

#[test]
fn flags_of_ipython_count_in_both_engines() {
    for home in homes() {
        let extension = "def load_ipython_extension(ip): ip.user_ns['loaded'] = 41\n";
        home.write("other_ext.py", extension);
        home.write("s.py", "import sys; print(sys.argv[1:], loaded)\n");
        let common = [&DEMO[..], &["--ext", "other_ext", "--ext", "no_such_ext"]].concat();
        let ran = home.run(&[&common[..], &["run", "s.py", "--A.b=1"]].concat(), "");
        assert_eq!(ran.stdout, "['--A.b=1'] 41\n", "{ran:?}");
        assert!(
            ran.stderr.contains("No module named 'no_such_ext'"),
            "{ran:?}"
        );
        assert!(ran.stderr.contains("failed; the shell goes on"), "{ran:?}");

        let both = "--InteractiveShell.ast_node_interactivity=all";
        let ran = home.run(&[&[both][..], &DEMO, &["-c", "1\n2"]].concat(), "");
        let unheeded = format!("`{both}` has no effect: IPython is not in use");
        match ran.stdout.as_str() {
            "1\n2\n" => assert_eq!(ran.stderr, "", "{ran:?}"),
            "2\n" => assert!(ran.stderr.contains(&unheeded), "{ran:?}"),
            _ => panic!("{ran:?}"),
        }

        let shell = Shell::start(home, &[&DEMO[..], &["--pdb"]].concat(), WIDE);
        shell.cell(1, "left = 6");
        shell.at(2);
        shell.pty.send_line("1 / 0");
        shell.shows("ipdb>");
        shell.pty.send_line("p 'left', left * 7");
        shell.shows("('left', 42)");
        shell.pty.send_line("q");
        shell.at(3);
    }
}

#[test]
fn files_of_a_project_ask_once_for_what_they_hold() {
    for home in homes() {
        home.write_config("startup.py", "order = ['own']\n");
        home.write_config("modules/a.py", "order.append('own a')\n");
        let project = |name: &str, text: &str| home.write(&format!(".ipycodex/{name}"), text);
        project("startup.py", "order.append('project')\n");
        project("modules/a.py", "import beside; order.append(beside.name)\n");
        project("modules/beside.py", "name = 'a'\n");
        project("modules/z.py", "order.nothing\n");
        let said = home.run(&[&DEMO[..], &["-c", "order"]].concat(), "");
        assert_eq!(said.stdout, "['own', 'own a']\n", "{said:?}");
        let nobody = "start-up files of this project were not run: nobody can be asked here";
        assert!(said.stderr.contains(nobody), "{said:?}");

        // The prompt stands, what is typed stays, and the question comes by itself.
        let shell = Shell::start(home, &DEMO, WIDE);
        shell.shows("This project has 4 start-up files that run in your session");
        shell.shows("1 order.append('project')");
        shell.shows("yes, always");
        shell.pty.send("a");
        shell.shows("\u{2713} always allowed");
        shell.shows("AttributeError: 'list' object has no attribute 'nothing'");
        shell.shows("z.py failed; the shell goes on");
        shell.at(1);
        shell.pty.send_line("order");
        shell.shows("Out[1]: ['own', 'project', 'a']");
        shell.at(2);
        assert_eq!(shell.leave(), 0);
        let home = shell.home;

        let known = home.run(&[&DEMO[..], &["-c", "order"]].concat(), "");
        assert_eq!(known.stdout, "['own', 'project', 'a']\n", "{known:?}");

        // What they import counts, too; a no is kept as well.
        home.write(".ipycodex/modules/beside.py", "name = 'b'\n");
        let shell = Shell::start(home, &DEMO, WIDE);
        shell.shows("yes, always");
        shell.pty.send("n");
        shell.shows("\u{2717} not allowed");
        shell.at(1);
        shell.pty.send_line("order");
        shell.shows("Out[1]: ['own', 'own a']");
        shell.at(2);
        assert_eq!(shell.leave(), 0);
        let shell = Shell::start(shell.home, &DEMO, WIDE);
        shell.at(1);
        shell.pty.send_line("order");
        shell.shows("Out[1]: ['own', 'own a']");
        shell.lacks("This project");
        shell.at(2);
        assert_eq!(shell.leave(), 0);
    }
}

#[test]
fn an_input_that_comes_first_waits_for_the_answer() {
    let home = Home::new();
    home.write_config("startup.py", "order = ['own']\n");
    home.write(".ipycodex/startup.py", "order.append('project')\n");
    let shell = Shell::start(home, &[&DEMO[..], &["-ic", "order"]].concat(), WIDE);
    shell.shows("This project has a start-up file that runs in your session");
    shell.shows("yes, this once");
    shell.pty.send("y");
    shell.shows("Out[1]: ['own', 'project']");
    shell.at(2);
    assert_eq!(shell.leave(), 0);
    // Once was once; and who stops the question gets what is their own.
    let shell = Shell::start(shell.home, &DEMO, WIDE);
    shell.shows("yes, this once");
    shell.pty.send(CTRL_C);
    shell.shows("start-up files of this project were not run: you stopped the question");
    shell.at(1);
    shell.pty.send_line("order");
    shell.shows("Out[1]: ['own']");
    shell.at(2);
    assert_eq!(shell.leave(), 0);
}

#[test]
fn a_script_runs_and_its_names_stay() {
    for home in homes() {
        home.write("a script.py",
            "import sys\nif __name__ == '__main__':\n    print('given', sys.argv[1:], __file__[-11:])\n\
             def double(n): return n * factor\nfactor = 2\n'not shown'\n",
        );
        let script = ["-i", "a script.py", "x y", "*", "$HOME", "{id}", "--model"];
        let shell = Shell::start(home, &[&DEMO[..], &script].concat(), WIDE);
        shell.shows("given ['x y', '*', '$HOME', '{id}', '--model'] ");
        shell.at(2);
        shell.pty.send_line("factor = 21; double(2)");
        shell.shows("Out[2]: 42");
        shell.lacks("not shown");
        shell.at(3);
        assert_eq!(shell.leave(), 0);
        assert_eq!(
            shell.inputs(2)[0],
            "%run -i -G 'a script.py' 'x y' '*' $'HOME' '{{id}}' --model"
        );
        let home = shell.home;

        home.write("pack/__init__.py", "");
        home.write(
            "pack/__main__.py",
            "import sys\nleft = 41\nprint(sys.argv[1:])\nif sys.argv[1:] == ['-x']: sys.exit(3)\n",
        );
        let ran = home.run(&[&DEMO[..], &["-m", "pack", "-x"]].concat(), "");
        assert_eq!(
            (ran.code(), ran.stdout.as_str()),
            (3, "['-x']\n"),
            "{ran:?}"
        );
        let ran = home.run(
            &[&DEMO[..], &["-im", "pack", "--", "y"]].concat(),
            "left + 1\n",
        );
        assert_eq!(ran.stdout, "['--', 'y']\n42\n", "{ran:?}");
        let ran = home.run(&[&DEMO[..], &["-i", "gone.py"]].concat(), "");
        assert_eq!(
            (ran.code(), ran.stderr.as_str()),
            (1, "error: Script not found: gone.py\n"),
            "{ran:?}"
        );
        let ran = home.run(&[&DEMO[..], &["-m", "nowhere"]].concat(), "");
        assert_eq!(ran.code(), 1, "{ran:?}");
    }
}

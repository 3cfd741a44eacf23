//! Tab: what is offered at each place, how it is chosen, and that nobody waits for it. With both engines where the
//! interpreter is asked.

use super::shell::{CTRL_C, Shell, UP};
use crate::support::home::Home;
use crate::support::peers;
use crate::support::pty::{SIZE, cursor_line};
use crate::support::tmux::Tmux;

const TAB: &str = "\t";
const SHIFT_TAB: &str = "\x1b[Z";
const DOWN: &str = "\x1b[B";
const ESC: &str = "\x1b";

/// Both engines, each in a home of its own.
fn engines(size: (u16, u16)) -> Vec<Shell> {
    let mut shells = vec![Shell::start(
        Home::new(),
        &["--agent", "demo", "--no-ipython"],
        size,
    )];
    if let Some(python) = peers::python() {
        let python = python.to_str().unwrap().to_owned();
        let arguments = ["--agent", "demo", "--python", &python];
        shells.push(Shell::start(Home::new(), &arguments, size));
    }
    shells.iter().for_each(|shell| shell.at(1));
    shells
}

impl Shell {
    /// Types a text and Tab; the line is as typed when Tab comes.
    fn tab(&self, typed: &str) {
        self.pty.send(typed);
        self.pty.wait_until("what was typed", |screen| {
            cursor_line(screen).trim_end().ends_with(typed.trim_end())
        });
        self.pty.send(TAB);
    }

    /// Waits until the cursor's line ends so.
    fn line_ends(&self, end: &str) {
        self.pty
            .wait_until(&format!("a line ending in {end:?}"), |screen| {
                cursor_line(screen).trim_end().ends_with(end)
            });
    }

    /// Closes a menu that shows `text`.
    fn close(&self, text: &str) {
        self.pty.wait_for(text);
        self.pty.send(ESC);
        self.pty.wait_gone(text);
    }

    /// Clears the line and waits for the fresh prompt.
    fn clear(&self, number: u32) {
        self.pty.send(CTRL_C);
        self.at(number);
    }
}

#[test]
fn one_is_inserted_several_are_shown_with_what_they_are() {
    for shell in engines(SIZE) {
        shell.cell(1, "import os, json; distance = 3; 漢字名 = 1; 漢字表 = [2]");
        shell.tab("dista");
        shell.at_with(2, "distance");
        shell.clear(2);
        shell.tab("json.du");
        // The part they share first, then the two of them.
        shell.at_with(2, "json.dump");
        shell
            .pty
            .wait_for("dumps   function (obj, *, skipkeys=False");
        shell.pty.send(TAB);
        shell.pty.send("\r");
        shell.at_with(2, "json.dumps");
        shell.pty.wait_gone("function");
        shell.clear(2);
        shell.tab("漢");
        shell.at_with(2, "漢字");
        shell.pty.wait_for("漢字表   list");
        shell.pty.send(DOWN);
        shell.pty.send("\r");
        shell.at_with(2, "漢字表");
        shell.pty.send("\r");
        shell.shows("Out[2]: [2]");
    }
}

#[test]
fn the_menu_is_moved_in_narrowed_and_closed() {
    let shell = Shell::start(Home::new(), &["--agent", "demo", "--no-ipython"], SIZE);
    shell.cell(1, "part_one = part_two = part_three = 1");
    shell.tab("part");
    shell.at_with(2, "part_");
    shell.pty.wait_for("part_two     int");
    shell.pty.send(SHIFT_TAB); // round the end, backwards
    shell.pty.send("\r");
    shell.at_with(2, "part_two");
    shell.clear(2);
    shell.tab("part");
    shell.pty.wait_for("part_two     int");
    shell.pty.send("t");
    shell.pty.wait_gone("part_one     int");
    shell.pty.wait_for("part_three   int");
    shell.pty.send("\x7f");
    shell.close("part_one     int");
    // Closed: Enter submits again.
    shell.pty.send("two\r");
    shell.shows("Out[2]: 1");
    shell.at(3);
    // Leaving the word closes it, and what was typed runs.
    shell.tab("part");
    shell.pty.wait_for("part_two     int");
    shell.pty.send("one + 1\r");
    shell.shows("Out[3]: 2");
}

#[test]
fn keys_and_modules() {
    for shell in engines(SIZE) {
        shell.cell(1, "table = {'alpha': 1, 'beta': 2}");
        shell.tab("table['al");
        shell.at_with(2, "table['alpha']");
        shell.pty.send("\r");
        shell.shows("Out[2]: 1");
        shell.at(3);
        shell.tab("import colors");
        shell.at_with(3, "import colorsys");
    }
}

#[test]
fn keys_with_blanks_are_whole_and_names_give_symbols() {
    for shell in engines(SIZE) {
        shell.cell(1, "table = {'a b': 1, 'col 1': 2, 'col 2': 3}");
        shell.tab("table[\"a ");
        shell.at_with(2, "table[\"a b\"]");
        shell.pty.send("\r");
        shell.shows("Out[2]: 1");
        shell.at(3);
        shell.tab("table[\"col ");
        shell.pty.wait_for("col 2\"]   key");
        shell.pty.send(DOWN);
        shell.pty.send("\r");
        shell.at_with(3, "table[\"col 2\"]");
        shell.pty.send("\r");
        shell.shows("Out[3]: 3");
        shell.at(4);
        shell.tab("\\alp");
        shell.at_with(4, "\\alpha");
        shell.pty.send(TAB);
        shell.at_with(4, "α");
        shell.clear(4);
        shell.tab("x = '\\GREEK SMALL LETTER OMEGA");
        shell.at_with(4, "x = 'ω");
    }
}

#[test]
fn tab_in_white_space_indents() {
    let shell = Shell::new();
    shell.pty.send("if True:\r");
    shell.pty.wait_for("   ...:     ");
    shell.pty.send("\tx = 1");
    shell.line_ends("   ...:         x = 1");
}

#[test]
fn a_cell_that_is_not_finished_is_looked_at_by_a_second_tab() {
    for shell in engines(SIZE) {
        shell
            .pty
            .send("def f(some_long_parameter):\rreturn some_lo");
        shell.line_ends("return some_lo");
        shell.pty.send(TAB);
        shell.pty.send(TAB);
        shell.line_ends("return some_long_parameter");
    }
}

#[test]
fn files_programs_and_magics() {
    for shell in engines(SIZE) {
        let work = shell.home.work();
        std::fs::create_dir_all(work.join("data/my deep")).unwrap();
        std::fs::write(work.join("data/my deep/漢字.txt"), "x").unwrap();
        std::fs::write(work.join("notes.ipynb"), "{}").unwrap();
        std::fs::write(work.join("tool.py"), "").unwrap();
        for (typed, becomes) in [
            ("open('dat", "open('data/"),
            ("open('data/my deep/", "open('data/my deep/漢字.txt"),
            ("!cat data/m", "!cat data/my\\ deep/"),
            ("!cat 'data/m", "!cat 'data/my deep/"),
            ("%cd da", "%cd data/"),
            ("%run to", "%run tool.py"),
            ("%load no", "%load notes.ipynb"),
            ("%writef", "%%writefile"),
            ("%ipyc", "%ipycodex"),
        ] {
            shell.tab(typed);
            shell.at_with(1, becomes);
            shell.clear(1);
        }
        shell.tab("%tim");
        shell.close("%timeit");
        shell.clear(1);
        shell.pty.send("%cd -q data\r");
        shell.at(2);
        // The interpreter's directory, not ours.
        shell.tab("open('my");
        shell.at_with(2, "open('my deep/");
        shell.clear(2);
        shell.tab("%cd -q m");
        shell.at_with(2, "%cd -q my\\ deep/");
        shell.pty.send("\r");
        shell.at(3);
        shell.tab("!cat ");
        shell.at_with(3, "!cat 漢字.txt");
    }
}

#[test]
fn programs_stand_where_a_command_does() {
    let mut home = Home::new();
    home.install_script("frobnicate-it", "#!/bin/sh\n");
    home.set("IRRELEVANT", "1");
    let shell = Shell::of(home);
    shell.tab("!frobn");
    shell.at_with(1, "!frobnicate-it");
}

#[test]
fn our_commands_and_their_values() {
    let shell = Shell::new();
    for (typed, becomes) in [
        ("%ipycodex thi", "%ipycodex think"),
        ("%ipycodex run_cells au", "%ipycodex run_cells auto"),
        ("%ipycodex code_theme mono", "%ipycodex code_theme monokai"),
        ("%ipycodex help usa", "%ipycodex help usage"),
        (
            "%ipycodex sandbox work",
            "%ipycodex sandbox workspace-write",
        ),
    ] {
        shell.tab(typed);
        shell.at_with(1, becomes);
        shell.clear(1);
    }
    shell.tab("%ipycodex ");
    shell.pty.wait_for("model ");
    shell.close("1-10 of ");
    shell.clear(1);
    shell.tab("%ipycodex think ");
    shell.pty.wait_for("\n x");
}

#[test]
fn prompts_know_their_references_and_skills() {
    for shell in engines(SIZE) {
        shell.cell(1, "def weather_in(city): return 'sunny'");
        shell.cell(2, "weather_map = {'a': 1}");
        for (typed, becomes) in [
            (".use &`weath", ".use &`weather_in"),
            (".see $`weather_m", ".see $`weather_map"),
            (".$traceb", ".$traceback-to-cause"),
            ("./traceb", "./traceback-to-cause"),
        ] {
            shell.tab(typed);
            shell.at_with(3, becomes);
            shell.clear(3);
        }
        // Prose is left alone.
        shell.tab(".import o");
        shell.pty.send("x");
        shell.at_with(3, ".import ox");
    }
}

#[test]
fn it_comes_later_while_the_interpreter_starts_and_never_blocks() {
    let home = Home::new();
    home.install_script(
        "slow-python",
        "#!/bin/sh\ncase \"$*\" in *runner.py*) while [ ! -e go ]; do sleep 0.05; done;; esac\nexec python3 \"$@\"\n",
    );
    let go = home.work().join("go");
    let shell = Shell::start(home, &["--agent", "demo", "--python", "slow-python"], SIZE);
    shell.at(1);
    shell.tab("import colors");
    // The editor goes on: what is typed shows, and drops the question.
    shell.pty.send("x");
    shell.at_with(1, "import colorsx");
    shell.pty.send("\x7f");
    shell.at_with(1, "import colors");
    shell.pty.send(TAB);
    std::fs::write(go, "").unwrap();
    shell.at_with(1, "import colorsys");
}

#[test]
fn forty_columns() {
    for shell in engines((40, 12)) {
        shell.cell(1, "import json");
        shell.tab("json.");
        shell.pty.wait_for(" of ");
        shell.pty.send("dum");
        shell.pty.wait_for("dumps");
        shell.pty.wait_gone(" of ");
        let fits = shell.pty.look(|screen| {
            let rows: Vec<String> = screen.rows(0, 40).collect();
            rows.iter()
                .any(|row| row.contains("dumps") && row.trim_end().ends_with("..."))
        });
        assert!(fits, "{}", shell.pty.screen_text());
        shell.close("function");
        // What was above is still there.
        shell.shows("In [1]: import json");
    }
}

#[test]
fn the_line_and_what_is_above_survive_a_menu_at_the_bottom() {
    let shell = Shell::start(Home::new(), &["--agent", "demo", "--no-ipython"], (60, 10));
    shell.cell(1, "for n in range(20): print('row', n)");
    shell.tab("pr");
    shell.close("property");
    shell.pty.send("int(41)\r");
    shell.at(3);
    let text = shell.text();
    for n in 0..20 {
        assert!(text.contains(&format!("row {n}\n")), "{text}");
    }
    assert!(text.contains("In [2]: print(41)\n41\n"), "{text}");
}

#[test]
fn history_is_not_in_the_way_of_the_menu() {
    let shell = Shell::start(Home::new(), &["--agent", "demo", "--no-ipython"], SIZE);
    shell.cell(1, "part_one = part_two = 1");
    shell.tab("part");
    shell.pty.wait_for("part_two   int");
    shell.pty.send(UP);
    shell.pty.send("\r");
    shell.at_with(2, "part_two");
    shell.clear(2);
    shell.pty.send(UP);
    shell.at_with(2, "part_one = part_two = 1");
}

#[test]
fn in_tmux() {
    let home = Home::new();
    let Some(tmux) = Tmux::start(&home, &["--agent", "demo", "--no-ipython"], SIZE) else {
        return;
    };
    tmux.pty.wait_for("In [1]:");
    tmux.keys(&[
        "i", "m", "p", "o", "r", "t", "Space", "j", "s", "o", "n", "Enter",
    ]);
    tmux.pty.wait_for("In [2]:");
    tmux.keys(&["j", "s", "o", "n", ".", "d", "u"]);
    tmux.pty.wait_for("json.du");
    tmux.keys(&["Tab"]);
    tmux.pty.wait_for("dumps   function");
    tmux.keys(&["Tab", "Enter"]);
    tmux.pty.wait_for("In [2]: json.dumps");
    tmux.pty.wait_gone("function");
    tmux.keys(&["(", "BTab"]);
    tmux.pty.wait_for("json.dumps(obj, *, skipkeys=False");
    tmux.keys(&["4", "1", ")", "Enter"]);
    tmux.pty.wait_for("Out[2]: '41'");
}

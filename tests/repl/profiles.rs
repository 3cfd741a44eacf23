//! IPython 8 and 9 with a profile such as people have: what it does at the prompt, and what the model then sees of the
//! cells, at the endpoint of the real Codex.

use std::path::Path;

use super::shell::{Shell, with_settings};
use crate::support::home::Home;
use crate::support::peers;
use crate::support::responses::{Endpoint, Reply};

const CONFIG: &str = "
c.InteractiveShellApp.extensions = ['of_mine']
c.InteractiveShellApp.exec_lines = ['line = started + 1', '%load_ext autoreload', '%autoreload 2']
c.InteractiveShell.ast_node_interactivity = 'all'
c.InteractiveShell.autocall = 1
c.TerminalInteractiveShell.xmode = 'Minimal'
c.TerminalInteractiveShell.confirm_exit = False
c.AliasManager.user_aliases = [('greet', 'echo hello from')]
c.PlainTextFormatter.float_precision = '%.2f'
";

const EXTENSION: &str = "
def load_ipython_extension(ip):
    ip.push({'extended': 41})
    ip.display_formatter.formatters['text/plain'].for_type(set, lambda each, p, cycle: p.text('a set of mine'))
";

/// Cells, what the terminal shows of each, and what the model is shown.
const CELLS: [(&str, &str, &str); 8] = [
    (
        "started, line, extended",
        "Out[1]: (7, 8, 41)",
        "(7, 8, 41)",
    ),
    (
        "greet the alias",
        "\nhello from the alias",
        "hello from the alias",
    ),
    ("'a'; 'b'", "Out[3]: 'a'\nOut[3]: 'b'", "'a'\\n'b'"),
    ("1 / 3", "Out[4]: 0.33", "0.33"),
    ("{1, 2}", "Out[5]: a set of mine", "a set of mine"),
    ("import helper; helper.value", "Out[6]: 'old'", "'old'"),
    ("helper.value", "Out[7]: 'new'", "'new'"),
    (
        "1 / 0",
        "ZeroDivisionError: division by zero",
        "ZeroDivisionError: division by zero",
    ),
];

fn check(version: &str, python: &Path) {
    let Some(codex) = peers::codex() else {
        return;
    };
    let endpoint = Endpoint::script(vec![Reply::text("I have seen it")]);
    let home = Home::new();
    endpoint.write_home(&home.codex(), "gpt-5.5");
    home.install("codex", &codex);
    home.install("python3", python);
    let profile = home.path().join("ipython/profile_default");
    std::fs::create_dir_all(profile.join("startup")).unwrap();
    std::fs::write(profile.join("ipython_config.py"), CONFIG).unwrap();
    std::fs::write(profile.join("startup/10-first.py"), "started = 7\n").unwrap();
    home.write("of_mine.py", EXTENSION);
    let helper = home.write("helper.py", "value = 'old'\n");
    let shell = Shell::start(home, &["--agent", "codex"], (120, 60));
    for (number, (code, shown, _)) in (1..).zip(CELLS) {
        if number == 7 {
            // Longer than before: whoever compares sizes sees it, however coarse the clock of the files.
            std::fs::write(&helper, "value = 'new'  # by hand\n").unwrap();
            let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
            let file = std::fs::File::options().write(true).open(&helper).unwrap();
            file.set_modified(later).unwrap();
        }
        shell.cell(number, code);
        shell.shows(shown);
    }
    shell.cell(
        9,
        "get_ipython().__class__.__mro__[-1], __import__('IPython').version_info[0]",
    );
    shell.shows(&format!("{version})"));
    shell.lacks("Traceback");
    shell.shows("have no effect here: TerminalInteractiveShell.confirm_exit");
    shell.at(10);
    shell.pty.send_line(".what do you see?");
    shell.at(11);
    shell.shows("I have seen it");
    let seen = endpoint.requests()[0]["input"].to_string();
    for (code, _, told) in CELLS {
        let cell = format!("<code>{code}</code><output>{told}</output>");
        assert!(seen.contains(&cell), "IPython {version}: {cell}\n{seen}");
    }
    for hidden in [
        "load_ext",
        "exec_lines",
        "Traceback",
        "confirm_exit",
        "started = 7",
    ] {
        assert!(
            !seen.contains(hidden),
            "IPython {version}: {hidden}\n{seen}"
        );
    }
    shell.leave();
}

#[test]
fn ipython_8_with_a_profile_is_what_the_model_sees() {
    if let Some(python) = peers::ipython_8() {
        check("8", &python);
    }
}

#[test]
fn ipython_9_with_a_profile_is_what_the_model_sees() {
    if let Some(python) = peers::python() {
        check("9", &python);
    }
}

/// The code in the traceback of a cell, with its colours.
fn coloured(python: &Path, background: &str, profile: &str, settings: &str) -> String {
    let home = with_settings(settings);
    home.install("python3", python);
    let folder = home.path().join("ipython/profile_default");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("ipython_config.py"), profile).unwrap();
    let shell = Shell::start_on(home, &["--agent", "demo"], background);
    shell.at(1);
    shell.cell(1, "import missing_one");
    shell.shows("No module named 'missing_one'");
    let raw = String::from_utf8_lossy(&shell.pty.raw()).into_owned();
    let from = raw.find("---> ").expect("the line is marked");
    raw[from..].lines().next().unwrap_or_default().to_owned()
}

#[test]
fn errors_suit_the_ground_unless_colours_were_chosen() {
    // Keywords of a theme for dark terminals.
    const LIGHT_RED: &str = "38;5;204mimport";
    const BLACK: &str = "rgb:0000/0000/0000";
    for python in [peers::ipython_8(), peers::python()].into_iter().flatten() {
        // What becomes of pictures is another matter.
        for settings in ["{}", r#"{"images": "off"}"#] {
            let dark = coloured(&python, BLACK, "", settings);
            assert!(dark.contains(LIGHT_RED), "{settings} {dark:?}");
        }
        let light = coloured(&python, "rgb:ffff/ffff/ffff", "", "{}");
        assert!(light.contains("mimport"), "{light:?}");
        assert!(!light.contains(LIGHT_RED), "{light:?}");
        let chosen = "c.InteractiveShell.colors = 'Neutral'";
        let kept = coloured(&python, BLACK, chosen, "{}");
        assert_eq!(kept, light);
    }
}

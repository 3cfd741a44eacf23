//! Terminals by their environment.

use super::*;

fn signs(variables: &[(&'static str, &str)]) -> TerminalVariables {
    TerminalVariables(
        variables
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()))
            .collect(),
    )
}

const BLOCKS: Method = Method::Blocks { true_colour: false };

#[test]
fn terminals_by_their_variables() {
    let check = |variables: &[(&'static str, &str)], expected: Method| {
        let found = signs(variables).method(Images::Auto, true, || panic!("no tmux is there"));
        assert_eq!(found, expected, "{variables:?}");
    };
    let iterm2 = Method::Iterm2 { tmux: false };
    check(&[], BLOCKS);
    check(
        &[("COLORTERM", "truecolor")],
        Method::Blocks { true_colour: true },
    );
    check(
        &[("TERM", "xterm-direct")],
        Method::Blocks { true_colour: true },
    );
    check(&[("TERM", "xterm-kitty")], Method::Kitty);
    check(&[("TERM", "xterm-ghostty")], Method::Kitty);
    check(
        &[("TERM", "xterm-256color"), ("KITTY_WINDOW_ID", "1")],
        Method::Kitty,
    );
    check(&[("TERM_PROGRAM", "ghostty")], Method::Kitty);
    check(&[("TERM_PROGRAM", "iTerm.app")], iterm2);
    check(&[("TERM_PROGRAM", "WezTerm")], iterm2);
    check(&[("LC_TERMINAL", "iTerm2")], iterm2);
    check(&[("WEZTERM_PANE", "0")], iterm2);
    check(&[("KONSOLE_VERSION", "230400")], Method::Kitty);
    check(&[("KONSOLE_VERSION", "210400")], BLOCKS);
    check(&[("KONSOLE_VERSION", "new")], BLOCKS);
    // Started from kitty, in another terminal.
    check(
        &[("TERM_PROGRAM", "vscode"), ("KITTY_WINDOW_ID", "1")],
        BLOCKS,
    );
    check(&[("VTE_VERSION", "7600"), ("KITTY_WINDOW_ID", "1")], BLOCKS);
    // A multiplexer that passes nothing through.
    check(&[("STY", "1.tty"), ("KITTY_WINDOW_ID", "1")], BLOCKS);
    check(&[("ZELLIJ", "0"), ("TERM", "xterm-kitty")], BLOCKS);
    check(
        &[("TERM", "tmux-256color"), ("LC_TERMINAL", "iTerm2")],
        BLOCKS,
    );
}

#[test]
fn terminals_that_draw_sixels() {
    let check = |variables: &[(&'static str, &str)], expected: Method| {
        let found = signs(variables).method(Images::Auto, true, || panic!("no tmux is there"));
        assert_eq!(found, expected, "{variables:?}");
    };
    let sixel = Method::Sixel { known: true };
    for term in ["foot", "foot-extra", "mlterm", "yaft-256color", "contour"] {
        check(&[("TERM", term)], sixel);
    }
    let xterm = ("TERM", "xterm-256color");
    check(&[xterm, ("TERM_PROGRAM", "contour")], sixel);
    // Such a terminal started from another, and another started from such a one.
    let mlterm = ("MLTERM", "3.9.0");
    check(&[("TERM", "foot"), ("TERM_PROGRAM", "vscode")], sixel);
    check(&[("TERM", "foot"), ("KITTY_WINDOW_ID", "1")], sixel);
    check(&[xterm, mlterm], sixel);
    check(&[xterm, mlterm, ("KITTY_WINDOW_ID", "1")], sixel);
    check(&[xterm, mlterm, ("XTERM_VERSION", "XTerm(379)")], BLOCKS);
    check(&[xterm, mlterm, ("VTE_VERSION", "7600")], BLOCKS);
    check(&[("TERM", "alacritty"), mlterm], BLOCKS);
    check(&[("TERM", "xterm-kitty"), mlterm], Method::Kitty);
    // xterm may draw sixels, but does not report it.
    check(&[xterm, ("XTERM_VERSION", "XTerm(379)")], BLOCKS);
    // Multiplexers do not pass sixels on.
    check(&[("TERM", "foot"), ("STY", "1.tty")], BLOCKS);
    check(&[("TERM", "foot"), ("ZELLIJ", "0")], BLOCKS);
    check(&[("TERM", "screen.mlterm"), mlterm], BLOCKS);
}

#[test]
fn where_the_size_of_a_cell_is_unknown_only_the_user_has_sixels() {
    let found =
        |choice| signs(&[("TERM", "foot")]).method(choice, false, || panic!("no tmux is there"));
    assert_eq!(found(Images::Auto), BLOCKS);
    assert_eq!(found(Images::Sixel), Method::Sixel { known: true });
}

#[test]
fn terminals_behind_tmux() {
    let check = |choice, variable: (&'static str, &str), answer: Option<(bool, &str)>, expected| {
        let answer = answer.map(|(passthrough, terminal)| tmux::TmuxAnswer {
            passthrough,
            terminal: terminal.to_owned(),
        });
        let variables = signs(&[("TMUX", "/tmp/x,1,0"), ("TERM_PROGRAM", "tmux"), variable]);
        assert_eq!(
            variables.method(choice, true, || answer),
            expected,
            "{variable:?}"
        );
    };
    let auto = Images::Auto;
    let kitty = ("KITTY_WINDOW_ID", "1");
    let none = ("STY", "");
    check(auto, kitty, None, BLOCKS);
    check(auto, kitty, Some((false, "xterm-kitty")), BLOCKS);
    check(
        auto,
        none,
        Some((true, "xterm-kitty ")),
        Method::KittyInTmux,
    );
    check(
        auto,
        kitty,
        Some((true, "xterm-256color ")),
        Method::KittyInTmux,
    );
    check(
        auto,
        kitty,
        Some((true, "xterm-256color iterm2 3.5")),
        Method::Iterm2 { tmux: true },
    );
    check(auto, kitty, Some((true, "alacritty ")), BLOCKS);
    check(auto, none, Some((true, "xterm-256color ")), BLOCKS);
    check(
        auto,
        ("KONSOLE_VERSION", "230400"),
        Some((true, "xterm ")),
        BLOCKS,
    );
    check(Images::Kitty, none, Some((true, "")), Method::KittyInTmux);
    check(Images::Kitty, none, Some((false, "")), BLOCKS);
    check(
        Images::Iterm2,
        none,
        Some((true, "")),
        Method::Iterm2 { tmux: true },
    );
    check(auto, none, Some((true, "foot ")), BLOCKS);
    check(auto, ("MLTERM", "3.9.0"), Some((true, "xterm ")), BLOCKS);
    check(Images::Sixel, none, Some((true, "foot ")), BLOCKS);
}

#[test]
fn light_backgrounds() {
    let check = |colours, expected: Option<u8>| {
        assert_eq!(background_colour(colours), expected.map(|grey| [grey; 3]));
    };
    check(None, None);
    check(Some("15;0"), Some(0));
    check(Some("0;default;15"), Some(255));
    check(Some("0;7"), Some(255));
    check(Some("?"), None);
}

#[test]
fn the_user_decides() {
    let check = |choice, expected| {
        let variables = signs(&[("TERM", "xterm-kitty")]);
        assert_eq!(
            variables.method(choice, true, || panic!("no tmux is there")),
            expected
        );
    };
    check(Images::Off, Method::Off);
    check(Images::Blocks, BLOCKS);
    check(Images::Iterm2, Method::Iterm2 { tmux: false });
    check(Images::Sixel, Method::Sixel { known: false });
    check(Images::Kitty, Method::Kitty);
}

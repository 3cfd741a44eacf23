//! Which way of drawing pictures the terminal has, told from the environment; nothing is asked of the terminal.
//!
//! In: variables, the user's choice, tmux's answer when there is a tmux. Out: a [`Method`]. Pure but for the question
//! that is handed in, which is put only when its answer matters. Where nothing says that a terminal draws pictures it
//! gets half blocks: what is guessed wrong must not cover the screen with base64.

use std::collections::BTreeMap;

use super::tmux;
use crate::config::Images;
use crate::environment::Environment;
use crate::markdown::Background;

/// What is looked at.
const VARIABLES: [&str; 14] = [
    "COLORTERM",
    "GHOSTTY_RESOURCES_DIR",
    "KITTY_WINDOW_ID",
    "KONSOLE_VERSION",
    "LC_TERMINAL",
    "STY",
    "TERM",
    "TERM_PROGRAM",
    "TMUX",
    "TMUX_PANE",
    "WEZTERM_EXECUTABLE",
    "WEZTERM_PANE",
    "ZELLIJ",
    "VTE_VERSION",
];

/// The first Konsole that knows kitty's protocol: 22.04.
const KONSOLE: u32 = 22_04_00;

/// How pictures are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// Kitty's protocol, straight to the terminal.
    Kitty,
    /// Kitty's protocol through tmux: the picture goes with placeholders that tmux takes for text.
    KittyInTmux,
    /// iTerm2's protocol.
    Iterm2 {
        /// Through tmux.
        tmux: bool,
    },
    /// Half blocks.
    Blocks {
        /// 24-bit colours, else 256.
        true_colour: bool,
    },
    /// Not at all.
    Off,
}

/// The variables that tell what the terminal is.
#[derive(Debug, Clone, Default)]
pub(super) struct Signs(BTreeMap<&'static str, String>);

/// A terminal that draws pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Terminal {
    /// Knows kitty's protocol with placeholders.
    Kitty,
    /// Knows it without them.
    KittyPlain,
    Iterm2,
    /// Draws none, or nobody knows.
    Other,
}

impl Signs {
    pub(super) fn of(environment: &Environment) -> Self {
        let found = |name: &'static str| Some((name, environment.variable(name)?.to_owned()));
        Signs(VARIABLES.into_iter().filter_map(found).collect())
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The pane of tmux, when there is one to ask.
    pub(super) fn pane(&self) -> Option<&str> {
        self.get("TMUX_PANE")
    }

    /// How to draw as `choice` says; `ask` is tmux.
    pub(super) fn method(
        &self,
        choice: Images,
        ask: impl FnOnce() -> Option<tmux::TmuxAnswer>,
    ) -> Method {
        let blocks = Method::Blocks {
            true_colour: self.true_colour(),
        };
        match choice {
            Images::Off => return Method::Off,
            Images::Blocks => return blocks,
            Images::Auto | Images::Kitty | Images::Iterm2 => {}
        }
        if self.get("TMUX").is_some() {
            let answer = ask().unwrap_or_default();
            if !answer.passthrough {
                return blocks;
            }
            let outer = match choice {
                Images::Kitty => Terminal::Kitty,
                Images::Iterm2 => Terminal::Iterm2,
                _ => self.outer(&answer.terminal),
            };
            return match outer {
                Terminal::Kitty => Method::KittyInTmux,
                Terminal::Iterm2 => Method::Iterm2 { tmux: true },
                Terminal::KittyPlain | Terminal::Other => blocks,
            };
        }
        let terminal = match choice {
            Images::Kitty => Terminal::Kitty,
            Images::Iterm2 => Terminal::Iterm2,
            _ if self.is_multiplexed() => Terminal::Other,
            _ => self.terminal(),
        };
        match terminal {
            Terminal::Kitty | Terminal::KittyPlain => Method::Kitty,
            Terminal::Iterm2 => Method::Iterm2 { tmux: false },
            Terminal::Other => blocks,
        }
    }

    /// A multiplexer that lets nothing through, or a tmux at the other end of ssh.
    fn is_multiplexed(&self) -> bool {
        let term = self.get("TERM").unwrap_or_default();
        self.get("STY").is_some()
            || self.get("ZELLIJ").is_some()
            || term.starts_with("screen")
            || term.starts_with("tmux")
    }

    /// The terminal we write to. What it says of itself counts more than what it may have inherited.
    fn terminal(&self) -> Terminal {
        let term = self.get("TERM").unwrap_or_default();
        match self.get("TERM_PROGRAM") {
            Some("iTerm.app" | "WezTerm" | "mintty" | "rio") => return Terminal::Iterm2,
            Some("ghostty" | "kitty") => return Terminal::Kitty,
            Some("Apple_Terminal" | "vscode" | "Hyper" | "Tabby" | "zed") => {
                return Terminal::Other;
            }
            _ => {}
        }
        if term.contains("kitty") || term.contains("ghostty") {
            return Terminal::Kitty;
        }
        if term.starts_with("wezterm") {
            return Terminal::Iterm2;
        }
        if self.get("VTE_VERSION").is_some() {
            return Terminal::Other;
        }
        self.inherited()
    }

    /// What variables say that children of other terminals may have kept.
    fn inherited(&self) -> Terminal {
        let konsole = self.get("KONSOLE_VERSION");
        if self.get("KITTY_WINDOW_ID").is_some() || self.get("GHOSTTY_RESOURCES_DIR").is_some() {
            Terminal::Kitty
        } else if konsole.is_some_and(|version| version.parse::<u32>().is_ok_and(|n| n >= KONSOLE))
        {
            Terminal::KittyPlain
        } else if ["WEZTERM_PANE", "WEZTERM_EXECUTABLE"]
            .iter()
            .any(|name| self.get(name).is_some())
            || matches!(self.get("LC_TERMINAL"), Some("iTerm2" | "WezTerm"))
        {
            Terminal::Iterm2
        } else {
            Terminal::Other
        }
    }

    /// The terminal tmux is shown on: as it told tmux, else as tmux's own environment says.
    fn outer(&self, told: &str) -> Terminal {
        if told.contains("kitty") || told.contains("ghostty") {
            Terminal::Kitty
        } else if ["iterm2", "wezterm", "mintty"]
            .iter()
            .any(|name| told.contains(name))
        {
            Terminal::Iterm2
        } else if ["vte", "xterm(", "foot", "alacritty", "konsole"]
            .iter()
            .any(|name| told.contains(name))
        {
            Terminal::Other
        } else {
            self.inherited()
        }
    }

    fn true_colour(&self) -> bool {
        matches!(self.get("COLORTERM"), Some("truecolor" | "24bit"))
            || self
                .get("TERM")
                .is_some_and(|term| term.ends_with("-direct"))
    }
}

/// The background as rxvt and others tell it in `COLORFGBG`.
pub(super) fn ground(colours: Option<&str>) -> Option<[u8; 3]> {
    colours
        .and_then(Background::of_variable)
        .map(|background| match background {
            Background::Light => [255; 3],
            Background::Dark => [0; 3],
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signs(variables: &[(&'static str, &str)]) -> Signs {
        Signs(
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
            let found = signs(variables).method(Images::Auto, || panic!("no tmux is there"));
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
        // Started from kitty, but another terminal.
        check(
            &[("TERM_PROGRAM", "vscode"), ("KITTY_WINDOW_ID", "1")],
            BLOCKS,
        );
        check(&[("VTE_VERSION", "7600"), ("KITTY_WINDOW_ID", "1")], BLOCKS);
        // Something stands between, and lets nothing through.
        check(&[("STY", "1.tty"), ("KITTY_WINDOW_ID", "1")], BLOCKS);
        check(&[("ZELLIJ", "0"), ("TERM", "xterm-kitty")], BLOCKS);
        check(
            &[("TERM", "tmux-256color"), ("LC_TERMINAL", "iTerm2")],
            BLOCKS,
        );
    }

    #[test]
    fn terminals_behind_tmux() {
        let check =
            |choice, variable: (&'static str, &str), answer: Option<(bool, &str)>, expected| {
                let answer = answer.map(|(passthrough, terminal)| tmux::TmuxAnswer {
                    passthrough,
                    terminal: terminal.to_owned(),
                });
                let signs = signs(&[("TMUX", "/tmp/x,1,0"), ("TERM_PROGRAM", "tmux"), variable]);
                assert_eq!(signs.method(choice, || answer), expected, "{variable:?}");
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
    }

    #[test]
    fn light_backgrounds() {
        let check = |colours, expected: Option<u8>| {
            assert_eq!(ground(colours), expected.map(|grey| [grey; 3]));
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
            let signs = signs(&[("TERM", "xterm-kitty")]);
            assert_eq!(
                signs.method(choice, || panic!("no tmux is there")),
                expected
            );
        };
        check(Images::Off, Method::Off);
        check(Images::Blocks, BLOCKS);
        check(Images::Iterm2, Method::Iterm2 { tmux: false });
        check(Images::Kitty, Method::Kitty);
    }
}

//! The terminal's method of drawing pictures, derived from the environment; the terminal is not queried.
//!
//! In: variables, the user's choice, tmux's answer when tmux runs. Out: a [`Method`]. Pure except for the query to
//! tmux, which is an argument and is called only when its answer matters. Terminals not known to draw pictures get
//! half blocks: a wrong guess must not fill the screen with base64.

use std::collections::BTreeMap;

use super::tmux;
use crate::config::Images;
use crate::environment::Environment;
use crate::markdown::Background;

const VARIABLES: [&str; 16] = [
    "COLORTERM",
    "GHOSTTY_RESOURCES_DIR",
    "KITTY_WINDOW_ID",
    "KONSOLE_VERSION",
    "LC_TERMINAL",
    "MLTERM",
    "STY",
    "TERM",
    "TERM_PROGRAM",
    "TMUX",
    "TMUX_PANE",
    "WEZTERM_EXECUTABLE",
    "WEZTERM_PANE",
    "ZELLIJ",
    "VTE_VERSION",
    "XTERM_VERSION",
];

/// First version of Konsole with kitty's protocol: 22.04.
const KONSOLE: u32 = 22_04_00;

/// Prefixes of `TERM` of terminals that draw sixels.
const SIXEL: [&str; 4] = ["contour", "foot", "mlterm", "yaft"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// Kitty's protocol, directly.
    Kitty,
    /// Kitty's protocol through tmux, with placeholders that tmux treats as text.
    KittyInTmux,
    Iterm2 {
        tmux: bool,
    },
    Sixel {
        /// True when the terminal is known to draw sixels; false when only the user's choice says so.
        known: bool,
    },
    Blocks {
        /// 24-bit colours, else 256.
        true_colour: bool,
    },
    Off,
}

#[derive(Debug, Clone, Default)]
pub(super) struct TerminalVariables(BTreeMap<&'static str, String>);

/// A terminal by its support for pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Terminal {
    /// Kitty's protocol with placeholders.
    Kitty,
    /// Kitty's protocol without placeholders.
    KittyPlain,
    Iterm2,
    /// Sixels only.
    Sixel,
    /// No pictures, or unknown.
    Other,
}

impl TerminalVariables {
    pub(super) fn new(environment: &Environment) -> Self {
        let found = |name: &'static str| Some((name, environment.variable(name)?.to_owned()));
        TerminalVariables(VARIABLES.into_iter().filter_map(found).collect())
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(super) fn pane(&self) -> Option<&str> {
        self.get("TMUX_PANE")
    }

    /// Returns the method for the user's `choice`; `knows_cell`: the terminal reports the size of a cell; `ask`
    /// queries tmux.
    pub(super) fn method(
        &self,
        choice: Images,
        knows_cell: bool,
        ask: impl FnOnce() -> Option<tmux::TmuxAnswer>,
    ) -> Method {
        let blocks = Method::Blocks {
            true_colour: self.true_colour(),
        };
        match choice {
            Images::Off => return Method::Off,
            Images::Blocks => return blocks,
            Images::Auto | Images::Kitty | Images::Iterm2 | Images::Sixel => {}
        }
        if self.get("TMUX").is_some() {
            let answer = ask().unwrap_or_default();
            if !answer.passthrough {
                return blocks;
            }
            let outer = match choice {
                Images::Kitty => Terminal::Kitty,
                Images::Iterm2 => Terminal::Iterm2,
                Images::Sixel => Terminal::Sixel,
                _ => self.outer(&answer.terminal),
            };
            return match outer {
                Terminal::Kitty => Method::KittyInTmux,
                Terminal::Iterm2 => Method::Iterm2 { tmux: true },
                Terminal::KittyPlain | Terminal::Sixel | Terminal::Other => blocks,
            };
        }
        let there = match self.is_multiplexed() {
            true => Terminal::Other,
            false => self.terminal(),
        };
        let terminal = match choice {
            Images::Kitty => Terminal::Kitty,
            Images::Iterm2 => Terminal::Iterm2,
            Images::Sixel => Terminal::Sixel,
            _ => there,
        };
        match terminal {
            Terminal::Kitty | Terminal::KittyPlain => Method::Kitty,
            Terminal::Iterm2 => Method::Iterm2 { tmux: false },
            // The number of rows that sixels cover depends on the size of a cell.
            Terminal::Sixel if choice == Images::Auto && !knows_cell => blocks,
            Terminal::Sixel => Method::Sixel {
                known: there == Terminal::Sixel,
            },
            Terminal::Other => blocks,
        }
    }

    /// True for a multiplexer that passes nothing through, or a tmux at the other end of ssh.
    fn is_multiplexed(&self) -> bool {
        let term = self.get("TERM").unwrap_or_default();
        self.get("STY").is_some()
            || self.get("ZELLIJ").is_some()
            || term.starts_with("screen")
            || term.starts_with("tmux")
    }

    /// The terminal of this process. Its own variables take precedence over those that may be inherited.
    fn terminal(&self) -> Terminal {
        let term = self.get("TERM").unwrap_or_default();
        // No other terminal uses these names; these terminals keep an inherited `TERM_PROGRAM`.
        if SIXEL.iter().any(|name| term.starts_with(name)) {
            return Terminal::Sixel;
        }
        match self.get("TERM_PROGRAM") {
            Some("iTerm.app" | "WezTerm" | "mintty" | "rio") => return Terminal::Iterm2,
            Some("ghostty" | "kitty") => return Terminal::Kitty,
            Some("contour") => return Terminal::Sixel,
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

    /// Judges by variables that children of other terminals may have inherited.
    fn inherited(&self) -> Terminal {
        let konsole = self.get("KONSOLE_VERSION");
        // mlterm may be configured to call itself xterm; a real xterm sets its version.
        let is_mlterm = self.get("MLTERM").is_some() && self.get("XTERM_VERSION").is_none();
        let term = self.get("TERM").unwrap_or_default();
        if is_mlterm && term.starts_with("xterm") {
            Terminal::Sixel
        } else if self.get("KITTY_WINDOW_ID").is_some()
            || self.get("GHOSTTY_RESOURCES_DIR").is_some()
        {
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

    /// The terminal that tmux is shown on: as it reported to tmux, else by tmux's own environment.
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

/// Parses `COLORFGBG`, set by rxvt and others, to the background colour.
pub(super) fn background_colour(colours: Option<&str>) -> Option<[u8; 3]> {
    colours
        .and_then(Background::of_variable)
        .map(|background| match background {
            Background::Light => [255; 3],
            Background::Dark => [0; 3],
        })
}

#[cfg(test)]
mod tests;

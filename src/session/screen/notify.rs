//! Desktop notifications through the terminal: on this machine, and over ssh.
//!
//! In: variables that identify the terminal, and a text. Out: OSC 99 (kitty, "Desktop notifications"), OSC 9
//! (iTerm2, also WezTerm and Ghostty) or OSC 777 (urxvt, also foot, contour and VTE where it supports it); the bell
//! for unknown terminals, and in tmux, which then marks the window. Terminals send no reply, so success is unknown.

use crate::environment::Environment;
use crate::text::escape::visible;

const TITLE: &str = "ipycodex";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoticeProtocol {
    /// OSC 99.
    Kitty,
    /// OSC 9.
    Plain,
    /// OSC 777.
    Titled,
    /// BEL.
    Bell,
}

impl NoticeProtocol {
    pub(super) fn detect(environment: &Environment) -> Self {
        let variable = |name| environment.variable(name).unwrap_or_default();
        let (term, program) = (variable("TERM"), variable("TERM_PROGRAM"));
        if environment.variable("TMUX").is_some() || term.starts_with("screen") {
            return NoticeProtocol::Bell;
        }
        if term.starts_with("xterm-kitty") {
            return NoticeProtocol::Kitty;
        }
        match program {
            "iTerm.app" | "WezTerm" | "ghostty" => return NoticeProtocol::Plain,
            _ => {}
        }
        let titled = ["foot", "rxvt", "contour"];
        match titled.iter().any(|name| term.starts_with(name))
            || environment.variable("VTE_VERSION").is_some()
        {
            true => NoticeProtocol::Titled,
            false => NoticeProtocol::Bell,
        }
    }

    pub(super) fn sequence(self, text: &str) -> String {
        let text = visible(text);
        match self {
            NoticeProtocol::Kitty => format!(
                "\x1b]99;i=ipycodex:d=0;{TITLE}\x1b\\\x1b]99;i=ipycodex:p=body:o=unfocused;{text}\x1b\\"
            ),
            NoticeProtocol::Plain => format!("\x1b]9;{TITLE}: {text}\x07"),
            NoticeProtocol::Titled => format!("\x1b]777;notify;{TITLE};{text}\x07"),
            NoticeProtocol::Bell => "\x07".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_terminal_gets_its_own_notice_sequence() {
        for (variables, expected) in [
            (&[("TERM", "xterm-kitty")][..], NoticeProtocol::Kitty),
            (&[("TERM_PROGRAM", "WezTerm")], NoticeProtocol::Plain),
            (&[("TERM", "foot-extra")], NoticeProtocol::Titled),
            (&[("VTE_VERSION", "7600")], NoticeProtocol::Titled),
            (&[("TERM", "xterm-256color")], NoticeProtocol::Bell),
            (
                &[("TERM", "xterm-kitty"), ("TMUX", "x")],
                NoticeProtocol::Bell,
            ),
        ] {
            let mut environment = Environment::default();
            for (name, value) in variables {
                environment.variables.insert(name.into(), value.into());
            }
            assert_eq!(
                NoticeProtocol::detect(&environment),
                expected,
                "{variables:?}"
            );
        }
        let told = NoticeProtocol::Titled.sequence("a\x1b[31m\x07b");
        assert_eq!(told.matches(['\x1b', '\x07']).count(), 2, "{told:?}");
    }
}

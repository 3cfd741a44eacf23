//! A small pager, for systems without one: Space, b, Up, Down, g, G, /text, n, q; Ctrl-Z stops the program.
//!
//! In: safe text, keys of the terminal in host mode. Out: pages on the alternate screen, which is restored
//! afterwards. Moving and searching are pure ([`PagerView`]). Absent on purpose: all other features of a pager.

use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use crossterm::event::{Event, KeyCode};
use rustix::event::{PollFd, PollFlags, poll};
use signal_hook::SigId;
use signal_hook::consts::signal::SIGWINCH;
use signal_hook::low_level::pipe;

use crate::keys::entry::Entry;
use crate::keys::{Decoder, is_control, plain};
use crate::output::filter::{Filter, Policy};
use crate::screen::alternate::Alternate;
use crate::screen::guard::TerminalGuard;
use crate::screen::{Screen, ScreenError};
use crate::text::{Break, columns, cut, expand_tabs, rows_of_runs};

const CTRL_C: u8 = 0x03;
const CTRL_Z: u8 = 0x1a;

struct PagerView {
    rows: Vec<String>,
    first: usize,
    height: usize,
    decoder: Decoder,
    /// The search being typed after `/`.
    typing: Option<Entry>,
    query: String,
    message: &'static str,
}

pub(super) fn show(page: &str, screen: &Screen, guard: &TerminalGuard) -> Result<(), ScreenError> {
    let _alternate = Alternate::open(screen, Some(guard))?;
    let mut view = PagerView::new(page, usize::from(screen.size().columns));
    let stdin = std::io::stdin();
    // The signal is also sent when the program continues after a stop.
    let resized = ResizeSignal::register().map_err(ScreenError::Write)?;
    loop {
        let size = screen.size();
        view.height = usize::from(size.rows).saturating_sub(1).max(1);
        screen.write_trusted(view.render(usize::from(size.columns)).as_bytes())?;
        screen.flush()?;
        let mut sources = [
            PollFd::new(&resized.reader, PollFlags::IN),
            PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN),
        ];
        if guard.take_interrupt() && view.take(&[CTRL_C]) {
            return Ok(());
        }
        match poll(&mut sources, None) {
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return Ok(()),
            Ok(_) => {}
        }
        if !sources[0].revents().is_empty() {
            resized.drain();
            continue;
        }
        let mut keys = [0; 256];
        match rustix::io::read(&stdin, &mut keys) {
            Ok(0) => return Ok(()),
            Ok(count) => {
                if keys[..count].contains(&CTRL_Z) {
                    guard.suspend();
                }
                if view.take(&keys[..count]) {
                    return Ok(());
                }
            }
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(_) => return Ok(()),
        }
    }
}

struct ResizeSignal {
    reader: UnixStream,
    handler: SigId,
}

impl ResizeSignal {
    fn register() -> std::io::Result<Self> {
        let (reader, writer) = UnixStream::pair()?;
        reader.set_nonblocking(true)?;
        let handler = pipe::register(SIGWINCH, writer)?;
        Ok(ResizeSignal { reader, handler })
    }

    fn drain(&self) {
        let mut bytes = [0; 64];
        while matches!((&self.reader).read(&mut bytes), Ok(1..)) {}
    }
}

impl Drop for ResizeSignal {
    fn drop(&mut self) {
        signal_hook::low_level::unregister(self.handler);
    }
}

impl PagerView {
    fn new(page: &str, width: usize) -> Self {
        PagerView {
            rows: page
                .lines()
                .flat_map(|line| wrapped(line, width.max(4)))
                .collect(),
            first: 0,
            height: 1,
            decoder: Decoder::default(),
            typing: None,
            query: String::new(),
            message: "",
        }
    }

    fn take(&mut self, keys: &[u8]) -> bool {
        self.message = "";
        let keys = keys.iter().filter_map(|byte| self.decoder.push(*byte));
        let mut keys: Vec<Event> = keys.collect();
        keys.extend(self.decoder.escape());
        keys.iter().any(|key| self.key(key))
    }

    fn key(&mut self, key: &Event) -> bool {
        if let Some(typed) = &mut self.typing {
            match plain(key) {
                KeyCode::Enter => {
                    if !typed.text().is_empty() {
                        typed.text().clone_into(&mut self.query);
                    }
                    self.typing = None;
                    self.seek();
                }
                KeyCode::Esc => self.typing = None,
                KeyCode::Backspace if typed.text().is_empty() => self.typing = None,
                _ if is_control(key, 'c') => self.typing = None,
                _ => {
                    typed.take(key);
                }
            }
            return false;
        }
        let page = self.height as isize;
        match plain(key) {
            KeyCode::Char('q' | 'Q') | KeyCode::Esc => return true,
            KeyCode::Char(' ' | 'f') | KeyCode::PageDown => self.scroll(page),
            KeyCode::Char('b') | KeyCode::PageUp => self.scroll(-page),
            KeyCode::Char('j') | KeyCode::Enter | KeyCode::Down => self.scroll(1),
            KeyCode::Char('k') | KeyCode::Up => self.scroll(-1),
            KeyCode::Char('g') | KeyCode::Home => self.first = 0,
            KeyCode::Char('G') | KeyCode::End => self.scroll(isize::MAX),
            KeyCode::Char('/') => self.typing = Some(Entry::default()),
            KeyCode::Char('n') => self.seek(),
            _ if is_control(key, 'c') || is_control(key, 'd') => return true,
            _ if is_control(key, 'f') => self.scroll(page),
            _ if is_control(key, 'b') => self.scroll(-page),
            _ => {}
        }
        false
    }

    fn last(&self) -> usize {
        self.rows.len().saturating_sub(self.height)
    }

    fn scroll(&mut self, by: isize) {
        self.first = self.first.saturating_add_signed(by).min(self.last());
    }

    /// Moves to the next row with a match, continuing from the top after the end.
    fn seek(&mut self) {
        let count = self.rows.len();
        let hit = (1..=count)
            .map(|step| (self.first + step) % count)
            .find(|row| filtered(&self.rows[*row], Policy::Text).contains(&self.query));
        match hit {
            Some(row) if !self.query.is_empty() => self.first = row.min(self.last()),
            _ => self.message = "not found",
        }
    }

    fn render(&self, columns: usize) -> String {
        let mut picture = String::from("\x1b[H");
        for row in 0..self.height {
            if let Some(row) = self.rows.get(self.first + row) {
                picture.push_str(row);
            }
            picture.push_str("\x1b[0m\x1b[K\r\n");
        }
        let status = match &self.typing {
            Some(typed) => format!("/{}", typed.text()),
            None if !self.message.is_empty() => self.message.to_owned(),
            None => {
                let end = (self.first + self.height).min(self.rows.len());
                format!(
                    "{}-{end} of {}  Space b /text n q",
                    self.first + 1,
                    self.rows.len()
                )
            }
        };
        let status = cut(&status, columns.saturating_sub(1)).into_owned();
        picture.push_str(&format!("\x1b[7m{status}\x1b[0m\x1b[K"));
        picture
    }
}

/// Wraps a line in rows that fit. Each row sets the colours in force anew.
fn wrapped(line: &str, width: usize) -> Vec<String> {
    let (mut runs, mut colour, mut column) = (Vec::new(), String::new(), 0);
    let mut rest = line;
    while !rest.is_empty() {
        if let Some(end) = rest.strip_prefix("\x1b[").and_then(|rest| rest.find('m')) {
            let (sequence, behind) = rest.split_at(end + 3);
            colour = if matches!(sequence, "\x1b[0m" | "\x1b[m") {
                String::new()
            } else {
                colour + sequence
            };
            rest = behind;
            continue;
        }
        let end = rest.find('\x1b').filter(|at| *at > 0);
        let (text, behind) = rest.split_at(end.unwrap_or(rest.len()));
        let text = expand_tabs(text, column);
        column += columns(&text);
        runs.push((colour.clone(), text));
        rest = behind;
    }
    let runs: Vec<(String, &str)> = runs
        .iter()
        .map(|(colour, text): &(String, String)| (colour.clone(), text.as_str()))
        .collect();
    let rows = rows_of_runs(&runs, width, Break::Anywhere).into_iter();
    rows.map(|row| coloured(&row)).collect()
}

/// Renders the runs of a row, each after the sequences in force before it.
fn coloured(row: &[(String, &str)]) -> String {
    let (mut out, mut on) = (String::new(), "");
    for (colour, text) in row {
        match colour.strip_prefix(on) {
            Some(more) => out.push_str(more),
            None => out.extend(["\x1b[0m", colour]),
        }
        on = colour;
        out.push_str(text);
    }
    out
}

/// `text` as the policy lets it through.
pub(super) fn filtered(text: &str, policy: Policy) -> String {
    let mut filter = Filter::new(policy);
    let mut out = Vec::with_capacity(text.len() + 1);
    filter.push(text.as_bytes(), &mut out);
    filter.finish(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_move_and_search() {
        let page: String = (1..=100).map(|n| format!("row {n}\n")).collect();
        let mut view = PagerView::new(&page, 40);
        view.height = 10;
        for (keys, first) in [
            (" ", 10),
            ("b", 0),
            ("j\x1b[B", 2),
            ("k\x1b[A", 0),
            ("G", 90),
            (" ", 90),
            ("g", 0),
            ("/row 5\r", 4),
            ("n", 49),
            ("/nowhere\x7f\x1b", 49),
            ("/nope\r", 49),
            ("\x1b[6~", 59),
            ("\x1b[5~", 49),
        ] {
            assert!(!view.take(keys.as_bytes()), "{keys:?}");
            assert_eq!(view.first, first, "{keys:?}");
        }
        assert!(view.take(b"q"));
    }

    #[test]
    fn rows_fit_and_colours_go_on() {
        assert_eq!(wrapped("abcdef", 4), ["abcd", "ef"]);
        assert_eq!(wrapped("漢字漢", 5), ["漢字", "漢"]);
        assert_eq!(wrapped("", 4), [""]);
        assert_eq!(wrapped("a\x1b[31mb\tc", 9), ["a\x1b[31mb  c"]);
        assert_eq!(
            wrapped("\x1b[31mabcdef\x1b[0m", 4),
            ["\x1b[31mabcd", "\x1b[31mef"]
        );
        assert_eq!(
            wrapped("\x1b[1ma\x1b[31mb\x1b[0mc\x1b[2m", 4),
            ["\x1b[1ma\x1b[31mb\x1b[0mc"]
        );
    }

    #[test]
    fn a_picture_has_as_many_rows_as_the_screen() {
        let mut view = PagerView::new("a\nb\n", 20);
        view.height = 4;
        let picture = view.render(20);
        assert_eq!(picture.matches("\r\n").count(), 4);
        assert!(picture.contains("1-2 of 2"), "{picture:?}");
    }
}

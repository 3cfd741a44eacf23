//! Pictures that follow each other: updates of a display, a plot drawn again after `clear_output`.
//!
//! In: pictures, other output, the time. Out: bytes to write now. A new picture replaces the last one where that is
//! still directly above the cursor, else it is drawn below. Invariant: successors are drawn at most every [`PACE`]
//! in place and every [`PACE_BELOW`] below; the last of them is always drawn.

use std::time::{Duration, Instant};

use super::DrawnPicture;
use crate::runtime::TerminalSize;

/// Shortest time between two pictures in one place.
const PACE: Duration = Duration::from_millis(100);

/// Shortest time between a picture and its successor below.
const PACE_BELOW: Duration = Duration::from_secs(1);

#[derive(Debug)]
struct LastPicture {
    rows: u32,
    removal: Vec<u8>,
    /// Size of the terminal at that time: a resize moves everything.
    size: TerminalSize,
}

#[derive(Debug)]
pub(in crate::display) struct Animation<T> {
    last_picture: Option<LastPicture>,
    drawn: Option<Instant>,
    /// After `clear_output`: the next picture replaces the last one.
    cleared: bool,
    pending: Option<T>,
}

impl<T> Default for Animation<T> {
    fn default() -> Self {
        Animation {
            last_picture: None,
            drawn: None,
            cleared: false,
            pending: None,
        }
    }
}

impl<T> Animation<T> {
    /// Takes a picture, `update` or new; returns it when it is to be drawn now, else it becomes pending.
    pub(in crate::display) fn offer(
        &mut self,
        picture: T,
        update: bool,
        now: Instant,
    ) -> Option<T> {
        if !(update || self.cleared) {
            self.last_picture = None;
            return Some(picture);
        }
        self.pending = Some(picture);
        self.due(now)
    }

    pub(in crate::display) fn due(&mut self, now: Instant) -> Option<T> {
        let pace = if self.last_picture.is_some() {
            PACE
        } else {
            PACE_BELOW
        };
        let early = self
            .drawn
            .is_some_and(|drawn| now.duration_since(drawn) < pace);
        if early { None } else { self.pending.take() }
    }

    /// Returns the pending picture at the end of the output.
    pub(in crate::display) fn take_pending(&mut self) -> Option<T> {
        self.pending.take()
    }

    pub(in crate::display) fn has_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// Records other output, after which the last picture cannot be replaced.
    pub(in crate::display) fn on_other_output(&mut self) {
        self.last_picture = None;
    }

    pub(in crate::display) fn on_clear(&mut self) {
        self.cleared = true;
    }

    /// Returns bytes that draw `picture`, in place of the last one where possible.
    pub(in crate::display) fn draw(
        &mut self,
        picture: DrawnPicture,
        size: TerminalSize,
        now: Instant,
    ) -> Vec<u8> {
        self.drawn = Some(now);
        self.cleared = false;
        let mut out = Vec::new();
        let before = self
            .last_picture
            .take()
            .filter(|before| before.size == size);
        if let Some(before) = &before {
            out.extend_from_slice(b"\x1b[?2026h");
            out.extend_from_slice(&before.removal);
            for _ in 0..before.rows {
                out.extend_from_slice(b"\x1b[1A\x1b[2K");
            }
        }
        out.extend_from_slice(&picture.bytes);
        if before.is_some() {
            out.extend_from_slice(b"\x1b[?2026l");
        }
        self.last_picture = Some(LastPicture {
            rows: picture.rows,
            removal: picture.removal,
            size,
        });
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: TerminalSize = TerminalSize {
        columns: 80,
        rows: 24,
    };

    fn drawn(name: &str) -> DrawnPicture {
        DrawnPicture {
            bytes: format!("{name}\n").into_bytes(),
            rows: 1,
            removal: format!("-{name}").into_bytes(),
        }
    }

    /// Plays events at their times in ms; returns the output.
    fn play(script: &[(u64, &str)]) -> String {
        let start = Instant::now();
        let mut animation = Animation::default();
        let mut written = String::new();
        for (at, step) in script {
            let now = start + Duration::from_millis(*at);
            let due = match step.split_at(1) {
                ("!", name) => animation.offer(drawn(name), false, now),
                ("^", name) => animation.offer(drawn(name), true, now),
                ("t", _) => animation.due(now),
                ("c", _) => {
                    animation.on_clear();
                    None
                }
                ("e", _) => animation.take_pending(),
                (_, text) => {
                    animation.on_other_output();
                    written.push_str(text);
                    None
                }
            };
            if let Some(picture) = due {
                let bytes = animation.draw(picture, SIZE, now);
                written.push_str(&String::from_utf8(bytes).unwrap());
            }
        }
        written
            .replace("\x1b[?2026h", "<")
            .replace("\x1b[?2026l", ">")
            .replace("\x1b[1A\x1b[2K", "^")
    }

    #[test]
    fn what_is_written() {
        let check = |script: &[(u64, &str)], expected: &str| {
            assert_eq!(play(script), expected, "{script:?}");
        };
        // Independent pictures are all drawn.
        check(&[(0, "!a"), (1, "!b"), (2, "e")], "a\nb\n");
        // Updates in place, no faster than the pace; the last one is drawn.
        check(
            &[
                (0, "!a"),
                (1, "^b"),
                (50, "^c"),
                (99, "t"),
                (100, "t"),
                (110, "^d"),
                (111, "e"),
            ],
            "a\n<-a^c\n><-c^d\n>",
        );
        check(
            &[
                (0, "!a"),
                (1, ".x\n"),
                (200, "^b"),
                (999, "t"),
                (1000, "t"),
                (1001, "e"),
            ],
            "a\nx\nb\n",
        );
        check(
            &[
                (0, "!a"),
                (1, "c"),
                (2, "!b"),
                (3, "c"),
                (4, "!c"),
                (5, "e"),
            ],
            "a\n<-a^c\n>",
        );
        check(&[(0, "c"), (1, "!a"), (2, "e")], "a\n");
    }

    #[test]
    fn after_a_resize_it_comes_below() {
        let mut animation: Animation<DrawnPicture> = Animation::default();
        let now = Instant::now();
        animation.draw(drawn("a"), SIZE, now);
        let narrow = TerminalSize {
            columns: 40,
            ..SIZE
        };
        assert_eq!(animation.draw(drawn("b"), narrow, now), b"b\n");
    }
}

//! The blocking query for the terminal's background, used between two reads of the editor.
//!
//! Writes `OSC 11 ; ?` and, behind it, `CSI c` (primary device attributes), which every terminal answers: after
//! that reply no other comes, so a terminal that does not know OSC 11 costs one round trip. Owns standard input
//! while it reads. Invariant: every byte that belongs to neither reply is returned, in order. tmux answers both
//! itself.
//!
//! Absent on purpose: the first prompt, which does not wait; there `background_color` filters the reply.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::markdown::Background;

pub(super) const BACKGROUND_QUERY: &[u8] = b"\x1b]11;?\x07";

/// The query for primary device attributes.
pub(super) const DEVICE_QUERY: &[u8] = b"\x1b[c";

/// The prefix of a reply, behind its introducer.
pub(super) const COLOUR_PREFIX: &str = "11;";

/// Returns the colour in a reply without its introducer and terminator.
pub(super) fn colour(answer: &str) -> Option<&str> {
    answer.strip_prefix(COLOUR_PREFIX)
}

/// Longest wait for the replies, once. A later reply is removed from the typed keys ([`extract_replies`], or
/// `background_color` in the editor).
const PATIENCE: Duration = Duration::from_millis(100);

/// The replies, and the keys typed meanwhile.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct QueryReply {
    pub(super) background: Option<Background>,
    pub(super) typed: Vec<u8>,
    /// The device attributes have come: no further reply will.
    pub(super) complete: bool,
}

pub(super) fn read_replies() -> QueryReply {
    let deadline = Instant::now() + PATIENCE;
    let stdin = std::io::stdin();
    let mut bytes = Vec::new();
    loop {
        let heard = extract_replies(&bytes);
        let left = deadline.saturating_duration_since(Instant::now());
        if heard.complete || left.is_zero() {
            return heard;
        }
        let left = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        let mut source = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)];
        match poll(&mut source, Some(&left)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(_) => return heard,
        }
        let mut chunk = [0; 4096];
        match rustix::io::read(&stdin, &mut chunk) {
            Ok(0) => return heard,
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(_) => return heard,
        }
    }
}

/// Separates the replies from the bytes read so far.
pub(super) fn extract_replies(bytes: &[u8]) -> QueryReply {
    let mut heard = QueryReply::default();
    let mut rest = bytes;
    if let Some((start, colour, length)) = colour_reply(rest) {
        heard.background = Background::of_colour(&colour);
        heard.typed.extend_from_slice(&rest[..start]);
        rest = &rest[start + length..];
    }
    heard.complete = match terminal_reply(rest) {
        Some((start, length)) => {
            heard.typed.extend_from_slice(&rest[..start]);
            rest = &rest[start + length..];
            true
        }
        None => false,
    };
    heard.typed.extend_from_slice(rest);
    heard
}

/// Finds `ESC ] 11 ; COLOUR` and its terminator (BEL or `ESC \`): offset, colour, length.
fn colour_reply(bytes: &[u8]) -> Option<(usize, String, usize)> {
    const INTRODUCER: &[u8] = b"\x1b]11;";
    let start = memchr::memmem::find(bytes, INTRODUCER)?;
    let body = &bytes[start + INTRODUCER.len()..];
    let end = body.iter().position(|byte| matches!(byte, 0x07 | 0x1b))?;
    let closing = match body[end..] {
        [0x07, ..] => 1,
        [0x1b, b'\\', ..] => 2,
        _ => return None,
    };
    let colour = String::from_utf8_lossy(&body[..end]).into_owned();
    Some((start, colour, INTRODUCER.len() + end + closing))
}

/// Finds `ESC [ ? … c`: offset and length.
fn terminal_reply(bytes: &[u8]) -> Option<(usize, usize)> {
    const INTRODUCER: &[u8] = b"\x1b[?";
    memchr::memmem::find_iter(bytes, INTRODUCER).find_map(|start| {
        let body = &bytes[start + INTRODUCER.len()..];
        let end = body
            .iter()
            .position(|byte| !byte.is_ascii_digit() && *byte != b';')?;
        (body[end] == b'c').then_some((start, INTRODUCER.len() + end + 1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_taken_out_and_keys_are_kept() {
        let light = Some(Background::Light);
        let dark = Some(Background::Dark);
        for (bytes, background, typed, complete) in [
            (&b""[..], None, &b""[..], false),
            (
                b"\x1b]11;rgb:ffff/ffff/ffff\x07\x1b[?62;22c",
                light,
                b"",
                true,
            ),
            (
                b"\x1b]11;rgb:0000/0000/0000\x1b\\\x1b[?1;2c",
                dark,
                b"",
                true,
            ),
            (
                b"a\x1b]11;rgb:ffff/ffff/ffff\x07b\x1b[?6cd\x1b[A",
                light,
                b"abd\x1b[A",
                true,
            ),
            (b"\x03\x1b[?62;22c", None, b"\x03", true),
            (b"x\x1b]11;rgb:ff", None, b"x\x1b]11;rgb:ff", false),
            (
                b"\x1b]11;rgb:ffff/ffff/ffff\x07\x1b[?62",
                light,
                b"\x1b[?62",
                false,
            ),
            (b"\x1b[?1u\x1b[?62c", None, b"\x1b[?1u", true),
        ] {
            let expected = QueryReply {
                background,
                typed: typed.to_vec(),
                complete,
            };
            assert_eq!(
                extract_replies(bytes),
                expected,
                "{:?}",
                String::from_utf8_lossy(bytes)
            );
        }
    }
}

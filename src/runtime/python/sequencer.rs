//! Restores the order of output and frames, which come over separate channels.
//!
//! In: chunks of the output streams and frames, each channel in its own order. Out: one sequence of
//! [`SequenceItem`]s. Invariant: a frame with number N comes after everything that precedes mark N in every stream
//! and before everything that follows it. A stream that reached a mark waits for the frame of that mark; a frame
//! waits for its marks in all open streams. Absent on purpose: reading, time; the caller decides when waiting has
//! become pointless and calls [`Sequencer::force`].

use std::collections::VecDeque;

use super::super::OutputStream;
use super::super::marks::{Mark, MarkFilter, StreamPiece};
use super::wire::{RunnerFrame, SyncedFrame};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunnerMark {
    /// `17`: everything before the mark precedes the frame with this number.
    Sync(u64),
    /// `own`: a program of the cell owns the screen from here.
    Own,
    /// `back`: the cell owns the screen again.
    Back,
}

impl Mark for RunnerMark {
    fn parse(word: &[u8]) -> Option<Self> {
        match word {
            b"own" => Some(RunnerMark::Own),
            b"back" => Some(RunnerMark::Back),
            [b'1'..=b'9', ..] => {
                let number = std::str::from_utf8(word).ok()?.parse().ok()?;
                Some(RunnerMark::Sync(number))
            }
            _ => None,
        }
    }

    fn is_prefix(word: &[u8]) -> bool {
        b"own".starts_with(word) || b"back".starts_with(word) || word.iter().all(u8::is_ascii_digit)
    }
}

#[derive(Debug)]
pub(super) enum SequenceItem {
    Output {
        stream: OutputStream,
        bytes: Vec<u8>,
        /// Bytes of a program that owns the screen.
        foreign: bool,
    },
    Frame(RunnerFrame),
}

#[derive(Debug)]
pub(super) struct Sequencer {
    streams: Vec<Stream>,
    frames: VecDeque<SyncedFrame>,
    /// Number of the last frame that was returned.
    released: u64,
}

#[derive(Debug)]
struct Stream {
    which: OutputStream,
    /// Chunks that are not in `marks` yet, and whether they were read while the terminal was raw.
    chunks: VecDeque<(Vec<u8>, bool)>,
    marks: MarkFilter<RunnerMark>,
    /// The mark at which this stream waits.
    at: Option<u64>,
    closed: bool,
    /// The chunk in `marks` was read while the terminal was raw.
    raw: bool,
    /// True between `own` and `back`.
    owned: bool,
}

impl Sequencer {
    pub(super) fn new(streams: &[OutputStream], nonce: &str) -> Self {
        let stream = |which: &OutputStream| Stream {
            which: *which,
            chunks: VecDeque::new(),
            marks: MarkFilter::new(nonce),
            at: None,
            closed: false,
            raw: false,
            owned: false,
        };
        Sequencer {
            streams: streams.iter().map(stream).collect(),
            frames: VecDeque::new(),
            released: 0,
        }
    }

    /// Adds a chunk of stream `index`; `raw`: the terminal was not in line mode when the chunk was read.
    pub(super) fn push_output(&mut self, index: usize, chunk: Vec<u8>, raw: bool) {
        self.streams[index].chunks.push_back((chunk, raw));
    }

    pub(super) fn push_frame(&mut self, frame: SyncedFrame) {
        self.frames.push_back(frame);
    }

    /// Marks stream `index` as ended.
    pub(super) fn close(&mut self, index: usize) {
        self.streams[index].closed = true;
    }

    /// Returns true when stream `index` should be read.
    pub(super) fn wants_output(&self, index: usize) -> bool {
        self.streams[index].at.is_none() && !self.streams[index].closed
    }

    /// Returns true when the frame pipe should be read.
    pub(super) fn wants_frames(&self) -> bool {
        self.frames.is_empty()
    }

    /// Returns true when a frame waits for marks or a stream for its frame.
    pub(super) fn is_waiting(&self) -> bool {
        !self.frames.is_empty() || self.streams.iter().any(|stream| stream.at.is_some())
    }

    pub(super) fn screen_is_owned(&self) -> bool {
        self.streams.iter().any(|stream| stream.owned)
    }

    /// Ends the ownership of the screen with the cell.
    pub(super) fn reclaim_screen(&mut self) {
        for stream in &mut self.streams {
            stream.owned = false;
        }
    }

    /// Returns the next item whose place is certain.
    pub(super) fn next(&mut self) -> Option<SequenceItem> {
        for stream in &mut self.streams {
            if let Some(item) = stream.next(self.released) {
                return Some(item);
            }
        }
        let sync = self.frames.front()?.sync;
        if let Some(number) = sync {
            let all_there = self
                .streams
                .iter()
                .all(|stream| stream.at.map_or(stream.closed, |at| at >= number));
            if !all_there && number > self.released {
                return None;
            }
        }
        self.pop_frame()
    }

    /// Returns the next item without waiting for the marks of the first frame, or for the frame of a mark.
    pub(super) fn force(&mut self) -> Option<SequenceItem> {
        if self.frames.is_empty() {
            for stream in &mut self.streams {
                self.released = self.released.max(stream.at.take().unwrap_or(0));
            }
            return self.next();
        }
        self.pop_frame()
    }

    fn pop_frame(&mut self) -> Option<SequenceItem> {
        let SyncedFrame { sync, frame } = self.frames.pop_front()?;
        if let Some(number) = sync {
            self.released = self.released.max(number);
            for stream in &mut self.streams {
                stream.at = stream.at.filter(|at| *at > number);
            }
        }
        Some(SequenceItem::Frame(frame))
    }
}

impl Stream {
    /// Returns bytes up to the next mark whose frame has not been returned.
    fn next(&mut self, released: u64) -> Option<SequenceItem> {
        while self.at.is_none() {
            let piece = match self.marks.next() {
                Some(piece) => piece,
                None => match self.chunks.pop_front() {
                    Some((chunk, raw)) => {
                        self.raw = raw;
                        self.marks.push(chunk);
                        continue;
                    }
                    None if self.closed => self.marks.finish()?,
                    None => return None,
                },
            };
            match piece {
                StreamPiece::Bytes(bytes) => return Some(self.output(bytes)),
                StreamPiece::Mark(RunnerMark::Own) => self.owned = true,
                StreamPiece::Mark(RunnerMark::Back) => self.owned = false,
                StreamPiece::Mark(RunnerMark::Sync(number)) => {
                    self.at = Some(number).filter(|n| *n > released)
                }
            }
        }
        None
    }

    fn output(&self, bytes: Vec<u8>) -> SequenceItem {
        SequenceItem::Output {
            stream: self.which,
            bytes,
            foreign: self.owned || self.raw,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RequestId;
    use crate::properties;
    use crate::python::wire::FrameId;
    use proptest::prelude::*;

    const BOTH: [OutputStream; 2] = [OutputStream::Stdout, OutputStream::Stderr];

    fn mark(word: impl std::fmt::Display) -> Vec<u8> {
        format!("\x1b]7717;n;{word}\x07").into_bytes()
    }

    fn started(sync: u64) -> SyncedFrame {
        SyncedFrame {
            sync: Some(sync),
            frame: RunnerFrame::Started {
                id: FrameId(Some(RequestId(sync))),
            },
        }
    }

    fn drain(sequencer: &mut Sequencer, into: &mut Vec<String>) {
        while let Some(item) = sequencer.next() {
            into.push(match item {
                SequenceItem::Output {
                    stream: OutputStream::Stderr,
                    bytes,
                    ..
                } => format!("err {}", String::from_utf8(bytes).unwrap()),
                SequenceItem::Output { bytes, foreign, .. } => format!(
                    "{}{}",
                    if foreign { "foreign " } else { "" },
                    String::from_utf8(bytes).unwrap()
                ),
                SequenceItem::Frame(RunnerFrame::Started {
                    id: FrameId(Some(id)),
                }) => format!("frame {}", id.0),
                SequenceItem::Frame(frame) => format!("{frame:?}"),
            });
        }
    }

    #[test]
    fn screen_owners_are_told_apart_at_the_byte() {
        let mut sequencer = Sequencer::new(&[OutputStream::Terminal], "n");
        let mut got = Vec::new();
        sequencer.push_output(
            0,
            [
                b"a".to_vec(),
                mark("own"),
                b"b".to_vec(),
                mark("back"),
                b"c".to_vec(),
            ]
            .concat(),
            false,
        );
        drain(&mut sequencer, &mut got);
        sequencer.push_output(0, b"d".to_vec(), true);
        drain(&mut sequencer, &mut got);
        for (chunk, raw) in [(b"e", false), (b"f", true), (b"g", false)] {
            sequencer.push_output(0, chunk.to_vec(), raw);
        }
        drain(&mut sequencer, &mut got);
        let expected = ["a", "foreign b", "c", "foreign d", "e", "foreign f", "g"];
        assert_eq!(got, expected);
        sequencer.push_output(0, mark("own"), false);
        drain(&mut sequencer, &mut got);
        assert!(sequencer.screen_is_owned());
        sequencer.reclaim_screen();
        assert!(!sequencer.screen_is_owned());
    }

    #[test]
    fn missing_marks_and_frames_can_be_forced() {
        let mut sequencer = Sequencer::new(&BOTH, "n");
        let mut got = Vec::new();
        sequencer.push_output(0, [mark(1), b"after".to_vec()].concat(), false);
        sequencer.push_frame(started(1));
        drain(&mut sequencer, &mut got);
        assert!(got.is_empty() && sequencer.is_waiting());
        assert!(matches!(
            sequencer.force(),
            Some(SequenceItem::Frame(RunnerFrame::Started { .. }))
        ));
        sequencer.push_output(1, [mark(1), mark(2), b"late".to_vec()].concat(), false);
        drain(&mut sequencer, &mut got);
        assert_eq!(got, ["after"]);
        assert!(sequencer.is_waiting() && !sequencer.wants_output(1));
        assert!(matches!(
            sequencer.force(),
            Some(SequenceItem::Output {
                stream: OutputStream::Stderr,
                ..
            })
        ));
        assert!(!sequencer.is_waiting());
    }

    #[test]
    fn a_closed_stream_holds_nothing_up() {
        let mut sequencer = Sequencer::new(&BOTH, "n");
        let mut got = Vec::new();
        sequencer.push_output(0, b"x\x1b]77".to_vec(), false);
        sequencer.close(0);
        sequencer.push_output(1, mark(1), false);
        sequencer.push_frame(started(1));
        drain(&mut sequencer, &mut got);
        assert_eq!(got, ["x", "\x1b]77", "frame 1"]);
    }

    #[derive(Debug, Clone)]
    enum Step {
        Out(u8),
        Err(u8),
        Frame,
    }

    proptest! {
        #![proptest_config(properties::cases(properties::USUAL))]

        /// For every interleaving of the three channels the sequence is that of the writer (two streams are not
        /// ordered against each other between frames).
        #[test]
        fn the_writers_order_is_restored(
            steps in proptest::collection::vec(prop_oneof![any::<u8>().prop_map(Step::Out),
                any::<u8>().prop_map(Step::Err), Just(Step::Frame)], 0..40),
            schedule in proptest::collection::vec((0usize..3, 1usize..30), 0..200),
        ) {
            let (mut out, mut err, mut frames) = (Vec::new(), Vec::new(), VecDeque::new());
            let mut expected: Vec<(String, String)> = vec![Default::default()];
            for step in steps {
                let now = expected.last_mut().unwrap();
                match step {
                    Step::Out(n) => { let text = format!("o{n} "); out.extend(text.bytes()); now.0 += &text; }
                    Step::Err(n) => { let text = format!("e{n} "); err.extend(text.bytes()); now.1 += &text; }
                    Step::Frame => {
                        let number = expected.len() as u64;
                        out.extend(mark(number));
                        err.extend(mark(number));
                        frames.push_back(started(number));
                        expected.push(Default::default());
                    }
                }
            }
            let mut sequencer = Sequencer::new(&BOTH, "n");
            let mut got: Vec<(String, String)> = vec![Default::default()];
            let mut streams = [VecDeque::from(out), VecDeque::from(err)];
            let rest = (0..400).flat_map(|_| [(0, 50), (1, 50), (2, 1)]);
            for (channel, amount) in schedule.into_iter().chain(rest) {
                if channel == 2 {
                    if sequencer.wants_frames() && let Some(frame) = frames.pop_front() {
                        sequencer.push_frame(frame);
                    }
                } else if sequencer.wants_output(channel) {
                    let amount = amount.min(streams[channel].len());
                    let chunk: Vec<u8> = streams[channel].drain(..amount).collect();
                    if !chunk.is_empty() { sequencer.push_output(channel, chunk, false); }
                }
                while let Some(item) = sequencer.next() {
                    match item {
                        SequenceItem::Output { stream, bytes, .. } => {
                            let (out, err) = got.last_mut().unwrap();
                            let text = if stream == OutputStream::Stdout { out } else { err };
                            *text += std::str::from_utf8(&bytes).unwrap();
                        }
                        SequenceItem::Frame(_) => got.push(Default::default()),
                    }
                }
            }
            prop_assert_eq!(got, expected);
            prop_assert!(!sequencer.is_waiting());
        }
    }
}

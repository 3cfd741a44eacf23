//! What a terminal says by itself: where the cursor is, that it is alive, which one it is, its background.
//!
//! In: requests the virtual screen does not handle. Out: bytes for the program.

/// What a terminal says by itself.
#[derive(Default)]
pub(super) struct Answers {
    pub(super) pending: Vec<u8>,
    /// What `OSC 11 ; ?` is answered with, if at all.
    pub(super) background: Option<String>,
}

impl vt100::Callbacks for Answers {
    fn unhandled_osc(&mut self, _: &mut vt100::Screen, parameters: &[&[u8]]) {
        if let (&[b"11", b"?"], Some(colour)) = (parameters, &self.background) {
            let answer = format!("\x1b]11;{colour}\x1b\\");
            self.pending.extend_from_slice(answer.as_bytes());
        }
    }

    fn unhandled_csi(
        &mut self,
        screen: &mut vt100::Screen,
        first: Option<u8>,
        _second: Option<u8>,
        parameters: &[&[u16]],
        last: char,
    ) {
        let parameter = parameters
            .first()
            .and_then(|numbers| numbers.first())
            .copied();
        match (first, last, parameter.unwrap_or(0)) {
            (None, 'n', 6) => {
                let (row, column) = screen.cursor_position();
                let columns = screen.size().1.get();
                let column = column.min(columns - 1);
                let answer = format!("\x1b[{};{}R", row + 1, column + 1);
                self.pending.extend_from_slice(answer.as_bytes());
            }
            (None, 'n', 5) => self.pending.extend_from_slice(b"\x1b[0n"),
            (None, 'c', 0) => self.pending.extend_from_slice(b"\x1b[?62;22c"),
            _ => {}
        }
    }
}

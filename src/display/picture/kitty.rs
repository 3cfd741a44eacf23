//! Kitty's graphics protocol: a PNG directly to the terminal, or through tmux with placeholders.
//!
//! In: a whole PNG and its size on the screen. Out: bytes; the cursor ends at the start of the row below the
//! picture. Invariants: everything but numbers is base64, in chunks of at most 4096 bytes; the terminal sends no
//! replies (`q=2`). Document: kitty's graphics protocol (`a=T` transmit and draw, `f=100` PNG, `C=1` leave the
//! cursor, `U=1` virtual).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::fit::Fit;
use super::placeholder::{PictureId, rows};
use super::tmux;

const CHUNK: usize = 4096;

/// Draws a picture on the terminal itself. The terminal scales it to its cells unless its size in pixels is `exact`.
pub(super) fn draw(png: &[u8], fit: Fit, id: PictureId, exact: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(png.len() * 4 / 3 + 1024);
    let size = if exact {
        String::new()
    } else {
        format!(",c={},r={}", fit.columns, fit.rows)
    };
    fit.reserve_rows(&mut out);
    let control = format!("a=T,i={},f=100,q=2,C=1{size}", id.number());
    chunks(png, &control, |sequence| out.extend_from_slice(&sequence));
    fit.move_below(&mut out);
    out
}

/// Deletes a picture of [`draw`] from the screen and from the terminal's memory.
pub(super) fn remove(id: PictureId) -> Vec<u8> {
    format!("\x1b_Ga=d,d=I,i={},q=2\x1b\\", id.number()).into_bytes()
}

/// Sends a picture to the terminal through tmux, and writes its placeholders.
pub(super) fn draw_in_tmux(png: &[u8], fit: Fit, id: PictureId) -> Vec<u8> {
    let mut out = Vec::with_capacity(png.len() * 4 / 3 + 4096);
    let (number, columns, lines) = (id.number(), fit.columns, fit.rows);
    let control = format!("a=T,U=1,i={number},c={columns},r={lines},f=100,q=2");
    chunks(png, &control, |sequence| tmux::wrap(&sequence, &mut out));
    rows(id, columns, lines, &mut out);
    out
}

fn chunks(png: &[u8], control: &str, mut each: impl FnMut(Vec<u8>)) {
    let data = STANDARD.encode(png);
    let mut pieces = data.as_bytes().chunks(CHUNK).peekable();
    let mut first = Some(control);
    while let Some(piece) = pieces.next() {
        let mut sequence = b"\x1b_G".to_vec();
        if let Some(control) = first.take() {
            sequence.extend_from_slice(control.as_bytes());
            sequence.push(b',');
        }
        let more = u8::from(pieces.peek().is_some());
        sequence.extend_from_slice(format!("m={more};").as_bytes());
        sequence.extend_from_slice(piece);
        sequence.extend_from_slice(b"\x1b\\");
        each(sequence);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIT: Fit = Fit {
        width: 2,
        height: 2,
        columns: 2,
        rows: 3,
    };

    const ID: PictureId = PictureId {
        colour: 42,
        highest: 1,
    };

    #[test]
    fn a_small_picture_byte_by_byte() {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        assert_eq!(
            text(draw(b"PNG", FIT, ID, true)),
            "\n\n\n\x1b[3A\x1b_Ga=T,i=16777258,f=100,q=2,C=1,m=0;UE5H\x1b\\\x1b[3B\r"
        );
        assert_eq!(
            text(draw(b"PNG", FIT, ID, false)),
            "\n\n\n\x1b[3A\x1b_Ga=T,i=16777258,f=100,q=2,C=1,c=2,r=3,m=0;UE5H\x1b\\\x1b[3B\r"
        );
        assert_eq!(text(remove(ID)), "\x1b_Ga=d,d=I,i=16777258,q=2\x1b\\");
        let mut lines = Vec::new();
        rows(ID, 2, 3, &mut lines);
        assert_eq!(
            text(draw_in_tmux(b"PNG", FIT, ID)),
            "\x1bPtmux;\x1b\x1b_Ga=T,U=1,i=16777258,c=2,r=3,f=100,q=2,m=0;UE5H\x1b\x1b\\\x1b\\"
                .to_owned()
                + &text(lines)
        );
    }

    #[test]
    fn a_large_picture_comes_in_chunks() {
        let png = vec![7; 3072 * 2 + 1];
        let out = draw(&png, FIT, ID, true);
        let text = String::from_utf8(out).unwrap();
        let sequences: Vec<&str> = text.split("\x1b_G").skip(1).collect();
        let sizes: Vec<usize> = sequences
            .iter()
            .map(|sequence| {
                let (control, data) = sequence.split_once(';').unwrap();
                let last = sequence == sequences.last().unwrap();
                assert_eq!(control.ends_with("m=0"), last);
                data.split('\x1b').next().unwrap().len()
            })
            .collect();
        assert_eq!(sizes, [4096, 4096, 4]);
    }
}

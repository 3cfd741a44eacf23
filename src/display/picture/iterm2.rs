//! iTerm2's inline images, which WezTerm and others support too.
//!
//! In: a picture file and its size on the screen. Out: bytes; the cursor ends at the start of the row below the
//! picture. Invariant: everything but numbers is base64. Terminals differ in where they leave the cursor, so it is
//! saved before and restored after. Document: iterm2.com/documentation-images.html, `File=`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::fit::Fit;
use super::tmux;

/// Longest sequence that tmux accepts, in bytes; its buffer holds 1 MiB.
const LARGEST_IN_TMUX: usize = 1 << 19;

/// Draws a picture in any format that the terminal reads; `None` when tmux would drop it.
pub(super) fn draw(file: &[u8], fit: Fit, in_tmux: bool) -> Option<Vec<u8>> {
    let data = STANDARD.encode(file);
    let (size, columns, rows) = (file.len(), fit.columns, fit.rows);
    let sequence = format!(
        "\x1b]1337;File=inline=1;size={size};width={columns};height={rows};preserveAspectRatio=1:{data}\x07"
    );
    if in_tmux && sequence.len() > LARGEST_IN_TMUX {
        return None;
    }
    let mut out = Vec::with_capacity(sequence.len() + 1024);
    fit.reserve_rows(&mut out);
    out.extend_from_slice(b"\x1b7");
    if in_tmux {
        tmux::wrap(sequence.as_bytes(), &mut out);
    } else {
        out.extend_from_slice(sequence.as_bytes());
    }
    out.extend_from_slice(b"\x1b8");
    fit.move_below(&mut out);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIT: Fit = Fit {
        width: 2,
        height: 2,
        columns: 2,
        rows: 1,
    };

    #[test]
    fn a_small_picture_byte_by_byte() {
        let text = |in_tmux| String::from_utf8(draw(b"PNG", FIT, in_tmux).unwrap()).unwrap();
        let inner = "]1337;File=inline=1;size=3;width=2;height=1;preserveAspectRatio=1:UE5H\x07";
        assert_eq!(
            text(false),
            format!("\n\x1b[1A\x1b7\x1b{inner}\x1b8\x1b[1B\r")
        );
        assert_eq!(
            text(true),
            format!("\n\x1b[1A\x1b7\x1bPtmux;\x1b\x1b{inner}\x1b\\\x1b8\x1b[1B\r")
        );
    }

    #[test]
    fn what_tmux_would_drop_is_not_sent() {
        let large = vec![0; 400_000];
        assert!(draw(&large, FIT, true).is_none());
        assert!(draw(&large, FIT, false).is_some());
    }
}

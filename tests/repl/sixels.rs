//! Pictures of cells as sixels: the bytes, and where the prompt comes.

use super::pictures::{SHOW, raw, shell};

/// After [`SHOW`]: shows a white PNG, 30 pixels wide and 50 high.
const SHOW_TALL: &str = "png = b'\\x89PNG\\r\\n\\x1a\\n' \
+ c(b'IHDR', struct.pack('>IIBBBBB', 30, 50, 8, 0, 0, 0, 0)) \
+ c(b'IDAT', zlib.compress((b'\\0' + b'\\xff' * 30) * 50)) + c(b'IEND', b''); P()";

#[test]
fn foot_gets_sixels_and_the_prompt_comes_below() {
    let shell = shell(&[("TERM", "foot")]);
    // How many rows pixels cover is not known yet.
    shell.cell(1, SHOW);
    assert!(!raw(&shell).contains("\x1bP0;1;0q"));
    assert!(raw(&shell).contains('▀'));
    shell.pty.tell_cell((10, 20));
    let row_of = |text: &str| {
        shell.pty.look(|screen| {
            let mut lines = screen.rows(0, 80);
            lines.position(|line| line.starts_with(text)).expect(text)
        })
    };
    for (number, move_down) in [(2, ""), (3, "print('\\n' * 30);")] {
        shell.cell(number, &format!("{move_down} {SHOW_TALL}"));
        let label = row_of(&format!("Out[{number}]:"));
        // Three rows of the picture, one that is empty.
        assert_eq!(row_of(&format!("In [{}]:", number + 1)), label + 5);
    }
    let sixels = "\x1bP0;1;0q\"1;1;30;50#0;2;100;100;100#0!30~-#0!30~";
    assert_eq!(raw(&shell).matches(sixels).count(), 2);
    shell.lacks("100;100");
}

#[test]
fn who_asks_for_sixels_gets_them() {
    let shell = shell(&[]);
    shell.cell(1, "%ipycodex images sixel");
    shell.cell(2, SHOW);
    assert!(raw(&shell).contains("\x1bP0;1;0q\"1;1;2;2#0;2;100;0;0"));
}

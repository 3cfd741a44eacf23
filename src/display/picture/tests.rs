//! Whole pictures by each method, in a room of known size.

use super::*;

fn png() -> Vec<u8> {
    let bytes = vec![
        255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 255, 255, 255, 255,
    ];
    Pixels::new(2, 2, bytes).unwrap().to_png().unwrap()
}

const ROOM: Room = Room {
    columns: 80,
    rows: 24,
    cell: Cell {
        width: 10,
        height: 20,
        known: true,
    },
};

fn drawn(source: &PictureSource, method: Method) -> (String, u32) {
    match draw(source, method, ROOM, [0; 3]) {
        Ok(PictureOutput::Drawn(drawn)) => (String::from_utf8(drawn.bytes).unwrap(), drawn.rows),
        other => panic!("not drawn: {other:?}"),
    }
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

#[test]
fn two_by_two_pixels_by_each_method() {
    let file = PictureSource::File(png());
    let data = base64(&png());
    let (bytes, rows) = drawn(&file, Method::Kitty);
    let (before, after) = bytes.split_once(",f=100").unwrap();
    assert!(before.starts_with("\n\x1b[1A\x1b_Ga=T,i="), "{before:?}");
    assert_eq!(after, format!(",q=2,C=1,m=0;{data}\x1b\\\x1b[1B\r"));
    assert_eq!(rows, 1);

    let (bytes, _) = drawn(&file, Method::Iterm2 { tmux: false });
    let size = png().len();
    assert_eq!(
        bytes,
        format!(
            "\n\x1b[1A\x1b7\x1b]1337;File=inline=1;size={size};width=1;height=1;\
             preserveAspectRatio=1:{data}\x07\x1b8\x1b[1B\r"
        )
    );

    let (bytes, rows) = drawn(&file, Method::Sixel { known: true });
    assert_eq!(
        bytes,
        "\n\x1b[1A\x1b7\x1bP0;1;0q\"1;1;2;2\
         #0;2;100;0;0#1;2;0;100;0#2;2;0;0;100#3;2;100;100;100\
         #0@$#1?@$#2A$#3?A\x1b\\\x1b8\x1b[1B\r"
    );
    assert_eq!(rows, 1);

    let (bytes, rows) = drawn(&file, Method::Blocks { true_colour: true });
    assert_eq!(
        bytes,
        "\x1b[38;2;255;0;0m\x1b[48;2;0;0;255m▀\x1b[38;2;0;255;0m\x1b[48;2;255;255;255m▀\x1b[0m\n"
    );
    assert_eq!(rows, 1);

    let (bytes, _) = drawn(&file, Method::KittyInTmux);
    assert!(bytes.starts_with("\x1bPtmux;\x1b\x1b_Ga=T,U=1,i="));
    assert_eq!(bytes.matches('\u{10EEEE}').count(), 1);
    assert!(bytes.contains(&format!(",c=1,r=1,f=100,q=2,m=0;{data}\x1b\x1b\\\x1b\\")));

    assert_eq!(
        draw(&file, Method::Off, ROOM, [0; 3]),
        Ok(PictureOutput::Text("[image/png 2x2]".into()))
    );
}

#[test]
fn a_large_picture_is_made_to_fit() {
    let pixels = Pixels::new(1600, 1200, vec![200; 1600 * 1200 * 4]).unwrap();
    let file = PictureSource::File(pixels.to_png().unwrap());
    let (bytes, rows) = drawn(&file, Method::Kitty);
    assert_eq!(rows, 16);
    let data: String = bytes
        .split("\x1b_G")
        .skip(1)
        .map(|sequence| sequence.split([';', '\x1b']).nth(1).unwrap())
        .collect();
    let sent = super::source::PictureSource::from_bundle("image/png", &data);
    let PictureSource::File(sent) = sent else {
        panic!("a file");
    };
    assert_eq!(picture::size(&sent), Ok((427, 320)));
    let (bytes, rows) = drawn(&file, Method::Blocks { true_colour: false });
    assert_eq!((bytes.lines().count(), rows), (16, 16));
}

#[test]
fn of_sixels_nobody_knows_no_side_is_too_long() {
    let pixels = Pixels::new(3000, 100, vec![200; 3000 * 100 * 4]).unwrap();
    let file = PictureSource::File(pixels.to_png().unwrap());
    let wide = Room {
        columns: 200,
        ..ROOM
    };
    for (known, size, rows) in [(true, "\"1;1;2000;67#", 4), (false, "\"1;1;1000;33#", 2)] {
        let Ok(PictureOutput::Drawn(drawn)) = draw(&file, Method::Sixel { known }, wide, [0; 3])
        else {
            panic!("not drawn");
        };
        let bytes = String::from_utf8(drawn.bytes).unwrap();
        assert!(bytes.contains(size), "{}", &bytes[..40]);
        assert_eq!(drawn.rows, rows);
    }
}

#[test]
fn a_drawing_is_made_at_its_size() {
    let svg = r#"<svg xmlns="http://www.w3.org/2000/svg" width="2" height="2">
        <rect width="2" height="2" fill="red"/></svg>"#;
    let drawing = PictureSource::Drawing(svg.to_owned());
    let (bytes, _) = drawn(&drawing, Method::Blocks { true_colour: true });
    assert_eq!(bytes, "\x1b[38;2;255;0;0m\x1b[48;2;255;0;0m▀▀\x1b[0m\n");
    assert_eq!(
        draw(&drawing, Method::Off, ROOM, [0; 3]),
        Ok(PictureOutput::Text("[image/svg+xml 2x2]".into()))
    );
}

#[test]
fn what_is_damaged_is_said_in_one_line() {
    let environment = Environment {
        variables: [("TERM".into(), "xterm".into())].into(),
        stdout_is_terminal: true,
        ..Environment::default()
    };
    let screen = Screen::open(&environment, crate::screen::ColorChoice::Auto).unwrap();
    let pictures = Pictures::new(&environment, Images::Blocks);
    assert!(pictures.are_drawn(&screen));
    let mut half = png();
    half.truncate(50);
    let check = |file: &[u8], expected: &str| {
        let shown = pictures.draw(&PictureSource::File(file.to_vec()), &screen);
        assert_eq!(shown, PictureOutput::Text(expected.to_owned()));
    };
    check(&half, "[image/png: the picture is damaged]");
    check(b"text", "[image: not a picture that can be drawn]");
    let off = pictures.drawn_as(Images::Off, Background::Dark);
    let shown = off.draw(&PictureSource::File(png()), &screen);
    assert_eq!(shown, PictureOutput::Text("[image/png 2x2]".into()));
    assert!(!off.are_drawn(&screen));
}

#[test]
fn what_stands_in_the_clear_can_be_read_by_each_method() {
    // Black beside transparent.
    let bytes = vec![0, 0, 0, 255, 0, 0, 0, 0];
    let clear = Pixels::new(2, 1, bytes).unwrap();
    let own = base64(&clear.to_png().unwrap());
    let laid = base64(&clear.over([255; 3]).to_png().unwrap());
    let file = PictureSource::File(
        Pixels::new(2, 1, vec![0, 0, 0, 255, 0, 0, 0, 0])
            .unwrap()
            .to_png()
            .unwrap(),
    );
    for method in [Method::Kitty, Method::Iterm2 { tmux: false }] {
        let on = |background| match draw(&file, method, ROOM, background) {
            Ok(PictureOutput::Drawn(drawn)) => String::from_utf8(drawn.bytes).unwrap(),
            other => panic!("not drawn: {other:?}"),
        };
        assert!(on([0; 3]).contains(&laid), "{method:?} on black");
        assert!(on([255; 3]).contains(&own), "{method:?} on white");
    }
    let (bytes, _) = drawn(&file, Method::Blocks { true_colour: true });
    assert_eq!(bytes, "\x1b[38;2;0;0;0m▀\x1b[38;2;255;255;255m▀\x1b[0m\n");
    let (bytes, _) = drawn(&file, Method::Sixel { known: true });
    assert!(
        bytes.contains("#0;2;0;0;0#1;2;100;100;100#0@$#1?@"),
        "{bytes}"
    );
}

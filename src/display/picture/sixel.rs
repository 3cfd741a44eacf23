//! Sixels, which foot, mlterm, xterm and others draw: each character is a column of six pixels in one colour.
//!
//! In: pixels, their size on the screen, the terminal's background. Out: bytes; the cursor ends at the start of the
//! row below the picture. Transparent pixels are not drawn, partly transparent ones are laid over the background.
//! Invariants: the colours are those of the picture, in whole percents, unless it has more than there are registers;
//! terminals differ in where they leave the cursor, so it is saved before and restored after. Absent on purpose:
//! dithering, which makes plots grainy. By hand, since `icy_sixel` adds 45 core-seconds of dependencies to a build,
//! most for its quantizer, and an empty band below the picture. Document: DEC, "VT330/VT340 Programmer Reference
//! Manual", volume 2, chapter 14.

use super::blocks::over;
use super::fit::Fit;
use super::registers::{Percents, Registers};
use crate::picture::Pixels;

/// Longest side, in pixels, that every terminal draws: xterm draws nothing of a larger picture.
pub(super) const ANYWHERE: u32 = 1000;

/// Rows of pixels in one line of sixels.
const BAND: u32 = 6;

/// Repetitions from which a count is shorter.
const REPEATED: u32 = 4;

/// A column of a band in one colour: its x position, and a bit for each pixel, the lowest bit for the uppermost one.
type Column = (u32, u8);

pub(super) fn draw(pixels: &Pixels, fit: Fit, background: [u8; 3]) -> Vec<u8> {
    let (width, height) = (pixels.width(), pixels.height());
    let colour = |x, y| over(pixels.get(x, y), background).map(Percents::from_rgb);
    let places = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    let registers = Registers::for_pixels(places.filter_map(|(x, y)| colour(x, y)));

    let mut out = Vec::new();
    fit.reserve_rows(&mut out);
    // Pixels without a sixel stay unchanged (`0;1;0`), and pixels are squares (`1;1`).
    out.extend_from_slice(format!("\x1b7\x1bP0;1;0q\"1;1;{width};{height}").as_bytes());
    for (number, Percents([red, green, blue])) in registers.colours().iter().enumerate() {
        out.extend_from_slice(format!("#{number};2;{red};{green};{blue}").as_bytes());
    }
    let mut columns: Vec<Vec<Column>> = vec![Vec::new(); registers.colours().len()];
    for top in (0..height).step_by(BAND as usize) {
        if top > 0 {
            out.push(b'-');
        }
        for x in 0..width {
            for (bit, y) in (top..height.min(top + BAND)).enumerate() {
                let Some(colour) = colour(x, y) else {
                    continue;
                };
                let columns = &mut columns[registers.number(colour)];
                match columns.last_mut() {
                    Some((last, bits)) if *last == x => *bits |= 1 << bit,
                    _ => columns.push((x, 1 << bit)),
                }
            }
        }
        band(&mut columns, &mut out);
    }
    out.extend_from_slice(b"\x1b\\\x1b8");
    fit.move_below(&mut out);
    out
}

/// Writes a band, one colour after the other, and leaves `columns` empty.
fn band(columns: &mut [Vec<Column>], out: &mut Vec<u8>) {
    let mut first = true;
    for (number, columns) in columns.iter_mut().enumerate() {
        if columns.is_empty() {
            continue;
        }
        if !first {
            out.push(b'$');
        }
        first = false;
        out.extend_from_slice(format!("#{number}").as_bytes());
        // Position up to which the band is written, the next sixel, and its count.
        let (mut at, mut next, mut count) = (0, 0, 0);
        for (x, bits) in columns.drain(..) {
            for (bits, length) in [(0, x - at), (bits, 1)] {
                if length > 0 && bits != next {
                    repeat(next, count, out);
                    (next, count) = (bits, 0);
                }
                count += length;
            }
            at = x + 1;
        }
        repeat(next, count, out);
    }
}

fn repeat(bits: u8, count: u32, out: &mut Vec<u8>) {
    let sixel = b'?' + bits;
    if count < REPEATED {
        out.extend(std::iter::repeat_n(sixel, count as usize));
    } else {
        out.extend_from_slice(format!("!{count}").as_bytes());
        out.push(sixel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties;
    use proptest::prelude::*;

    const RED: [u8; 4] = [255, 0, 0, 255];
    const WHITE: [u8; 4] = [255; 4];
    const CLEAR: [u8; 4] = [0; 4];

    fn pixels(width: u32, height: u32, pixels: &[[u8; 4]]) -> Pixels {
        Pixels::new(width, height, pixels.concat()).unwrap()
    }

    /// The sequence alone, of a picture on black.
    fn drawn(pixels: &Pixels) -> String {
        let fit = Fit {
            width: pixels.width(),
            height: pixels.height(),
            columns: 1,
            rows: 2,
        };
        let all = String::from_utf8(draw(pixels, fit, [0; 3])).unwrap();
        let inner = all.strip_prefix("\n\n\x1b[2A\x1b7\x1bP0;1;0q\"1;1;");
        let inner = inner.and_then(|it| it.strip_suffix("\x1b\\\x1b8\x1b[2B\r"));
        inner.expect(&all).to_owned()
    }

    /// Interprets such a sequence as a terminal does: size, and percents of each pixel, or `None` where nothing is
    /// drawn.
    fn read(drawn: &str) -> (u32, u32, Vec<Option<[u8; 3]>>) {
        let mut rest = drawn;
        let mut number = || {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let (number, after) = rest.split_at(digits);
            let (next, after) = match after.chars().next() {
                Some(next) => (next, &after[next.len_utf8()..]),
                None => ('\0', after),
            };
            rest = after;
            (number.parse::<usize>().ok(), next)
        };
        let (width, _) = number();
        let (height, mut next) = number();
        let (width, height) = (width.unwrap(), height.unwrap());
        let mut picture = vec![None; width * height];
        let mut registers = vec![None; 256];
        let (mut register, mut x, mut top) = (0, 0, 0);
        loop {
            let mut count = 1;
            match next {
                '\0' => return (width as u32, height as u32, picture),
                '#' => {
                    let (of, after) = number();
                    register = of.unwrap();
                    next = after;
                    if next == ';' {
                        assert_eq!(number(), (Some(2), ';'));
                        let (red, green) = (number().0.unwrap(), number().0.unwrap());
                        let (blue, after) = number();
                        let colour = [red, green, blue.unwrap()].map(|value| value as u8);
                        assert!(colour.iter().all(|value| *value <= 100), "{colour:?}");
                        assert_eq!(registers[register].replace(colour), None);
                        next = after;
                    }
                    continue;
                }
                '!' => {
                    let (repeated, after) = number();
                    (count, next) = (repeated.unwrap(), after);
                }
                '$' => (x, count) = (0, 0),
                '-' => (x, top, count) = (0, top + 6, 0),
                _ => {}
            }
            for _ in 0..count {
                let bits = u8::try_from(next).unwrap() - b'?';
                for bit in (0..6).filter(|bit| bits & (1 << bit) != 0) {
                    let place = &mut picture[(top + bit) * width + x];
                    assert_eq!(*place, None, "drawn twice");
                    *place = Some(registers[register].expect("a register that was set"));
                }
                x += 1;
            }
            assert!(x <= width);
            next = number().1;
        }
    }

    /// The visible pixels of a picture on black.
    fn seen(pixels: &Pixels) -> Vec<Option<[u8; 3]>> {
        let places = (0..pixels.height()).flat_map(|y| (0..pixels.width()).map(move |x| (x, y)));
        let seen = places.map(|(x, y)| over(pixels.get(x, y), [0; 3]));
        seen.map(|it| it.map(|it| Percents::from_rgb(it).0))
            .collect()
    }

    #[test]
    fn small_pictures_byte_by_byte() {
        let check = |picture: &Pixels, expected: &str| assert_eq!(drawn(picture), expected);
        check(
            &pixels(2, 2, &[RED, WHITE, WHITE, RED]),
            "2;2#0;2;100;0;0#1;2;100;100;100#0@A$#1A@",
        );
        // A run on both sides of another colour.
        let mut row = vec![WHITE; 12];
        row[5] = RED;
        check(
            &pixels(12, 1, &row),
            "12;1#0;2;100;100;100#1;2;100;0;0#0!5@?!6@$#1!5?@",
        );
        // Seven rows are two bands; three equal sixels are not counted.
        check(&pixels(3, 7, &[RED; 21]), "3;7#0;2;100;0;0#0~~~-#0@@@");
    }

    #[test]
    fn clear_pixels_are_left_as_they_are() {
        let half = [255, 0, 0, 128];
        assert_eq!(
            drawn(&pixels(3, 1, &[CLEAR, half, CLEAR])),
            "3;1#0;2;50;0;0#0?@"
        );
        assert_eq!(drawn(&pixels(1, 7, &[CLEAR; 7])), "1;7-");
    }

    #[test]
    fn of_many_colours_the_frequent_and_the_greys_stay() {
        // A plot of 100 by 100: white, a blue line, and one pixel each of 2000 other colours.
        let mut picture = vec![WHITE; 10_000];
        picture[..200].fill([31, 119, 180, 255]);
        for (n, pixel) in picture[1000..3000].iter_mut().enumerate() {
            *pixel = [(n % 200) as u8, (n / 10) as u8, 100, 255];
        }
        for (n, pixel) in picture[4000..4100].iter_mut().enumerate() {
            *pixel = [n as u8 * 2, n as u8 * 2, n as u8 * 2, 255];
        }
        let picture = pixels(100, 100, &picture);
        let (_, _, shown) = read(&drawn(&picture));
        let mut worst = 0;
        for (shown, seen) in shown.into_iter().zip(seen(&picture)) {
            let (shown, seen) = (shown.unwrap(), seen.unwrap());
            if [[100; 3], [12, 47, 71]].contains(&seen) {
                assert_eq!(shown, seen);
            }
            if seen[0] == seen[1] && seen[1] == seen[2] {
                assert_eq!((shown[0], shown[0]), (shown[1], shown[2]), "a grey");
            }
            let apart = shown.iter().zip(seen).map(|(a, b)| a.abs_diff(b)).max();
            worst = worst.max(apart.unwrap());
        }
        assert!(worst <= 10, "{worst} percent");
    }

    fn picture() -> impl Strategy<Value = Pixels> {
        let few = [RED, WHITE, CLEAR, [0, 0, 255, 255], [9, 99, 199, 90]];
        let sizes = (1u32..40, 1u32..20);
        sizes.prop_flat_map(move |(width, height)| {
            let count = (width * height) as usize;
            let few = prop::sample::select(few.to_vec());
            let pixels = prop_oneof![
                prop::collection::vec(few, count),
                prop::collection::vec(any::<[u8; 4]>(), count),
            ];
            pixels.prop_map(move |it| Pixels::new(width, height, it.concat()).unwrap())
        })
    }

    proptest! {
        #![proptest_config(properties::cases(properties::USUAL))]

        #[test]
        fn what_is_drawn_is_the_picture(picture in picture()) {
            let (width, height, shown) = read(&drawn(&picture));
            prop_assert_eq!((width, height), (picture.width(), picture.height()));
            let seen = seen(&picture);
            let mut colours: Vec<_> = seen.iter().flatten().collect();
            colours.sort();
            colours.dedup();
            if colours.len() <= 256 {
                prop_assert_eq!(shown, seen);
            } else {
                let drawn = |all: &[Option<[u8; 3]>]| -> Vec<bool> {
                    all.iter().map(Option::is_some).collect()
                };
                prop_assert_eq!(drawn(&shown), drawn(&seen));
            }
        }
    }
}

//! Bytes made of other bytes: the files of a corpus, changed a little.
//!
//! In: a corpus, words of the format, random numbers. Out: an input, at most [`LONGEST`]. Invariant: the same numbers
//! give the same input. Absent on purpose: which of them reach new code; nothing here is measured, so that the stable
//! toolchain and an ordinary build are enough.

use std::ops::Range;

use crate::support::random::Random;

/// Most bytes of an input.
const LONGEST: usize = 64 << 10;

/// A number that the bytes decide (FNV-1a).
pub fn number_of(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// Some places to cut the bytes at, in order.
pub fn cuts(bytes: &[u8]) -> Vec<usize> {
    let mut random = Random::new(number_of(bytes));
    let count = random.below(6);
    let mut cuts: Vec<usize> = (0..count).map(|_| random.below(bytes.len() + 1)).collect();
    cuts.sort_unstable();
    cuts
}

/// The text in some pieces.
pub fn pieces(text: &str) -> Vec<&str> {
    let places = cuts(text.as_bytes());
    let places = places.into_iter().map(|at| text.floor_char_boundary(at));
    let mut from = 0;
    let ends = places.chain([text.len()]);
    ends.map(|to| &text[std::mem::replace(&mut from, to)..to])
        .collect()
}

/// Words that hurt in many formats: ends of integers and floats, text that is no UTF-8 or no Unicode, controls.
const WORDS: [&[u8]; 34] = [
    b"0",
    b"-1",
    b"255",
    b"65536",
    b"2147483648",
    b"4294967296",
    b"9223372036854775808",
    b"18446744073709551616",
    b"1e999",
    b"-0.0",
    b"NaN",
    b"null",
    b"true",
    b"{}",
    b"[]",
    b"\"\"",
    b"\0",
    b"\x1b",
    b"\x1b[31m",
    b"\x7f",
    b"\xff",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\xf0\x9f\x98",
    b"\xef\xbb\xbf",
    b"\\ud800",
    b"\\u0000",
    "\u{202e}".as_bytes(),
    "\u{2028}".as_bytes(),
    "\u{301}".as_bytes(),
    "漢".as_bytes(),
    b"\r",
    b"\r\n",
    b"\n",
];

/// One to six changes of a file of `corpus`.
pub fn mutate(corpus: &[Vec<u8>], words: &[&str], random: &mut Random) -> Vec<u8> {
    let mut input = random.pick(corpus).clone();
    for _ in 0..=random.below(6) {
        change(&mut input, corpus, words, random);
        input.truncate(LONGEST);
    }
    input
}

fn change(input: &mut Vec<u8>, corpus: &[Vec<u8>], words: &[&str], random: &mut Random) {
    let word = |random: &mut Random| match random.below(3) {
        0 => random.pick(&WORDS).to_vec(),
        _ if words.is_empty() => random.pick(&WORDS).to_vec(),
        _ => random.pick(words).as_bytes().to_vec(),
    };
    let at = random.below(input.len() + 1);
    let part = part(input, random);
    match random.below(11) {
        0 if at < input.len() => input[at] ^= 1 << random.below(8),
        1 if at < input.len() => input[at] = u8::try_from(random.below(256)).unwrap(),
        2 => put(input, part, &[]),
        3 => input.truncate(at),
        4 => {
            let copy = input[part].to_vec();
            put(input, at..at, &copy);
        }
        5 => put(input, part, &word(random)),
        6 => {
            // Deeper, or longer, than anybody writes.
            let times = 1 << random.below(14);
            let word = if random.below(2) == 0 {
                word(random)
            } else {
                input[part].to_vec()
            };
            let times = times.min(LONGEST / word.len().max(1));
            put(input, at..at, &word.repeat(times));
        }
        7 => {
            let other = random.pick(corpus);
            let from = self::part(other, random);
            put(input, part, &other[from]);
        }
        8 => number(input, at, random),
        _ => put(input, at..at, &word(random)),
    }
}

/// `new` in place of a part.
fn put(input: &mut Vec<u8>, part: Range<usize>, new: &[u8]) {
    input.splice(part, new.iter().copied());
}

/// A part of `bytes`: mostly short, half of them between line or word ends.
fn part(bytes: &[u8], random: &mut Random) -> Range<usize> {
    let start = random.below(bytes.len() + 1);
    let most = 1 << random.below(10);
    let end = (start + random.below(most)).min(bytes.len());
    if random.below(2) == 0 {
        return start..end;
    }
    let ends = |byte: &u8| matches!(byte, b'\n' | b' ' | b',' | b'"' | b'{' | b'}' | b'[' | b']');
    let head = bytes[..start].iter().rposition(ends).map_or(0, |at| at + 1);
    let tail = bytes[end..].iter().position(ends);
    head..tail.map_or(bytes.len(), |at| end + at)
}

/// Another number in place of the first one behind `at`.
fn number(input: &mut Vec<u8>, at: usize, random: &mut Random) {
    let Some(start) = input[at..].iter().position(u8::is_ascii_digit) else {
        return;
    };
    let start = at + start;
    let digits = input[start..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit());
    let end = start + digits.count();
    let other = match random.below(3) {
        0 => random.pick(&WORDS[..10]).to_vec(),
        1 => random.next().to_string().into_bytes(),
        _ => random.below(300).to_string().into_bytes(),
    };
    put(input, start..end, &other);
}

//! JSON as spans: where values begin and end; checked, without copies.
//!
//! In: a text. Out: [`Span`]s of it, or the byte where it stops being JSON. Python's extensions of JSON (`NaN`,
//! `Infinity`) are read. Invariants: any depth is read without recursion; a span begins and ends at a character
//! boundary.

/// A range of bytes of the file's text, the end excluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    #[allow(
        clippy::cast_possible_truncation,
        reason = "a document of 4 GiB is refused before"
    )]
    pub(super) fn new(start: usize, end: usize) -> Self {
        Span {
            start: start as u32,
            end: end as u32,
        }
    }

    pub(super) fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    pub(super) fn of(self, text: &str) -> &str {
        &text[self.range()]
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fault {
    /// The byte offset.
    pub at: usize,
    pub what: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Member {
    /// The key, quotes included.
    pub key: Span,
    pub value: Span,
}

impl Member {
    /// From the key's first byte to the value's last.
    pub(super) fn whole(self) -> Span {
        Span {
            start: self.key.start,
            end: self.value.end,
        }
    }
}

pub(super) struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn at(text: &'a str, span: Span) -> Self {
        Scanner {
            bytes: &text.as_bytes()[..span.end as usize],
            at: span.start as usize,
        }
    }

    pub(super) fn blanks(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(super) fn place(&self) -> usize {
        self.at
    }

    /// Checks that only blanks follow.
    ///
    /// # Errors
    /// Something else follows.
    pub(super) fn end(&mut self) -> Result<(), Fault> {
        self.blanks();
        match self.peek() {
            None => Ok(()),
            Some(_) => self.fault("trailing characters"),
        }
    }

    fn fault<T>(&self, what: &'static str) -> Result<T, Fault> {
        let what = match self.peek() {
            None => "it ends too early",
            Some(_) => what,
        };
        Err(Fault { at: self.at, what })
    }

    fn take(&mut self, byte: u8, what: &'static str) -> Result<(), Fault> {
        if self.peek() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        self.fault(what)
    }

    /// Reads the members of the object that begins here; calls `member` before each value, which `member` must read.
    ///
    /// # Errors
    /// The value is not an object, or is malformed.
    pub(super) fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, Span) -> Result<(), Fault>,
    ) -> Result<Span, Fault> {
        let start = self.at;
        self.take(b'{', "expected an object")?;
        self.blanks();
        if self.peek() != Some(b'}') {
            loop {
                let key = self.key()?;
                member(self, key)?;
                if !self.goes_on(b'}', "expected `,` or `}`")? {
                    break;
                }
            }
        }
        self.at += 1;
        Ok(Span::new(start, self.at))
    }

    /// Reads the items of the array that begins here, as [`Scanner::object`] does.
    ///
    /// # Errors
    /// The value is not an array, or is malformed.
    pub(super) fn array(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<(), Fault>,
    ) -> Result<Span, Fault> {
        let start = self.at;
        self.take(b'[', "expected a list")?;
        self.blanks();
        if self.peek() != Some(b']') {
            loop {
                item(self)?;
                if !self.goes_on(b']', "expected `,` or `]`")? {
                    break;
                }
            }
        }
        self.at += 1;
        Ok(Span::new(start, self.at))
    }

    /// Behind a value: true when another follows.
    pub(super) fn goes_on(&mut self, close: u8, what: &'static str) -> Result<bool, Fault> {
        self.blanks();
        if self.peek() == Some(close) {
            return Ok(false);
        }
        self.take(b',', what)?;
        self.blanks();
        Ok(true)
    }

    fn key(&mut self) -> Result<Span, Fault> {
        if self.peek() != Some(b'"') {
            return self.fault("key must be a string");
        }
        let key = self.string()?;
        self.blanks();
        self.take(b':', "expected `:`")?;
        self.blanks();
        Ok(key)
    }

    /// Reads the value that begins here.
    ///
    /// # Errors
    /// The value is malformed.
    pub(super) fn value(&mut self) -> Result<Span, Fault> {
        let start = self.at;
        // The closing bracket of each open container.
        let mut open: Vec<u8> = Vec::new();
        loop {
            match self.peek() {
                Some(bracket @ (b'{' | b'[')) => {
                    let close = bracket + 2;
                    self.at += 1;
                    self.blanks();
                    if self.peek() != Some(close) {
                        open.push(close);
                        if close == b'}' {
                            self.key()?;
                        }
                        continue;
                    }
                    self.at += 1;
                }
                Some(b'"') => drop(self.string()?),
                Some(b'-' | b'0'..=b'9') => self.number()?,
                _ => self.word()?,
            }
            loop {
                let Some(&close) = open.last() else {
                    return Ok(Span::new(start, self.at));
                };
                let what = match close {
                    b'}' => "expected `,` or `}`",
                    _ => "expected `,` or `]`",
                };
                if self.goes_on(close, what)? {
                    if close == b'}' {
                        self.key()?;
                    }
                    break;
                }
                self.at += 1;
                open.pop();
            }
        }
    }

    fn word(&mut self) -> Result<(), Fault> {
        let words: [&[u8]; 5] = [b"null", b"true", b"false", b"NaN", b"Infinity"];
        let rest = &self.bytes[self.at..];
        match words.iter().find(|word| rest.starts_with(word)) {
            Some(word) => {
                self.at += word.len();
                Ok(())
            }
            None => self.fault("expected value"),
        }
    }

    fn number(&mut self) -> Result<(), Fault> {
        let minus = self.peek() == Some(b'-');
        self.at += usize::from(minus);
        if minus && self.bytes[self.at..].starts_with(b"Infinity") {
            return self.word();
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Fault> {
        let rest = &self.bytes[self.at..];
        match rest.iter().take_while(|byte| byte.is_ascii_digit()).count() {
            0 => self.fault("expected a digit"),
            count => {
                self.at += count;
                Ok(())
            }
        }
    }

    /// Reads the string that begins here; the span includes its quotes.
    fn string(&mut self) -> Result<Span, Fault> {
        let start = self.at;
        self.at += 1;
        loop {
            self.at += plain(&self.bytes[self.at..]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Span::new(start, self.at));
                }
                Some(b'\\') => self.escape()?,
                _ => return self.fault("a control character in a string"),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Fault> {
        let length = match self.bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
            Some(b'u') => {
                let digits = self.bytes.get(self.at + 2..self.at + 6);
                match digits {
                    Some(digits) if digits.iter().all(u8::is_ascii_hexdigit) => 6,
                    _ => return self.fault("a broken escape in a string"),
                }
            }
            _ => return self.fault("a broken escape in a string"),
        };
        self.at += length;
        Ok(())
    }
}

/// The number of bytes before the end of a string, an escape or a control character.
fn plain(bytes: &[u8]) -> usize {
    /// Most strings are at most this long: they are lines.
    const LINE: usize = 64;
    /// The compiler vectorises a test of a whole block, which is faster than words but only says that a byte is in
    /// it.
    const BLOCK: usize = 128;
    let line = plain_words(&bytes[..bytes.len().min(LINE)]);
    if line < LINE {
        return line;
    }
    let mut at = LINE;
    while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>)
        && !block
            .iter()
            .fold(false, |any, byte| any | is_special(*byte))
    {
        at += BLOCK;
    }
    at + plain_words(&bytes[at..])
}

/// Like `plain`, eight bytes at a time.
fn plain_words(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 0xff;
    const HIGHS: u64 = ONES << 7;
    let mut at = 0;
    // The high bit of each byte is set when it is below 0x20, a quote or a backslash.
    while let Some(eight) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*eight);
        let quote = word ^ (ONES * u64::from(b'"'));
        let backslash = word ^ (ONES * u64::from(b'\\'));
        let found = word.wrapping_sub(ONES * 0x20) & !word
            | quote.wrapping_sub(ONES) & !quote
            | backslash.wrapping_sub(ONES) & !backslash;
        let found = found & HIGHS;
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let special = bytes[at..].iter().position(|byte| is_special(*byte));
    special.map_or(bytes.len(), |special| at + special)
}

fn is_special(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}

/// The members of an object that was checked before.
pub(super) fn members(text: &str, object: Span) -> Vec<Member> {
    let mut members = Vec::new();
    let mut scanner = Scanner::at(text, object);
    let read = scanner.object(|scanner, key| {
        let value = scanner.value()?;
        members.push(Member { key, value });
        Ok(())
    });
    debug_assert!(read.is_ok(), "it was read before");
    members
}

/// The items of an array that was checked before.
pub(super) fn items(text: &str, array: Span) -> Vec<Span> {
    let mut items = Vec::new();
    let mut scanner = Scanner::at(text, array);
    let read = scanner.array(|scanner| {
        items.push(scanner.value()?);
        Ok(())
    });
    debug_assert!(read.is_ok(), "it was read before");
    items
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Span, Fault> {
        let mut scanner = Scanner::at(text, Span::new(0, text.len()));
        scanner.blanks();
        let span = scanner.value()?;
        scanner.end().map(|()| span)
    }

    #[test]
    fn what_is_json_and_what_is_not() {
        for text in [
            "{}",
            " [ ] ",
            "\"a\\u00e9\\\"\"",
            "-0.5e+3",
            "[NaN,-Infinity,{\"a\":[1]}]",
        ] {
            assert!(read(text).is_ok(), "{text}");
        }
        for (text, at, what) in [
            ("", 0, "it ends too early"),
            ("[1,", 3, "it ends too early"),
            ("[1,]", 3, "expected value"),
            ("{a:1}", 1, "key must be a string"),
            ("{\"a\" 1}", 5, "expected `:`"),
            ("[1 2]", 3, "expected `,` or `]`"),
            ("\"a\nb\"", 2, "a control character in a string"),
            ("\"\\x\"", 1, "a broken escape in a string"),
            ("\"\\u12\"", 1, "a broken escape in a string"),
            ("01", 1, "trailing characters"),
            ("-", 1, "it ends too early"),
        ] {
            assert_eq!(read(text), Err(Fault { at, what }), "{text}");
        }
        let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
        assert!(read(&deep).is_ok());
    }

    proptest! {
        #![proptest_config(properties::cases(4 * properties::USUAL))]

        #[test]
        fn it_agrees_with_another_reader(
            text in r#"([\[\]{},: 0-9eE.+-]|"a"|"\\\\n\\\\u00e9é\\\\""|null|true|\n){0,12}"#,
        ) {
            let known = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
            prop_assert_eq!(read(&text).is_ok(), known, "{:?}", text);
        }

        #[test]
        fn the_plain_part_of_a_string_is_found_at_any_length(
            before in 0..900_usize, special in r#"["\\\\\x00\x1f]?"#, after in "[a-zé\x7f\"]{0,300}",
        ) {
            let plain_part: String = "aé\u{7f} ~😀".chars().cycle().take(before).collect();
            let text = format!("{plain_part}{special}{after}");
            let expected = text.bytes().position(|byte| byte < b' ' || byte == b'"' || byte == b'\\');
            prop_assert_eq!(plain(text.as_bytes()), expected.unwrap_or(text.len()));
        }

        #[test]
        fn strings_end_where_they_end(inner in "[a-zé😀]{0,40}", after in ".{0,9}") {
            let text = format!("\"{inner}\"{after}");
            let mut scanner = Scanner::at(&text, Span::new(0, text.len()));
            prop_assert_eq!(scanner.value().unwrap().end as usize, inner.len() + 2);
        }
    }
}

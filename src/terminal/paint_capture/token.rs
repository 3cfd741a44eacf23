//! The bytes of a paint as tokens.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Text(char),
    /// Changes the style of text; the whole sequence.
    Style(&'a str),
    /// CR and LF.
    Newline,
    /// Moves the cursor to this row and column, counted from 0.
    Goto(u16, u16),
    /// Erases behind and below the cursor.
    ClearBelow,
    Save,
    Restore,
    /// Shows the cursor: the end of a paint.
    Show,
    /// Sets the cursor's shape; the whole sequence.
    Shape(&'a str),
    Other,
}

/// Splits `text`; yields each token and its offset.
pub(super) struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Tokens { text, at: 0 }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = (usize, Token<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let from = self.at;
        let rest = &self.text[from..];
        let (token, length) = match rest.chars().next()? {
            '\r' if rest.starts_with("\r\n") => (Token::Newline, 2),
            '\x1b' => escape(rest),
            c if c.is_control() => (Token::Other, c.len_utf8()),
            c => (Token::Text(c), c.len_utf8()),
        };
        self.at += length;
        Some((from, token))
    }
}

/// Returns the escape sequence that `rest` begins with, and its length.
fn escape(rest: &str) -> (Token<'_>, usize) {
    let body = match rest.as_bytes().get(1) {
        Some(b'7') => return (Token::Save, 2),
        Some(b'8') => return (Token::Restore, 2),
        Some(b'[') => &rest[2..],
        _ => return (Token::Other, 1),
    };
    let Some(last) = body.find(|c| ('@'..='~').contains(&c)) else {
        return (Token::Other, rest.len());
    };
    let (whole, parameters) = (&rest[..last + 3], &body[..last]);
    let token = match (parameters, body.as_bytes()[last]) {
        ("" | "0", b'J') => Token::ClearBelow,
        ("?25", b'h') => Token::Show,
        (_, b'm') => Token::Style(whole),
        (_, b'q') if parameters.ends_with(' ') => Token::Shape(whole),
        (_, b'H') => goto(parameters).unwrap_or(Token::Other),
        _ => Token::Other,
    };
    (token, whole.len())
}

fn goto(parameters: &str) -> Option<Token<'_>> {
    let (row, column) = parameters.split_once(';')?;
    let number = |text: &str| text.parse::<u16>().ok()?.checked_sub(1);
    Some(Token::Goto(number(row)?, number(column)?))
}

/// The style at a position: the sequences that set it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Looks(pub(super) String);

impl Looks {
    pub(super) fn take(&mut self, sequence: &str) {
        let parameters = &sequence[2..sequence.len() - 1];
        if parameters.is_empty() || parameters == "0" || parameters.starts_with("0;") {
            self.0.clear();
        }
        if !(parameters.is_empty() || parameters == "0") {
            self.0.push_str(sequence);
        }
    }
}

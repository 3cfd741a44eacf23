//! The bytes of a paint as tokens.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// Stands in the next cell.
    Text(char),
    /// Changes how text looks; the whole sequence.
    Style(&'a str),
    /// CR and LF.
    Newline,
    /// The cursor goes to this row and column, counted from 0.
    Goto(u16, u16),
    /// Erases behind and below the cursor.
    ClearBelow,
    /// The terminal keeps where the cursor is.
    Save,
    /// The cursor goes back there.
    Restore,
    /// The cursor is there for all to see: a paint ends so.
    Show,
    /// How the cursor looks; the whole sequence.
    Shape(&'a str),
    /// Anything else.
    Other,
}

/// Cuts `text`; gives on each piece and where it begins.
pub(super) struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Tokens { text, at: 0 }
    }

    /// How far it has come.
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

/// The sequence that `rest` begins with, and its length.
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

/// How text looks at some place: the sequences that make it look so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Looks(pub(super) String);

impl Looks {
    /// A sequence comes.
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

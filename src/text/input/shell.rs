//! Decides whether a shell command continues on a further line: open quotes, brackets, blocks and here-documents.
//!
//! In: text in the common language of bash and zsh. Invariants: nothing runs; a text with any other error is
//! complete, since the shell reports it; time is linear. Absent on purpose: the rest of the shell language.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Double,
    /// `(`, `$(`.
    Round,
    /// `${`.
    Parameter,
    /// A block, by the word that ends it.
    Block(&'static str),
}

/// Words that begin a block, and the words that end it.
const BLOCKS: [(&str, &str); 8] = [
    ("if", "fi"),
    ("for", "done"),
    ("while", "done"),
    ("until", "done"),
    ("select", "done"),
    ("repeat", "done"),
    ("case", "esac"),
    ("{", "}"),
];

/// Words behind which a command may begin.
const BEFORE_COMMANDS: [&str; 10] = [
    "if", "then", "elif", "else", "while", "until", "do", "{", "!", "time",
];

struct ShellScanner<'a> {
    rest: &'a str,
    open: Vec<Open>,
    /// A command may begin here.
    begins: bool,
    /// End marks of the here-documents that begin with the next line.
    documents: Vec<String>,
    /// A further line is needed, even without an open construct.
    wants: bool,
}

/// True when `text` continues on a further line.
pub(super) fn needs_more(text: &str) -> bool {
    let mut scan = ShellScanner {
        rest: text,
        open: Vec::new(),
        begins: true,
        documents: Vec::new(),
        wants: false,
    };
    while !scan.rest.is_empty() {
        if scan.step().is_none() {
            return scan.wants;
        }
    }
    scan.wants || !scan.open.is_empty() || !scan.documents.is_empty()
}

impl ShellScanner<'_> {
    /// Reads one piece; `None`: the text continues, or no further line can complete it.
    fn step(&mut self) -> Option<()> {
        let first = self.rest.chars().next()?;
        let quoted = self.open.last() == Some(&Open::Double);
        match first {
            '\\' => {
                self.skip(1);
                self.wants = self.rest.is_empty() || self.rest == "\n";
                let escaped = self.rest.chars().next().map_or(0, char::len_utf8);
                self.skip(escaped);
                self.begins &= quoted;
            }
            '"' => {
                match quoted {
                    true => drop(self.open.pop()),
                    false => self.open.push(Open::Double),
                }
                self.skip(1);
                self.begins = false;
            }
            '$' if self.rest.starts_with("$(") => self.enter(2, Open::Round),
            '$' if self.rest.starts_with("${") => self.enter(2, Open::Parameter),
            '}' if self.open.last() == Some(&Open::Parameter) => self.leave(),
            '`' => self.until("`")?,
            _ if quoted => self.skip(first.len_utf8()),
            '\'' => self.until("'")?,
            '(' if self.rest.starts_with("()") => {
                // The body of a function follows.
                self.skip(2);
                self.begins = true;
            }
            '(' => self.enter(1, Open::Round),
            ')' if self.open.last() == Some(&Open::Round) => self.leave(),
            ')' => {
                // The end of a pattern.
                self.skip(1);
                self.begins = true;
            }
            '#' if self.begins => {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                self.skip(end);
            }
            '<' if self.rest.starts_with("<<<") => self.skip(3),
            '<' if self.rest.starts_with("<<") => self.document(),
            '\n' => {
                self.skip(1);
                self.begins = true;
                self.read_documents()?;
            }
            '|' | '&' | ';' => self.operator(),
            first if first.is_whitespace() => self.skip_blank(first),
            _ => self.word()?,
        }
        Some(())
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    fn skip_blank(&mut self, blank: char) {
        self.skip(blank.len_utf8());
        if self.rest.starts_with('#') {
            let end = self.rest.find('\n').unwrap_or(self.rest.len());
            self.skip(end);
        }
    }

    fn enter(&mut self, bytes: usize, open: Open) {
        self.open.push(open);
        self.skip(bytes);
        self.begins = open == Open::Round;
    }

    fn leave(&mut self) {
        self.open.pop();
        self.skip(1);
        self.begins = false;
    }

    /// Skips past the next `end`; without one the text continues.
    fn until(&mut self, end: &str) -> Option<()> {
        match self.rest[1..].find(end) {
            Some(at) => {
                self.skip(at + 2);
                self.begins = false;
                Some(())
            }
            None => {
                self.wants = true;
                None
            }
        }
    }

    fn operator(&mut self) {
        let joins = ["||", "&&", "|&", "|"]
            .iter()
            .find(|it| self.rest.starts_with(**it));
        self.skip(joins.map_or(1, |joins| joins.len()));
        self.begins = true;
        self.wants = joins.is_some() && self.rest.trim().is_empty();
    }

    /// `<<END`: the document begins on the next line.
    fn document(&mut self) {
        self.skip(2);
        self.rest = self.rest.strip_prefix('-').unwrap_or(self.rest);
        self.rest = self.rest.trim_start_matches([' ', '\t']);
        let ends = |c: char| c.is_whitespace() || ";&|()<>".contains(c);
        let word = &self.rest[..self.rest.find(ends).unwrap_or(self.rest.len())];
        self.skip(word.len());
        let end: String = word.chars().filter(|c| !"'\"\\".contains(*c)).collect();
        if !end.is_empty() {
            self.documents.push(end);
        }
    }

    fn read_documents(&mut self) -> Option<()> {
        for end in std::mem::take(&mut self.documents) {
            loop {
                let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
                let ended = line.trim_start_matches('\t') == end;
                if !ended && rest.is_empty() {
                    self.wants = true;
                    return None;
                }
                self.rest = rest;
                if ended {
                    break;
                }
            }
        }
        Some(())
    }

    fn word(&mut self) -> Option<()> {
        let ends = |c: char| c.is_whitespace() || ";&|()<>'\"`\\".contains(c);
        // A dollar sign begins an expansion inside the word.
        let parameter = self.open.last() == Some(&Open::Parameter);
        let stops = |(at, c): &(usize, char)| {
            let rest = &self.rest[*at..];
            ends(*c) || rest.starts_with("$(") || rest.starts_with("${") || (parameter && *c == '}')
        };
        let end = self.rest.char_indices().skip(1).find(stops);
        let end = end.map_or(self.rest.len(), |(at, _)| at);
        let word = &self.rest[..end];
        if self.begins && !parameter {
            match self.open.last() {
                Some(Open::Block(closes)) if *closes == word => {
                    self.open.pop();
                }
                open => {
                    let is = |(begins, _): &&(&str, &str)| *begins == word;
                    if let Some((_, closes)) = BLOCKS.iter().find(is) {
                        self.open.push(Open::Block(closes));
                    } else if ["fi", "done", "esac", "}"].contains(&word) && open.is_some() {
                        // An error that no further line can mend.
                        return None;
                    }
                }
            }
        }
        self.begins &= BEFORE_COMMANDS.contains(&word);
        self.skip(end);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties;
    use proptest::prelude::*;

    #[test]
    fn what_is_open_goes_on() {
        for (text, expected) in [
            ("ls -la", false),
            ("echo 'a", true),
            ("echo \"a $(b \"c\")", true),
            ("echo \"a $(b \"c\")\"", false),
            ("echo a\\", true),
            ("echo a\\\n", true),
            ("echo a\\\nb", false),
            ("a |", true),
            ("a &&\n", true),
            ("a && b", false),
            ("sleep 1 &", false),
            ("for i in 1 2; do", true),
            ("for i in 1 2; do\n echo $i\ndone", false),
            ("if a; then b; fi", false),
            ("if a; then\n if b; then c; fi", true),
            ("case $x in\n a) echo;;", true),
            ("case $x in\n a) echo;;\n esac", false),
            ("f() {", true),
            ("f() {\n echo if\n}", false),
            ("{ a; }", false),
            ("(cd x", true),
            ("cat <<E", true),
            ("cat <<E\na", true),
            ("cat <<'E'\na\nE", false),
            ("cat <<<E", false),
            ("echo done", false),
            ("echo }", false),
            ("echo ${x", true),
            ("echo ${x:-if}", false),
            ("echo # it's", false),
            ("# it's", false),
            ("echo a#'b", true),
            ("echo $((1 + 2))", false),
            ("echo `date", true),
            ("fi", false),
            ("( fi", false),
            ("while read x; do echo $x; done < f", false),
            ("echo $'a", true),
            ("grep -E 'a|b' | sort", false),
        ] {
            assert_eq!(needs_more(text), expected, "{text:?}");
        }
    }

    proptest! {
        #![proptest_config(properties::cases(properties::USUAL))]

        #[test]
        fn any_text_is_read_to_its_end(text in "[a-z \\n'\"`\\\\(){}$<|&;#é]{0,40}|(if|fi|do|done|[ ;\\n<E]){0,20}") {
            needs_more(&text);
        }
    }
}

//! Formulas in LaTeX as characters: `\frac{x^2}{\sqrt{\pi}}` as `x²/√π`.
//!
//! In: a formula, with or without its dollar signs. Out: text on one line, a matrix in several rows; `None` where a
//! command is unknown, since the source serves a reader better than a guess. Total and linear; nesting is bounded.
//!
//! Absent on purpose: fractions over several lines, macros, packages. `symbols` is the table of commands.

mod layout;
mod symbols;

use layout::{grouped, in_rows, raised};
use symbols::{accent, named_function, superscript, symbol};

use crate::NESTING;

const DEEPEST: usize = NESTING;

/// Longest formula that is read, in bytes.
const LONGEST: usize = 20_000;

/// Environments with rows and columns, and their brackets.
const MATRICES: [(&str, &str, &str); 8] = [
    ("matrix", "[", "]"),
    ("bmatrix", "[", "]"),
    ("pmatrix", "(", ")"),
    ("Bmatrix", "{", "}"),
    ("vmatrix", "|", "|"),
    ("Vmatrix", "‖", "‖"),
    ("smallmatrix", "[", "]"),
    ("array", "[", "]"),
];

/// Environments that hold lines without brackets.
const LINES: [&str; 9] = [
    "aligned",
    "align",
    "align*",
    "equation",
    "equation*",
    "gather",
    "gather*",
    "split",
    "gathered",
];

/// Returns the formula in characters where every command is known, else its source.
pub(crate) fn formula(source: &str) -> String {
    in_characters(source).unwrap_or_else(|| source.trim().to_owned())
}

/// Returns the formula in characters, or `None` where a command is unknown.
pub(crate) fn in_characters(source: &str) -> Option<String> {
    let inner = without_marks(source.trim());
    if inner.len() > LONGEST {
        return None;
    }
    let mut reader = Reader {
        rest: inner,
        depth: 0,
    };
    let text = reader.run(Until::End)?;
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .collect();
    let text = lines.join("\n");
    (!text.is_empty() || inner.trim().is_empty()).then_some(text)
}

/// The formula without the `$`, `$$`, `\(` or `\[` around it.
fn without_marks(source: &str) -> &str {
    for (begin, end) in [("$$", "$$"), ("$", "$"), ("\\[", "\\]"), ("\\(", "\\)")] {
        let inner = source
            .strip_prefix(begin)
            .and_then(|rest| rest.strip_suffix(end));
        if let Some(inner) = inner {
            return inner.trim();
        }
    }
    source
}

/// The token at which a stretch ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    End,
    Brace,
    Bracket,
    Right,
    Environment,
}

struct Reader<'a> {
    rest: &'a str,
    depth: usize,
}

impl<'a> Reader<'a> {
    /// Reads everything up to `until`, which is consumed.
    fn run(&mut self, until: Until) -> Option<String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let mut out = String::new();
        loop {
            let Some(c) = self.rest.chars().next() else {
                self.depth -= 1;
                return (until == Until::End).then_some(out);
            };
            match c {
                '}' | ']' if (c == '}') == (until == Until::Brace) && until != Until::End => {
                    if c == ']' && until != Until::Bracket {
                        self.take(1);
                        out.push(c);
                        continue;
                    }
                    self.take(1);
                    self.depth -= 1;
                    return Some(out);
                }
                '}' => return None,
                '{' => {
                    self.take(1);
                    out.push_str(&self.run(Until::Brace)?);
                }
                '^' | '_' => {
                    self.take(1);
                    let text = self.argument()?;
                    out.truncate(out.trim_end().len());
                    out.push_str(&raised(text.trim(), c == '^'));
                }
                '\'' => {
                    self.take(1);
                    out.push('′');
                }
                '~' => {
                    self.take(1);
                    blank(&mut out);
                }
                '&' => {
                    self.take(1);
                    // Separates columns of a matrix; elsewhere `&` only marks a place to align at.
                    if until == Until::Environment {
                        out.push('\t');
                    }
                }
                '%' | '#' | '$' => return None,
                c if c.is_whitespace() => {
                    self.take(c.len_utf8());
                    blank(&mut out);
                }
                '\\' => {
                    let command = self.command();
                    match command {
                        "right" if until == Until::Right => {
                            self.depth -= 1;
                            return Some(out.trim_end().to_owned());
                        }
                        "end" if until == Until::Environment => {
                            self.depth -= 1;
                            return Some(out);
                        }
                        _ => self.carry_out(command, &mut out)?,
                    }
                }
                '-' => {
                    self.take(1);
                    out.push('-');
                }
                c => {
                    self.take(c.len_utf8());
                    out.push(c);
                }
            }
        }
    }

    fn take(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    /// Consumes the name of a command: its letters, or its one character.
    fn command(&mut self) -> &'a str {
        let after = &self.rest[1..];
        let letters = after
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(after.len());
        let length = match letters {
            0 => after.chars().next().map_or(0, char::len_utf8),
            letters => letters,
        };
        let starred = letters > 0 && after[length..].starts_with('*');
        self.rest = &after[length + usize::from(starred)..];
        &after[..length]
    }

    /// Reads a group, a command or one character.
    fn argument(&mut self) -> Option<String> {
        self.rest = self.rest.trim_start();
        let c = self.rest.chars().next()?;
        match c {
            '{' => {
                self.take(1);
                self.run(Until::Brace)
            }
            '\\' => {
                self.depth += 1;
                if self.depth > DEEPEST {
                    return None;
                }
                let command = self.command();
                let mut out = String::new();
                self.carry_out(command, &mut out)?;
                self.depth -= 1;
                Some(out)
            }
            '}' | ']' | '^' | '_' | '&' | '$' | '#' | '%' => None,
            c => {
                self.take(c.len_utf8());
                Some(c.to_string())
            }
        }
    }

    fn word(&mut self) -> Option<&'a str> {
        let inner = self.rest.trim_start().strip_prefix('{')?;
        let end = inner.find(['{', '}'])?;
        if inner[end..].starts_with('{') {
            return None;
        }
        self.rest = &inner[end + 1..];
        Some(&inner[..end])
    }

    fn carry_out(&mut self, command: &str, out: &mut String) -> Option<()> {
        match command {
            "frac" | "dfrac" | "tfrac" | "cfrac" => {
                let (above, below) = (self.argument()?, self.argument()?);
                out.push_str(&format!("{}/{}", grouped(&above), grouped(&below)));
            }
            "binom" => {
                let (above, below) = (self.argument()?, self.argument()?);
                out.push_str(&format!("C({}, {})", above.trim(), below.trim()));
            }
            "sqrt" => {
                let mut sign = "√".to_owned();
                if let Some(rest) = self.rest.trim_start().strip_prefix('[') {
                    self.rest = rest;
                    sign = match self.run(Until::Bracket)?.trim() {
                        "2" => "√".to_owned(),
                        "3" => "∛".to_owned(),
                        "4" => "∜".to_owned(),
                        degree => format!("{}√", superscript(degree)?),
                    };
                }
                let inner = self.argument()?;
                out.push_str(&sign);
                out.push_str(&grouped(&inner));
            }
            "text" | "textrm" | "textbf" | "textit" | "mbox" => out.push_str(self.word()?),
            "mathrm" | "mathbf" | "mathit" | "mathsf" | "mathtt" | "boldsymbol"
            | "operatorname" | "bm" | "boxed" | "mathcal" | "mathscr" | "mathfrak" => {
                out.push_str(&self.argument()?);
            }
            "mathbb" => {
                let inner = self.argument()?;
                out.push_str(symbols::double_struck(inner.trim())?);
            }
            "left" => {
                let open = self.delimiter()?;
                let inner = self.run(Until::Right)?;
                let close = self.delimiter()?;
                out.push_str(&format!("{open}{}{close}", inner.trim()));
            }
            "begin" => self.environment(out)?,
            "\\" | "newline" => out.push('\n'),
            "," | ";" | ":" | " " | "quad" | "qquad" | ">" | "\n" => blank(out),
            "!" | "displaystyle" | "textstyle" | "limits" | "nolimits" | "big" | "Big" | "bigg"
            | "Bigg" | "bigl" | "bigr" | "Bigl" | "Bigr" | "nonumber" | "scriptstyle" => {}
            "{" | "}" | "%" | "$" | "#" | "&" | "_" => out.push_str(command),
            "|" => out.push('‖'),
            "not" => {
                let next = self.argument()?;
                out.push_str(&next);
                out.push('\u{338}');
            }
            command => {
                if let Some(mark) = accent(command) {
                    let inner = self.argument()?;
                    let inner = inner.trim();
                    if inner.chars().count() != 1 {
                        return None;
                    }
                    out.push_str(inner);
                    out.push(mark);
                } else if let Some(sign) = symbol(command) {
                    out.push_str(sign);
                } else if named_function(command) {
                    // `2\sin x` needs a blank before the function.
                    if out.ends_with(|c: char| c.is_alphanumeric()) {
                        out.push(' ');
                    }
                    out.push_str(command);
                } else {
                    return None;
                }
            }
        }
        Some(())
    }

    fn delimiter(&mut self) -> Option<String> {
        self.rest = self.rest.trim_start();
        if self.rest.starts_with('\\') {
            let command = self.command();
            return match command {
                "{" | "}" => Some(command.to_owned()),
                "|" => Some("‖".to_owned()),
                command => symbol(command).map(str::to_owned),
            };
        }
        let c = self.rest.chars().next()?;
        self.take(c.len_utf8());
        Some(if c == '.' {
            String::new()
        } else {
            c.to_string()
        })
    }

    fn environment(&mut self, out: &mut String) -> Option<()> {
        let name = self.word()?;
        if name == "array" {
            self.word()?;
        }
        let matrix = MATRICES.iter().find(|(known, ..)| *known == name);
        let cases = name == "cases";
        if matrix.is_none() && !cases && !LINES.contains(&name) {
            return None;
        }
        let inner = self.run(Until::Environment)?;
        if self.word()? != name {
            return None;
        }
        let rows: Vec<Vec<&str>> = inner
            .trim()
            .lines()
            .map(|row| row.split('\t').map(str::trim).collect())
            .collect();
        let (open, close) = match matrix {
            Some((_, open, close)) => (*open, *close),
            None if cases => ("{", ""),
            None => {
                let lines = rows.iter().map(|row| row.join(" ").trim().to_owned());
                out.push_str(&lines.collect::<Vec<_>>().join("\n"));
                return Some(());
            }
        };
        // A matrix alone is set in rows; beside other text, or within a bracket, on one line.
        if out.trim().is_empty() && self.depth == 1 && self.rest.trim().is_empty() {
            out.push_str(&in_rows(&rows, open, close));
        } else {
            let lines = rows.iter().map(|row| row.join(", "));
            let rows = lines.collect::<Vec<_>>().join("; ");
            let bracketed = out.ends_with(['[', '(', '|']) || self.depth > 1 && out.is_empty();
            match bracketed
                && matrix.is_some_and(|(known, ..)| matches!(*known, "matrix" | "array"))
            {
                true => out.push_str(&rows),
                false => out.push_str(&format!("{open}{rows}{close}")),
            }
        }
        Some(())
    }
}

/// Appends a blank unless `out` ends with one.
fn blank(out: &mut String) {
    if !out.is_empty() && !out.ends_with([' ', '\n', '\t']) {
        out.push(' ');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties;
    use proptest::prelude::*;

    #[test]
    fn formulas_in_characters() {
        let check =
            |source: &str, expected: &str| assert_eq!(formula(source), expected, "{source}");
        check("$x^2$", "x²");
        check(r"$\displaystyle x^{2} + \frac{\sqrt{x}}{2}$", "x² + √x/2");
        check(r"\frac{a+b}{2c}", "(a+b)/2c");
        check(r"\frac{-b \pm \sqrt{b^2-4ac}}{2a}", "(-b ± √(b²-4ac))/2a");
        check(
            r"$$\sum_{i=1}^{n} i = \frac{n(n+1)}{2}$$",
            "∑ᵢ₌₁ⁿ i = (n(n+1))/2",
        );
        check(
            r"\int_0^\infty e^{-x^2}\,dx = \frac{\sqrt{\pi}}{2}",
            "∫₀^∞ e^(-x²) dx = √π/2",
        );
        check(r"\int \sqrt{x}\, dx", "∫ √x dx");
        check(r"\alpha_1 \leq \Omega_{ij}", "α₁ ≤ Ωᵢⱼ");
        check(r"\sin{\left(x \right)} + 2\cos x", "sin(x) + 2 cos x");
        check(r"\lim_{x \to 0} f'(x)", "lim_(x → 0) f′(x)");
        check(r"\sqrt[3]{8} = 2", "∛8 = 2");
        check(r"\hat{x} \in \mathbb{R}^n", "x̂ ∈ ℝⁿ");
        check(r"\text{if } n > 0", "if n > 0");
        check(
            r"\begin{pmatrix} 1 & 20 \\ 300 & 4 \end{pmatrix}",
            "(  1  20)\n(300   4)",
        );
        check(
            r"\left[\begin{matrix}1 & 2\\3 & 4\end{matrix}\right]",
            "[1, 2; 3, 4]",
        );
        check(
            r"A = \begin{bmatrix}1&2\\3&4\end{bmatrix}",
            "A = [1, 2; 3, 4]",
        );
        check(r"\begin{aligned}a &= b \\ &= c\end{aligned}", "a = b\n= c");
        check(r"\{x \mid x > 0\}", "{x ∣ x > 0}");
        check("", "");
    }

    #[test]
    fn what_is_not_understood_stays() {
        for source in [
            r"\unknown{x}",
            r"\frac{1}",
            r"{x",
            r"x}",
            r"a^",
            r"\begin{tikz}x\end{tikz}",
            "a$b",
            r"\left(x",
            r"\sqrt[",
            r"\",
        ] {
            assert_eq!(formula(source), source);
        }
    }

    #[test]
    fn what_is_nested_too_deep_stays() {
        properties::on_a_small_stack(|| {
            for (open, close) in [
                ("{", "}"),
                (r"\sqrt", ""),
                (r"\sqrt[", "]x"),
                (r"\left(", r"\right)"),
                (r"\hat\frac", "x"),
                (r"\begin{matrix}", r"\end{matrix}"),
            ] {
                for levels in [1000, 100_000] {
                    let deep = open.repeat(levels) + "x" + &close.repeat(levels);
                    assert_eq!(formula(&deep), deep, "{open}");
                }
            }
        });
    }

    proptest! {
        #![proptest_config(properties::cases(properties::USUAL))]

        #[test]
        fn any_formula_is_read(parts in prop::collection::vec(prop::sample::select(vec![
            "\\frac", "{", "}", "^", "_", "\\sqrt", "[", "]", "x", " ", "\\left(", "\\right)", "\\begin{matrix}",
            "\\end{matrix}",
            "&", "\\\\", "\\alpha", "\\", "é", "$", "\\hat", "'", "\\text{a}", "\u{1b}",
        ]), 0..20)) {
            formula(&parts.concat());
        }
    }
}

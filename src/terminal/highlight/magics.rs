//! The language behind a magic: of the body of a cell magic, of the rest of a line magic.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Language {
    /// Python with IPython's syntax.
    Python,
    /// A language that the tables may have under this name or file extension.
    Named(String),
    Plain,
}

/// Returns the language of the lines below `head`, the first line of a cell.
pub(super) fn body_language(head: &str) -> Language {
    let Some(magic) = head.trim_start().strip_prefix("%%") else {
        return Language::Python;
    };
    let mut words = magic.split_whitespace();
    let arguments = || magic.split_whitespace().skip(1);
    let named = |name: &str| Language::Named(name.to_owned());
    match words.next().unwrap_or_default() {
        "bash" | "sh" | "sx" | "system" | "!" => named("bash"),
        "html" | "HTML" => named("html"),
        "javascript" | "js" => named("js"),
        "svg" | "SVG" => named("xml"),
        "latex" => named("tex"),
        "markdown" => named("md"),
        name @ ("perl" | "ruby" | "sql" | "R") => named(name),
        "cmd" => named("bat"),
        "script" => {
            let program = arguments().find(|word| !word.starts_with('-'));
            let name = program.unwrap_or_default().rsplit('/').next();
            match name.unwrap_or_default() {
                "" => Language::Plain,
                name if name.starts_with("python") => Language::Python,
                name => named(name),
            }
        }
        "writefile" | "file" => {
            let path = arguments().find(|word| !word.starts_with('-'));
            let path = path.unwrap_or_default().trim_matches(['"', '\'']);
            match path.rsplit('/').next().and_then(|n| n.rsplit_once('.')) {
                Some((_, "py" | "pyi" | "ipy")) => Language::Python,
                Some((_, extension)) => named(extension),
                None => Language::Plain,
            }
        }
        _ => Language::Python,
    }
}

/// Returns the language of the text behind the magic `name` (with its `%`), or behind the mark of a call, on its
/// line.
pub(super) fn rest_language(name: &str) -> Language {
    match name.trim_start_matches('%') {
        "/" | "time" | "timeit" | "prun" | "memit" | "mprun" | "lprun" | "debug" | "psearch" => {
            Language::Python
        }
        "sx" | "system" | "sc" => Language::Named("bash".into()),
        _ => Language::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_have_the_obvious_language() {
        let named = |name: &str| Language::Named(name.into());
        for (head, language) in [
            ("x = 1", Language::Python),
            ("%%timeit", Language::Python),
            ("%%time f()", Language::Python),
            ("%%bash -x", named("bash")),
            ("%%html", named("html")),
            ("%%javascript", named("js")),
            ("%%writefile x.py", Language::Python),
            ("%%writefile -a a.b/x.rs", named("rs")),
            ("%%writefile Makefile", Language::Plain),
            ("%%script --bg /bin/bash", named("bash")),
            ("%%script python3 -u", Language::Python),
            ("%%nobody_knows", Language::Python),
            ("%%", Language::Python),
        ] {
            assert_eq!(body_language(head), language, "{head:?}");
        }
    }
}

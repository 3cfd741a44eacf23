//! The language of a notebook's code: its metadata for Python, and whether it fits the runtime.

use serde_json::{Value, json};

use super::Document;
use crate::text::report::Report;

/// The `language_info` of Python, for notebooks and kernels; a kernel adds the version.
pub fn python_language_info() -> Value {
    json!({
        "codemirror_mode": {"name": "ipython", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
    })
}

/// The warning about a notebook, called `shown`, for a runtime of `language`; `None` when the languages agree or the
/// notebook names none.
pub fn language_mismatch(document: &Document, shown: &str, language: &str) -> Option<Report> {
    let other = document.language()?;
    let [ours, theirs] = [language, &other].map(str::to_ascii_lowercase);
    // Python has many names: `python3`, `ipython`.
    if ours == theirs || ours == "python" && theirs.contains(&ours) {
        return None;
    }
    let report = Report::failure(format!(
        "`{shown}` is written in {other}, and cells here are {language}"
    ));
    Some(match document.kernel() {
        Some(kernel) => report.hint(format!(
            "its kernel is `{kernel}`: `--runtime jupyter:{kernel}` starts ipycodex with it"
        )),
        None => {
            report.hint("`--runtime jupyter:NAME` starts ipycodex with a kernel of that language")
        }
    })
}

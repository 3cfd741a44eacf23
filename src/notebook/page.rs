//! The frame of an exported page: one file that loads nothing and runs nothing.

/// Everything before the first entry. `title` is escaped already.
pub(super) fn head(title: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src \
         data:\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    )
}

pub(super) const TAIL: &str = "</body>\n</html>\n";

const STYLE: &str = "\
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #24292e; background: #fff;
  font: 16px/1.5 system-ui, sans-serif; }
pre, code { font: 14px/1.45 ui-monospace, monospace; }
pre { margin: .3rem 0; padding: .5rem .8rem; overflow-x: auto; border-radius: 4px; }
.cell { margin: 1rem 0; }
.code, .answer pre { background: #f6f8fa; }
.number { color: #6a737d; font: 12px ui-monospace, monospace; }
.error { background: #fff0f0; }
.prompt { margin: 1.2rem 0 .5rem; padding: .4rem .8rem; border-left: 4px solid #0366d6; background: #f1f8ff;
  white-space: pre-wrap; }
.answer blockquote { margin-left: 0; padding-left: .8rem; border-left: 3px solid #d1d5da; color: #6a737d; }
details { margin: .3rem 0; color: #6a737d; }
summary { cursor: pointer; font: 14px/1.45 ui-monospace, monospace; }
img { max-width: 100%; }
table { border-collapse: collapse; }
th, td { border: 1px solid #d1d5da; padding: .2rem .6rem; }
";

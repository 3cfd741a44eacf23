//! Renders markdown from stdin while it arrives.
//!
//! `cargo run -p ipycodex-text --example stream < FILE`. In: markdown, read in pieces of seven bytes. Out: for each
//! frame its final lines, and the lines that may still change behind `~`.

use std::io::{self, Read, Write};

use ipycodex_text::markdown::{Appearance, MarkdownFrame, MarkdownStream};

fn main() -> io::Result<()> {
    let mut stream = MarkdownStream::new(Appearance::default());
    let (mut text, mut pushed) = (Vec::new(), 0);
    let mut piece = [0; 7];
    loop {
        let length = io::stdin().read(&mut piece)?;
        text.extend_from_slice(&piece[..length]);
        // A piece may end inside a character.
        let whole = match std::str::from_utf8(&text[pushed..]) {
            Ok(whole) => whole,
            Err(error) if error.error_len().is_some() => return Err(io::Error::other(error)),
            Err(error) => {
                std::str::from_utf8(&text[pushed..pushed + error.valid_up_to()]).unwrap_or_default()
            }
        };
        stream.push(whole);
        pushed += whole.len();
        if length == 0 {
            stream.finish();
        }
        show(&stream.frame(72, 12))?;
        if length == 0 {
            return Ok(());
        }
    }
}

fn show(frame: &MarkdownFrame) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in &frame.settled {
        writeln!(out, "{}", line.to_ansi(false))?;
    }
    for line in &frame.live {
        writeln!(out, "~ {}", line.to_ansi(false))?;
    }
    Ok(())
}

//! Pictures on the terminal.
//!
//! In: a picture from a cell, a tool or an answer. Out: bytes that draw it and leave the cursor at the start of a
//! line, or one line that names it or the reason why it is not drawn. `detect` chooses the method at the first
//! picture; `fit` computes the size; `crate::picture` and `svg` make pixels; `kitty`, `iterm2`, `sixel` and `blocks`
//! encode them; `source` reads the target of an image in an answer; `animation` limits the rate of successive
//! pictures.
//!
//! Invariants: nothing is fetched, the terminal is not queried, and the bytes contain nothing of the picture but
//! base64 and colours; a transparent picture gets a background where it would be invisible (`background`), and is
//! not changed otherwise.

mod animation;
mod blocks;
mod contrast;
mod detect;
mod fit;
mod iterm2;
mod kitty;
mod placeholder;
mod registers;
mod sixel;
mod source;
mod svg;
mod svg_depth;
mod tmux;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::config::Images;
use crate::environment::Environment;
use crate::markdown::Background;
use crate::output::picture_type;
use crate::picture::{self, PictureError, Pixels};
use crate::screen::Screen;

pub(super) use animation::Animation;
pub(super) use source::PictureSource;

use blocks::Palette;
use detect::{Method, TerminalVariables};
use fit::{Cell, Fit, Room};
use placeholder::{MARKS, PictureId};
use svg::Drawing;

/// Largest file in bytes that is sent unchanged although it could be made smaller.
const MAX_UNCHANGED_BYTES: usize = 4 << 20;

/// Vector drawings are rendered this much larger before they become blocks, to keep thin lines.
const DRAWING_OVERSAMPLING: u32 = 6;

#[derive(Debug, Clone)]
pub struct Pictures {
    choice: Images,
    background: [u8; 3],
    facts: Arc<TerminalFacts>,
}

#[derive(Debug)]
struct TerminalFacts {
    variables: TerminalVariables,
    /// The directory of relative paths.
    cwd: Option<PathBuf>,
    /// The terminal's background, if its environment states it.
    background: Option<[u8; 3]>,
    /// A tmux that did not answer is not asked again.
    tmux_unresponsive: AtomicBool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PictureOutput {
    Drawn(DrawnPicture),
    /// One line in place of the picture.
    Text(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DrawnPicture {
    /// Bytes that begin and end at the start of a line.
    pub(super) bytes: Vec<u8>,
    /// Height in rows.
    pub(super) rows: u32,
    /// Bytes that delete the picture, where overwriting does not.
    pub(super) removal: Vec<u8>,
}

impl Pictures {
    /// Creates a handle for this environment and setting; the method is chosen at the first picture.
    pub fn new(environment: &Environment, choice: Images) -> Self {
        let background = detect::background_colour(environment.variable("COLORFGBG"));
        Pictures {
            choice,
            background: background.unwrap_or_default(),
            facts: Arc::new(TerminalFacts {
                variables: TerminalVariables::new(environment),
                cwd: environment.cwd.clone(),
                background,
                tmux_unresponsive: AtomicBool::new(false),
            }),
        }
    }

    /// Returns a handle with another choice and background; a background in the environment takes precedence.
    #[must_use]
    pub fn drawn_as(&self, choice: Images, background: Background) -> Self {
        let background = match background {
            Background::Light => [255; 3],
            Background::Dark => [0; 3],
        };
        Pictures {
            choice,
            background: self.facts.background.unwrap_or(background),
            facts: Arc::clone(&self.facts),
        }
    }

    /// True when pictures are drawn at all.
    pub(super) fn are_drawn(&self, screen: &Screen) -> bool {
        self.choice != Images::Off && screen.is_rich() && screen.colour()
    }

    /// Resolves an image in an answer: a local file or a `data:` URL.
    pub(super) fn resolve(&self, target: &str) -> Option<PictureSource> {
        PictureSource::resolve(target, self.facts.cwd.as_deref())
    }

    /// Draws a picture, or returns a line in its place.
    pub(super) fn draw(&self, source: &PictureSource, screen: &Screen) -> PictureOutput {
        let method = if self.are_drawn(screen) {
            self.method(screen)
        } else {
            Method::Off
        };
        let size = screen.size();
        let room = Room {
            columns: u32::from(size.columns),
            rows: u32::from(size.rows),
            cell: match screen.cell_pixels() {
                Some((width, height)) => Cell {
                    width,
                    height,
                    known: true,
                },
                None if matches!(method, Method::Sixel { .. }) => Cell::VT340,
                None => Cell::USUAL,
            },
        };
        match draw(source, method, room, self.background) {
            Ok(shown) => shown,
            Err(trouble) => PictureOutput::Text(format!("[{}: {trouble}]", source.kind())),
        }
    }

    pub fn describe_method(&self, screen: &Screen) -> &'static str {
        match self.are_drawn(screen).then(|| self.method(screen)) {
            Some(Method::Kitty) => "drawn by kitty's protocol",
            Some(Method::KittyInTmux) => "drawn by kitty's protocol, through tmux",
            Some(Method::Iterm2 { tmux: false }) => "drawn by iTerm2's protocol",
            Some(Method::Iterm2 { tmux: true }) => "drawn by iTerm2's protocol, through tmux",
            Some(Method::Sixel { .. }) => "drawn as sixels",
            Some(Method::Blocks { true_colour: true }) => "drawn in half blocks of 24-bit colours",
            Some(Method::Blocks { true_colour: false }) => "drawn in half blocks of 256 colours",
            Some(Method::Off) | None => "not drawn: a line says what they are",
        }
    }

    fn method(&self, screen: &Screen) -> Method {
        let variables = &self.facts.variables;
        let knows_cell = screen.cell_pixels().is_some();
        variables.method(self.choice, knows_cell, || {
            if self.facts.tmux_unresponsive.load(Ordering::Relaxed) {
                return None;
            }
            let answer = tmux::ask(variables.pane());
            self.facts
                .tmux_unresponsive
                .store(answer.is_none(), Ordering::Relaxed);
            answer
        })
    }
}

enum OpenedPicture<'a> {
    File(&'a [u8], (u32, u32)),
    Drawing(Box<Drawing>),
}

impl OpenedPicture<'_> {
    fn size(&self) -> (u32, u32) {
        match self {
            OpenedPicture::File(_, size) => *size,
            OpenedPicture::Drawing(drawing) => drawing.size(),
        }
    }

    fn pixels(&self, width: u32, height: u32) -> Result<Pixels, PictureError> {
        match self {
            OpenedPicture::File(file, _) => Ok(picture::pixels(file)?.shrunk(width, height)),
            OpenedPicture::Drawing(drawing) => drawing.pixels(width, height),
        }
    }

    /// Encodes a PNG of this size for a terminal of this background; returns the file itself where possible.
    fn png(&self, fit: Fit, background: [u8; 3]) -> Result<Vec<u8>, PictureError> {
        let pixels = self.pixels(fit.width, fit.height)?;
        if let Some(needed) = contrast::background_for(&pixels, background) {
            return pixels.over(needed).to_png();
        }
        match self {
            // Decoded to check that the file is whole; a terminal would leave a gap for a damaged one.
            OpenedPicture::File(file, size)
                if *size == (fit.width, fit.height)
                    && file.len() <= MAX_UNCHANGED_BYTES
                    && picture_type(file) == Some("image/png") =>
            {
                Ok(file.to_vec())
            }
            _ => pixels.to_png(),
        }
    }
}

fn draw(
    source: &PictureSource,
    method: Method,
    room: Room,
    background: [u8; 3],
) -> Result<PictureOutput, PictureError> {
    let opened = match source {
        PictureSource::File(file) => OpenedPicture::File(file, picture::size(file)?),
        PictureSource::Drawing(text) => OpenedPicture::Drawing(Box::new(Drawing::read(text)?)),
    };
    let size = opened.size();
    let fit = room.fit(size);
    let mut removal = Vec::new();
    let (bytes, rows) = match method {
        Method::Off => {
            let (width, height) = size;
            return Ok(PictureOutput::Text(format!(
                "[{} {width}x{height}]",
                source.kind()
            )));
        }
        Method::Kitty => {
            let id = PictureId::next();
            removal = kitty::remove(id);
            let png = opened.png(fit, background)?;
            (kitty::draw(&png, fit, id, room.cell.known), fit.rows)
        }
        Method::KittyInTmux => {
            let narrow = Room {
                columns: room.columns.min(MARKS),
                rows: room.rows.min(MARKS),
                ..room
            };
            let fit = narrow.fit(size);
            (
                kitty::draw_in_tmux(&opened.png(fit, background)?, fit, PictureId::next()),
                fit.rows,
            )
        }
        Method::Iterm2 { tmux } => {
            let file = match source {
                PictureSource::File(file) if is_readable_by_iterm2(file) => {
                    // As above: only whole files are passed on.
                    match contrast::background_for(&picture::pixels(file)?, background) {
                        Some(_) if !may_be_animated(file) => opened.png(fit, background)?,
                        _ => file.clone(),
                    }
                }
                _ => opened.png(fit, background)?,
            };
            match iterm2::draw(&file, fit, tmux) {
                Some(bytes) => (bytes, fit.rows),
                None => blocks(&opened, room, background, true)?,
            }
        }
        Method::Sixel { known } => {
            let fit = match known {
                true => fit,
                false => room.fit(fit::within(size, sixel::ANYWHERE)),
            };
            let pixels = made_readable(opened.pixels(fit.width, fit.height)?, background);
            (sixel::draw(&pixels, fit, background), fit.rows)
        }
        Method::Blocks { true_colour } => blocks(&opened, room, background, true_colour)?,
    };
    Ok(PictureOutput::Drawn(DrawnPicture {
        bytes,
        rows,
        removal,
    }))
}

/// True for files that iTerm2 gets unchanged.
fn is_readable_by_iterm2(file: &[u8]) -> bool {
    file.len() <= MAX_UNCHANGED_BYTES
        && matches!(
            picture_type(file),
            Some("image/png" | "image/jpeg" | "image/gif")
        )
}

/// True for formats with several frames.
fn may_be_animated(file: &[u8]) -> bool {
    picture_type(file) == Some("image/gif")
}

/// Lays the picture over the background it needs, if any.
fn made_readable(pixels: Pixels, background: [u8; 3]) -> Pixels {
    match contrast::background_for(&pixels, background) {
        Some(needed) => pixels.over(needed),
        None => pixels,
    }
}

fn blocks(
    opened: &OpenedPicture<'_>,
    room: Room,
    background: [u8; 3],
    true_colour: bool,
) -> Result<(Vec<u8>, u32), PictureError> {
    let fit = room.fit_blocks(opened.size());
    let pixels = match opened {
        OpenedPicture::File(file, _) => picture::pixels(file)?,
        OpenedPicture::Drawing(drawing) => drawing.pixels(
            fit.width * DRAWING_OVERSAMPLING,
            fit.height * DRAWING_OVERSAMPLING,
        )?,
    };
    let pixels = made_readable(pixels, background).condensed(fit.width, fit.height);
    let palette = Palette {
        true_colour,
        background,
    };
    Ok((blocks::draw(&pixels, palette), fit.rows))
}

#[cfg(test)]
mod tests;

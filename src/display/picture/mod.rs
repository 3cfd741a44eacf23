//! Pictures on the terminal.
//!
//! In: a picture as a cell, a tool or an answer names it. Out: bytes for the screen that draw it and leave the cursor
//! at the start of a line, or one line that says what it is or why it is not drawn. `detect` finds the way of drawing,
//! when the first picture comes; `fit` says how large; `crate::picture` and `svg` make pixels; `kitty`, `iterm2`,
//! `sixel` and `blocks` write them; `source` reads what an answer points at; `animation` keeps pictures that follow
//! each other fast from flooding.
//!
//! Invariants: nothing is fetched, the terminal is asked nothing, and what is written holds nothing of the picture but
//! base64 and colours; a picture that lets light through stands where it can be read (`background`), and nothing else
//! about it is changed.

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

/// Bytes of a file that is handed to the terminal as it is, though it could be made smaller.
const MAX_UNCHANGED_BYTES: usize = 4 << 20;

/// Drawings are made this much larger before they become blocks, for the sake of thin lines.
const DRAWING_OVERSAMPLING: u32 = 6;

/// How pictures are drawn: a handle, cheap to clone.
#[derive(Debug, Clone)]
pub struct Pictures {
    choice: Images,
    /// What the terminal's background is taken for.
    background: [u8; 3],
    facts: Arc<TerminalFacts>,
}

#[derive(Debug)]
struct TerminalFacts {
    variables: TerminalVariables,
    /// What relative paths start from.
    cwd: Option<PathBuf>,
    /// The terminal's background, if its environment tells.
    background: Option<[u8; 3]>,
    /// A tmux that did not answer is not asked again.
    tmux_unresponsive: AtomicBool,
}

/// What becomes of a picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PictureOutput {
    /// DrawnPicture by these bytes.
    Drawn(DrawnPicture),
    /// Said in one line.
    Text(String),
}

/// A picture for the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DrawnPicture {
    /// From the start of a line to the start of a line.
    pub(super) bytes: Vec<u8>,
    /// Rows it takes.
    pub(super) rows: u32,
    /// Takes it away, where writing over it does not.
    pub(super) removal: Vec<u8>,
}

impl Pictures {
    /// Pictures as the environment and the settings say; nothing is found out yet.
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

    /// The same, drawn as the user chose meanwhile, on this background unless the environment tells another.
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

    /// Whether anything is drawn at all.
    pub(super) fn are_drawn(&self, screen: &Screen) -> bool {
        self.choice != Images::Off && screen.is_rich() && screen.colour()
    }

    /// What an answer points at: a local file or a `data:` URL that holds a picture.
    pub(super) fn resolve(&self, target: &str) -> Option<PictureSource> {
        PictureSource::resolve(target, self.facts.cwd.as_deref())
    }

    /// Draws a picture, or says what it is.
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

    /// How they are drawn here, in words.
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

/// A picture before it is scaled.
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

    /// A PNG of this size, for a terminal of this background; the very file when that will do.
    fn png(&self, fit: Fit, background: [u8; 3]) -> Result<Vec<u8>, PictureError> {
        let pixels = self.pixels(fit.width, fit.height)?;
        if let Some(needed) = contrast::background_for(&pixels, background) {
            return pixels.over(needed).to_png();
        }
        match self {
            // It has been decoded to know that it is whole: a terminal would leave its place empty.
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
                    // As above: only what is whole is handed on.
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

/// Whether iTerm2 gets a file as it is.
fn is_readable_by_iterm2(file: &[u8]) -> bool {
    file.len() <= MAX_UNCHANGED_BYTES
        && matches!(
            picture_type(file),
            Some("image/png" | "image/jpeg" | "image/gif")
        )
}

/// Whether it may be more than one picture.
fn may_be_animated(file: &[u8]) -> bool {
    picture_type(file) == Some("image/gif")
}

/// The picture on the background it needs, if it needs one.
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

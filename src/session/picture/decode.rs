//! Decoding of picture files: PNG, JPEG, GIF and WebP (the first frame), by their bytes and not by their names.
//!
//! In: any bytes. Out: the size from the header alone, or all pixels. Invariants: a picture whose header states more
//! than [`MOST_PIXELS`] is not decoded; invalid data is a [`PictureError`], never a panic; of an unfinished JPEG the
//! available part is decoded. Absent on purpose: animation, colour profiles; vector drawings
//! (`display/picture/svg`).

use std::io::Cursor;
use std::num::NonZeroU64;

use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::error::PictureError;
use super::pixels::Pixels;
use crate::output::picture_type;

/// Most pixels of a picture that is drawn: 64 MiB of memory.
const MOST_PIXELS: u64 = 16 << 20;

/// Largest file that is read, in bytes.
pub const MOST_BYTES: usize = 64 << 20;

/// Memory limit of a decoder, in bytes.
const MEMORY: usize = 192 << 20;

/// Returns width and height from the header; [`PictureError`] `Large` when the picture is not to be decoded.
pub fn size(file: &[u8]) -> Result<(u32, u32), PictureError> {
    size_of_at_most(file, MOST_PIXELS)
}

/// As [`size`], with another limit in pixels.
pub(super) fn size_of_at_most(file: &[u8], most: u64) -> Result<(u32, u32), PictureError> {
    if file.len() > MOST_BYTES {
        return Err(PictureError::Long(file.len() >> 20));
    }
    let (width, height) = match picture_type(file).ok_or(PictureError::Unknown)? {
        "image/png" => png_reader(file)?.info().size(),
        "image/jpeg" => {
            let mut decoder = JpegDecoder::new_with_options(Cursor::new(file), jpeg_options());
            decoder.decode_headers().map_err(|_| PictureError::Broken)?;
            let (width, height) = decoder.dimensions().ok_or(PictureError::Broken)?;
            let narrow = |side: usize| u32::try_from(side).map_err(|_| PictureError::Broken);
            (narrow(width)?, narrow(height)?)
        }
        "image/gif" => {
            let decoder = gif_options().read_info(file);
            let decoder = decoder.map_err(|_| PictureError::Broken)?;
            (u32::from(decoder.width()), u32::from(decoder.height()))
        }
        _ => webp(file)?.dimensions(),
    };
    within(width, height, most)?;
    Ok((width, height))
}

pub fn allowed(width: u32, height: u32) -> Result<(), PictureError> {
    within(width, height, MOST_PIXELS)
}

fn within(width: u32, height: u32, most: u64) -> Result<(), PictureError> {
    match u64::from(width) * u64::from(height) {
        0 => Err(PictureError::Broken),
        pixels if pixels > most => Err(PictureError::Large { width, height }),
        _ => Ok(()),
    }
}

pub fn pixels(file: &[u8]) -> Result<Pixels, PictureError> {
    pixels_of_at_most(file, MOST_PIXELS)
}

/// As [`pixels`], with another limit in pixels.
pub(super) fn pixels_of_at_most(file: &[u8], most: u64) -> Result<Pixels, PictureError> {
    let (width, height) = size_of_at_most(file, most)?;
    let bytes = match picture_type(file).ok_or(PictureError::Unknown)? {
        "image/png" => png_pixels(file)?,
        "image/jpeg" => {
            let mut decoder = JpegDecoder::new_with_options(Cursor::new(file), jpeg_options());
            decoder.decode().map_err(|_| PictureError::Broken)?
        }
        "image/gif" => gif_pixels(file, width, height)?,
        _ => {
            let mut decoder = webp(file)?;
            let mut bytes = vec![0; decoder.output_buffer_size().ok_or(PictureError::Broken)?];
            let read = decoder.read_image(&mut bytes);
            read.map_err(|_| PictureError::Broken)?;
            with_alpha(bytes, if decoder.has_alpha() { 4 } else { 3 })
        }
    };
    Pixels::new(width, height, bytes).ok_or(PictureError::Broken)
}

fn png_reader(file: &[u8]) -> Result<png::Reader<Cursor<&[u8]>>, PictureError> {
    let limits = png::Limits { bytes: MEMORY };
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(file), limits);
    let whole = png::Transformations::EXPAND | png::Transformations::STRIP_16;
    decoder.set_transformations(whole | png::Transformations::ALPHA);
    decoder.read_info().map_err(|_| PictureError::Broken)
}

fn png_pixels(file: &[u8]) -> Result<Vec<u8>, PictureError> {
    let mut reader = png_reader(file)?;
    let mut bytes = vec![0; reader.output_buffer_size().ok_or(PictureError::Broken)?];
    let frame = reader.next_frame(&mut bytes);
    let frame = frame.map_err(|_| PictureError::Broken)?;
    bytes.truncate(frame.buffer_size());
    Ok(with_alpha(bytes, frame.color_type.samples()))
}

/// Converts pixels of `samples` bytes (grey, grey and alpha, colours) to colours and alpha.
fn with_alpha(bytes: Vec<u8>, samples: usize) -> Vec<u8> {
    match samples {
        1 => bytes
            .iter()
            .flat_map(|&grey| [grey, grey, grey, 255])
            .collect(),
        2 => bytes
            .chunks_exact(2)
            .flat_map(|pixel| [pixel[0], pixel[0], pixel[0], pixel[1]])
            .collect(),
        3 => bytes
            .chunks_exact(3)
            .flat_map(|pixel| [pixel[0], pixel[1], pixel[2], 255])
            .collect(),
        _ => bytes,
    }
}

fn jpeg_options() -> DecoderOptions {
    DecoderOptions::default()
        .jpeg_set_out_colorspace(ColorSpace::RGBA)
        .set_strict_mode(false)
}

fn gif_options() -> gif::DecodeOptions {
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::RGBA);
    let memory = NonZeroU64::new(MEMORY as u64).expect("not zero");
    options.set_memory_limit(gif::MemoryLimit::Bytes(memory));
    options
}

/// Returns the first frame at its place on the canvas.
fn gif_pixels(file: &[u8], width: u32, height: u32) -> Result<Vec<u8>, PictureError> {
    let mut decoder = gif_options()
        .read_info(file)
        .map_err(|_| PictureError::Broken)?;
    let frame = decoder.read_next_frame();
    let frame = frame.ok().flatten().ok_or(PictureError::Broken)?;
    let (canvas, line) = (width as usize * 4, usize::from(frame.width) * 4);
    let mut bytes = vec![0; canvas * height as usize];
    if line == 0 {
        return Ok(bytes);
    }
    let left = usize::from(frame.left) * 4;
    let rows = bytes.chunks_exact_mut(canvas).skip(usize::from(frame.top));
    for (row, pixels) in rows.zip(frame.buffer.chunks_exact(line)) {
        let shown = line.min(canvas.saturating_sub(left));
        if shown > 0 {
            row[left..left + shown].copy_from_slice(&pixels[..shown]);
        }
    }
    Ok(bytes)
}

fn webp(file: &[u8]) -> Result<image_webp::WebPDecoder<Cursor<&[u8]>>, PictureError> {
    let decoder = image_webp::WebPDecoder::new(Cursor::new(file));
    let mut decoder = decoder.map_err(|_| PictureError::Broken)?;
    decoder.set_memory_limit(MEMORY);
    Ok(decoder)
}

#[cfg(test)]
mod tests;

//! Pictures made by the formats' own encoders, whole, cut and altered.

use super::*;
use crate::properties;
use proptest::prelude::*;

fn png(
    width: u32,
    height: u32,
    colour: png::ColorType,
    depth: png::BitDepth,
    data: &[u8],
) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width, height);
    encoder.set_color(colour);
    encoder.set_depth(depth);
    if colour == png::ColorType::Indexed {
        encoder.set_palette(vec![255, 0, 0, 0, 0, 255]);
        encoder.set_trns(vec![255, 0]);
    }
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(data).unwrap();
    writer.finish().unwrap();
    out
}

fn gif() -> Vec<u8> {
    let mut out = Vec::new();
    let palette = [255, 0, 0, 0, 0, 255];
    let mut encoder = gif::Encoder::new(&mut out, 3, 2, &palette).unwrap();
    let frame = gif::Frame {
        left: 1,
        top: 1,
        width: 2,
        height: 1,
        buffer: vec![1, 0].into(),
        ..gif::Frame::default()
    };
    encoder.write_frame(&frame).unwrap();
    drop(encoder);
    out
}

fn webp() -> Vec<u8> {
    let mut out = Vec::new();
    let encoder = image_webp::WebPEncoder::new(&mut out);
    let data = [255, 0, 0, 0, 0, 255];
    encoder
        .encode(&data, 2, 1, image_webp::ColorType::Rgb8)
        .unwrap();
    out
}

const JPEG: &[u8] = include_bytes!("../../../../tests/data/pictures/grey.jpg");

#[test]
fn each_format_gives_its_pixels() {
    let check = |file: &[u8], size: (u32, u32), at: (u32, u32), pixel: [u8; 4]| {
        assert_eq!(super::size(file), Ok(size));
        let pixels = pixels(file).unwrap();
        assert_eq!((pixels.width(), pixels.height()), size);
        assert_eq!(pixels.get(at.0, at.1), Some(pixel));
    };
    use png::{BitDepth as Depth, ColorType as Colour};
    let red = [255, 0, 0, 255];
    check(
        &png(1, 1, Colour::Rgba, Depth::Eight, &[1, 2, 3, 4]),
        (1, 1),
        (0, 0),
        [1, 2, 3, 4],
    );
    check(
        &png(1, 1, Colour::Rgb, Depth::Eight, &[255, 0, 0]),
        (1, 1),
        (0, 0),
        red,
    );
    check(
        &png(1, 1, Colour::Rgb, Depth::Sixteen, &[255, 255, 0, 0, 0, 0]),
        (1, 1),
        (0, 0),
        red,
    );
    check(
        &png(1, 1, Colour::Grayscale, Depth::Eight, &[7]),
        (1, 1),
        (0, 0),
        [7, 7, 7, 255],
    );
    check(
        &png(2, 1, Colour::Grayscale, Depth::One, &[0b0100_0000]),
        (2, 1),
        (1, 0),
        [255; 4],
    );
    check(
        &png(1, 1, Colour::GrayscaleAlpha, Depth::Eight, &[7, 9]),
        (1, 1),
        (0, 0),
        [7, 7, 7, 9],
    );
    check(
        &png(2, 1, Colour::Indexed, Depth::One, &[0b0100_0000]),
        (2, 1),
        (0, 0),
        red,
    );
    check(
        &png(2, 1, Colour::Indexed, Depth::One, &[0b0100_0000]),
        (2, 1),
        (1, 0),
        [0, 0, 255, 0],
    );
    check(&gif(), (3, 2), (1, 1), [0, 0, 255, 255]);
    check(&gif(), (3, 2), (2, 1), red);
    check(&gif(), (3, 2), (0, 0), [0; 4]);
    check(&webp(), (2, 1), (1, 0), [0, 0, 255, 255]);
    check(JPEG, (8, 8), (7, 7), [128, 128, 128, 255]);
}

#[test]
fn what_is_too_large_is_not_decoded() {
    // A header that states 60000 by 60000 pixels, without data.
    let mut bomb = png(1, 1, png::ColorType::Grayscale, png::BitDepth::Eight, &[0]);
    bomb[16..24].copy_from_slice(&[0, 0, 0xea, 0x60, 0, 0, 0xea, 0x60]);
    let sum = crc(&bomb[12..29]);
    bomb[29..33].copy_from_slice(&sum.to_be_bytes());
    let large = PictureError::Large {
        width: 60_000,
        height: 60_000,
    };
    assert_eq!(size(&bomb), Err(large));
    assert_eq!(pixels(&bomb), Err(large));
    assert_eq!(large.to_string(), "60000×60000 pixels is too large to draw");
    let long = [b"\x89PNG\r\n\x1a\n".as_slice(), &vec![0; MOST_BYTES]].concat();
    assert_eq!(pixels(&long), Err(PictureError::Long(64)));
    let mut wide = gif();
    wide[6..10].fill(0xff);
    let large = PictureError::Large {
        width: 65_535,
        height: 65_535,
    };
    assert_eq!(pixels(&wide), Err(large));
    assert_eq!(pixels(b"plain text"), Err(PictureError::Unknown));
    assert_eq!(pixels(b""), Err(PictureError::Unknown));
}

/// The checksum of PNG's chunks (CRC-32 of ISO 3309).
fn crc(bytes: &[u8]) -> u32 {
    let step = |sum: u32, byte: &u8| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            if sum & 1 == 1 {
                0xedb8_8320 ^ (sum >> 1)
            } else {
                sum >> 1
            }
        })
    };
    !bytes.iter().fold(u32::MAX, step)
}

fn file() -> impl Strategy<Value = Vec<u8>> {
    let data: Vec<u8> = (0..=255).cycle().take(16 * 9 * 4).collect();
    prop::sample::select(vec![
        png(16, 9, png::ColorType::Rgba, png::BitDepth::Eight, &data),
        png(16, 1, png::ColorType::Indexed, png::BitDepth::One, &[1, 2]),
        gif(),
        webp(),
        JPEG.to_vec(),
    ])
}

proptest! {
    #![proptest_config(properties::cases(properties::USUAL))]

    #[test]
    fn damaged_files_end_well(
        mut file in file(), cut in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        for (at, byte) in changes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        let _ = pixels(&file);
        file.truncate(cut.index(file.len()));
        let _ = pixels(&file);
    }

    #[test]
    fn any_bytes_end_well(kind in 0usize..4, bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let begin: [&[u8]; 4] = [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"\xff\xd8\xff", b"GIF89a",
            b"RIFF\x24\0\0\0WEBPVP8L"];
        let _ = pixels(&[begin[kind], &bytes].concat());
    }
}

//! The type of a picture by its first bytes (file signatures of the WHATWG's MIME Sniffing standard, §6.1).
//!
//! Pure. Only the types that models accept. Absent on purpose: a check of the rest of the file.

/// Returns the MIME type of bytes that begin as a PNG, JPEG, GIF or WebP; the first 12 bytes decide.
pub fn picture_type(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        Some("image/png")
    } else if bytes.starts_with(b"\xff\xd8\xff") {
        Some("image/jpeg")
    } else if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
        Some("image/gif")
    } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        Some("image/webp")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::picture_type;

    #[test]
    fn kinds_by_their_beginning() {
        for (bytes, kind) in [
            (&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], Some("image/png")),
            (b"\xff\xd8\xff\xe0\0\x10JFIF", Some("image/jpeg")),
            (b"GIF89a....", Some("image/gif")),
            (b"RIFF\x24\0\0\0WEBPVP8 ", Some("image/webp")),
            (b"RIFF\x24\0\0\0WAVEfmt ", None),
            (b"\x89PNG", None),
            (b"<svg", None),
            (b"", None),
        ] {
            assert_eq!(picture_type(bytes), kind, "{bytes:?}");
        }
    }
}

//! The pictures sent to the agent with a text: as many as fit, the others counted.
//!
//! In: pictures, most important first. Out: `data:` URLs within the limits, and a line about those left out. Absent on
//! purpose: decoding and scaling.

use crate::agent::InputPart;

const MOST: usize = 8;
/// Bytes of one picture as base64; the record sends no larger one again.
const LARGEST: usize = 4 << 20;

#[derive(Debug, Default)]
pub(super) struct Pictures {
    urls: Vec<String>,
    left_out: usize,
}

impl Pictures {
    /// Adds a picture, or counts it when there is no room for it.
    pub(super) fn add(&mut self, url: String) {
        if self.urls.len() >= MOST || url.len() > LARGEST {
            self.left_out += 1;
        } else {
            self.urls.push(url);
        }
    }

    /// Returns the line for the text about pictures left out, if there are any.
    pub(super) fn missing(&self) -> Option<String> {
        match self.left_out {
            0 => None,
            1 => Some("[1 picture is left out: too many or too large]".to_owned()),
            n => Some(format!(
                "[{n} pictures are left out: too many or too large]"
            )),
        }
    }

    pub(super) fn into_urls(self) -> Vec<String> {
        self.urls
    }

    pub(super) fn into_parts(self) -> impl Iterator<Item = InputPart> {
        self.urls.into_iter().map(InputPart::Image)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_is_counted() {
        let mut pictures = Pictures::default();
        for n in 0..MOST + 2 {
            pictures.add(format!("data:{n}"));
        }
        assert_eq!(
            pictures.missing().as_deref(),
            Some("[2 pictures are left out: too many or too large]")
        );
        assert_eq!(pictures.into_urls().len(), MOST);
        let mut pictures = Pictures::default();
        pictures.add("x".repeat(LARGEST + 1));
        pictures.add("y".repeat(LARGEST));
        assert!(
            pictures
                .missing()
                .is_some_and(|line| line.starts_with("[1 picture is"))
        );
        assert_eq!(pictures.into_parts().count(), 1);
    }
}

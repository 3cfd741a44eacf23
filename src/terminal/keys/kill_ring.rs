//! The kill ring: newest cut first, cuts in a row joined, older ones by rotating.

use std::ops::Range;

/// Cuts that are kept.
const KEPT: usize = 60;

/// The cuts, oldest first.
#[derive(Debug, Default)]
pub(in crate::terminal) struct KillRing {
    cuts: Vec<String>,
    /// The last key cut: a further cut joins its text.
    cutting: bool,
    /// Where the text put in last stands, and which cut it is.
    put: Option<(Range<usize>, usize)>,
}

impl KillRing {
    /// Another key was pressed: the next cut starts an entry, and nothing can be rotated.
    pub(in crate::terminal) fn end(&mut self) {
        self.cutting = false;
        self.put = None;
    }

    /// Keeps a cut; `before`: its text stood before the last cut.
    pub(in crate::terminal) fn cut(&mut self, text: &str, before: bool) {
        self.put = None;
        if text.is_empty() {
            return;
        }
        match self.cuts.last_mut().filter(|_| self.cutting) {
            Some(last) if before => last.insert_str(0, text),
            Some(last) => last.push_str(text),
            None => {
                if self.cuts.len() == KEPT {
                    self.cuts.remove(0);
                }
                self.cuts.push(text.to_owned());
            }
        }
        self.cutting = true;
    }

    /// The newest cut, to be inserted at byte `at`.
    pub(in crate::terminal) fn yank(&mut self, at: usize) -> Option<String> {
        self.cutting = false;
        let newest = self.cuts.len().checked_sub(1)?;
        let text = self.cuts[newest].clone();
        self.put = Some((at..at + text.len(), newest));
        Some(text)
    }

    /// The cut before the one just put in, and the place of that one, which it takes.
    pub(in crate::terminal) fn rotate(&mut self) -> Option<(Range<usize>, String)> {
        self.cutting = false;
        let (place, at) = self.put.take()?;
        let older = at.checked_sub(1).unwrap_or(self.cuts.len() - 1);
        let text = self.cuts[older].clone();
        self.put = Some((place.start..place.start + text.len(), older));
        Some((place, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_in_a_row_are_one_and_older_ones_come_by_turning() {
        let mut ring = KillRing::default();
        assert_eq!(ring.yank(0), None);
        assert_eq!(ring.rotate(), None);
        ring.cut("b", true);
        ring.cut("a", true);
        ring.cut("c", false);
        ring.end();
        ring.cut("two", false);
        ring.cut("", false);
        assert_eq!(ring.yank(4).as_deref(), Some("two"));
        assert_eq!(ring.rotate(), Some((4..7, "abc".into())));
        assert_eq!(ring.rotate(), Some((4..7, "two".into())));
        ring.end();
        assert_eq!(ring.rotate(), None);
    }

    #[test]
    fn the_oldest_cut_goes_when_there_are_many() {
        let mut ring = KillRing::default();
        for number in 0..KEPT + 2 {
            ring.cut(&number.to_string(), false);
            ring.end();
        }
        assert_eq!(ring.cuts.len(), KEPT);
        assert_eq!(ring.cuts[0], "2");
    }
}

//! The kill ring: newest cut first, consecutive cuts joined, older ones by rotating.

use std::ops::Range;

const KEPT: usize = 60;

/// The cuts, oldest first.
#[derive(Debug, Default)]
pub(in crate::terminal) struct KillRing {
    cuts: Vec<String>,
    /// The last key cut: another cut joins its text.
    cutting: bool,
    /// The range of the text inserted last, and the index of its cut.
    put: Option<(Range<usize>, usize)>,
}

impl KillRing {
    /// Ends the sequence: the next cut starts an entry, and rotation is impossible.
    pub(in crate::terminal) fn end(&mut self) {
        self.cutting = false;
        self.put = None;
    }

    /// Stores a cut; `before`: its text was before that of the last cut.
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

    /// Returns the newest cut, to be inserted at byte `at`.
    pub(in crate::terminal) fn yank(&mut self, at: usize) -> Option<String> {
        self.cutting = false;
        let newest = self.cuts.len().checked_sub(1)?;
        let text = self.cuts[newest].clone();
        self.put = Some((at..at + text.len(), newest));
        Some(text)
    }

    /// Returns the range of the cut inserted last, and the previous cut to replace it.
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

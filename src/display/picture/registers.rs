//! The colours of a picture in the registers of a terminal that draws sixels.
//!
//! In: the colour of each pixel. Out: at most 256 registers, and the register of each colour. Invariants: with a
//! register for each colour, all are exact; else those that cover much of the picture are, and a grey stays grey.
//! The others are put into groups, which start as one and are split where their colours differ most (the median cut
//! of Heckbert, 1982, at means); so no colour is compared with every register.

/// Registers that all terminals have.
const MAX_REGISTERS: usize = 256;

/// Most exact colours of a picture that has too many colours.
const MAX_EXACT: usize = 64;

/// Colours that cover at least one pixel of so many stay exact.
const EXACT_SHARE: usize = 1000;

const STEPS: usize = 101;

/// Red, green and blue, each from 0 to 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Percents(pub(super) [u8; 3]);

impl Percents {
    /// Converts from components of one byte.
    pub(super) fn from_rgb(colour: [u8; 3]) -> Self {
        Percents(colour.map(|value| ((u32::from(value) * 100 + 127) / 255) as u8))
    }

    fn index(self) -> usize {
        self.0
            .iter()
            .fold(0, |place, value| place * STEPS + usize::from(*value))
    }

    fn is_grey(self) -> bool {
        self.0[0] == self.0[1] && self.0[1] == self.0[2]
    }
}

#[derive(Debug)]
pub(super) struct Registers {
    colours: Vec<Percents>,
    /// The register of each colour, by the colour's index.
    numbers: Vec<u8>,
}

impl Registers {
    pub(super) fn for_pixels(pixels: impl Iterator<Item = Percents>) -> Self {
        let mut counts = vec![0u32; STEPS.pow(3)];
        let mut found = Vec::new();
        let mut total = 0;
        for colour in pixels {
            let count = &mut counts[colour.index()];
            if *count == 0 {
                found.push(colour);
            }
            *count += 1;
            total += 1;
        }
        let mut registers = Registers {
            colours: Vec::new(),
            numbers: vec![0; STEPS.pow(3)],
        };
        if found.len() <= MAX_REGISTERS {
            for colour in found {
                registers.add(colour, &[colour]);
            }
            return registers;
        }
        let count = |colour: &Percents| counts[colour.index()];
        found.sort_by_key(|colour| std::cmp::Reverse(count(colour)));
        let is_large = |colour: &Percents| count(colour) as usize * EXACT_SHARE >= total;
        let kept = found[..MAX_EXACT].partition_point(is_large);
        let rest = found.split_off(kept);
        for colour in found {
            registers.add(colour, &[colour]);
        }
        let rest = rest.into_iter().map(|colour| (colour, count(&colour)));
        for group in ColourGroup::split(rest.collect(), MAX_REGISTERS - kept) {
            let alike: Vec<Percents> = group.colours.iter().map(|(colour, _)| *colour).collect();
            registers.add(group.mean, &alike);
        }
        registers
    }

    /// Adds a register for the colours in `alike`.
    fn add(&mut self, register: Percents, alike: &[Percents]) {
        // The number of registers is at most 256.
        let number = self.colours.len() as u8;
        self.colours.push(register);
        for colour in alike {
            self.numbers[colour.index()] = number;
        }
    }

    pub(super) fn colours(&self) -> &[Percents] {
        &self.colours
    }

    pub(super) fn number(&self, colour: Percents) -> usize {
        usize::from(self.numbers[colour.index()])
    }
}

/// Colours that share a register, each with its number of pixels.
struct ColourGroup {
    colours: Vec<(Percents, u32)>,
    mean: Percents,
    /// Index of the component (red, green, blue) that differs most.
    axis: usize,
    /// Mean of that component: colours up to it form one half, the others the other half.
    cut: u8,
    /// Sum over the pixels of the squared distance from that mean.
    spread: u64,
}

impl ColourGroup {
    fn new(colours: Vec<(Percents, u32)>) -> Self {
        let total = colours
            .iter()
            .map(|(_, count)| u64::from(*count))
            .sum::<u64>();
        let total = total.max(1);
        let sums = |axis: usize| {
            colours
                .iter()
                .fold((0, 0), |(sum, squares), (colour, count)| {
                    let value = u64::from(colour.0[axis]);
                    let weighed = value * u64::from(*count);
                    (sum + weighed, squares + value * weighed)
                })
        };
        let sums = [0, 1, 2].map(sums);
        let spreads = sums.map(|(sum, squares)| squares - sum * sum / total);
        let axis = (0..3).max_by_key(|axis| spreads[*axis]).unwrap_or_default();
        ColourGroup {
            mean: Percents(sums.map(|(sum, _)| ((sum + total / 2) / total) as u8)),
            axis,
            cut: (sums[axis].0 / total) as u8,
            spread: spreads[axis],
            colours,
        }
    }

    /// Splits these colours into at most `most` groups, greys apart from others.
    fn split(colours: Vec<(Percents, u32)>, most: usize) -> Vec<ColourGroup> {
        let parts: (Vec<_>, Vec<_>) = colours.into_iter().partition(|(it, _)| it.is_grey());
        let mut groups = Vec::from([parts.0, parts.1].map(ColourGroup::new));
        groups.retain(|group| !group.colours.is_empty());
        while groups.len() < most {
            let Some(widest) = (0..groups.len()).max_by_key(|at| groups[*at].spread) else {
                break;
            };
            if groups[widest].spread == 0 {
                break;
            }
            let ColourGroup {
                colours, axis, cut, ..
            } = groups.swap_remove(widest);
            let (low, high) = colours.into_iter().partition(|(it, _)| it.0[axis] <= cut);
            groups.extend([low, high].map(ColourGroup::new));
        }
        groups
    }
}

//! Numbers drawn from a seed: the same ones each time (`splitmix64`).

/// A generator; a failure that prints its seed can be repeated.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; 0 when that is 0.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end.max(1) as u64).expect("less than a `usize`")
    }

    /// A number from `from` to `to`, both included.
    pub fn within(&mut self, from: u16, to: u16) -> u16 {
        let count = usize::from(to - from) + 1;
        from + u16::try_from(self.below(count)).expect("less than a number of 16 bits")
    }

    /// True in so many of a hundred cases.
    pub fn percent(&mut self, cases: u16) -> bool {
        self.within(0, 99) < cases
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

#[test]
fn numbers_are_in_their_bounds_and_the_same_for_a_seed() {
    let draw = || {
        let mut random = Random::new(7);
        (0..1000).map(|_| random.within(3, 5)).collect::<Vec<_>>()
    };
    let drawn = draw();
    assert_eq!(drawn, draw());
    assert!((3..=5).all(|number| drawn.contains(&number)));
    assert!(drawn.iter().all(|number| (3..=5).contains(number)));
}

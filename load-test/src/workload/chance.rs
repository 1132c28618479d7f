//! Numbers that look random and are the same in every run (`SplitMix64`).

/// A sequence of numbers.
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; zero when nothing is below it.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        // The product's upper half: evenly spread, and no division.
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_stay_below_their_bound_and_reach_all_of_it() {
        let mut chance = super::Chance::new(7);
        let mut seen = [false; 10];
        for _ in 0..1000 {
            seen[chance.below(10) as usize] = true;
        }
        assert_eq!(seen, [true; 10]);
        assert_eq!(chance.below(0), 0);
    }
}

//! Random numbers that are the same in every run (`SplitMix64`).

/// A sequence of random numbers.
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, or zero if `bound` is zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The upper half of the product is evenly distributed and takes no division.
        ((u128::from(self.draw()) * u128::from(bound)) >> 64) as u64
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

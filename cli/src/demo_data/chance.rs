//! Chance that is the same each time: every record draws from a stream of its own, named by the seed, the kind of
//! record and its number. So records can be made in any order, by any thread, and again.

use rand::{RngExt as _, SeedableRng as _, rngs::ChaCha8Rng};

/// What a stream is for. The numbers are part of what a seed means.
#[derive(Clone, Copy, Debug)]
#[repr(u64)]
pub(super) enum Stream {
    /// Who an affiliate is: drawn again wherever it is referred to.
    AffiliateCore = 1,
    /// Everything else of an affiliate.
    AffiliateRest = 2,
    /// What a case is about: drawn again wherever it is referred to.
    CaseCore = 3,
    /// Everything else of a case.
    CaseRest = 4,
    /// Whose a URL is and how it ended.
    UrlCore = 5,
    /// Everything else of a URL.
    UrlRest = 6,
    /// How many incidents other than URLs a case has.
    CaseOthers = 7,
    /// What these are.
    CaseIncidents = 8,
}

/// The stream of one record.
pub(super) struct Chance(ChaCha8Rng);

impl Chance {
    pub(super) fn of(seed: u64, stream: Stream, number: u64) -> Self {
        let mut key = [0; 32];
        for (part, value) in key.chunks_exact_mut(8).zip([seed, stream as u64, number]) {
            part.copy_from_slice(&value.to_le_bytes());
        }
        Self(ChaCha8Rng::from_seed(key))
    }

    /// Whether something of this many per cent happens.
    pub(super) fn percent(&mut self, percent: f64) -> bool {
        self.unit() * 100.0 < percent
    }

    /// From 0 up to, but not including, 1.
    pub(super) fn unit(&mut self) -> f64 {
        self.0.random()
    }

    /// A number below `bound`, which is at least 1.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0.random_range(0..bound.max(1))
    }

    /// A number of a range, both ends included.
    pub(super) fn between(&mut self, first: i64, last: i64) -> i64 {
        self.0.random_range(first..=last.max(first))
    }

    /// One of these.
    pub(super) fn one_of<'a, T: ?Sized>(&mut self, values: &[&'a T]) -> &'a T {
        values[self.below(values.len() as u64) as usize]
    }

    /// One of these.
    pub(super) fn pick<'a, T>(&mut self, values: &'a [T]) -> &'a T {
        &values[self.below(values.len() as u64) as usize]
    }

    /// The place of a weight: heavy ones come more often.
    pub(super) fn weighted(&mut self, weights: &[u32]) -> usize {
        let mut rest = self.below(u64::from(weights.iter().sum::<u32>()));
        for (place, weight) in weights.iter().enumerate() {
            match rest.checked_sub(u64::from(*weight)) {
                Some(left) => rest = left,
                None => return place,
            }
        }
        weights.len().saturating_sub(1)
    }

    /// A waiting time: mostly short, sometimes several times `mean`.
    pub(super) fn wait(&mut self, mean: f64) -> i64 {
        (-(1.0 - self.unit()).ln() * mean) as i64
    }

    /// A place among `count`, the first ones far more often than the last: few affiliates have most of the URLs.
    pub(super) fn skewed(&mut self, count: u64) -> u64 {
        // The inverse of a bounded Pareto distribution: Zipf's law without its table of sums.
        const EXPONENT: f64 = 0.35;
        let most = (count.max(1) as f64 + 1.0).powf(EXPONENT);
        let place = (1.0 + self.unit() * (most - 1.0)).powf(1.0 / EXPONENT) - 1.0;
        (place as u64).min(count.saturating_sub(1))
    }

    /// Digits and capitals for the `#` and `@` of a pattern.
    pub(super) fn filled(&mut self, pattern: &str) -> String {
        let fill = |letter| match letter {
            '#' => char::from(b'0' + self.below(10) as u8),
            '@' => char::from(b'A' + self.below(26) as u8),
            other => other,
        };
        pattern.chars().map(fill).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Chance, Stream};

    #[test]
    fn a_seed_means_the_same_for_ever() {
        let mut chance = Chance::of(7, Stream::UrlCore, 41);
        let drawn: Vec<u64> = (0..4).map(|_| chance.below(1000)).collect();
        let mut again = Chance::of(7, Stream::UrlCore, 41);
        assert_eq!(drawn, (0..4).map(|_| again.below(1000)).collect::<Vec<_>>());
        let mut other = Chance::of(8, Stream::UrlCore, 41);
        assert_ne!(drawn, (0..4).map(|_| other.below(1000)).collect::<Vec<_>>());
    }

    #[test]
    fn the_first_have_most_and_the_last_have_some() {
        let mut chance = Chance::of(1, Stream::UrlCore, 0);
        let mut counts = vec![0; 100];
        for _ in 0..100_000 {
            counts[chance.skewed(100) as usize] += 1;
        }
        assert!(counts[0] > 5 * counts[50] && counts[50] > 0 && counts[99] > 0, "{counts:?}");
        assert_eq!(chance.skewed(1), 0);
    }

    #[test]
    fn a_weight_of_nothing_never_comes() {
        let mut chance = Chance::of(1, Stream::UrlCore, 0);
        assert!((0..1000).all(|_| chance.weighted(&[3, 0, 1]) != 1));
    }
}

//! The records of a company that requests use.

use std::{ops::RangeInclusive, sync::Arc};

use anyhow::bail;
use fastrand::Rng;

/// IDs to draw from.
#[derive(Clone, Debug)]
pub enum Ids {
    /// All numbers of a range.
    Range(RangeInclusive<i64>),
    /// A list with gaps.
    Known(Arc<[i64]>),
}

impl Ids {
    /// Makes a range of an ascending list without gaps, or keeps the list.
    pub fn of(known: Vec<i64>) -> anyhow::Result<Self> {
        let (Some(&first), Some(&last)) = (known.first(), known.last()) else {
            bail!("the company has no affiliates");
        };
        Ok(if last - first + 1 == known.len() as i64 { Self::Range(first..=last) } else { Self::Known(known.into()) })
    }

    /// Draws an ID.
    pub fn draw(&self, random: &mut Rng) -> i64 {
        match self {
            Self::Range(range) => random.i64(range.clone()),
            Self::Known(ids) => ids[random.usize(..ids.len())],
        }
    }

    /// The lowest and the highest ID.
    pub fn bounds(&self) -> (i64, i64) {
        match self {
            Self::Range(range) => (*range.start(), *range.end()),
            Self::Known(ids) => (ids[0], ids[ids.len() - 1]),
        }
    }
}

/// The records of a company.
#[derive(Clone, Debug)]
pub struct Universe {
    /// The company.
    pub company: i64,
    /// IDs of affiliates.
    pub affiliates: Ids,
    /// Number of affiliates, unless the load changes it.
    pub affiliates_total: Option<u64>,
    /// Number of URLs at the start.
    pub urls: u64,
    /// Number of cases at the start.
    pub cases: u64,
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::Ids;

    #[test]
    fn gaps_are_never_drawn() {
        let mut random = Rng::with_seed(1);
        let ids = Ids::of(vec![3, 5, 9]).unwrap();
        assert!((0..100).all(|_| [3, 5, 9].contains(&ids.draw(&mut random))));
        assert!(matches!(Ids::of(vec![3, 4, 5]).unwrap(), Ids::Range(range) if range == (3..=5)));
        assert!(Ids::of(vec![]).is_err());
    }
}

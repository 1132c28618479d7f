//! Computes medians, spreads, and ratios within rounds.

use serde::Serialize;

/// The median and the spread of several rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Summary {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

/// Returns the median, or NaN for an empty list.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        length if length % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

impl Summary {
    /// Returns the summary of rounds, or `None` for an empty list.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        let min = values.iter().copied().min_by(f64::total_cmp)?;
        let max = values.iter().copied().max_by(f64::total_cmp)?;
        Some(Self { median: median(values), min, max })
    }
}

/// Formats a value with its significant digits.
pub(crate) fn figure(value: f64) -> String {
    match value.abs() {
        _ if value.is_nan() => "–".to_owned(),
        100.0.. => {
            let digits = format!("{value:.0}");
            let groups: Vec<&str> =
                digits.as_bytes().rchunks(3).rev().map(|group| str::from_utf8(group).unwrap_or_default()).collect();
            groups.join(",")
        }
        10.0.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Returns the ratio of two values in each round.
pub(crate) fn ratios(over: &[f64], under: &[f64]) -> Vec<f64> {
    over.iter().zip(under).map(|(over, under)| over / under).collect()
}

#[cfg(test)]
mod tests {
    use super::{Summary, figure, median, ratios};

    #[test]
    fn figures_show_few_significant_digits() {
        for (value, text) in [(1_234_567.8, "1,234,568"), (999.6, "1,000"), (12.34, "12.3"), (0.567, "0.57")] {
            assert_eq!(figure(value), text);
        }
    }

    #[test]
    fn median_ignores_value_order() {
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        assert!((median(&[4.0, 1.0, 3.0, 2.0]) - 2.5).abs() < f64::EPSILON);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn summary_contains_median_minimum_and_maximum() {
        let expected = Summary { median: 2.0, min: 1.0, max: 9.0 };
        assert_eq!(Summary::of(&[2.0, 9.0, 1.0]), Some(expected));
        assert_eq!(Summary::of(&[]), None);
    }

    #[test]
    fn ratios_pair_values_of_the_same_round() {
        assert_eq!(ratios(&[2.0, 9.0], &[1.0, 3.0]), [2.0, 3.0]);
    }
}

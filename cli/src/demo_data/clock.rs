//! When things happen: over three years, more each year, more by day than by night and on weekdays than at weekends.

use std::fmt::Write as _;

use time::{Date, Duration, OffsetDateTime, Time};

/// Seconds of a day.
pub(super) const DAY: i64 = 86_400;
/// How long the records go back.
const WEEKS: i64 = 156;
/// How much happens in each hour of a day (UTC), and on each day of a week, from Monday.
const HOURS: [u32; 24] = [2, 1, 1, 1, 2, 3, 5, 7, 9, 11, 12, 12, 11, 12, 13, 13, 12, 11, 9, 8, 7, 6, 5, 3];
const WEEKDAYS: [u32; 7] = [17, 18, 17, 17, 15, 9, 7];

/// The time that the records span. Moments are seconds since 1970, UTC.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// The first moment of the records: the beginning of a Monday.
    start: i64,
    /// The moment that the records lead up to; nothing but plans lies behind it.
    pub(super) end: i64,
}

impl Clock {
    /// Up to the beginning of a day.
    pub(super) fn until(day: Date) -> Self {
        let monday = day - Duration::days(i64::from(day.weekday().number_days_from_monday()));
        let start = monday - Duration::weeks(WEEKS);
        Self { start: midnight(start), end: midnight(day) }
    }

    /// When the record `number` of `count` came to be: later for each, within the span.
    pub(super) fn nth(&self, number: u64, count: u64, jitter: f64) -> i64 {
        // A share of the span: its square root, so that twice as much happens late as early on average.
        let share = ((number as f64 + jitter) / count.max(1) as f64).powf(0.7);
        let weeks = share * (self.end - self.start) as f64 / (7 * DAY) as f64;
        let (day, of_day) = warped(weeks.fract(), &WEEKDAYS);
        let (hour, of_hour) = warped(of_day, &HOURS);
        let moment = self.start + (weeks as i64) * 7 * DAY + day * DAY + hour * 3600 + (of_hour * 3600.0) as i64;
        moment.min(self.end - 1)
    }

    /// Some while after a moment, but before the end.
    pub(super) fn later(&self, moment: i64, wait: i64) -> i64 {
        within(moment, wait, self.end - 1)
    }
}

/// Some while after a moment and not after `last`: what would come later comes at some moment between, as nobody would
/// believe many things that all happen at the last one.
pub(super) fn within(moment: i64, wait: i64, last: i64) -> i64 {
    let left = last.saturating_sub(moment).max(0) + 1;
    moment + wait.max(0) % left
}

/// Where a share of a whole lies when its parts weigh so much: the part, and the share of the part.
fn warped(share: f64, weights: &[u32]) -> (i64, f64) {
    let mut rest = share * f64::from(weights.iter().sum::<u32>());
    for (place, weight) in weights.iter().enumerate() {
        let weight = f64::from(*weight);
        if rest < weight {
            return (place as i64, rest / weight);
        }
        rest -= weight;
    }
    (weights.len() as i64 - 1, 0.999)
}

fn midnight(day: Date) -> i64 {
    day.with_time(Time::MIDNIGHT).assume_utc().unix_timestamp()
}

/// The day of a moment.
pub(super) fn day_of(moment: i64) -> Date {
    OffsetDateTime::from_unix_timestamp(moment).map_or(Date::MIN, OffsetDateTime::date)
}

/// Writes a moment as the database takes it.
pub(super) fn write_moment(text: &mut String, moment: i64) {
    let day = day_of(moment);
    let seconds = moment.rem_euclid(DAY);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let (month, of_month) = (u8::from(day.month()), day.day());
    // Writing to a string does not fail.
    let _ = write!(text, "{:04}-{month:02}-{of_month:02} {hour:02}:{minute:02}:{second:02}+00", day.year());
}

#[cfg(test)]
mod tests {
    use time::macros::date;

    use super::{Clock, DAY, within, write_moment};

    #[test]
    fn moments_ascend_within_three_years_and_fill_them() {
        let clock = Clock::until(date!(2026 - 11 - 20));
        let moments: Vec<i64> = (0..10_000).map(|number| clock.nth(number, 10_000, 0.5)).collect();
        assert!(moments.is_sorted());
        assert!(moments[0] >= clock.start && *moments.last().unwrap() < clock.end);
        assert!(clock.end - moments[0] > 1080 * DAY && clock.end - moments.last().unwrap() < 2 * DAY);
        let late = moments.iter().filter(|moment| **moment > clock.end - 365 * DAY).count();
        assert!((3500..5500).contains(&late), "{late}");
    }

    #[test]
    fn nothing_happens_after_its_end() {
        assert_eq!(within(100, 5, 200), 105);
        assert!((100..=200).contains(&within(100, 5000, 200)));
        assert_eq!(within(200, 5, 200), 200);
        assert_eq!(within(300, 5, 200), 300);
    }

    #[test]
    fn moments_are_written_in_full() {
        let mut text = String::new();
        write_moment(&mut text, 1_709_168_461);
        assert_eq!(text, "2024-02-29 01:01:01+00");
    }
}

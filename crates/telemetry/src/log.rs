//! Rate-limited logging. During an outage, every request fails and would otherwise log thousands of lines per second.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Maximum number of lines per second from one call site.
const LINES: u64 = 5;

/// Logs like [`tracing::error!`], but at most five lines per second per call site.
///
/// The `left_out` field counts the lines omitted before this one.
#[macro_export]
macro_rules! error_limited {
    ($($line:tt)+) => { $crate::log::limited!(error, $($line)+) };
}

/// Logs like [`tracing::warn!`], but at most five lines per second per call site.
///
/// The `left_out` field counts the lines omitted before this one.
#[macro_export]
macro_rules! warn_limited {
    ($($line:tt)+) => { $crate::log::limited!(warn, $($line)+) };
}

/// Logs at a level, with or without a target.
#[doc(hidden)]
#[macro_export]
macro_rules! limited {
    (@ $level:ident, ($($target:tt)*), $($line:tt)+) => {{
        static LINES: $crate::log::Lines = $crate::log::Lines::new();
        if let Some(left_out) = LINES.pass() {
            let left_out = (left_out > 0).then_some(left_out);
            tracing::$level!($($target)* left_out, $($line)+);
        }
    }};
    ($level:ident, target: $target:literal, $($line:tt)+) => { $crate::log::limited!(@ $level, (target: $target,), $($line)+) };
    ($level:ident, $($line:tt)+) => { $crate::log::limited!(@ $level, (), $($line)+) };
}

#[doc(hidden)]
pub use limited;

/// A call site's line counter, used by [`warn_limited!`] and [`error_limited!`].
#[derive(Debug)]
pub struct Lines(Mutex<Option<(Instant, u64)>>);

impl Lines {
    /// Creates an empty counter.
    #[expect(clippy::new_without_default, reason = "statics need a const function")]
    pub const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Returns how many lines were omitted before this one, or `None` to omit this one.
    pub fn pass(&self) -> Option<u64> {
        self.pass_at(Instant::now())
    }

    fn pass_at(&self, now: Instant) -> Option<u64> {
        let mut second = self.0.lock();
        match &mut *second {
            Some((start, lines)) if now.duration_since(*start) < Duration::from_secs(1) => {
                *lines += 1;
                (*lines <= LINES).then_some(0)
            }
            last => {
                let lines = last.replace((now, 1)).map_or(0, |(_, lines)| lines);
                Some(lines.saturating_sub(LINES))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limited_logs_write_five_lines_per_second() {
        let (place, start) = (&Lines::new(), Instant::now());
        let logged = |second| {
            let now = start + Duration::from_secs(second);
            (0..100).filter_map(|_| place.pass_at(now)).collect::<Vec<_>>()
        };
        assert_eq!(logged(0), [0; 5]);
        assert_eq!(logged(1), [95, 0, 0, 0, 0]);
        assert_eq!(place.pass_at(start + Duration::from_mins(1)), Some(95));
        assert_eq!(place.pass_at(start + Duration::from_mins(2)), Some(0));
    }
}

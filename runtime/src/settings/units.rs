//! Durations and sizes as people write them, such as `30s` and `32MiB`.

use std::{ops::RangeInclusive, time::Duration};

const KIB: u64 = 1 << 10;

/// A parser of durations within a range: `500ms`, `30s`, `5m`, `8h`, `7d`. A number without a unit counts seconds.
pub fn duration(range: RangeInclusive<Duration>) -> impl Fn(&str) -> Result<Duration, String> + Clone {
    move |text| {
        let (number, unit) = number_and_unit(text)?;
        let milliseconds = match unit {
            "ms" => 1,
            "" | "s" => 1000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return Err(format!("{unit:?} is not a unit of time: ms, s, m, h or d")),
        };
        let duration = number.checked_mul(milliseconds).map(Duration::from_millis);
        duration.filter(|duration| range.contains(duration)).ok_or_else(|| {
            format!("must be between {} and {}", write_duration(*range.start()), write_duration(*range.end()))
        })
    }
}

/// A parser of sizes in bytes within a range: `4096`, `500KiB`, `32MiB`, `1GiB`.
pub fn size(range: RangeInclusive<u64>) -> impl Fn(&str) -> Result<usize, String> + Clone {
    move |text| {
        let (number, unit) = number_and_unit(text)?;
        let factor = match unit {
            "" | "B" => 1,
            "KiB" => KIB,
            "MiB" => KIB << 10,
            "GiB" => KIB << 20,
            _ => return Err(format!("{unit:?} is not a unit of size: B, KiB, MiB or GiB")),
        };
        let bytes = number.checked_mul(factor).filter(|bytes| range.contains(bytes));
        bytes
            .and_then(|bytes| usize::try_from(bytes).ok())
            .ok_or_else(|| format!("must be between {} and {}", write_size(*range.start()), write_size(*range.end())))
    }
}

fn number_and_unit(text: &str) -> Result<(u64, &str), String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    Ok((number.parse().map_err(|_| "must start with a whole number".to_owned())?, unit.trim()))
}

fn write_duration(duration: Duration) -> String {
    match duration.as_secs() {
        0 => format!("{}ms", duration.as_millis()),
        seconds if seconds % 86_400 == 0 => format!("{}d", seconds / 86_400),
        seconds if seconds % 3600 == 0 => format!("{}h", seconds / 3600),
        seconds => format!("{seconds}s"),
    }
}

fn write_size(bytes: u64) -> String {
    if bytes.is_multiple_of(KIB << 20) {
        format!("{}GiB", bytes / (KIB << 20))
    } else if bytes.is_multiple_of(KIB) {
        format!("{}KiB", bytes / KIB)
    } else {
        format!("{bytes}B")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{duration, size};

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn durations_have_a_unit_or_count_seconds() {
        let parse = duration(Duration::from_millis(1)..=Duration::from_hours(24));
        for (text, expected) in [("30", 30 * SECOND), ("10m", 600 * SECOND), ("1d", 86_400 * SECOND)] {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
        assert_eq!(parse("500ms"), Ok(SECOND / 2));
        for wrong in ["", "x", "5 parsecs", "-1s", "1.5h", "8H", "99999999999999999999", "0"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse("25h"), Err("must be between 1ms and 1d".to_owned()));
    }

    #[test]
    fn sizes_have_a_unit_or_count_bytes() {
        let parse = size(1024..=1 << 40);
        assert_eq!((parse("32MiB"), parse("4096")), (Ok(32 << 20), Ok(4096)));
        for wrong in ["", "x", "5 parsecs", "99999999999999999999GiB"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse("0"), Err("must be between 1KiB and 1024GiB".to_owned()));
    }
}

//! Parsers for durations, sizes, counts and addresses, such as `30s`, `32MiB` and `localhost:8080`.

use std::{
    fmt::Display,
    net::{SocketAddr, ToSocketAddrs as _},
    ops::RangeInclusive,
    str::FromStr,
    time::Duration,
};

/// Maximum value of a count limit.
pub const MAX_COUNT: usize = 1 << 30;
/// Bounds of a duration limit.
pub const ANY_TIME: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_hours(24);

/// Time units in milliseconds, largest first.
const TIMES: &[(&str, u64)] = &[("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("", 1000), ("ms", 1)];
/// Size units in bytes, largest first.
const SIZES: &[(&str, u64)] = &[("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1), ("", 1)];

/// Returns a parser for durations within a range, such as `500ms`, `30s`, `5m`, `8h` or `7d`. Numbers without a unit are seconds.
pub fn duration(range: RangeInclusive<Duration>) -> impl Fn(&str) -> Result<Duration, String> + Clone {
    let milliseconds = |bound: &Duration| bound.as_millis() as u64;
    let range = milliseconds(range.start())..=milliseconds(range.end());
    move |text| parse(text, TIMES, &range).map(Duration::from_millis)
}

/// Returns a parser for sizes in bytes within a range, such as `4096`, `500KiB`, `32MiB` or `1GiB`.
pub fn size(range: RangeInclusive<u64>) -> impl Fn(&str) -> Result<usize, String> + Clone {
    move |text| {
        let bytes = parse(text, SIZES, &range)?;
        usize::try_from(bytes).map_err(|_| "is too large for this machine".to_owned())
    }
}

/// Returns a parser for whole numbers within a range.
pub fn count<T>(range: RangeInclusive<T>) -> impl Fn(&str) -> Result<T, String> + Clone
where
    T: FromStr + PartialOrd + Display + Clone,
{
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| format!("must be a whole number between {} and {}", range.start(), range.end()))
    }
}

/// Parses `host:port`, where the host is an IP address or a name. For a name, prefers an IPv4 address.
pub fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let port = text.rsplit_once(':').map_or("", |(_, port)| port);
    if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_err() {
        return Err("the port must be between 0 and 65535".to_owned());
    }
    let addresses = text.to_socket_addrs().map_err(|_| {
        "must be host:port, such as 127.0.0.1:8080, [::1]:8080 or localhost:8080; host names must resolve".to_owned()
    })?;
    addresses.min_by_key(SocketAddr::is_ipv6).ok_or_else(|| "contains a host name that does not resolve".to_owned())
}

fn parse(text: &str, units: &[(&str, u64)], range: &RangeInclusive<u64>) -> Result<u64, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| "must start with a whole number".to_owned())?;
    let Some((_, factor)) = units.iter().find(|(name, _)| *name == unit.trim()) else {
        let names: Vec<&str> = units.iter().map(|(name, _)| *name).filter(|name| !name.is_empty()).collect();
        return Err(format!("{unit:?} is not one of the units {}", names.join(", ")));
    };
    let value = number.checked_mul(*factor).filter(|value| range.contains(value));
    value.ok_or_else(|| format!("must be between {} and {}", write(*range.start(), units), write(*range.end(), units)))
}

/// Formats a value in the largest unit that divides it evenly.
fn write(value: u64, units: &[(&str, u64)]) -> String {
    let (name, factor) = units.iter().find(|(_, factor)| value.is_multiple_of(*factor)).unwrap_or(&("", 1));
    format!("{}{name}", value / factor)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{count, duration, listen_address, size};

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn duration_flags_accept_units_or_plain_seconds() {
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
    fn counts_have_a_range() {
        let parse = count(1..=86_400_u64);
        assert_eq!(parse("86400"), Ok(86_400));
        for wrong in ["2s", "abc", "0", "86401", "-1", "1.5", ""] {
            assert_eq!(parse(wrong), Err("must be a whole number between 1 and 86400".to_owned()), "{wrong}");
        }
    }

    #[test]
    fn size_flags_accept_units_or_plain_bytes() {
        let parse = size(1024..=1 << 40);
        assert_eq!((parse("32MiB"), parse("4096")), (Ok(32 << 20), Ok(4096)));
        for wrong in ["", "x", "5 parsecs", "99999999999999999999GiB"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse("0"), Err("must be between 1KiB and 1024GiB".to_owned()));
    }

    #[test]
    fn listen_addresses_accept_ips_and_host_names() {
        for (text, expected) in
            [("127.0.0.1:0", "127.0.0.1:0"), ("[::1]:80", "[::1]:80"), ("localhost:81", "127.0.0.1:81")]
        {
            assert_eq!(listen_address(text).map(|address| address.to_string()), Ok(expected.to_owned()), "{text}");
        }
        for wrong in ["", "8080", "localhost", "localhost:", "localhost:99999", "http://localhost:80", "::1:x"] {
            assert!(listen_address(wrong).is_err(), "{wrong}");
        }
        assert!(listen_address("127.0.0.1:99999").unwrap_err().contains("between 0 and 65535"));
    }
}

//! Rate limits, and per-company limits that override the defaults.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    num::NonZeroU32,
    str::FromStr,
    time::Duration,
};

use flags::{MAX_COUNT, count};

/// A per-company limit, such as `17:rate-limit=200/s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompanyLimit {
    /// The company's ID.
    pub company: i64,
    /// The company's limit.
    pub limit: Limit,
}

/// The kind and value of a per-company limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// `rate-limit`: calls per window.
    Rate(RateLimit),
    /// `in-flight`: calls in flight.
    InFlight(usize),
}

const EXPECTED: &str = "must be COMPANY:LIMIT=VALUE, such as 17:rate-limit=200/s; \
                        the limits are rate-limit and in-flight";

impl FromStr for CompanyLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (company, limit) = text.split_once(':').ok_or(EXPECTED)?;
        let (name, value) = limit.split_once('=').ok_or(EXPECTED)?;
        let company = company.parse().map_err(|_| format!("{company:?} is not a company ID; a limit {EXPECTED}"))?;
        let limit = match name {
            "rate-limit" => value.parse().map(Limit::Rate).map_err(str::to_owned),
            "in-flight" => count(1..=MAX_COUNT)(value).map(Limit::InFlight),
            _ => return Err(format!("unknown limit {name:?}: use rate-limit or in-flight")),
        };
        limit.map(|limit| Self { company, limit }).map_err(|error| format!("{name}: {error}"))
    }
}

impl fmt::Display for CompanyLimit {
    /// Writes the company and the limit's name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.limit {
            Limit::Rate(_) => "rate-limit",
            Limit::InFlight(_) => "in-flight",
        };
        write!(f, "{}:{name}", self.company)
    }
}

impl CompanyLimit {
    /// Returns the limits of one kind, by company.
    pub(crate) fn by_company<T>(limits: &[Self], of_kind: impl Fn(Limit) -> Option<T>) -> HashMap<i64, T> {
        limits.iter().filter_map(|limit| Some((limit.company, of_kind(limit.limit)?))).collect()
    }

    /// Fails if a company has two limits of the same kind.
    pub fn check(limits: &[Self]) -> Result<(), String> {
        let mut seen = HashSet::new();
        let repeated = limits.iter().find(|limit| !seen.insert(limit.to_string()));
        repeated.map_or(Ok(()), |limit| Err(format!("{limit} is set twice: remove one")))
    }
}

/// A company's rate limit: `N/s`, `N/m` or `off`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateLimit {
    /// No limit.
    Off,
    /// `requests` per `window`, which can arrive in one burst.
    Limited {
        /// The number of requests.
        requests: NonZeroU32,
        /// The length of the window.
        window: Duration,
    },
}

const RATE_EXPECTED: &str = "must be N/s, N/m or off, with N from 1 to 4294967295";

impl FromStr for RateLimit {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "off" {
            return Ok(Self::Off);
        }
        let (requests, window) = match text.split_once('/').ok_or(RATE_EXPECTED)? {
            (requests, "s") => (requests, Duration::from_secs(1)),
            (requests, "m") => (requests, Duration::from_mins(1)),
            _ => return Err(RATE_EXPECTED),
        };
        let requests = requests.parse().map_err(|_| RATE_EXPECTED)?;
        Ok(Self::Limited { requests, window })
    }
}

#[cfg(test)]
mod tests {
    use super::{CompanyLimit, Limit, RateLimit};

    fn parse(text: &str) -> Result<CompanyLimit, String> {
        text.parse()
    }

    #[test]
    fn company_limits_parse_and_display() {
        for (text, company, limit) in [
            ("17:rate-limit=200/s", 17, Limit::Rate("200/s".parse().unwrap())),
            ("17:rate-limit=off", 17, Limit::Rate("off".parse().unwrap())),
            ("17:in-flight=256", 17, Limit::InFlight(256)),
            ("9007199254740993:in-flight=2", 9_007_199_254_740_993, Limit::InFlight(2)),
        ] {
            let parsed = parse(text).unwrap();
            assert_eq!(parsed, CompanyLimit { company, limit });
            assert!(text.starts_with(&format!("{parsed}=")), "{parsed}");
        }
    }

    #[test]
    fn parse_errors_name_the_invalid_part() {
        for (text, cause) in [
            ("rate-limit=200/s", "must be COMPANY:LIMIT=VALUE"),
            ("17:200/s", "must be COMPANY:LIMIT=VALUE"),
            ("x:in-flight=2", "\"x\" is not a company ID"),
            ("17:in flight=2", "unknown limit \"in flight\""),
            ("17:rate-limit=200", "rate-limit: must be N/s, N/m or off"),
            ("17:in-flight=0", "in-flight: must be a whole number between 1 and"),
            ("17:memory=64MiB", "unknown limit \"memory\""),
        ] {
            assert!(parse(text).unwrap_err().starts_with(cause), "{text}: {:?}", parse(text));
        }
    }

    #[test]
    fn duplicate_company_limits_are_rejected() {
        let check = |texts: &[&str]| {
            let limits: Vec<CompanyLimit> = texts.iter().map(|text| text.parse().unwrap()).collect();
            CompanyLimit::check(&limits)
        };
        assert_eq!(check(&["17:in-flight=4", "18:in-flight=4", "17:rate-limit=4/s"]), Ok(()));
        let repeated = check(&["18:in-flight=4", "17:in-flight=4", "17:in-flight=5"]);
        assert_eq!(repeated, Err("17:in-flight is set twice: remove one".to_owned()));
        assert_eq!(check(&[]), Ok(()));
    }

    #[test]
    fn rate_limits_accept_only_documented_forms() {
        assert_eq!("off".parse::<RateLimit>().unwrap(), RateLimit::Off);
        assert!(matches!("5/s".parse().unwrap(), RateLimit::Limited { requests, window }
            if requests.get() == 5 && window.as_secs() == 1));
        assert!(matches!("5/m".parse().unwrap(), RateLimit::Limited { window, .. } if window.as_secs() == 60));
        for wrong in ["", "5", "0/s", "-1/s", "5/h", "5 / s", "on"] {
            assert!(wrong.parse::<RateLimit>().is_err(), "{wrong}");
        }
    }
}

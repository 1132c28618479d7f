//! The rate limit of a company: GCRA, one key a company.

use std::{num::NonZeroU32, str::FromStr, time::Duration};

use compliance_api::{
    error::{Error, Reason},
    v1::RateLimitHeaders,
};
use governor::{
    Quota, RateLimiter,
    clock::{Clock, DefaultClock},
    middleware::StateInformationMiddleware,
    state::keyed::DashMapStateStore,
};

/// How many requests a company may make: `N/s`, `N/m` or `off`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateLimit {
    /// No limit.
    Off,
    /// `requests` in each `window`, all at once if need be.
    Limited {
        /// Requests.
        requests: NonZeroU32,
        /// Window.
        window: Duration,
    },
}

impl Default for RateLimit {
    /// 1000 requests a second.
    fn default() -> Self {
        Self::Limited { requests: NonZeroU32::MIN.saturating_add(999), window: Duration::from_secs(1) }
    }
}

const EXPECTED: &str = "a rate limit is N/s, N/m or off, with N from 1 to 4294967295";

impl FromStr for RateLimit {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "off" {
            return Ok(Self::Off);
        }
        let (requests, window) = match text.split_once('/').ok_or(EXPECTED)? {
            (requests, "s") => (requests, Duration::from_secs(1)),
            (requests, "m") => (requests, Duration::from_mins(1)),
            _ => return Err(EXPECTED),
        };
        let requests = requests.parse().map_err(|_| EXPECTED)?;
        Ok(Self::Limited { requests, window })
    }
}

pub(crate) struct Limiter<C: Clock = DefaultClock> {
    requests: NonZeroU32,
    window: Duration,
    companies: RateLimiter<i64, DashMapStateStore<i64>, C, StateInformationMiddleware>,
}

impl Limiter {
    /// `None` when there is no limit.
    pub(crate) fn new(limit: RateLimit) -> Option<Self> {
        Self::with_clock(limit, DefaultClock::default())
    }
}

impl<C: Clock> Limiter<C> {
    /// A limiter whose windows pass on this clock.
    fn with_clock(limit: RateLimit, clock: C) -> Option<Self> {
        let RateLimit::Limited { requests, window } = limit else { return None };
        let interval = (window / requests.get()).max(Duration::from_nanos(1));
        let quota = Quota::with_period(interval)?.allow_burst(requests);
        let companies = RateLimiter::dashmap_with_clock(quota, clock).with_middleware();
        Some(Self { requests, window, companies })
    }

    pub(crate) fn count(&self, company_id: i64) -> Result<RateLimitHeaders, (RateLimitHeaders, Error)> {
        match self.companies.check_key(&company_id) {
            Ok(state) => Ok(self.headers(state.remaining_burst_capacity())),
            Err(until) => {
                let wait = until.wait_time_from(self.companies.clock().now());
                Err((self.headers(0), self.exceeded(company_id, wait)))
            }
        }
    }

    fn exceeded(&self, company_id: i64, wait: Duration) -> Error {
        // Whole seconds, so that a caller who waits for this long is let through.
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        let error = Error::new(Reason::RateLimited, "Too many requests. Please wait before trying again.")
            .retry_after(Duration::from_secs(seconds.max(1)));
        error.with("company_id", company_id).with("limit", self.requests)
    }

    /// Drops the state of companies that have their whole limit.
    pub(crate) fn sweep(&self) {
        self.companies.retain_recent();
    }

    /// What a company has left of its limit, and how many seconds it takes until the whole limit is available again.
    fn headers(&self, remaining: u32) -> RateLimitHeaders {
        let limit = self.requests.get();
        let used = f64::from(limit.saturating_sub(remaining)) / f64::from(limit);
        let reset = (used * self.window.as_secs_f64()).ceil() as u64;
        RateLimitHeaders { limit: limit.into(), remaining: remaining.into(), reset }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use compliance_api::{error::Error, v1::RateLimitHeaders};
    use governor::clock::FakeRelativeClock;

    use super::{Limiter, RateLimit};

    fn limiter(limit: &str) -> Limiter<FakeRelativeClock> {
        limiter_and_clock(limit).0
    }

    fn limiter_and_clock(limit: &str) -> (Limiter<FakeRelativeClock>, FakeRelativeClock) {
        let clock = FakeRelativeClock::default();
        (Limiter::with_clock(limit.parse().unwrap(), clock.clone()).unwrap(), clock)
    }

    fn wait(error: &Error) -> u64 {
        error.retry_after.unwrap().as_secs()
    }

    #[test]
    fn the_headers_say_what_is_left_and_when_all_of_it_is() {
        let headers = |limit, remaining| limiter(limit).headers(remaining);
        assert_eq!(headers("10/m", 10), RateLimitHeaders { limit: 10, remaining: 10, reset: 0 });
        assert_eq!(headers("10/m", 4), RateLimitHeaders { limit: 10, remaining: 4, reset: 36 });
        assert_eq!(headers("7/m", 0), RateLimitHeaders { limit: 7, remaining: 0, reset: 60 });
        assert_eq!(headers("7/m", 6).reset, 9);
        assert_eq!(headers("10/s", 9).reset, 1);
        let counted = limiter("3/m");
        assert_eq!([1, 1, 1, 2].map(|company| counted.count(company).unwrap().remaining), [2, 1, 0, 2]);
        let (refused, _) = counted.count(1).unwrap_err();
        assert_eq!(refused, RateLimitHeaders { limit: 3, remaining: 0, reset: 60 });
    }

    #[test]
    fn a_caller_that_waits_as_long_as_it_is_told_is_let_through() {
        let (limiter, clock) = limiter_and_clock("1/m");
        let retry_after = |millis| wait(&limiter.exceeded(1, Duration::from_millis(millis)));
        assert_eq!([0, 1, 999, 1000, 1001, 2000, 59_500].map(retry_after), [1, 1, 1, 1, 2, 2, 60]);
        assert!(limiter.count(1).is_ok());
        let (_, error) = limiter.count(1).unwrap_err();
        assert_eq!(wait(&error), 60);
        clock.advance(Duration::from_millis(59_999));
        assert_eq!(wait(&limiter.count(1).unwrap_err().1), 1);
        clock.advance(Duration::from_millis(1));
        assert!(limiter.count(1).is_ok() && limiter.count(1).is_err());
        assert_eq!(wait(&self::limiter("1/s").exceeded(1, Duration::from_millis(999))), 1);
    }

    #[test]
    fn companies_that_have_their_whole_limit_are_forgotten_and_no_others() {
        let (limiter, clock) = limiter_and_clock("4/m");
        assert!(limiter.count(1).is_ok() && (0..4).all(|_| limiter.count(2).is_ok()));
        // One has had its whole limit for 15 s, for which it is still remembered.
        clock.advance(Duration::from_secs(31));
        limiter.sweep();
        assert_eq!(limiter.companies.len(), 1);
        assert_eq!([1, 2].map(|company| limiter.count(company).unwrap().remaining), [3, 1]);
        clock.advance(Duration::from_mins(2));
        limiter.sweep();
        assert!(limiter.companies.is_empty());
    }

    #[test]
    fn limits_are_written_as_documented() {
        assert_eq!("off".parse::<RateLimit>().unwrap(), RateLimit::Off);
        assert!(matches!("5/s".parse().unwrap(), RateLimit::Limited { requests, window }
            if requests.get() == 5 && window.as_secs() == 1));
        assert!(matches!("5/m".parse().unwrap(), RateLimit::Limited { window, .. } if window.as_secs() == 60));
        for wrong in ["", "5", "0/s", "-1/s", "5/h", "5 / s", "on"] {
            assert!(wrong.parse::<RateLimit>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn one_company_does_not_use_up_the_limit_of_another() {
        let limiter = limiter("2/m");
        assert!(limiter.count(1).is_ok() && limiter.count(1).is_ok());
        let (_, error) = limiter.count(1).unwrap_err();
        assert_eq!(wait(&error), 30);
        assert!(limiter.count(2).is_ok() && limiter.count(2).is_ok() && limiter.count(2).is_err());
    }
}

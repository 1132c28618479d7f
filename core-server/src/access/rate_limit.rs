//! The rate limit of a company: GCRA with one key per company.
//!
//! Cores share no state. A gateway that spreads its calls over N cores states N in each call ([`CORES`]). Each core counts the call as N
//! calls, so all cores together allow what one core would.

use std::{collections::HashMap, num::NonZeroU32, str::FromStr, time::Duration};

use compliance_api::{
    client::CORES,
    error::{Error, Reason},
    v1::RateLimitHeaders,
};
use governor::{
    InsufficientCapacity, Quota, RateLimiter,
    clock::{Clock, DefaultClock},
    middleware::StateInformationMiddleware,
    state::keyed::DashMapStateStore,
};
use http::HeaderMap;

/// Maximum number of cores of a gateway. A call that states more counts as one.
const MAX_CORES: u32 = 256;

/// How many requests a company may make: `N/s`, `N/m` or `off`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateLimit {
    /// No limit.
    Off,
    /// `requests` in each `window`, also in one burst.
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

/// The number of cores over which the sender spreads its calls. The default is one. A caller that is not a gateway can only make its own
/// calls cost more.
pub(crate) fn cores(headers: &HeaderMap) -> NonZeroU32 {
    let cores = headers.get(CORES).and_then(|value| value.to_str().ok()?.parse::<NonZeroU32>().ok());
    cores.filter(|cores| cores.get() <= MAX_CORES).unwrap_or(NonZeroU32::MIN)
}

pub(crate) struct Limiter<C: Clock = DefaultClock> {
    requests: NonZeroU32,
    window: Duration,
    companies: RateLimiter<i64, DashMapStateStore<i64>, C, StateInformationMiddleware>,
}

/// The default limit, and the limits of companies that have their own.
pub(crate) struct Limiters {
    default: Option<Limiter>,
    companies: HashMap<i64, Option<Limiter>>,
}

impl Limiters {
    pub(crate) fn new(default: RateLimit, companies: HashMap<i64, RateLimit>) -> Self {
        let companies = companies.into_iter().map(|(company, limit)| (company, Limiter::new(limit))).collect();
        Self { default: Limiter::new(default), companies }
    }

    /// `None` if the company has no limit.
    pub(crate) fn of(&self, company_id: i64) -> Option<&Limiter> {
        self.companies.get(&company_id).unwrap_or(&self.default).as_ref()
    }

    /// Drops the state of companies whose whole limit is available.
    pub(crate) fn sweep(&self) {
        self.companies.values().chain([&self.default]).flatten().for_each(Limiter::sweep);
    }
}

impl Limiter {
    /// `None` without a limit.
    fn new(limit: RateLimit) -> Option<Self> {
        Self::with_clock(limit, DefaultClock::default())
    }
}

impl<C: Clock> Limiter<C> {
    /// Creates a limiter that measures its windows with this clock.
    fn with_clock(limit: RateLimit, clock: C) -> Option<Self> {
        let RateLimit::Limited { requests, window } = limit else { return None };
        let interval = (window / requests.get()).max(Duration::from_nanos(1));
        let quota = Quota::with_period(interval)?.allow_burst(requests);
        let companies = RateLimiter::dashmap_with_clock(quota, clock).with_middleware();
        Some(Self { requests, window, companies })
    }

    /// Counts a call of a sender that spreads its calls over this number of cores. The remaining number is for all cores together, if each
    /// has counted as many calls.
    pub(crate) fn count(
        &self,
        company_id: i64,
        cores: NonZeroU32,
    ) -> Result<RateLimitHeaders, (RateLimitHeaders, Error)> {
        let cost = cores.min(self.requests);
        match self.companies.check_key_n(&company_id, cost) {
            Ok(Ok(state)) => {
                let remaining = state.remaining_burst_capacity();
                // With less than the cost, no call is allowed.
                Ok(self.headers(remaining - remaining % cost))
            }
            // Unreachable: the cost never exceeds the burst.
            Err(InsufficientCapacity(_)) => Err((self.headers(0), self.exceeded(company_id, self.window))),
            Ok(Err(until)) => {
                let wait = until.wait_time_from(self.companies.clock().now());
                Err((self.headers(0), self.exceeded(company_id, wait)))
            }
        }
    }

    fn exceeded(&self, company_id: i64, wait: Duration) -> Error {
        // Whole seconds, rounded up, so that a call after this time is allowed.
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        let error = Error::new(Reason::RateLimited, "Too many requests. Please wait before trying again.")
            .retry_after(Duration::from_secs(seconds.max(1)));
        error.with("company_id", company_id).with("limit", self.requests)
    }

    fn sweep(&self) {
        self.companies.retain_recent();
    }

    /// The remaining calls of a company, and the seconds until its whole limit is available again.
    fn headers(&self, remaining: u32) -> RateLimitHeaders {
        let limit = self.requests.get();
        let used = f64::from(limit.saturating_sub(remaining)) / f64::from(limit);
        let reset = (used * self.window.as_secs_f64()).ceil() as u64;
        RateLimitHeaders { limit: limit.into(), remaining: remaining.into(), reset }
    }
}

#[cfg(test)]
mod tests {
    use std::{num::NonZeroU32, time::Duration};

    use compliance_api::{client::CORES, error::Error, v1::RateLimitHeaders};
    use governor::clock::FakeRelativeClock;
    use http::{HeaderMap, HeaderValue};

    use super::{Limiter, Limiters, MAX_CORES, RateLimit, cores};

    const ONE: NonZeroU32 = NonZeroU32::MIN;

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
        assert_eq!([1, 1, 1, 2].map(|company| counted.count(company, ONE).unwrap().remaining), [2, 1, 0, 2]);
        let (refused, _) = counted.count(1, ONE).unwrap_err();
        assert_eq!(refused, RateLimitHeaders { limit: 3, remaining: 0, reset: 60 });
    }

    #[test]
    fn a_caller_that_waits_as_long_as_it_is_told_is_let_through() {
        let (limiter, clock) = limiter_and_clock("1/m");
        let retry_after = |millis| wait(&limiter.exceeded(1, Duration::from_millis(millis)));
        assert_eq!([0, 1, 999, 1000, 1001, 2000, 59_500].map(retry_after), [1, 1, 1, 1, 2, 2, 60]);
        assert!(limiter.count(1, ONE).is_ok());
        let (_, error) = limiter.count(1, ONE).unwrap_err();
        assert_eq!(wait(&error), 60);
        clock.advance(Duration::from_millis(59_999));
        assert_eq!(wait(&limiter.count(1, ONE).unwrap_err().1), 1);
        clock.advance(Duration::from_millis(1));
        assert!(limiter.count(1, ONE).is_ok() && limiter.count(1, ONE).is_err());
        assert_eq!(wait(&self::limiter("1/s").exceeded(1, Duration::from_millis(999))), 1);
    }

    #[test]
    fn companies_that_have_their_whole_limit_are_forgotten_and_no_others() {
        let (limiter, clock) = limiter_and_clock("4/m");
        assert!(limiter.count(1, ONE).is_ok() && (0..4).all(|_| limiter.count(2, ONE).is_ok()));
        // One has had its whole limit for 15 s, for which it is still remembered.
        clock.advance(Duration::from_secs(31));
        limiter.sweep();
        assert_eq!(limiter.companies.len(), 1);
        assert_eq!([1, 2].map(|company| limiter.count(company, ONE).unwrap().remaining), [3, 1]);
        clock.advance(Duration::from_mins(2));
        limiter.sweep();
        assert!(limiter.companies.is_empty());
    }

    #[test]
    fn cores_that_share_calls_let_through_what_one_of_them_would() {
        for (limit, number, through) in
            [("10/m", 1, 10), ("10/m", 2, 10), ("10/m", 3, 9), ("10/m", 10, 10), ("2/m", 3, 3)]
        {
            let shared = NonZeroU32::new(number).unwrap();
            let limiters: Vec<_> = (0..number).map(|_| limiter(limit)).collect();
            let calls = limiters.iter().cycle().take(50).filter(|limiter| limiter.count(1, shared).is_ok());
            assert_eq!(calls.count(), through, "{limit} {number}");
        }
    }

    #[test]
    fn what_remains_and_the_wait_are_those_of_all_cores() {
        let (limiter, clock) = limiter_and_clock("10/m");
        let three = NonZeroU32::new(3).unwrap();
        assert_eq!([(); 3].map(|()| limiter.count(1, three).unwrap().remaining), [6, 3, 0]);
        let (headers, error) = limiter.count(1, three).unwrap_err();
        // One of ten is left, so two are needed.
        assert_eq!((headers.limit, headers.remaining, wait(&error)), (10, 0, 12));
        assert_eq!(limiter.count(1, ONE).unwrap().remaining, 0);
        clock.advance(Duration::from_secs(18));
        assert!(limiter.count(1, three).is_ok() && limiter.count(1, ONE).is_err());
    }

    #[test]
    fn a_call_that_names_no_cores_or_too_many_is_one_call() {
        let named = |text: &str| cores(&HeaderMap::from_iter([(CORES, HeaderValue::from_str(text).unwrap())])).get();
        assert_eq!(cores(&HeaderMap::new()), ONE);
        assert_eq!(["1", "3", "0", "-2", "", "x", "2.5"].map(named), [1, 3, 1, 1, 1, 1, 1]);
        assert_eq!([MAX_CORES, MAX_CORES + 1, u32::MAX].map(|number| named(&number.to_string())), [MAX_CORES, 1, 1]);
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
        assert!(limiter.count(1, ONE).is_ok() && limiter.count(1, ONE).is_ok());
        let (_, error) = limiter.count(1, ONE).unwrap_err();
        assert_eq!(wait(&error), 30);
        assert!(limiter.count(2, ONE).is_ok() && limiter.count(2, ONE).is_ok() && limiter.count(2, ONE).is_err());
    }

    #[test]
    fn a_company_with_a_limit_of_its_own_has_no_other() {
        let companies = [(2, "1/m"), (3, "off")].map(|(company, limit)| (company, limit.parse().unwrap()));
        let limiters = Limiters::new("2/m".parse().unwrap(), companies.into());
        let through = |company: i64| {
            let limiter = limiters.of(company)?;
            Some((0..10).filter(|_| limiter.count(company, ONE).is_ok()).count())
        };
        assert_eq!([1, 2, 3].map(through), [Some(2), Some(1), None]);
        let unlimited = Limiters::new(RateLimit::Off, companies.into());
        assert!(unlimited.of(1).is_none() && unlimited.of(2).is_some());
        limiters.sweep();
        assert_eq!(through(2), Some(0));
    }
}

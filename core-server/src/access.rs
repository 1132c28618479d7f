//! Access control: checks a call's token, rate limit and scope, in this order, before its message is decoded. The service then validates
//! the message.
//!
//! The rate limiter uses GCRA with one key per company. Cores share no state. A gateway that spreads its calls over N cores sends N with
//! each call ([`CORES`]). Each core counts the call N times, so the cores together enforce the limit of a single core.

use std::{
    collections::HashMap,
    num::NonZeroU32,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use compliance_api::{
    client::CORES,
    error::{Error, Reason},
    rules::{Check, Violations, check},
    token::{TokenError, VerifiedToken, Verifier},
    v1::{CheckAccessRequest, CheckAccessResponse, RateLimitHeaders, access_service_server::AccessService},
    wire::Authorization,
};
use governor::{
    InsufficientCapacity, Quota, RateLimiter,
    clock::{Clock, DefaultClock},
    middleware::StateInformationMiddleware,
    state::keyed::DashMapStateStore,
};
use http::{HeaderMap, HeaderValue, header::AUTHORIZATION};
use telemetry::MAX_REQUEST_ID;
use tonic::{Request, Response, Status};

pub use crate::company_limits::RateLimit;

pub(crate) type Verified = Result<VerifiedToken, TokenError>;

/// Returns an admitted call's token. The call can access only its company's records.
pub(crate) fn caller<T>(request: &Request<T>) -> Result<&VerifiedToken, Status> {
    // A missing token means that the pipeline did not check the call.
    request.extensions().get().ok_or_else(|| Error::internal().into())
}

/// The result of a gRPC operation.
pub(crate) type Served<T> = Result<Response<T>, Status>;

/// Returns the caller's company and the request message. Fails if the message is invalid.
pub(crate) fn accept<M: Check>(request: Request<M>) -> Result<(i64, M), Status> {
    let company_id = caller(&request)?.company_id;
    let message = request.into_inner();
    valid(&message)?;
    Ok((company_id, message))
}

/// Fails if a request is invalid.
pub(crate) fn valid(request: &impl Check) -> Result<(), Error> {
    no_violations(check(request))
}

/// Fails if there are violations.
pub(crate) fn no_violations(violations: Violations) -> Result<(), Error> {
    if violations.is_empty() { Ok(()) } else { Err(Error::invalid(violations)) }
}

/// `AccessService` reports whether a token is valid. The pipeline checks the token before a call arrives here.
#[derive(Debug)]
pub(crate) struct Access;

#[tonic::async_trait]
impl AccessService for Access {
    async fn check_access(&self, request: Request<CheckAccessRequest>) -> Served<CheckAccessResponse> {
        Ok(Response::new(CheckAccessResponse { company_id: caller(&request)?.company_id }))
    }
}

/// Decides which calls to admit.
pub(crate) struct AccessPolicy {
    verifier: Arc<Verifier>,
    limiters: Arc<Limiters>,
}

/// The token and rate limit of an admitted or rejected caller. Both are `None` if the call requires no token.
#[derive(Debug, Default)]
pub(crate) struct Caller {
    pub(crate) token: Option<VerifiedToken>,
    pub(crate) rate_limit: Option<RateLimitHeaders>,
}

impl AccessPolicy {
    pub(crate) fn new(verifier: Arc<Verifier>, limiters: Arc<Limiters>) -> Self {
        Self { verifier, limiters }
    }

    /// Checks a call and counts it against its company's rate limit.
    pub(crate) fn check(
        &self,
        authorization: Authorization,
        headers: &HeaderMap,
        verified: Option<Verified>,
        caller: &mut Caller,
    ) -> Result<(), Error> {
        if authorization == Authorization::Open {
            return Ok(());
        }
        let token = self.token(headers, verified).inspect_err(|_| self.report_refused(headers))?;
        let token = caller.token.insert(token);
        if let Some(limiter) = self.limiters.of(token.company_id) {
            let (rate_limit, counted) = limiter.count(token.company_id, cores(headers));
            caller.rate_limit = Some(rate_limit);
            counted?;
        }
        match authorization {
            Authorization::Scope(scopes) if !scopes.iter().any(|scope| token.has_scope(scope)) => {
                Err(Error::scope_missing(scopes[0]))
            }
            _ => Ok(()),
        }
    }

    /// Verifies the token in the headers, unless it was already verified.
    fn token(&self, headers: &HeaderMap, verified: Option<Verified>) -> Verified {
        let mut presented = headers.get_all(AUTHORIZATION).iter();
        match (verified, presented.next(), presented.next()) {
            // The token may have expired since its verification.
            (Some(Ok(token)), ..) if is_expired(&token) => Err(TokenError::Expired),
            (Some(verified), ..) => verified,
            // With two tokens, the caller is ambiguous.
            (None, Some(_), Some(_)) => Err(TokenError::Invalid),
            (None, header, _) => self.verifier.authorize(header.map(HeaderValue::as_bytes), now()),
        }
    }

    /// Logs why a token was refused.
    fn report_refused(&self, headers: &HeaderMap) {
        let header = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes);
        if let Some(why) = self.verifier.explain_some(header, now()) {
            let request_id = headers.get("x-request-id").and_then(|id| id.to_str().ok());
            let request_id = request_id.filter(|id| id.len() <= MAX_REQUEST_ID);
            tracing::warn!(why, request_id, "a token was refused");
        }
    }

    /// Verifies an `authorization` value.
    pub(crate) fn verify(&self, authorization: &str) -> Verified {
        self.verifier.authorize(Some(authorization.as_bytes()), now())
    }

    /// Verifies an `authorization` value if no signature check is needed.
    pub(crate) fn verify_cached(&self, authorization: &str) -> Option<Verified> {
        self.verifier.authorize_cached(Some(authorization.as_bytes()), now())
    }

    /// Returns whether a token is invalid only because its key is unknown, and a reload of the key sets could add the key.
    pub(crate) fn has_unknown_key(&self, authorization: &str) -> bool {
        self.verifier.has_unknown_key(Some(authorization.as_bytes()))
    }

    /// Waits for a reload of the key sets if a token's key is unknown.
    pub(crate) async fn learn_key(&self, authorization: &[u8]) {
        self.verifier.learn_key(Some(authorization)).await;
    }
}

/// Returns whether a verified token has expired.
pub(crate) fn is_expired(token: &VerifiedToken) -> bool {
    token.exp <= now()
}

/// Returns the time until a valid token expires.
pub(crate) fn time_left(token: &VerifiedToken) -> Duration {
    Duration::from_secs(token.exp.saturating_sub(now()).max(0) as u64)
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}

/// Maximum number of cores behind a gateway. A call with a higher number counts once.
const MAX_CORES: u32 = 256;

/// Returns the number of cores that share the sender's calls, one by default.
///
/// A caller that forges the header only raises the cost of its own calls.
fn cores(headers: &HeaderMap) -> NonZeroU32 {
    let cores = headers.get(CORES).and_then(|value| value.to_str().ok()?.parse::<NonZeroU32>().ok());
    cores.filter(|cores| cores.get() <= MAX_CORES).unwrap_or(NonZeroU32::MIN)
}

struct Limiter<C: Clock = DefaultClock> {
    requests: NonZeroU32,
    window: Duration,
    companies: RateLimiter<i64, DashMapStateStore<i64>, C, StateInformationMiddleware>,
}

/// The default rate limit and per-company overrides.
pub(crate) struct Limiters {
    default: Option<Limiter>,
    companies: HashMap<i64, Option<Limiter>>,
}

impl Limiters {
    pub(crate) fn new(default: RateLimit, companies: HashMap<i64, RateLimit>) -> Self {
        let companies = companies.into_iter().map(|(company, limit)| (company, Limiter::new(limit))).collect();
        Self { default: Limiter::new(default), companies }
    }

    /// Returns the company's limiter, or `None` if the company has no limit.
    fn of(&self, company_id: i64) -> Option<&Limiter> {
        self.companies.get(&company_id).unwrap_or(&self.default).as_ref()
    }

    /// Evicts companies whose full limit is available.
    pub(crate) fn sweep(&self) {
        self.companies.values().chain([&self.default]).flatten().for_each(Limiter::sweep);
    }
}

impl Limiter {
    /// Creates a limiter, or returns `None` if the limit is off.
    fn new(limit: RateLimit) -> Option<Self> {
        Self::with_clock(limit, DefaultClock::default())
    }
}

impl<C: Clock> Limiter<C> {
    /// Creates a limiter with this clock.
    fn with_clock(limit: RateLimit, clock: C) -> Option<Self> {
        let RateLimit::Limited { requests, window } = limit else { return None };
        let interval = (window / requests.get()).max(Duration::from_nanos(1));
        let quota = Quota::with_period(interval)?.allow_burst(requests);
        let companies = RateLimiter::dashmap_with_clock(quota, clock).with_middleware();
        Some(Self { requests, window, companies })
    }

    /// Counts a call from a sender that uses this many cores.
    ///
    /// The headers report the calls remaining on all cores, assuming that each core has counted the same number.
    fn count(&self, company_id: i64, cores: NonZeroU32) -> (RateLimitHeaders, Result<(), Error>) {
        let cost = cores.min(self.requests);
        let wait = match self.companies.check_key_n(&company_id, cost) {
            Ok(Ok(state)) => {
                let remaining = state.remaining_burst_capacity();
                // A remainder smaller than the cost admits no more calls.
                return (self.headers(remaining - remaining % cost), Ok(()));
            }
            Ok(Err(until)) => until.wait_time_from(self.companies.clock().now()),
            // Unreachable: the cost never exceeds the burst size.
            Err(InsufficientCapacity(_)) => self.window,
        };
        (self.headers(0), Err(self.exceeded(company_id, wait)))
    }

    fn exceeded(&self, company_id: i64, wait: Duration) -> Error {
        // Rounds up to whole seconds, because the limiter would reject an earlier retry.
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        let error = Error::new(Reason::RateLimited, "Too many requests. Please wait before trying again.")
            .retry_after(Duration::from_secs(seconds.max(1)));
        error.with("company_id", company_id).with("limit", self.requests)
    }

    fn sweep(&self) {
        self.companies.retain_recent();
    }

    /// Returns the headers: the limit, the remaining calls, and the seconds until the full limit is available again.
    fn headers(&self, remaining: u32) -> RateLimitHeaders {
        let limit = self.requests.get();
        let used = f64::from(limit.saturating_sub(remaining)) / f64::from(limit);
        let reset = (used * self.window.as_secs_f64()).ceil() as u64;
        RateLimitHeaders { limit: limit.into(), remaining: remaining.into(), reset }
    }
}

#[cfg(test)]
mod tests;

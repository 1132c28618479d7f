use compliance_api::{
    token::{Claims, KeySource, SCOPE_MONITOR, Secret, issue},
    wire::Operation,
};
use governor::clock::FakeRelativeClock;

use super::*;

const READ: Authorization = Operation::GET_AFFILIATE.authorization;
const MONITOR: Authorization = Operation::OPEN_CASE.authorization;

fn secret() -> Secret {
    Secret::new(vec![1; 32]).unwrap()
}

async fn policy(limit: &str) -> AccessPolicy {
    let source = KeySource { secret: Some(secret()), ..KeySource::default() };
    let verifier = Arc::new(Verifier::new(source, None).await.unwrap());
    AccessPolicy::new(verifier, Arc::new(Limiters::new(limit.parse().unwrap(), HashMap::new())))
}

/// Returns the current time, independently of the code under test.
fn clock() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64
}

fn token(company_id: i64, issued: i64, scope: Option<&str>) -> String {
    issue(&secret(), &Claims { scope: scope.map(str::to_owned), ..Claims::new(company_id, issued, 60) }).unwrap()
}

fn headers(tokens: &[&str]) -> HeaderMap {
    let value = |token: &&str| (AUTHORIZATION, HeaderValue::try_from(format!("Bearer {token}")).unwrap());
    tokens.iter().map(value).collect()
}

/// Checks a call. Returns the admitted company or the rejection reason, with the caller.
fn check(
    policy: &AccessPolicy,
    authorization: Authorization,
    headers: &HeaderMap,
    verified: Option<Verified>,
) -> (Result<Option<i64>, Reason>, Caller) {
    let mut caller = Caller::default();
    let result = policy.check(authorization, headers, verified, &mut caller);
    let company = caller.token.as_ref().map(|token| token.company_id);
    (result.map(|()| company).map_err(|error| error.reason), caller)
}

#[tokio::test]
async fn previously_verified_tokens_still_expire() {
    let policy = policy("off").await;
    let check = |issued: i64| {
        let before = policy.verifier.verify(&token(7, issued, None), issued).unwrap();
        check(&policy, READ, &HeaderMap::new(), Some(Ok(before))).0
    };
    assert_eq!(check(clock()), Ok(Some(7)));
    assert_eq!(check(clock() - 60), Err(Reason::TokenExpired));
}

#[tokio::test]
async fn only_open_operations_accept_unauthenticated_calls() {
    let policy = policy("off").await;
    let check = |authorization, tokens: &[&str]| check(&policy, authorization, &headers(tokens), None).0;
    let (valid, expired) = (token(7, clock(), None), token(7, clock() - 60, None));
    assert_eq!(check(READ, &[&valid]), Ok(Some(7)));
    assert_eq!(check(READ, &[&expired]), Err(Reason::TokenExpired));
    assert_eq!(check(READ, &[&valid[1..]]), Err(Reason::TokenInvalid));
    assert_eq!(check(READ, &[&valid, &valid]), Err(Reason::TokenInvalid));
    assert_eq!(check(READ, &[]), Err(Reason::TokenMissing));
    assert_eq!(check(Operation::BATCH_READ.authorization, &[]), Ok(None));
    assert_eq!(check(Authorization::Open, &[&expired]), Ok(None));
}

#[tokio::test]
async fn scoped_operations_require_their_scope() {
    let policy = policy("off").await;
    let check = |authorization, scope| check(&policy, authorization, &headers(&[&token(7, clock(), scope)]), None).0;
    assert_eq!(check(MONITOR, None), Err(Reason::ScopeMissing));
    assert_eq!(check(MONITOR, Some("other")), Err(Reason::ScopeMissing));
    assert_eq!(check(MONITOR, Some(SCOPE_MONITOR)), Ok(Some(7)));
    assert_eq!(check(READ, Some(SCOPE_MONITOR)), Ok(Some(7)));
    assert_eq!(check(READ, Some("other")), Ok(Some(7)));
}

#[tokio::test]
async fn calls_without_required_scope_count_against_rate_limit() {
    let policy = policy("2/m").await;
    let called =
        |authorization, company| check(&policy, authorization, &headers(&[&token(company, clock(), None)]), None);
    let remaining = |caller: Caller| caller.rate_limit.map(|left| left.remaining);
    assert_eq!(check(&policy, READ, &HeaderMap::new(), None).0, Err(Reason::TokenMissing));
    assert_eq!(remaining(called(READ, 7).1), Some(1));
    let (refused, found) = called(MONITOR, 7);
    assert_eq!((remaining(found), refused), (Some(0), Err(Reason::ScopeMissing)));
    assert_eq!(called(MONITOR, 7).0, Err(Reason::RateLimited));
    assert_eq!(called(READ, 8).0, Ok(Some(8)));
}

#[tokio::test]
async fn check_access_returns_company_id() {
    let (_, caller) = check(&policy("off").await, READ, &headers(&[&token(7, clock(), None)]), None);
    let mut request = Request::new(CheckAccessRequest {});
    request.extensions_mut().insert(caller.token.unwrap());
    assert_eq!(Access.check_access(request).await.unwrap().into_inner(), CheckAccessResponse { company_id: 7 });
}

#[test]
fn unchecked_requests_fail_with_internal_error() {
    assert_eq!(caller(&Request::new(())).unwrap_err().code(), tonic::Code::Internal);
}

const ONE: NonZeroU32 = NonZeroU32::MIN;

fn limiter(limit: &str) -> Limiter<FakeRelativeClock> {
    limiter_and_clock(limit).0
}

fn limiter_and_clock(limit: &str) -> (Limiter<FakeRelativeClock>, FakeRelativeClock) {
    let clock = FakeRelativeClock::default();
    (Limiter::with_clock(limit.parse().unwrap(), clock.clone()).unwrap(), clock)
}

impl<C: Clock> Limiter<C> {
    /// Counts a call. Returns the headers, and the error if the call is refused.
    fn counted(&self, company: i64, cores: NonZeroU32) -> Result<RateLimitHeaders, (RateLimitHeaders, Error)> {
        match self.count(company, cores) {
            (headers, Ok(())) => Ok(headers),
            (headers, Err(error)) => Err((headers, error)),
        }
    }
}

fn wait(error: &Error) -> u64 {
    error.retry_after.unwrap().as_secs()
}

#[test]
fn rate_limit_headers_report_remaining_and_reset() {
    let headers = |limit, remaining| limiter(limit).headers(remaining);
    assert_eq!(headers("10/m", 10), RateLimitHeaders { limit: 10, remaining: 10, reset: 0 });
    assert_eq!(headers("10/m", 4), RateLimitHeaders { limit: 10, remaining: 4, reset: 36 });
    assert_eq!(headers("7/m", 0), RateLimitHeaders { limit: 7, remaining: 0, reset: 60 });
    assert_eq!(headers("7/m", 6).reset, 9);
    assert_eq!(headers("10/s", 9).reset, 1);
    let counted = limiter("3/m");
    assert_eq!([1, 1, 1, 2].map(|company| counted.counted(company, ONE).unwrap().remaining), [2, 1, 0, 2]);
    let (refused, _) = counted.counted(1, ONE).unwrap_err();
    assert_eq!(refused, RateLimitHeaders { limit: 3, remaining: 0, reset: 60 });
}

#[test]
fn calls_succeed_after_retry_after() {
    let (limiter, clock) = limiter_and_clock("1/m");
    let retry_after = |millis| wait(&limiter.exceeded(1, Duration::from_millis(millis)));
    assert_eq!([0, 1, 999, 1000, 1001, 2000, 59_500].map(retry_after), [1, 1, 1, 1, 2, 2, 60]);
    assert!(limiter.counted(1, ONE).is_ok());
    let (_, error) = limiter.counted(1, ONE).unwrap_err();
    assert_eq!(wait(&error), 60);
    clock.advance(Duration::from_millis(59_999));
    assert_eq!(wait(&limiter.counted(1, ONE).unwrap_err().1), 1);
    clock.advance(Duration::from_millis(1));
    assert!(limiter.counted(1, ONE).is_ok() && limiter.counted(1, ONE).is_err());
    assert_eq!(wait(&self::limiter("1/s").exceeded(1, Duration::from_millis(999))), 1);
}

#[test]
fn sweep_evicts_only_idle_companies() {
    let (limiter, clock) = limiter_and_clock("4/m");
    assert!(limiter.counted(1, ONE).is_ok() && (0..4).all(|_| limiter.counted(2, ONE).is_ok()));
    // Company 1 regains its full limit after 15 s, and is kept for another 15 s.
    clock.advance(Duration::from_secs(31));
    limiter.sweep();
    assert_eq!(limiter.companies.len(), 1);
    assert_eq!([1, 2].map(|company| limiter.counted(company, ONE).unwrap().remaining), [3, 1]);
    clock.advance(Duration::from_mins(2));
    limiter.sweep();
    assert!(limiter.companies.is_empty());
}

#[test]
fn multiple_cores_share_one_rate_limit() {
    for (limit, number, through) in [("10/m", 1, 10), ("10/m", 2, 10), ("10/m", 3, 9), ("10/m", 10, 10), ("2/m", 3, 3)]
    {
        let shared = NonZeroU32::new(number).unwrap();
        let limiters: Vec<_> = (0..number).map(|_| limiter(limit)).collect();
        let calls = limiters.iter().cycle().take(50).filter(|limiter| limiter.counted(1, shared).is_ok());
        assert_eq!(calls.count(), through, "{limit} {number}");
    }
}

#[test]
fn remaining_calls_cover_all_cores() {
    let (limiter, clock) = limiter_and_clock("10/m");
    let three = NonZeroU32::new(3).unwrap();
    assert_eq!([(); 3].map(|()| limiter.counted(1, three).unwrap().remaining), [6, 3, 0]);
    let (headers, error) = limiter.counted(1, three).unwrap_err();
    // One of ten calls is left, so the next call needs two more.
    assert_eq!((headers.limit, headers.remaining, wait(&error)), (10, 0, 12));
    assert_eq!(limiter.counted(1, ONE).unwrap().remaining, 0);
    clock.advance(Duration::from_secs(18));
    assert!(limiter.counted(1, three).is_ok() && limiter.counted(1, ONE).is_err());
}

#[test]
fn invalid_core_counts_default_to_one() {
    let named = |text: &str| cores(&HeaderMap::from_iter([(CORES, HeaderValue::from_str(text).unwrap())])).get();
    assert_eq!(cores(&HeaderMap::new()), ONE);
    assert_eq!(["1", "3", "0", "-2", "", "x", "2.5"].map(named), [1, 3, 1, 1, 1, 1, 1]);
    assert_eq!([MAX_CORES, MAX_CORES + 1, u32::MAX].map(|number| named(&number.to_string())), [MAX_CORES, 1, 1]);
}

#[test]
fn companies_have_separate_rate_limits() {
    let limiter = limiter("2/m");
    assert!(limiter.counted(1, ONE).is_ok() && limiter.counted(1, ONE).is_ok());
    let (_, error) = limiter.counted(1, ONE).unwrap_err();
    assert_eq!(wait(&error), 30);
    assert!(limiter.counted(2, ONE).is_ok() && limiter.counted(2, ONE).is_ok() && limiter.counted(2, ONE).is_err());
}

#[test]
fn company_limits_override_the_default() {
    let companies = [(2, "1/m"), (3, "off")].map(|(company, limit)| (company, limit.parse().unwrap()));
    let limiters = Limiters::new("2/m".parse().unwrap(), companies.into());
    let through = |company: i64| {
        let limiter = limiters.of(company)?;
        Some((0..10).filter(|_| limiter.counted(company, ONE).is_ok()).count())
    };
    assert_eq!([1, 2, 3].map(through), [Some(2), Some(1), None]);
    let unlimited = Limiters::new(RateLimit::Off, companies.into());
    assert!(unlimited.of(1).is_none() && unlimited.of(2).is_some());
    limiters.sweep();
    assert_eq!(through(2), Some(0));
}

#[test]
fn sweep_evicts_idle_companies_from_all_limiters() {
    // Companies regain their full limit within a nanosecond.
    let limit: RateLimit = "1000000000/s".parse().unwrap();
    let limiters = Limiters::new(limit, [(2, limit)].into());
    let remembered = || [1, 2].map(|company| limiters.of(company).unwrap().companies.len());
    for company in [1, 2] {
        assert!(limiters.of(company).unwrap().counted(company, ONE).is_ok());
    }
    assert_eq!(remembered(), [1, 1]);
    std::thread::sleep(Duration::from_millis(1));
    limiters.sweep();
    assert_eq!(remembered(), [0, 0]);
}

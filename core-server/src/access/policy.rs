//! Token, rate limit and scope of a call, checked in this order before the call is decoded.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use compliance_api::{
    error::Error,
    token::{TokenError, VerifiedToken, Verifier},
    v1::RateLimitHeaders,
    wire::Authorization,
};
use http::{HeaderMap, HeaderValue, header::AUTHORIZATION};
use telemetry::MAX_REQUEST_ID;
use tonic::Status;

use super::rate_limit::{self, Limiters};

pub(crate) type Verified = Result<VerifiedToken, TokenError>;

/// Verifies `authorization` values.
pub(crate) trait Verify {
    fn verify(&self, authorization: &[u8]) -> Verified;
    /// Returns the result if no signature must be verified.
    fn verify_cached(&self, authorization: &[u8]) -> Option<Verified>;
    /// Whether a token is invalid only because its key is unknown, and a reload of the key sets can provide this key.
    fn has_unknown_key(&self, authorization: &[u8]) -> bool;
    /// Waits until the key of a token is loaded, if it is unknown.
    fn learn_key(&self, authorization: &[u8]) -> impl Future<Output = ()> + Send;
}

/// The caller, from a verified token.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The only company whose records the call can reach.
    pub company_id: i64,
    /// All claims of the token.
    pub claims: VerifiedToken,
}

impl Identity {
    /// The caller of a request whose token was verified.
    pub fn of<T>(request: &tonic::Request<T>) -> Result<&Self, Status> {
        // A service must not respond to a call whose token was not checked.
        request.extensions().get().ok_or_else(|| Error::internal().into())
    }
}

/// Decides who may call what, and how often.
pub(crate) struct AccessPolicy {
    verifier: Arc<Verifier>,
    limiters: Arc<Limiters>,
}

impl AccessPolicy {
    pub(crate) fn new(verifier: Arc<Verifier>, limiters: Arc<Limiters>) -> Self {
        Self { verifier, limiters }
    }

    /// Checks a call, and counts it against the rate limit of its company.
    ///
    /// Returns the token, the rate limit headers, and the caller or the refusal. A call that needs no token has none of them.
    pub(crate) fn check(
        &self,
        authorization: Authorization,
        headers: &HeaderMap,
        verified: Option<Verified>,
    ) -> (Option<VerifiedToken>, Option<RateLimitHeaders>, Result<Option<Identity>, Error>) {
        if authorization == Authorization::Open {
            return (None, None, Ok(None));
        }
        let mut presented = headers.get_all(AUTHORIZATION).iter();
        let verified = match (verified, presented.next(), presented.next()) {
            // Receiving the request may have taken a while.
            (Some(Ok(token)), ..) if is_expired(&token) => Err(TokenError::Expired),
            (Some(verified), ..) => verified,
            // With two tokens, the caller is ambiguous.
            (None, Some(_), Some(_)) => Err(TokenError::Invalid),
            (None, header, _) => self.verifier.authorize(header.map(HeaderValue::as_bytes), now()),
        };
        let claims = match verified {
            Ok(claims) => claims,
            Err(error) => {
                self.report_refused(headers);
                return (None, None, Err(error.into()));
            }
        };
        let company_id = claims.company_id;
        let counted = self.limiters.of(company_id).map(|limiter| limiter.count(company_id, rate_limit::cores(headers)));
        let rate_limit = match counted.transpose() {
            Ok(rate_limit) => rate_limit,
            Err((rate_limit, error)) => return (Some(claims), Some(rate_limit), Err(error)),
        };
        let token = claims.clone();
        let caller = match authorization {
            Authorization::Scope(scopes) if !scopes.iter().any(|scope| claims.has_scope(scope)) => {
                Err(Error::scope_missing(scopes[0]))
            }
            _ => Ok(Some(Identity { company_id, claims })),
        };
        (Some(token), rate_limit, caller)
    }

    /// Logs why a token is refused.
    fn report_refused(&self, headers: &HeaderMap) {
        let header = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes);
        if let Some(why) = self.verifier.explain_some(header, now()) {
            let request_id = headers.get("x-request-id").and_then(|id| id.to_str().ok());
            let request_id = request_id.filter(|id| id.len() <= MAX_REQUEST_ID);
            tracing::warn!(why, request_id, "a token was refused");
        }
    }
}

impl Verify for AccessPolicy {
    fn verify(&self, authorization: &[u8]) -> Verified {
        self.verifier.authorize(Some(authorization), now())
    }

    fn verify_cached(&self, authorization: &[u8]) -> Option<Verified> {
        self.verifier.authorize_cached(Some(authorization), now())
    }

    fn has_unknown_key(&self, authorization: &[u8]) -> bool {
        self.verifier.has_unknown_key(Some(authorization))
    }

    async fn learn_key(&self, authorization: &[u8]) {
        self.verifier.learn_key(Some(authorization)).await;
    }
}

/// Whether a token that was valid has expired.
pub(crate) fn is_expired(token: &VerifiedToken) -> bool {
    token.exp <= now()
}

/// How long a valid token stays valid.
pub(crate) fn time_left(token: &VerifiedToken) -> Duration {
    Duration::from_secs(token.exp.saturating_sub(now()).max(0) as u64)
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use compliance_api::{
        error::Reason,
        token::{Claims, KeySource, SCOPE_MONITOR, Secret, issue},
        v1::{CheckAccessRequest, CheckAccessResponse, access_service_server::AccessService as _},
        wire::Operation,
    };

    use super::*;
    use crate::access::Access;

    const READ: Authorization = Operation::GET_AFFILIATE.authorization;
    const MONITOR: Authorization = Operation::OPEN_CASE.authorization;

    type Checked = (Option<VerifiedToken>, Option<RateLimitHeaders>, Result<Option<Identity>, Error>);

    fn secret() -> Secret {
        Secret::new(vec![1; 32]).unwrap()
    }

    async fn policy(limit: &str) -> AccessPolicy {
        let source = KeySource { secret: Some(secret()), ..KeySource::default() };
        let verifier = Arc::new(Verifier::new(source, None).await.unwrap());
        AccessPolicy::new(verifier, Arc::new(Limiters::new(limit.parse().unwrap(), HashMap::new())))
    }

    /// The time, not by the function under test.
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

    /// The company that is let through, or why the call is refused.
    fn result((_, _, checked): Checked) -> Result<Option<i64>, Reason> {
        checked.map(|caller| caller.map(|caller| caller.company_id)).map_err(|error| error.reason)
    }

    fn remaining((_, rate_limit, _): &Checked) -> Option<u64> {
        rate_limit.as_ref().map(|left| left.remaining)
    }

    #[tokio::test]
    async fn a_token_that_was_verified_before_may_have_expired_since() {
        let policy = policy("off").await;
        let check = |issued: i64| {
            let before = policy.verifier.verify(&token(7, issued, None), issued).unwrap();
            result(policy.check(READ, &HeaderMap::new(), Some(Ok(before))))
        };
        assert_eq!(check(clock()), Ok(Some(7)));
        assert_eq!(check(clock() - 60), Err(Reason::TokenExpired));
    }

    #[tokio::test]
    async fn a_call_needs_one_valid_token_unless_its_service_is_open() {
        let policy = policy("off").await;
        let check = |authorization, tokens: &[&str]| result(policy.check(authorization, &headers(tokens), None));
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
    async fn a_scope_opens_its_service_and_is_needed_for_no_other() {
        let policy = policy("off").await;
        let check =
            |authorization, scope| result(policy.check(authorization, &headers(&[&token(7, clock(), scope)]), None));
        assert_eq!(check(MONITOR, None), Err(Reason::ScopeMissing));
        assert_eq!(check(MONITOR, Some("other")), Err(Reason::ScopeMissing));
        assert_eq!(check(MONITOR, Some(SCOPE_MONITOR)), Ok(Some(7)));
        assert_eq!(check(READ, Some(SCOPE_MONITOR)), Ok(Some(7)));
        assert_eq!(check(READ, Some("other")), Ok(Some(7)));
    }

    #[tokio::test]
    async fn a_call_is_counted_before_its_scope_and_after_its_token() {
        let policy = policy("2/m").await;
        let check =
            |authorization, company| policy.check(authorization, &headers(&[&token(company, clock(), None)]), None);
        assert_eq!(result(policy.check(READ, &HeaderMap::new(), None)), Err(Reason::TokenMissing));
        assert_eq!(remaining(&check(READ, 7)), Some(1));
        let refused = check(MONITOR, 7);
        assert_eq!((remaining(&refused), result(refused)), (Some(0), Err(Reason::ScopeMissing)));
        assert_eq!(result(check(MONITOR, 7)), Err(Reason::RateLimited));
        assert_eq!(result(check(READ, 8)), Ok(Some(8)));
    }

    #[tokio::test]
    async fn a_caller_that_asks_what_its_token_may_do_learns_its_company() {
        let (_, _, caller) = policy("off").await.check(READ, &headers(&[&token(7, clock(), None)]), None);
        let mut request = tonic::Request::new(CheckAccessRequest {});
        request.extensions_mut().insert(caller.unwrap().unwrap());
        assert_eq!(Access.check_access(request).await.unwrap().into_inner(), CheckAccessResponse { company_id: 7 });
    }

    #[test]
    fn a_request_that_passed_no_check_has_no_caller() {
        assert_eq!(Identity::of(&tonic::Request::new(())).unwrap_err().code(), tonic::Code::Internal);
    }
}

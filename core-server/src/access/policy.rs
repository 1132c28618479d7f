//! Token, rate limit and scope of a call, checked in this order before the call is decoded.

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use compliance_api::{
    error::{Error, Reason},
    token::{SCOPE_MONITOR, TokenError, VerifiedToken, Verifier},
    v1::RateLimitHeaders,
};
use http::{HeaderMap, HeaderValue, header::AUTHORIZATION};
use tonic::Status;

use super::limit::Limiter;

/// Services whose calls need no token: they hold nothing of any company, or (`ReadService`) make further calls, each with
/// a token of its own.
const OPEN: &[&str] = &[
    "/grpc.health.v1.Health/",
    "/grpc.reflection.v1.ServerReflection/",
    "/grpc.reflection.v1alpha.ServerReflection/",
    "/compliance.v1.ReadService/",
];
/// Services that need a scope.
const SCOPED: &[(&str, &str)] = &[("/compliance.v1.MonitoringService/", SCOPE_MONITOR)];

/// Who calls: what a verified token says.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The company whose records the call is about, and no others.
    pub company_id: i64,
    /// Everything the token says.
    pub claims: VerifiedToken,
}

impl Caller {
    /// The caller of a request whose token was verified.
    pub fn of<T>(request: &tonic::Request<T>) -> Result<&Self, Status> {
        // A service that is reached without a check of the token must not respond.
        request.extensions().get().ok_or_else(|| Error::internal().into())
    }
}

/// Decides who may call what, and how often.
pub(crate) struct AccessPolicy {
    verifier: Arc<Verifier>,
    limiter: Option<Arc<Limiter>>,
}

/// A call that is let through. Both are `None` for services that need no token.
#[derive(Default)]
pub(crate) struct Granted {
    pub(crate) caller: Option<Caller>,
    pub(crate) rate_limit: Option<RateLimitHeaders>,
}

/// A call that is refused. What is left of the rate limit is known once the token is.
pub(crate) struct Denied {
    pub(crate) error: Error,
    pub(crate) rate_limit: Option<RateLimitHeaders>,
}

impl AccessPolicy {
    pub(crate) fn new(verifier: Arc<Verifier>, limiter: Option<Arc<Limiter>>) -> Self {
        Self { verifier, limiter }
    }

    /// Checks a call of the operation at `path` and counts it against the company's rate limit. `verified` is the token if
    /// this process has verified it before.
    pub(crate) fn check(
        &self,
        path: &str,
        headers: &HeaderMap,
        verified: Option<VerifiedToken>,
    ) -> Result<Granted, Denied> {
        if OPEN.iter().any(|service| path.starts_with(service)) {
            return Ok(Granted::default());
        }
        let mut presented = headers.get_all(AUTHORIZATION).iter();
        let token = match (verified, presented.next(), presented.next()) {
            // Its request may have been received for a while.
            (Some(verified), ..) if verified.exp <= now() => Err(TokenError::Expired),
            (Some(verified), ..) => Ok(verified),
            // Of two tokens nobody can say which one counts.
            (None, Some(_), Some(_)) => Err(TokenError::Invalid),
            (None, header, _) => self.verify(header.map(HeaderValue::as_bytes)),
        };
        self.grant(path, token)
    }

    /// Verifies the token in an `Authorization` header's value.
    pub(crate) fn verify(&self, authorization: Option<&[u8]>) -> Result<VerifiedToken, TokenError> {
        self.verifier.authorize(authorization, now())
    }

    /// Checks a call of an operation that needs a token, and counts it against the company's rate limit.
    pub(crate) fn grant(&self, path: &str, token: Result<VerifiedToken, TokenError>) -> Result<Granted, Denied> {
        let claims = token.map_err(|error| Denied { error: error.into(), rate_limit: None })?;
        let company_id = claims.company_id;
        let rate_limit = match self.limiter.as_ref().map(|limiter| limiter.count(company_id)).transpose() {
            Ok(rate_limit) => rate_limit,
            Err((rate_limit, error)) => return Err(Denied { error, rate_limit: Some(rate_limit) }),
        };
        match SCOPED.iter().find(|(service, scope)| path.starts_with(service) && !claims.has_scope(scope)) {
            Some((_, scope)) => {
                let message = format!("The operation needs a token with the scope {scope}.");
                Err(Denied { error: Error::new(Reason::ScopeMissing, message).with("scope", scope), rate_limit })
            }
            None => Ok(Granted { caller: Some(Caller { company_id, claims }), rate_limit }),
        }
    }
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}

#[cfg(test)]
mod tests {
    use compliance_api::token::{Claims, KeySource, Secret, issue};

    use super::*;

    #[tokio::test]
    async fn a_token_that_was_verified_before_may_have_expired_since() {
        let secret = Secret::new(vec![1; 32]).unwrap();
        let source = KeySource { secret: Some(secret.clone()), ..KeySource::default() };
        let verifier = Arc::new(Verifier::new(source, None).await.unwrap());
        let policy = AccessPolicy::new(Arc::clone(&verifier), None);
        let check = |issued: i64| {
            let token = issue(&secret, &Claims::new(7, issued, 60)).unwrap();
            let before = verifier.verify(&token, issued).unwrap();
            policy.check("/compliance.v1.AffiliateService/GetAffiliate", &HeaderMap::new(), Some(before))
        };
        assert_eq!(check(now()).ok().and_then(|granted| granted.caller).map(|caller| caller.company_id), Some(7));
        assert_eq!(check(now() - 60).err().map(|denied| denied.error.reason), Some(Reason::TokenExpired));
    }
}

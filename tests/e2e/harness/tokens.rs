//! Companies and their tokens.

use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use compliance_api::token::{Claims, Secret, issue};

/// What the services of the tests verify tokens with.
pub(crate) fn secret() -> Secret {
    Secret::new([42; 32]).unwrap()
}

/// Seconds since 1970.
pub(crate) fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64
}

/// A company that no other test knows.
pub(crate) fn new_company() -> i64 {
    static NEXT: AtomicI64 = AtomicI64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A token that is good for an hour, for all that a company's token can be good for.
pub(crate) fn token(company: i64) -> String {
    token_of(&Claims { scope: Some("monitor".to_owned()), ..Claims::new(company, now(), 3600) })
}

/// A token of any claims, signed as it should be.
pub(crate) fn token_of(claims: &Claims) -> String {
    issue(&secret(), claims).unwrap()
}

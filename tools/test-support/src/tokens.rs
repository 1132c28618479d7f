//! Creates companies and their tokens.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use compliance_api::{
    token::{Claims, KeySource, SCOPE_MONITOR, Secret, Verifier, issue},
    wire::{Authorization, Operation},
};
use serde_json::json;

/// Returns the secret that test services verify tokens with.
pub fn secret() -> Secret {
    Secret::new([42; 32]).unwrap()
}

/// Returns a verifier that accepts this module's tokens.
pub async fn verifier() -> Arc<Verifier> {
    let source = KeySource { secret: Some(secret()), ..KeySource::default() };
    Arc::new(Verifier::new(source, None).await.unwrap())
}

/// Returns the current Unix time, in seconds.
pub fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64
}

/// Returns the ID of a company that no other test in this program uses.
pub fn new_company() -> i64 {
    static NEXT: AtomicI64 = AtomicI64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Returns every scope, separated by spaces.
pub fn every_scope() -> String {
    let scopes = Operation::ALL.iter().flat_map(|operation| match operation.authorization {
        Authorization::Scope(scopes) => scopes,
        Authorization::Open | Authorization::Token => &[],
    });
    scopes.copied().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(" ")
}

/// Returns a token with every scope, valid for an hour.
pub fn token(company: i64) -> String {
    token_with_scope(company, Some(&every_scope()), 3600)
}

/// Returns a token with this scope, valid for `seconds`.
pub fn token_with_scope(company: i64, scope: Option<&str>, seconds: i64) -> String {
    sign(&Claims { scope: scope.map(str::to_owned), ..Claims::new(company, now(), seconds) })
}

/// Returns a token with these claims and a valid signature.
pub fn sign(claims: &Claims) -> String {
    issue(&secret(), claims).unwrap()
}

/// Returns a token with valid claims, signed with a different secret.
pub fn forged_token(company: i64) -> String {
    let claims = Claims { scope: Some(SCOPE_MONITOR.to_owned()), ..Claims::new(company, now(), 3600) };
    issue(&Secret::new([7; 32]).unwrap(), &claims).unwrap()
}

/// Returns invalid tokens, each with a name and the core's reason. One token is missing.
pub fn invalid_tokens(company: i64) -> Vec<(&'static str, Option<String>, &'static str)> {
    let good = Claims { scope: Some(SCOPE_MONITOR.to_owned()), ..Claims::new(company, now(), 3600) };
    let audience = |audience: serde_json::Value| -> Claims {
        let claims = json!({"company_id": company, "exp": now() + 60, "scope": SCOPE_MONITOR, "aud": audience});
        serde_json::from_value(claims).unwrap()
    };
    vec![
        ("no token", None, "TOKEN_MISSING"),
        ("a forged token", Some(forged_token(company)), "TOKEN_INVALID"),
        ("an expired token", Some(sign(&Claims { exp: now() - 1, ..good.clone() })), "TOKEN_EXPIRED"),
        ("a wrong audience", Some(sign(&audience(json!("affiliate-compliance-2")))), "TOKEN_INVALID"),
        ("a list of wrong audiences", Some(sign(&audience(json!(["another"])))), "TOKEN_INVALID"),
        ("company 0", Some(sign(&Claims { company_id: 0, ..good.clone() })), "TOKEN_INVALID"),
        ("a token that is not yet valid", Some(sign(&Claims { nbf: Some(now() + 3600), ..good })), "TOKEN_INVALID"),
        ("not a JSON Web Token", Some("a.b.c".to_owned()), "TOKEN_INVALID"),
    ]
}

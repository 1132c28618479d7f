//! Token claims.

use serde::{Deserialize, Serialize};

/// Default audience of tokens.
pub const AUDIENCE: &str = "affiliate-compliance";

/// Scope for the internal write side.
pub const SCOPE_MONITOR: &str = "monitor";
/// Scope for audits, which show who made each change.
pub const SCOPE_AUDIT: &str = "audit";

/// Scope for case work by officers.
pub const SCOPE_CASES: &str = "cases";
/// Scope for erasures.
pub const SCOPE_ERASE: &str = "erase";
/// Scope for webhooks.
pub const SCOPE_WEBHOOKS: &str = "webhooks";
/// All scopes.
pub const SCOPES: [&str; 5] = [SCOPE_CASES, SCOPE_MONITOR, SCOPE_WEBHOOKS, SCOPE_AUDIT, SCOPE_ERASE];

/// The claims of a token. Times are in seconds since 1970 (UTC).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// The company whose records the bearer can access, a positive integer.
    pub company_id: i64,
    /// When the token expires.
    pub exp: i64,
    /// The audience. It must contain [`AUDIENCE`] unless a different audience is configured.
    pub aud: Audience,
    /// The bearer. In a verified token, the value of the configured claim, or else of `sub`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub: Option<String>,
    /// When the token was issued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iat: Option<i64>,
    /// When the token becomes valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nbf: Option<i64>,
    /// The issuer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iss: Option<String>,
    /// Scopes beyond partner operations, separated by spaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

/// One audience or several (RFC 7519, 4.1.3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Audience {
    /// One audience.
    One(String),
    /// Several audiences.
    Many(Vec<String>),
}

impl Audience {
    /// Returns whether the token is for `audience`.
    pub fn contains(&self, audience: &str) -> bool {
        match self {
            Self::One(one) => one == audience,
            Self::Many(many) => many.iter().any(|one| one == audience),
        }
    }
}

impl Claims {
    /// Creates claims for a company, issued at `now` and valid for `ttl` seconds.
    pub fn new(company_id: i64, now: i64, ttl: i64) -> Self {
        Self {
            company_id,
            exp: now.saturating_add(ttl),
            aud: Audience::One(AUDIENCE.to_owned()),
            sub: None,
            iat: Some(now),
            nbf: None,
            iss: None,
            scope: None,
        }
    }

    /// Returns whether the bearer has a scope.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scope.as_deref().is_some_and(|scopes| scopes.split(' ').any(|one| one == scope))
    }
}

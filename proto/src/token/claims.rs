//! The claims of tokens.

use serde::{Deserialize, Serialize};

/// The default audience that tokens must name.
pub const AUDIENCE: &str = "affiliate-compliance";

/// The scope of the internal write side.
pub const SCOPE_MONITOR: &str = "monitor";
/// The scope of audits, which show who made a change.
pub const SCOPE_AUDIT: &str = "audit";

/// The scope of case work, which officers need.
pub const SCOPE_CASES: &str = "cases";
/// The scope of erasures.
pub const SCOPE_ERASE: &str = "erase";
/// The scope of webhooks.
pub const SCOPE_WEBHOOKS: &str = "webhooks";
/// Every scope.
pub const SCOPES: [&str; 5] = [SCOPE_CASES, SCOPE_MONITOR, SCOPE_WEBHOOKS, SCOPE_AUDIT, SCOPE_ERASE];

/// The claims of a token. Times are seconds since 1970 (UTC).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// The company whose records the bearer can access, a positive integer.
    pub company_id: i64,
    /// The token expires at this second.
    pub exp: i64,
    /// The audience, which must contain [`AUDIENCE`] unless another one is configured.
    pub aud: Audience,
    /// The bearer. In a verified token, the claim that the verifier's rules name, or else `sub`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub: Option<String>,
    /// When the token was issued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iat: Option<i64>,
    /// The token is not valid before this second.
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
    /// Whether the token is for `audience`.
    pub fn contains(&self, audience: &str) -> bool {
        match self {
            Self::One(one) => one == audience,
            Self::Many(many) => many.iter().any(|one| one == audience),
        }
    }
}

impl Claims {
    /// Claims for a company, issued at `now` and valid for `ttl` seconds.
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

    /// Whether the bearer has a scope.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scope.as_deref().is_some_and(|scopes| scopes.split(' ').any(|one| one == scope))
    }
}

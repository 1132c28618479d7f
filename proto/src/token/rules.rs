//! Rules for token claims.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{
    claims::{AUDIENCE, Audience, Claims},
    error::Rejection,
};
use crate::id::MAX_ID;

/// Default claim for the company.
pub const COMPANY_CLAIM: &str = "company_id";
/// Default claim for the person.
pub const PERSON_CLAIM: &str = "sub";
/// Scope claims: in OAuth 2.0 (RFC 8693, 4.2), and in Entra ID and Okta.
const SCOPE_CLAIMS: [&str; 2] = ["scope", "scp"];
/// Role claims: in Entra ID, and in Keycloak.
const ROLE_CLAIMS: [&str; 2] = ["roles", "realm_access.roles"];
/// How far an issuer's clock can be ahead of ours, in seconds.
const SKEW: i64 = 60;
/// Maximum length of a claim value in an explanation, in characters.
const MAX_SHOWN_VALUE: usize = 100;

/// Rules for token claims.
#[derive(Clone, Debug)]
pub struct ClaimRules {
    /// Required issuer, if any.
    pub issuer: Option<String>,
    /// Required audience.
    pub audience: String,
    /// Claim with the company. Dots separate the names of nested claims.
    pub company: String,
    /// Claim with the bearer's name. If it contains no string, `sub` is used.
    pub person: String,
    /// Roles, each with the scopes that it grants.
    pub role_scopes: Vec<(String, Vec<String>)>,
}

impl Default for ClaimRules {
    fn default() -> Self {
        Self {
            issuer: None,
            audience: AUDIENCE.to_owned(),
            company: COMPANY_CLAIM.to_owned(),
            person: PERSON_CLAIM.to_owned(),
            role_scopes: Vec::new(),
        }
    }
}

type Object = Map<String, Value>;

impl ClaimRules {
    /// Returns the company in a token's claims, without verifying the signature.
    pub fn unverified_company(&self, token: &str) -> Option<i64> {
        let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
        company_id(look_up(&serde_json::from_slice(&claims).ok()?, &self.company)?)
    }

    /// Validates signed claims at `now`.
    pub(super) fn read(&self, claims: &Object, now: i64) -> Result<Claims, Rejection> {
        for required in [&self.company, "exp", "aud"] {
            if look_up(claims, required).is_none_or(Value::is_null) {
                return Err(Rejection::invalid(format!("{required}: missing")));
            }
        }
        let value = |name: &str| claims.get(name).unwrap_or(&Value::Null);
        let aud: Audience = typed(claims, "aud")?.ok_or_else(|| wrong("aud", value("aud"), "an audience"))?;
        if !aud.contains(&self.audience) {
            return Err(Rejection::invalid(format!(
                "aud: must contain {:?}, but is {}",
                self.audience,
                shown(value("aud"))
            )));
        }
        let company = look_up(claims, &self.company).unwrap_or(&Value::Null);
        let company_id = company_id(company).ok_or_else(|| {
            wrong(&self.company, company, &format!("a whole number from 1 to {MAX_ID}, as a number or a string"))
        })?;
        let iss: Option<String> = typed::<Option<String>>(claims, "iss")?.flatten();
        if self.issuer.is_some() && iss != self.issuer {
            let issuer = self.issuer.as_deref().unwrap_or_default();
            return Err(wrong("iss", value("iss"), &format!("{issuer:?}")));
        }
        let seconds = |name: &str| Ok(typed::<f64>(claims, name)?.map(|seconds| seconds.floor() as i64));
        let (nbf, iat) = (seconds("nbf")?, seconds("iat")?);
        for (name, time) in [("nbf", nbf), ("iat", iat)] {
            if let Some(time) = time.filter(|time| *time > now.saturating_add(SKEW)) {
                return Err(Rejection::invalid(format!("{name}: {} s in the future", time.saturating_sub(now))));
            }
        }
        let sub = typed::<Option<String>>(claims, "sub")?.flatten();
        let person = look_up(claims, &self.person).and_then(Value::as_str).filter(|person| !person.trim().is_empty());
        let sub = person.map(str::to_owned).or(sub);
        let scope = self.scope(claims)?;
        let exp = seconds("exp")?.filter(|exp| *exp >= 0);
        let exp = exp.ok_or_else(|| wrong("exp", value("exp"), "seconds since 1970"))?;
        if exp <= now {
            return Err(Rejection::expired(now - exp));
        }
        Ok(Claims { company_id, exp, aud, sub, iat, nbf, iss, scope })
    }

    /// Returns all of a token's scopes, including those of its roles.
    fn scope(&self, claims: &Object) -> Result<Option<String>, Rejection> {
        let mut scopes: Vec<&str> = Vec::new();
        for name in SCOPE_CLAIMS {
            scopes.extend(texts(claims, name)?.into_iter().flat_map(str::split_whitespace));
        }
        if !self.role_scopes.is_empty() {
            for name in ROLE_CLAIMS {
                let roles = texts(claims, name)?;
                let granted = self.role_scopes.iter().filter(|(role, _)| roles.contains(&role.as_str()));
                scopes.extend(granted.flat_map(|(_, scopes)| scopes).map(String::as_str));
            }
        }
        Ok((!scopes.is_empty()).then(|| scopes.join(" ")))
    }
}

/// Returns the value of a claim.
///
/// Names such as URLs contain dots, so the whole name takes precedence over a path of nested names.
fn look_up<'c>(claims: &'c Object, name: &str) -> Option<&'c Value> {
    claims.get(name).or_else(|| {
        let mut paths = name.match_indices('.').map(|(dot, _)| (&name[..dot], &name[dot + 1..]));
        paths.find_map(|(outer, inner)| look_up(claims.get(outer)?.as_object()?, inner))
    })
}

/// Parses a company ID from a number or a string.
fn company_id(value: &Value) -> Option<i64> {
    let id = match value {
        Value::String(text) => text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit())),
        value => value.as_i64(),
    };
    id.filter(|id| (1..=MAX_ID).contains(id))
}

/// Returns the strings of a claim that is a string or a list of strings.
fn texts<'c>(claims: &'c Object, name: &str) -> Result<Vec<&'c str>, Rejection> {
    let value = look_up(claims, name).unwrap_or(&Value::Null);
    let texts = match value {
        Value::Null => Some(Vec::new()),
        Value::String(text) => Some(vec![text.as_str()]),
        Value::Array(items) => items.iter().map(Value::as_str).collect(),
        _ => None,
    };
    texts.ok_or_else(|| wrong(name, value, "a string or a list of strings"))
}

/// Reads a claim as the type `T`.
fn typed<T: DeserializeOwned>(claims: &Object, name: &str) -> Result<Option<T>, Rejection> {
    let Some(value) = claims.get(name) else { return Ok(None) };
    let typed = T::deserialize(value).map(Some);
    typed.map_err(|_| Rejection::invalid(format!("{name}: {} has the wrong type", shown(value))))
}

fn wrong(name: &str, value: &Value, must: &str) -> Rejection {
    Rejection::invalid(format!("{name}: must be {must}, but is {}", shown(value)))
}

/// Formats a value, truncated if it is long.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_SHOWN_VALUE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

//! Why a token is refused, for operators: which claim, and what it should be. Callers are not told, since most of them are strangers.

use jsonwebtoken::{Validation, decode, decode_header};
use serde_json::{Map, Value, json};

use super::{
    claims::{AUDIENCE, Claims},
    header::Header,
    verifier::{SKEW, Verifier, candidates},
};

impl Verifier {
    /// Names the part of a token that [`Verifier::verify`] refuses at `now`; `None` if it accepts the token.
    pub fn explain(&self, token: &str, now: i64) -> Option<String> {
        self.verify(token, now).err()?;
        Some(self.refused(token.trim(), now).unwrap_or_else(|| "it is malformed or too long".to_owned()))
    }

    fn refused(&self, token: &str, now: i64) -> Option<String> {
        if token.split('.').count() != 3 {
            return Some("it is not a signed JSON Web Token: three parts, separated by dots".to_owned());
        }
        let Some(header) = Header::of(token) else {
            let alg = decode_header(token).map(|header| format!("alg is {:?}", header.alg));
            let found = alg.unwrap_or_else(|error| error.to_string());
            return Some(format!(
                "header: alg, typ or crit is not one that is accepted ({found}): RS256, ES256, EdDSA or HS256, the type JWT or \
                 at+jwt, and no extensions"
            ));
        };
        let keys = self.current_keys();
        if !keys.keys.iter().any(|key| key.algorithm == header.alg) {
            return Some(format!("alg: no key is for {:?}", header.alg));
        }
        let candidates: Vec<_> = candidates(&header, &keys.keys).collect();
        if candidates.is_empty() {
            let known: Vec<&str> = keys.keys.iter().filter_map(|key| key.id.as_deref()).collect();
            let kid = header.kid.unwrap_or_default();
            return Some(format!("kid: no key for {:?} has the ID {kid:?}; known: {}", header.alg, known.join(", ")));
        }
        let claims = candidates.iter().find_map(|key| {
            let mut validation = Validation::new(key.algorithm);
            validation.required_spec_claims.clear();
            (validation.validate_exp, validation.validate_aud) = (false, false);
            decode::<Map<String, Value>>(token, &key.decoding, &validation).ok()
        });
        let Some(claims) = claims else {
            return Some(format!("signature: none of the keys that may have signed it ({}) has", candidates.len()));
        };
        self.refused_claim(&claims.claims, now)
    }

    fn refused_claim(&self, claims: &Map<String, Value>, now: i64) -> Option<String> {
        for required in ["company_id", "exp", "aud"] {
            if claims.get(required).is_none_or(Value::is_null) {
                return Some(format!("{required}: it is missing"));
            }
        }
        let value = |name: &str| claims.get(name).unwrap_or(&Value::Null);
        let is_of = |audience: &Value| audience.as_str() == Some(AUDIENCE);
        if !is_of(value("aud")) && !value("aud").as_array().is_some_and(|all| all.iter().any(is_of)) {
            return Some(format!("aud: it is {}, and must contain {AUDIENCE:?}", value("aud")));
        }
        let company = value("company_id");
        if company.as_i64().is_none_or(|id| !(1..=crate::id::MAX_ID).contains(&id)) {
            return Some(format!(
                "company_id: it is {company}, and must be a whole number from 1 to {}",
                crate::id::MAX_ID
            ));
        }
        if let Some(issuer) = &self.issuer
            && value("iss").as_str() != Some(issuer)
        {
            return Some(format!("iss: it is {}, and must be {issuer:?}", value("iss")));
        }
        for (name, limit) in [("nbf", now + SKEW), ("iat", now + SKEW)] {
            if let Some(time) = value(name).as_f64().filter(|time| time.floor() > limit as f64) {
                return Some(format!("{name}: it is {} s in the future", time - now as f64));
            }
        }
        if let Some(exp) = value("exp").as_f64().filter(|exp| exp.floor() <= now as f64) {
            return Some(format!("exp: it expired {} s ago", now as f64 - exp.floor()));
        }
        // What is left is a claim of the wrong type. The error does not name it, so each is tried among others that are right.
        claims.iter().find_map(|(name, value)| {
            let mut all = json!({"company_id": 1, "exp": 0, "aud": AUDIENCE});
            all[name] = value.clone();
            let error = serde_json::from_value::<Claims>(all).err()?;
            Some(format!("{name}: it is {value}, which has the wrong type: {error}"))
        })
    }
}

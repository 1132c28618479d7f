//! Why a token is refused, for operators: which claim, and what it should be. Callers are not told, since most of them are strangers.

use jsonwebtoken::decode_header;

use super::{
    header::Header,
    verifier::{Verifier, candidates, presented, signed},
};

/// Characters of an explanation in a log.
const MAX_LOGGED: usize = 300;

impl Verifier {
    /// Names the part of a token that [`Verifier::verify`] refuses at `now`; `None` if it accepts the token.
    pub fn explain(&self, token: &str, now: i64) -> Option<String> {
        self.verify(token, now).err()?;
        Some(self.refused(token.trim(), now).unwrap_or_else(|| "it is malformed or too long".to_owned()))
    }

    /// Explains the token in an `Authorization` header's value, for a log. `None` if there is none, if it is valid, or after a few
    /// others in the same second.
    pub fn explain_some(&self, header: Option<&[u8]>, now: i64) -> Option<String> {
        let token = presented(header).ok()?;
        // Strangers may send any number, and each costs as much as a read.
        let why = self.explained.pass(now).then(|| self.explain(token, now))??;
        // Parts of it are what a stranger has sent.
        let safe = |char: char| if char.is_control() { ' ' } else { char };
        Some(why.chars().take(MAX_LOGGED).map(safe).collect())
    }

    fn refused(&self, token: &str, now: i64) -> Option<String> {
        if token.split('.').count() != 3 {
            return Some("it is not a signed JSON Web Token: three parts, separated by dots".to_owned());
        }
        let Some(header) = Header::of(token) else {
            let alg = decode_header(token).map(|header| format!("alg is {:?}", header.alg));
            let found = alg.unwrap_or_else(|error| error.to_string());
            return Some(format!(
                "header: alg, typ or crit is not one that is accepted ({found}): RS256, ES256, EdDSA (Ed25519) or HS256, the type JWT or \
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
        let Some(claims) = signed(token, &keys.keys) else {
            return Some(format!(
                "signature: none of the keys that may have signed it ({}) has, or its claims are not JSON without repeated names",
                candidates.len()
            ));
        };
        self.rules.read(&claims.0, now).err().map(|refused| refused.why)
    }
}

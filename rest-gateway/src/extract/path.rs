//! The ID at the end of a path.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use compliance_api::{MAX_ID, error::Error};
use http::request::Parts;
use percent_encoding::percent_decode_str;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathId {
    /// As it was sent.
    pub(crate) text: String,
    /// The number, if the text is an integer.
    pub(crate) number: Option<i64>,
}

impl PathId {
    /// The last segment of a path.
    pub(crate) fn of(path: &str) -> Self {
        let segment = path.rsplit('/').next().unwrap_or_default();
        let text = percent_decode_str(segment).decode_utf8_lossy().into_owned();
        // Rust reads a plus sign, which is none of an integer in JSON.
        let number = text.parse().ok().filter(|_| !text.starts_with('+'));
        Self { text, number }
    }

    /// The number, if a record can have it as its ID.
    pub(crate) fn possible(&self) -> Option<i64> {
        self.number.filter(|number| (1..=MAX_ID).contains(number))
    }

    /// The ID of a record, or the error that the path's text names none.
    pub(crate) fn record_id(self, not_found: impl FnOnce(String) -> Error) -> Result<i64, Error> {
        self.possible().ok_or_else(|| not_found(self.text))
    }
}

/// The ID before the last segment of a path.
pub(crate) struct ParentId(pub(crate) PathId);

impl<S: Sync> FromRequestParts<S> for ParentId {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let path = parts.uri.path();
        Ok(Self(PathId::of(path.rsplit_once('/').map_or(path, |(parent, _)| parent))))
    }
}

impl<S: Sync> FromRequestParts<S> for PathId {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(parts.uri.path()))
    }
}

#[cfg(test)]
mod tests {
    use super::PathId;

    #[test]
    fn an_id_is_a_positive_integer_of_at_most_53_bits() {
        let possible = |path| PathId::of(path).possible();
        assert_eq!(possible("/api/urls/7"), Some(7));
        assert_eq!(possible("/api/urls/%37"), Some(7));
        assert_eq!(possible("/api/urls/9007199254740991"), Some(9_007_199_254_740_991));
        for wrong in
            ["9007199254740992", "99999999999999999999", "0", "-1", "+1", "1.0", "1e3", "abc", "1%20", "%", "%C3"]
        {
            assert_eq!(possible(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_text_is_what_was_provided() {
        assert_eq!(PathId::of("/api/affiliates/a%2Fb%").text, "a/b%");
        assert_eq!(PathId::of("/api/affiliates/-5").number, Some(-5));
    }
}

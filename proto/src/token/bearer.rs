//! The token of an `Authorization` header.

/// The token of an `Authorization` header's value; `None` unless the scheme is Bearer (in any case) and a token
/// follows.
pub fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.trim().split_once(' ')?;
    let token = token.trim_start();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() && !token.contains(' ')).then_some(token)
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_bearer_credentials_hold_a_token() {
        assert_eq!(super::bearer("Bearer a.b.c"), Some("a.b.c"));
        assert_eq!(super::bearer("bearer  a.b.c "), Some("a.b.c"));
        for wrong in ["", "Bearer", "Bearer ", "Basic a.b.c", "a.b.c", "Bearer a b"] {
            assert_eq!(super::bearer(wrong), None, "{wrong}");
        }
    }
}

//! The ID at the end of a path.

use std::borrow::Cow;

use compliance_api::MAX_ID;

/// An ID as a path gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathId {
    /// As it was provided.
    pub(crate) text: String,
    /// The number, when the text is a whole one.
    pub(crate) number: Option<i64>,
}

impl PathId {
    /// The last segment of a path.
    pub(crate) fn of(path: &str) -> Self {
        let segment = path.rsplit('/').next().unwrap_or_default();
        let text = decoded(segment).into_owned();
        let digits = text.strip_prefix('-').unwrap_or(&text);
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = if is_number { text.parse().ok() } else { None };
        Self { text, number }
    }

    /// The number, when a record can have it as its ID.
    pub(crate) fn possible(&self) -> Option<i64> {
        self.number.filter(|number| (1..=MAX_ID).contains(number))
    }
}

/// The text with its percent-encoded bytes decoded.
fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let hex = |digit: Option<&u8>| digit.and_then(|digit| char::from(*digit).to_digit(16));
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if let (b'%', Some(high), Some(low)) = (byte, hex(bytes.get(at + 1)), hex(bytes.get(at + 2))) {
            decoded.push((high * 16 + low) as u8);
            at += 3;
        } else {
            decoded.push(*byte);
            at += 1;
        }
    }
    Cow::Owned(String::from_utf8_lossy(&decoded).into_owned())
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

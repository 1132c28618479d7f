//! ISO 3166-1 country codes: requests use alpha-2 codes, responses numeric codes and short names.

/// Returns the numeric code of an alpha-2 code, ignoring case.
pub fn numeric(alpha2: &str) -> Option<i16> {
    let code = rust_iso3166::from_alpha2(&alpha2.to_ascii_uppercase())?;
    i16::try_from(code.numeric).ok()
}

/// Returns the alpha-2 code of a numeric code, in uppercase.
pub fn alpha2(numeric: i16) -> Option<&'static str> {
    rust_iso3166::from_numeric(u16::try_from(numeric).ok()?).map(|code| code.alpha2)
}

/// Returns the short name of a numeric code.
pub fn name(numeric: i16) -> Option<&'static str> {
    rust_iso3166::from_numeric(u16::try_from(numeric).ok()?).map(|code| code.name)
}

/// Returns all alpha-2 codes, in uppercase and alphabetical order.
pub fn codes() -> Vec<&'static str> {
    let mut codes = rust_iso3166::ALL_ALPHA2.to_vec();
    codes.sort_unstable();
    codes
}

#[cfg(test)]
mod tests {
    #[test]
    fn country_codes_convert_both_ways() {
        assert_eq!(super::numeric("US"), Some(840));
        assert_eq!(super::numeric("de"), Some(276));
        assert_eq!(super::alpha2(276), Some("DE"));
        assert_eq!(super::name(276), Some("Germany"));
        assert_eq!(super::numeric("ZZ"), None);
        assert_eq!(super::numeric("é"), None);
    }
}

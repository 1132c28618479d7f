//! ISO 3166-1: the alpha-2 code that is written, the numeric code and the short name that are read.

/// The numeric code of an alpha-2 code in either case; `None` when it is no code of the standard.
pub fn numeric(alpha2: &str) -> Option<i16> {
    let code = rust_iso3166::from_alpha2(&alpha2.to_ascii_uppercase())?;
    i16::try_from(code.numeric).ok()
}

/// The alpha-2 code, in upper case, of a numeric code.
pub fn alpha2(numeric: i16) -> Option<&'static str> {
    rust_iso3166::from_numeric(u16::try_from(numeric).ok()?).map(|code| code.alpha2)
}

/// The short name of a numeric code.
pub fn name(numeric: i16) -> Option<&'static str> {
    rust_iso3166::from_numeric(u16::try_from(numeric).ok()?).map(|code| code.name)
}

/// Every alpha-2 code, in upper case and in alphabetical order.
pub fn codes() -> Vec<&'static str> {
    let mut codes = rust_iso3166::ALL_ALPHA2.to_vec();
    codes.sort_unstable();
    codes
}

#[cfg(test)]
mod tests {
    #[test]
    fn codes_and_names_agree() {
        assert_eq!(super::numeric("US"), Some(840));
        assert_eq!(super::numeric("de"), Some(276));
        assert_eq!(super::alpha2(276), Some("DE"));
        assert_eq!(super::name(276), Some("Germany"));
        assert_eq!(super::numeric("ZZ"), None);
        assert_eq!(super::numeric("é"), None);
    }
}

//! Names in a request that have no effect. Response headers list them.

use std::fmt::{self, Display, Write as _};

use http::{HeaderName, HeaderValue};
use url::form_urlencoded::byte_serialize;

use crate::limits::{MAX_IGNORED_CHARS, MAX_IGNORED_NAMES};

/// Lists the query parameters that were ignored.
pub(crate) const IGNORED_PARAMETERS: HeaderName = HeaderName::from_static("x-ignored-parameters");
/// Lists the body fields that were ignored.
pub(crate) const IGNORED_FIELDS: HeaderName = HeaderName::from_static("x-ignored-fields");

/// The object that holds a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    /// The body or the query.
    Top,
    /// The object in this field of the body.
    Within(&'static str),
    /// The element with this index in this list of the body.
    Element(&'static str, usize),
}

impl Location {
    fn field(self) -> Option<&'static str> {
        match self {
            Self::Top => None,
            Self::Within(field) | Self::Element(field, _) => Some(field),
        }
    }
}

/// The path of a field begins with this.
impl Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Top => Ok(()),
            Self::Within(field) => write!(f, "{field}."),
            Self::Element(list, index) => write!(f, "{list}.{index}."),
        }
    }
}

/// The first few ignored names. Each name of a list's elements is there once, with the first element that has it.
#[derive(Default)]
pub(crate) struct Ignored(Vec<(Location, String)>);

impl Ignored {
    pub(crate) fn add(&mut self, location: Location, name: &str) {
        if self.0.len() == MAX_IGNORED_NAMES {
            return;
        }
        let end = name.char_indices().nth(MAX_IGNORED_CHARS).map_or(name.len(), |(end, _)| end);
        let name = &name[..end];
        if !self.0.iter().any(|(other, known)| known == name && other.field() == location.field()) {
            self.0.push((location, name.to_owned()));
        }
    }

    /// Puts the names of the body itself first.
    pub(crate) fn sort(&mut self) {
        self.0.sort_by_key(|(location, _)| *location != Location::Top);
    }

    /// Returns the header value: percent-encoded names, separated by commas.
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        let mut value = String::new();
        for (location, name) in &self.0 {
            let separator = if value.is_empty() { "" } else { ", " };
            // Writing to a string does not fail.
            let _ = write!(value, "{separator}{location}");
            let longest = value.len() + MAX_IGNORED_CHARS;
            for char in name.chars() {
                let before = value.len();
                value.extend(byte_serialize(char.encode_utf8(&mut [0; 4]).as_bytes()));
                if value.len() > longest {
                    value.truncate(before);
                    break;
                }
            }
        }
        HeaderValue::try_from(value).ok().filter(|value| !value.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Ignored,
        Location::{Element, Top, Within},
    };

    #[test]
    fn each_name_of_an_object_is_listed_once_and_shortened() {
        let mut ignored = Ignored::default();
        assert_eq!(ignored.header(), None);
        for index in [3, 4] {
            ignored.add(Element("affiliates", index), "city2");
            ignored.add(Top, "city2");
            ignored.add(Within("case"), "city2");
            ignored.add(Top, "\u{1F600}\u{1F600}\u{1F600}\u{1F600}\u{1F600}\u{1F600}");
        }
        let five = "%F0%9F%98%80".repeat(5);
        assert_eq!(ignored.header().unwrap(), format!("affiliates.3.city2, city2, case.city2, {five}").as_str());
        ignored.sort();
        assert_eq!(ignored.header().unwrap(), format!("city2, {five}, affiliates.3.city2, case.city2").as_str());
    }
}

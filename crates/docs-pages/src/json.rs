//! JSON that preserves key order, for documents that people read.
//!
//! `serde_json::Value` preserves key order only with a feature that would affect every crate in the workspace.

use std::fmt::{self, Write as _};

use indexmap::{IndexMap, map::Slice};
use serde::{Deserialize, Serialize};
use serde_json::Number;

/// A JSON value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
#[allow(missing_docs, reason = "the types of JSON values")]
pub enum Json {
    Null,
    Flag(bool),
    Number(Number),
    Text(String),
    List(Vec<Json>),
    Object(IndexMap<String, Json>),
}

/// Maximum length of a value on one line, in characters.
const LINE: usize = 44;

/// Creates an object with these keys and values, in this order.
#[macro_export]
macro_rules! object {
    ($($key:literal: $value:expr),* $(,)?) => {
        $crate::Json::object([$(($key, $crate::Json::of(&$value))),*])
    };
}

/// Builds documents. Values that cannot be serialized are bugs, so these methods panic.
impl Json {
    /// Converts a value to JSON.
    ///
    /// # Panics
    ///
    /// Panics if the value cannot be serialized as JSON.
    pub fn of(value: &(impl Serialize + ?Sized)) -> Self {
        Self::parse(&serde_json::to_string(value).expect("the value can be serialized as JSON"))
    }

    /// Parses JSON.
    ///
    /// # Panics
    ///
    /// Panics if `text` is not valid JSON.
    pub fn parse(text: &str) -> Self {
        serde_json::from_str(text).expect("the text is valid JSON")
    }

    /// Creates an object from entries.
    pub fn object(entries: impl IntoIterator<Item = (impl Into<String>, impl Serialize)>) -> Self {
        Self::Object(entries.into_iter().map(|(key, value)| (key.into(), Self::of(&value))).collect())
    }

    /// Adds an entry to the object.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Serialize) -> Self {
        self.entries_mut().insert(key.to_owned(), Self::of(&value));
        self
    }

    /// Adds an entry to the object if `value` is `Some`.
    #[must_use]
    pub fn with_some(self, key: &str, value: Option<impl Serialize>) -> Self {
        if let Some(value) = value { self.with(key, value) } else { self }
    }

    /// Returns the object's entries.
    ///
    /// # Panics
    ///
    /// Panics if the value is not an object.
    pub fn entries_mut(&mut self) -> &mut IndexMap<String, Self> {
        let Self::Object(entries) = self else { panic!("{self:?} is not an object") };
        entries
    }

    /// Returns the object's value for a key.
    ///
    /// # Panics
    ///
    /// Panics if the value is not an object, or does not contain the key.
    pub fn at(&mut self, key: &str) -> &mut Self {
        self.entries_mut().get_mut(key).unwrap_or_else(|| panic!("the object does not contain the key {key}"))
    }
}

/// Reads documents of any shape, without panicking.
impl Json {
    /// Returns the value for a key, or `None` if this is not an object with that key.
    pub fn get(&self, key: &str) -> Option<&Self> {
        if let Self::Object(entries) = self { entries.get(key) } else { None }
    }

    /// Returns the entries of an object, or an empty slice for other values.
    pub fn entries(&self) -> &Slice<String, Self> {
        if let Self::Object(entries) = self { entries.as_slice() } else { Slice::new() }
    }

    /// Returns the entries of the object under a key.
    pub(crate) fn entries_of(&self, key: &str) -> &Slice<String, Self> {
        self.get(key).map_or(Slice::new(), Self::entries)
    }

    /// Returns the items of the list under a key.
    pub(crate) fn list(&self, key: &str) -> &[Self] {
        if let Some(Self::List(items)) = self.get(key) { items } else { &[] }
    }

    /// Returns the string under a key, or an empty string if there is none.
    pub(crate) fn text(&self, key: &str) -> &str {
        self.get(key).and_then(Self::as_text).unwrap_or_default()
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// Returns strings unchanged, and other values as JSON.
    pub(crate) fn plain(&self) -> String {
        self.as_text().map_or_else(|| self.to_string(), str::to_owned)
    }

    /// Resolves a reference such as `#/components/schemas/Affiliate` in this document. Returns other values unchanged.
    pub(crate) fn resolve<'a>(&'a self, value: &'a Self) -> &'a Self {
        let Some(keys) = value.text("$ref").strip_prefix("#/") else { return value };
        keys.split('/').try_fold(self, Self::get).unwrap_or(value)
    }

    /// Returns the components of a kind, such as `schemas`.
    pub(crate) fn components(&self, kind: &str) -> &Slice<String, Self> {
        self.get("components").map_or(Slice::new(), |components| components.entries_of(kind))
    }

    /// Formats the value on several lines, with short parts on one line.
    pub(crate) fn pretty(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, Some(0));
        text
    }

    /// Writes the value on one line, or on several lines indented from `depth`.
    fn write(&self, text: &mut String, depth: Option<usize>) {
        let (values, open, close): (Vec<(String, &Self)>, _, _) = match self {
            Self::List(items) => (items.iter().map(|item| (String::new(), item)).collect(), '[', ']'),
            Self::Object(entries) => {
                let key = |key: &String| format!("{}: ", serde_json::Value::from(key.as_str()));
                (entries.iter().map(|(name, value)| (key(name), value)).collect(), '{', '}')
            }
            value => return text.push_str(&serde_json::to_string(value).expect("scalars can be serialized as JSON")),
        };
        let lines = depth.filter(|_| !values.is_empty() && self.to_string().chars().count() > LINE);
        text.push(open);
        for (index, (key, value)) in values.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let _ = match lines {
                Some(depth) => write!(text, "{comma}\n{:1$}{key}", "", 2 * (depth + 1)),
                None => write!(text, "{comma}{}{key}", if index == 0 { "" } else { " " }),
            };
            value.write(text, lines.map(|depth| depth + 1));
        }
        if let Some(depth) = lines {
            let _ = write!(text, "\n{:1$}", "", 2 * depth);
        }
        text.push(close);
    }
}

/// Formats the value on one line.
impl fmt::Display for Json {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.write(&mut text, None);
        formatter.write_str(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::Json;

    #[test]
    fn pretty_json_wraps_only_long_values() {
        let text = r#"{"b": [null], "a": {"d": "x\"", "c": -1.5}}"#;
        let json = Json::parse(text);
        assert_eq!(object! { "b": [Json::Null], "a": object! { "d": "x\"", "c": -1.5 } }.to_string(), text);
        assert_eq!(json.to_string(), text);
        assert_eq!(json.pretty(), text);
        assert_eq!(json.resolve(&object! { "$ref": "#/a/c" }).to_string(), "-1.5");
        let long = Json::parse(&format!(r#"{{"a": {{}}, "b": ["{}"]}}"#, "x".repeat(80)));
        assert_eq!(long.pretty(), format!("{{\n  \"a\": {{}},\n  \"b\": [\n    \"{}\"\n  ]\n}}", "x".repeat(80)));
    }
}

//! JSON whose objects keep the order of their keys, for documents that people read. The order of `serde_json::Value` would
//! be a feature of that crate, which would change it for every crate of the workspace.

use serde::{Deserialize, Serialize};

/// A JSON value without fractions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Json {
    Null,
    Flag(bool),
    Number(i64),
    Text(String),
    List(Vec<Json>),
    Object(#[serde(with = "entries")] Vec<(String, Json)>),
}

/// An object with these keys and values, in this order.
macro_rules! object {
    ($($key:literal: $value:expr),* $(,)?) => {
        $crate::json::Json::Object(vec![$(($key.to_owned(), $crate::json::Json::of(&$value))),*])
    };
}
pub(crate) use object;

impl Json {
    /// What a value is written as.
    pub(crate) fn of(value: &(impl Serialize + ?Sized)) -> Self {
        Self::parse(&serde_json::to_string(value).expect("the value has a form in JSON"))
    }

    /// The value of a JSON text.
    pub(crate) fn parse(text: &str) -> Self {
        serde_json::from_str(text).expect("the text is JSON without fractions")
    }

    /// An object of entries.
    pub(crate) fn object(entries: impl IntoIterator<Item = (impl Into<String>, impl Serialize)>) -> Self {
        Self::Object(entries.into_iter().map(|(key, value)| (key.into(), Self::of(&value))).collect())
    }

    /// The object with one more entry.
    #[must_use]
    pub(crate) fn with(mut self, key: &str, value: impl Serialize) -> Self {
        self.entries().push((key.to_owned(), Self::of(&value)));
        self
    }

    /// The entries of an object.
    pub(crate) fn entries(&mut self) -> &mut Vec<(String, Self)> {
        let Self::Object(entries) = self else { panic!("{self:?} is no object") };
        entries
    }

    /// The value of a key of an object.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        let Self::Object(entries) = self else { return None };
        entries.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The same, to be changed.
    pub(crate) fn at(&mut self, key: &str) -> &mut Self {
        let (_, value) = self.entries().iter_mut().find(|(name, _)| name == key).expect("the object has the key");
        value
    }
}

/// Objects as lists of entries.
mod entries {
    use std::fmt;

    use serde::{
        Deserializer, Serializer,
        de::{MapAccess, Visitor},
    };

    use super::Json;

    pub(super) fn serialize<S: Serializer>(entries: &[(String, Json)], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(entries.iter().map(|(key, value)| (key, value)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, Json)>, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Vec<(String, Json)>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
                std::iter::from_fn(|| object.next_entry().transpose()).collect()
            }
        }

        deserializer.deserialize_map(Entries)
    }
}

#[cfg(test)]
mod tests {
    use super::Json;

    #[test]
    fn keys_keep_their_order() {
        let text = r#"{"b":[1,null,true],"a":{"d":"x","c":-5}}"#;
        let json = Json::parse(text);
        assert_eq!(json, object! { "b": (1, Json::Null, true), "a": object! { "d": "x", "c": -5 } });
        assert_eq!(serde_json::to_string(&json).unwrap(), text);
    }
}

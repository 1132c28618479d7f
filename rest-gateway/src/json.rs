//! JSON whose objects keep the order of their keys, for documents that people read. The order of `serde_json::Value` would
//! be a feature of that crate, which would change it for every crate of the program.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, SeqAccess, Visitor},
};

/// A JSON value without fractions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Json {
    Null,
    Flag(bool),
    Number(i64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// An object with these keys and values, in this order.
macro_rules! object {
    ($($key:literal: $value:expr),* $(,)?) => {
        $crate::json::Json::Object(vec![$(($key.to_owned(), $crate::json::Json::from($value))),*])
    };
}
pub(crate) use object;

impl Json {
    /// A list of values.
    pub(crate) fn list<T: Into<Self>>(values: impl IntoIterator<Item = T>) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }

    /// An object of entries.
    pub(crate) fn object<T: Into<Self>>(entries: impl IntoIterator<Item = (impl Into<String>, T)>) -> Self {
        Self::Object(entries.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }

    /// The object with one more entry. Other values stay as they are.
    #[must_use]
    pub(crate) fn with(mut self, key: &str, value: impl Into<Self>) -> Self {
        if let Self::Object(entries) = &mut self {
            entries.push((key.to_owned(), value.into()));
        }
        self
    }

    /// What a value is written as; null if that is no JSON.
    pub(crate) fn of(value: &impl Serialize) -> Self {
        serde_json::to_vec(value).map_or(Self::Null, |text| Self::parse(&text))
    }

    /// The value of a JSON text; null if it is none.
    pub(crate) fn parse(text: &[u8]) -> Self {
        serde_json::from_slice(text).unwrap_or(Self::Null)
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<bool> for Json {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<i32> for Json {
    fn from(number: i32) -> Self {
        Self::Number(number.into())
    }
}

impl From<i64> for Json {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<usize> for Json {
    fn from(number: usize) -> Self {
        Self::Number(number as i64)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Flag(flag) => serializer.serialize_bool(*flag),
            Self::Number(number) => serializer.serialize_i64(*number),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(values) => serializer.collect_seq(values),
            Self::Object(entries) => serializer.collect_map(entries.iter().map(|(key, value)| (key, value))),
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON without fractions")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Json, E> {
        Ok(Json::Flag(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Json, E> {
        Ok(Json::Number(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Json, E> {
        Ok(Json::Number(i64::try_from(number).unwrap_or(i64::MAX)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Json, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(Json::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Json, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = object.next_entry()? {
            entries.push(entry);
        }
        Ok(Json::Object(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::Json;

    #[test]
    fn keys_keep_their_order() {
        let text = r#"{"b":[1,null,true],"a":{"d":"x","c":-5}}"#;
        let json = Json::parse(text.as_bytes());
        assert_eq!(
            json,
            object! { "b": Json::List(vec![1.into(), Json::Null, true.into()]), "a": object! { "d": "x", "c": -5 } }
        );
        assert_eq!(serde_json::to_string(&json).unwrap(), text);
    }
}

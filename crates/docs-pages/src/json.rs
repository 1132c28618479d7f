//! JSON whose objects keep the order of their keys: fields are shown in the order in which they are documented.

use std::fmt::{self, Write as _};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};

/// A value of JSON.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub(crate) enum Json {
    Null,
    Flag(bool),
    Number(serde_json::Number),
    Text(String),
    List(Vec<Json>),
    #[serde(deserialize_with = "entries")]
    Object(Vec<(String, Json)>),
}

/// An object that fits into as many characters is written on one line.
const LINE: usize = 44;

impl Json {
    /// The value of a key of an object.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.entries().iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The entries of an object; of any other value, none.
    pub(crate) fn entries(&self) -> &[(String, Self)] {
        if let Self::Object(entries) = self { entries } else { &[] }
    }

    /// The items of a list under a key; none if there is no such list.
    pub(crate) fn list(&self, key: &str) -> &[Self] {
        if let Some(Self::List(items)) = self.get(key) { items } else { &[] }
    }

    /// The text under a key; empty if there is none.
    pub(crate) fn text(&self, key: &str) -> &str {
        self.get(key).and_then(Self::as_text).unwrap_or_default()
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// A text as it is, and any other value as JSON.
    pub(crate) fn plain(&self) -> String {
        self.as_text().map_or_else(|| self.to_string(), str::to_owned)
    }

    /// The value a JSON pointer such as `#/components/schemas/Affiliate` refers to.
    pub(crate) fn pointer(&self, reference: &str) -> Option<&Self> {
        let mut keys = reference.strip_prefix("#/")?.split('/').map(|key| key.replace("~1", "/").replace("~0", "~"));
        keys.try_fold(self, |value, key| value.get(&key))
    }

    /// The value on several lines; what is short is on one.
    pub(crate) fn pretty(&self) -> String {
        let mut text = String::new();
        self.write_pretty(&mut text, 0);
        text
    }

    fn write_pretty(&self, text: &mut String, depth: usize) {
        let (values, open, close): (Vec<(String, &Self)>, _, _) = match self {
            Self::List(items) => (items.iter().map(|item| (String::new(), item)).collect(), '[', ']'),
            Self::Object(entries) => {
                let key = |key: &String| format!("{}: ", Self::Text(key.clone()));
                (entries.iter().map(|(name, value)| (key(name), value)).collect(), '{', '}')
            }
            value => {
                let _ = write!(text, "{value}");
                return;
            }
        };
        let line = self.to_string();
        if values.is_empty() || line.chars().count() <= LINE {
            text.push_str(&line);
            return;
        }
        text.push(open);
        for (index, (key, value)) in values.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let _ = write!(text, "{comma}\n{:1$}{key}", "", 2 * (depth + 1));
            value.write_pretty(text, depth + 1);
        }
        let _ = write!(text, "\n{:1$}{close}", "", 2 * depth);
    }
}

/// On one line.
impl fmt::Display for Json {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => formatter.write_str("null"),
            Self::Flag(flag) => write!(formatter, "{flag}"),
            Self::Number(number) => write!(formatter, "{number}"),
            Self::Text(text) => write!(formatter, "{}", serde_json::Value::from(text.as_str())),
            Self::List(items) => {
                formatter.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    write!(formatter, "{}{item}", if index == 0 { "" } else { ", " })?;
                }
                formatter.write_str("]")
            }
            Self::Object(entries) => {
                formatter.write_str("{")?;
                for (index, (key, value)) in entries.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(formatter, "{comma}{}: {value}", serde_json::Value::from(key.as_str()))?;
                }
                formatter.write_str("}")
            }
        }
    }
}

fn entries<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, Json)>, D::Error> {
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

#[cfg(test)]
mod tests {
    use super::Json;

    #[test]
    fn keys_keep_their_order_and_long_values_have_lines() {
        let text = r#"{"b": [null], "a": {"d": "x\"", "c": -1.5}}"#;
        let json: Json = serde_json::from_str(text).unwrap();
        assert_eq!(json.to_string(), text);
        assert_eq!(json.pretty(), text);
        assert_eq!(json.pointer("#/a/c").unwrap().to_string(), "-1.5");
        let long: Json = serde_json::from_str(&format!(r#"{{"a": {{}}, "b": ["{}"]}}"#, "x".repeat(80))).unwrap();
        assert_eq!(long.pretty(), format!("{{\n  \"a\": {{}},\n  \"b\": [\n    \"{}\"\n  ]\n}}", "x".repeat(80)));
    }
}

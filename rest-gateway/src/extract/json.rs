//! A lenient reader of JSON. A value of the wrong type is reported to its shape and does not end the reading, so one pass
//! over the bytes finds every violation of a body.
//!
//! The reader recurses only as deep as a shape goes; whatever is nested deeper is skipped without recursion.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize,
    de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

/// A JSON value as it was sent.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value<'de> {
    Null,
    Flag(bool),
    /// A number written as an integer.
    Integer(i64),
    /// Copied only if it is written with escapes.
    Text(Cow<'de, str>),
    /// An array, where one is expected.
    List(Vec<Self>),
    /// An object, where one is expected: its entries as they were sent.
    Object(Vec<(Cow<'de, str>, Self)>),
    /// Any other number, an array or an object.
    Other,
}

/// The expected type of a value, and what to make of a value of another type.
pub(super) trait Shape<'de>: Sized {
    /// What is made of the value.
    type Output;

    /// Neither an array nor an object, or [`Value::Other`] for one that is not expected.
    fn value(self, value: Value<'de>) -> Self::Output;

    /// An array. An implementation must read it to its end.
    fn array<A: SeqAccess<'de>>(self, mut array: A) -> Result<Self::Output, A::Error> {
        while array.next_element::<IgnoredAny>()?.is_some() {}
        Ok(self.value(Value::Other))
    }

    /// An object. An implementation must read it to its end.
    fn object<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Output, A::Error> {
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(self.value(Value::Other))
    }
}

/// Reads a whole document of a shape.
pub(super) fn read<'de, S: Shape<'de>>(bytes: &'de [u8], shape: S) -> Result<S::Output, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let output = Read(shape).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(output)
}

/// Reads one value of a shape, within an array or an object.
pub(super) struct Read<S>(pub(super) S);

impl<'de, S: Shape<'de>> DeserializeSeed<'de> for Read<S> {
    type Value = S::Output;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Output, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, S: Shape<'de>> Visitor<'de> for Read<S> {
    type Value = S::Output;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E>(self, flag: bool) -> Result<S::Output, E> {
        Ok(self.0.value(Value::Flag(flag)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<S::Output, E> {
        Ok(self.0.value(Value::Integer(number)))
    }

    fn visit_u64<E>(self, number: u64) -> Result<S::Output, E> {
        Ok(self.0.value(i64::try_from(number).map_or(Value::Other, Value::Integer)))
    }

    fn visit_f64<E>(self, _: f64) -> Result<S::Output, E> {
        Ok(self.0.value(Value::Other))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<S::Output, E> {
        Ok(self.0.value(Value::Text(Cow::Borrowed(text))))
    }

    fn visit_str<E>(self, text: &str) -> Result<S::Output, E> {
        Ok(self.0.value(Value::Text(Cow::Owned(text.to_owned()))))
    }

    fn visit_unit<E>(self) -> Result<S::Output, E> {
        Ok(self.0.value(Value::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, array: A) -> Result<S::Output, A::Error> {
        self.0.array(array)
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<S::Output, A::Error> {
        self.0.object(object)
    }
}

/// A value of any type.
#[derive(Clone, Copy)]
pub(super) struct AnyShape {
    /// How deep arrays and objects are read. Deeper ones are skipped.
    pub(super) depth: usize,
    /// The most elements of an array. Those behind are skipped.
    pub(super) most: usize,
}

impl AnyShape {
    /// A value that is neither an array nor an object.
    pub(super) const SCALAR: Self = Self { depth: 0, most: 0 };

    fn inner(self) -> Option<Self> {
        Some(Self { depth: self.depth.checked_sub(1)?, ..self })
    }
}

impl<'de> Shape<'de> for AnyShape {
    type Output = Value<'de>;

    fn value(self, value: Value<'de>) -> Value<'de> {
        value
    }

    fn array<A: SeqAccess<'de>>(self, mut array: A) -> Result<Value<'de>, A::Error> {
        let mut values = Vec::new();
        while let Some(inner) = self.inner().filter(|_| values.len() < self.most)
            && let Some(value) = array.next_element_seed(Read(inner))?
        {
            values.push(value);
        }
        while array.next_element::<IgnoredAny>()?.is_some() {}
        Ok(if self.depth == 0 { Value::Other } else { Value::List(values) })
    }

    fn object<A: MapAccess<'de>>(self, mut object: A) -> Result<Value<'de>, A::Error> {
        let Some(inner) = self.inner() else {
            while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(Value::Other);
        };
        let mut entries = Vec::new();
        while let Some(Key(name)) = object.next_key()? {
            let value = object.next_value_seed(Read(inner))?;
            if entries.len() < MOST_ENTRIES {
                entries.push((name, value));
            }
        }
        Ok(Value::Object(entries))
    }
}

/// The most entries of an object within another: more than any message has fields.
const MOST_ENTRIES: usize = 100;

/// The key of an object's entry, copied only if it is written with escapes.
#[derive(Deserialize)]
pub(super) struct Key<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::{AnyShape, Value, read};

    const ANY: AnyShape = AnyShape::SCALAR;

    #[test]
    fn a_value_has_one_type() {
        fn value(text: &str) -> Value<'_> {
            read(text.as_bytes(), ANY).unwrap()
        }
        assert_eq!(value("5"), Value::Integer(5));
        assert_eq!(value("-5"), Value::Integer(-5));
        assert_eq!(value("null"), Value::Null);
        assert_eq!(value("true"), Value::Flag(true));
        assert_eq!(value("\"\\u00e9\""), Value::Text("é".into()));
        for (most, expected) in [(9, vec![Value::Integer(5), Value::Other]), (1, vec![Value::Integer(5)])] {
            let list = read(b"[5,[6]]", AnyShape { depth: 1, most }).unwrap();
            assert_eq!(list, Value::List(expected));
        }
        for other in ["5.0", "5e0", "[5]", "{\"5\":5}", "99999999999999999999", "18446744073709551615"] {
            assert_eq!(value(other), Value::Other, "{other}");
        }
    }

    #[test]
    fn invalid_json_is_refused_at_any_depth() {
        let deep = "[".repeat(200_000);
        let closed = format!("{deep}{}", "]".repeat(200_000));
        assert!(read(closed.as_bytes(), ANY).is_ok_and(|value| value == Value::Other));
        let hostile: [&[u8]; 11] = [
            b"",
            b"{",
            b"[1,]",
            b"5 5",
            b"\"\\ud800\"",
            b"\"\xff\"",
            b"\"\n\"",
            b"1e400",
            b"nul",
            b"\xef\xbb\xbf5",
            deep.as_bytes(),
        ];
        for bytes in hostile {
            assert!(read(bytes, ANY).is_err(), "{:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(20)]));
        }
    }
}

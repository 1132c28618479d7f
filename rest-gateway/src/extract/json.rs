//! A lenient reader of JSON. A value of the wrong type is reported to its shape and does not end the reading, so one pass
//! over the bytes finds every violation of a body.
//!
//! The reader recurses only as deep as a shape goes; whatever is nested deeper is skipped without recursion.

use std::{fmt, marker::PhantomData};

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The expected type of a value, and what to make of a value of another type.
pub(crate) trait Shape<'de>: Sized {
    /// What is made of the value.
    type Value;

    /// A value of another type.
    fn other(self) -> Self::Value;

    /// Null.
    fn null(self) -> Self::Value {
        self.other()
    }

    /// A string.
    fn text(self, _text: &str) -> Self::Value {
        self.other()
    }

    /// A number written as an integer.
    fn integer(self, _number: i64) -> Self::Value {
        self.other()
    }

    /// `true` or `false`.
    fn flag(self, _flag: bool) -> Self::Value {
        self.other()
    }

    /// An array. An implementation must read it to its end.
    fn array<A: SeqAccess<'de>>(self, mut array: A) -> Result<Self::Value, A::Error> {
        while array.next_element::<IgnoredAny>()?.is_some() {}
        Ok(self.other())
    }

    /// An object. An implementation must read it to its end.
    fn object<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(self.other())
    }
}

/// Reads a whole document of a shape.
pub(crate) fn read<'de, S: Shape<'de>>(bytes: &'de [u8], shape: S) -> Result<S::Value, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = Read(shape).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// Reads one value of a shape, within an array or an object.
pub(crate) struct Read<S>(pub(crate) S);

impl<'de, S: Shape<'de>> DeserializeSeed<'de> for Read<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, S: Shape<'de>> Visitor<'de> for Read<S> {
    type Value = S::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E>(self, flag: bool) -> Result<S::Value, E> {
        Ok(self.0.flag(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<S::Value, E> {
        Ok(self.0.integer(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<S::Value, E> {
        Ok(match i64::try_from(number) {
            Ok(number) => self.0.integer(number),
            Err(_) => self.0.other(),
        })
    }

    fn visit_f64<E>(self, _: f64) -> Result<S::Value, E> {
        Ok(self.0.other())
    }

    fn visit_str<E>(self, text: &str) -> Result<S::Value, E> {
        Ok(self.0.text(text))
    }

    fn visit_unit<E>(self) -> Result<S::Value, E> {
        Ok(self.0.null())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, array: A) -> Result<S::Value, A::Error> {
        self.0.array(array)
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<S::Value, A::Error> {
        self.0.object(object)
    }
}

/// Reads the key of an object's entry without allocating.
pub(crate) struct Key<F, K>(F, PhantomData<K>);

impl<F: FnOnce(&str) -> K, K> Key<F, K> {
    /// Maps the key by `map`.
    pub(crate) fn new(map: F) -> Self {
        Self(map, PhantomData)
    }
}

impl<'de, F: FnOnce(&str) -> K, K> DeserializeSeed<'de> for Key<F, K> {
    type Value = K;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<K, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl<F: FnOnce(&str) -> K, K> Visitor<'_> for Key<F, K> {
    type Value = K;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<K, E> {
        Ok((self.0)(key))
    }
}

/// A value as it was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Sent<T> {
    /// Not at all, or null.
    #[default]
    Absent,
    Value(T),
    /// A value of another type.
    WrongType,
}

impl<T> Sent<T> {
    /// The value, if it is one.
    pub(crate) fn value(self) -> Option<T> {
        if let Self::Value(value) = self { Some(value) } else { None }
    }
}

/// The shape of a string.
pub(crate) struct TextShape;

impl Shape<'_> for TextShape {
    type Value = Sent<String>;

    fn other(self) -> Self::Value {
        Sent::WrongType
    }

    fn null(self) -> Self::Value {
        Sent::Absent
    }

    fn text(self, text: &str) -> Self::Value {
        Sent::Value(text.to_owned())
    }
}

/// The shape of an integer.
pub(crate) struct IntegerShape;

impl Shape<'_> for IntegerShape {
    type Value = Sent<i64>;

    fn other(self) -> Self::Value {
        Sent::WrongType
    }

    fn null(self) -> Self::Value {
        Sent::Absent
    }

    fn integer(self, number: i64) -> Self::Value {
        Sent::Value(number)
    }
}

#[cfg(test)]
mod tests {
    use super::{IntegerShape, Sent, TextShape, read};

    #[test]
    fn a_value_has_one_type() {
        let integer = |text: &str| read(text.as_bytes(), IntegerShape).unwrap();
        assert_eq!(integer("5"), Sent::Value(5));
        assert_eq!(integer("-5"), Sent::Value(-5));
        assert_eq!(integer("null"), Sent::Absent);
        for wrong in ["5.0", "5e0", "\"5\"", "true", "[5]", "{\"5\":5}", "99999999999999999999", "18446744073709551615"]
        {
            assert_eq!(integer(wrong), Sent::WrongType, "{wrong}");
        }
        let text = |text: &str| read(text.as_bytes(), TextShape).unwrap();
        assert_eq!(text("\"\\u00e9\""), Sent::Value("é".into()));
        assert_eq!(text("null"), Sent::Absent);
        assert_eq!(text("5"), Sent::WrongType);
    }

    #[test]
    fn invalid_json_is_refused_at_any_depth() {
        let deep = "[".repeat(200_000);
        let closed = format!("{deep}{}", "]".repeat(200_000));
        assert!(read(closed.as_bytes(), TextShape).is_ok_and(|text| text == Sent::WrongType));
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
            assert!(read(bytes, TextShape).is_err(), "{:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(20)]));
        }
    }
}

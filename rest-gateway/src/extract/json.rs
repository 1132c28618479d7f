//! A lenient JSON reader. It continues after a value of the wrong type, so a single pass finds every violation.
//!
//! The reader recurses only as deep as the expected shape. It skips deeper values without recursion.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize,
    de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

/// A JSON value that is neither an array nor an object.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scalar<'de> {
    Null,
    Flag(bool),
    /// A number written as an integer.
    Integer(i64),
    /// Copied only if it contains escapes.
    Text(Cow<'de, str>),
    /// Any other number, or an unexpected array or object.
    Other,
}

/// The expected type of a value, and the output for values of other types.
pub(super) trait Shape<'de>: Sized {
    type Output;

    fn scalar(self, value: Scalar<'de>) -> Self::Output;

    /// Reads an array. Implementations must read the array to its end.
    fn array<A: SeqAccess<'de>>(self, mut array: A) -> Result<Self::Output, A::Error> {
        while array.next_element::<IgnoredAny>()?.is_some() {}
        Ok(self.scalar(Scalar::Other))
    }

    /// Reads an object. Implementations must read the object to its end.
    fn object<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Output, A::Error> {
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(self.scalar(Scalar::Other))
    }
}

/// Reads a whole document as `shape`.
pub(super) fn read<'de, S: Shape<'de>>(bytes: &'de [u8], shape: S) -> Result<S::Output, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let output = Read(shape).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(output)
}

/// Reads one value of an array or object as a shape.
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
        Ok(self.0.scalar(Scalar::Flag(flag)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<S::Output, E> {
        Ok(self.0.scalar(Scalar::Integer(number)))
    }

    fn visit_u64<E>(self, number: u64) -> Result<S::Output, E> {
        Ok(self.0.scalar(i64::try_from(number).map_or(Scalar::Other, Scalar::Integer)))
    }

    fn visit_f64<E>(self, _: f64) -> Result<S::Output, E> {
        Ok(self.0.scalar(Scalar::Other))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<S::Output, E> {
        Ok(self.0.scalar(Scalar::Text(Cow::Borrowed(text))))
    }

    fn visit_str<E>(self, text: &str) -> Result<S::Output, E> {
        Ok(self.0.scalar(Scalar::Text(Cow::Owned(text.to_owned()))))
    }

    fn visit_unit<E>(self) -> Result<S::Output, E> {
        Ok(self.0.scalar(Scalar::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, array: A) -> Result<S::Output, A::Error> {
        self.0.array(array)
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<S::Output, A::Error> {
        self.0.object(object)
    }
}

/// An object key, copied only if it contains escapes.
#[derive(Deserialize)]
pub(super) struct Key<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::{Scalar, Shape, read};

    #[derive(Clone, Copy)]
    struct AnyScalar;

    impl<'de> Shape<'de> for AnyScalar {
        type Output = Scalar<'de>;

        fn scalar(self, value: Scalar<'de>) -> Scalar<'de> {
            value
        }
    }

    #[test]
    fn json_values_map_to_scalars() {
        fn value(text: &str) -> Scalar<'_> {
            read(text.as_bytes(), AnyScalar).unwrap()
        }
        assert_eq!(value("5"), Scalar::Integer(5));
        assert_eq!(value("-5"), Scalar::Integer(-5));
        assert_eq!(value("null"), Scalar::Null);
        assert_eq!(value("true"), Scalar::Flag(true));
        assert_eq!(value("\"\\u00e9\""), Scalar::Text("é".into()));
        for other in ["5.0", "5e0", "[5]", "{\"5\":5}", "99999999999999999999", "18446744073709551615"] {
            assert_eq!(value(other), Scalar::Other, "{other}");
        }
    }

    #[test]
    fn invalid_json_is_rejected_at_any_depth() {
        let deep = "[".repeat(200_000);
        let closed = format!("{deep}{}", "]".repeat(200_000));
        assert!(read(closed.as_bytes(), AnyScalar).is_ok_and(|value| value == Scalar::Other));
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
            assert!(read(bytes, AnyScalar).is_err(), "{:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(20)]));
        }
    }
}

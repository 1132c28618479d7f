//! An object of a body, read by the description of the message that it becomes.

use compliance_api::{
    description::{Field, Kind},
    error::Error,
    rules::{Violations, label},
};
use prost::{
    Message,
    encoding::{self, WireType, encode_key, encode_varint},
};
use serde::de::MapAccess;

use super::json::{AnyShape, Read, Value};

/// The object that a violation is in.
#[derive(Clone, Copy)]
pub(super) enum At {
    Body,
    /// The element of the body's list with this index.
    Element(&'static str, usize),
}

impl At {
    /// Adds a violation: what the field must do. `number` is the field's number in its message. An empty `field` is the
    /// object.
    pub(super) fn must(self, violations: &mut Violations, field: &str, number: u32, must: &str) {
        let item = match self {
            Self::Body => 0,
            Self::Element(_, index) => index as u32 + 1,
        };
        violations.push((item, number), || {
            let path = match self {
                Self::Body => field.to_owned(),
                Self::Element(list, index) => format!("{list}.{index}.{field}").trim_end_matches('.').to_owned(),
            };
            let message = format!("The {} field {must}.", label(&path));
            (path, message)
        });
    }
}

/// The values of an object's known keys, as they were sent.
pub(super) struct Object<'de> {
    fields: &'static [Field],
    /// The ID that the object may have besides.
    id: Option<&'static Field>,
    /// Values by field index; the last value is the ID's.
    values: Vec<Option<Value<'de>>>,
    /// Index of the field after the one whose key was found last.
    next: usize,
}

impl<'de> Object<'de> {
    /// An object without values, whose keys are the names of these fields, and of `id`.
    pub(super) fn new(fields: &'static [Field], id: Option<&'static Field>) -> Self {
        Self { fields, id, values: vec![None; fields.len() + 1], next: 0 }
    }

    /// Forgets all values.
    pub(super) fn clear(&mut self) {
        self.values.fill(None);
    }

    /// Reads the value of a key and returns whether it is known. If a key is sent twice, the last value counts.
    pub(super) fn read<A: MapAccess<'de>>(&mut self, name: &str, entries: &mut A) -> Result<bool, A::Error> {
        let Some(index) = self.index(name) else { return Ok(false) };
        let is_list = self.fields.get(index).is_some_and(|field| field.is_list);
        self.values[index] = Some(entries.next_value_seed(Read(AnyShape { is_list }))?);
        Ok(true)
    }

    /// Sets the value of a field, which is one of the object's.
    pub(super) fn set(&mut self, field: &Field, value: Value<'de>) {
        if let Some(index) = self.fields.iter().position(|known| known.number == field.number) {
            self.values[index] = Some(value);
        }
    }

    /// Objects tend to have their keys in the order of declaration, so the search starts after the last one found.
    fn index(&mut self, name: &str) -> Option<usize> {
        let all = self.fields.len();
        if let Some(index) = (self.next..all).chain(0..self.next).find(|index| self.fields[*index].name == name) {
            self.next = index + 1;
            return Some(index);
        }
        self.id.is_some_and(|id| id.name == name).then_some(all)
    }

    /// The fields that were sent, the ID first.
    fn entries(&self) -> impl Iterator<Item = (&'static Field, &Value<'de>)> {
        let (values, id) = self.values.split_at(self.fields.len());
        let all = self.id.into_iter().zip(id).chain(self.fields.iter().zip(values));
        all.filter_map(|(field, value)| Some((field, value.as_ref()?)))
    }

    /// The value of a field.
    pub(super) fn value(&self, name: &str) -> Option<&Value<'de>> {
        self.entries().find(|(field, _)| field.name == name).map(|(_, value)| value)
    }

    /// The number of a field in its message.
    pub(super) fn number(&self, name: &str) -> u32 {
        self.fields.iter().find(|field| field.name == name).map_or(0, |field| field.number)
    }

    /// The ID, if it is an integer.
    pub(super) fn id(&self) -> Option<i64> {
        match self.values.last() {
            Some(Some(Value::Integer(id))) => Some(*id),
            _ => None,
        }
    }

    /// The names of the fields that were sent, in the order of declaration; without the ID.
    pub(super) fn mask(&self) -> Vec<String> {
        let sent = self.fields.iter().zip(&self.values).filter(|(_, value)| value.is_some());
        sent.map(|(field, _)| field.name.to_owned()).collect()
    }

    /// The names that were sent, unless the ID is null.
    pub(super) fn sent(&self) -> impl Iterator<Item = &'static str> {
        let is_id = |field| self.id.is_some_and(|id| std::ptr::eq(id, field));
        let sent = self.entries().filter(move |(field, value)| **value != Value::Null || !is_id(*field));
        sent.map(|(field, _)| field.name)
    }

    /// Reports the values of another type than that of their field, and returns whether the rules apply to the object: they would
    /// take an entry of the wrong type for one that is missing.
    pub(super) fn report(&self, at: At, violations: &mut Violations) -> bool {
        let mut has_rules = true;
        for (field, value) in self.entries() {
            if let Some(must) = wrong(field, value) {
                at.must(violations, field.name, field.number, must);
                has_rules &= !field.entry;
            }
            if let Value::List(items) = value {
                for (index, _) in items.iter().enumerate().filter(|(_, item)| !matches!(item, Value::Text(_))) {
                    at.must(violations, &format!("{}.{index}", field.name), field.number, "must be a string");
                }
            }
        }
        has_rules
    }

    /// The message of the fields; the ID is none of them. Values of another type are absent.
    pub(super) fn message<M: Message + Default>(&self) -> Result<M, Error> {
        let mut message = Vec::new();
        for (field, value) in self.fields.iter().zip(&self.values) {
            let Some(value) = value.as_ref().filter(|value| wrong(field, value).is_none()) else { continue };
            match value {
                Value::Flag(flag) => encoding::bool::encode(field.number, flag, &mut message),
                Value::Integer(number) => encoding::int64::encode(field.number, number, &mut message),
                Value::Text(text) => encode_text(field.number, text, &mut message),
                Value::List(items) => {
                    for item in items {
                        let text = if let Value::Text(text) = item { text } else { "" };
                        encode_text(field.number, text, &mut message);
                    }
                }
                Value::Null | Value::Other => {}
            }
        }
        M::decode(&*message).map_err(|_| Error::internal())
    }
}

fn encode_text(number: u32, text: &str, message: &mut Vec<u8>) {
    encode_key(number, WireType::LengthDelimited, message);
    encode_varint(text.len() as u64, message);
    message.extend_from_slice(text.as_bytes());
}

/// What the value of a field must be, if it is something else.
fn wrong(field: &Field, value: &Value<'_>) -> Option<&'static str> {
    match (field.kind, value) {
        (_, Value::Null) => None,
        (_, value) if field.is_list => (!matches!(value, Value::List(_))).then_some("must be an array"),
        // Queries look up the number of a choice.
        (Kind::Text, Value::Text(_))
        | (Kind::Integer(_) | Kind::Choice(_), Value::Integer(_))
        | (Kind::Flag, Value::Flag(_)) => None,
        (Kind::Integer(_), _) => Some("must be an integer"),
        (Kind::Flag, _) => Some("must be true or false"),
        _ => Some("must be a string"),
    }
}

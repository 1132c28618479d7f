//! An object of a body, read by the description of the message that it becomes.

use std::borrow::Cow;

use compliance_api::{
    description::{Field, Kind, Message as Description},
    error::Error,
    rules::{Violations, label, timestamp},
    wire::MAX_ITEMS,
};
use prost::{
    Message,
    encoding::{self, WireType, encode_key, encode_varint},
};
use prost_types::Timestamp;
use serde::de::MapAccess;

use super::json::{AnyShape, Read, Value};
use crate::ignored::Ignored;

/// The object that a violation is in.
#[derive(Clone, Copy)]
pub(super) enum At {
    Body,
    /// The object in this field of the body.
    Within(&'static str),
    /// The element of the body's list with this index.
    Element(&'static str, usize),
}

impl At {
    /// Adds a violation: what the field must do. `number` is the field's number in its message. An empty `field` is the
    /// object.
    pub(super) fn must(self, violations: &mut Violations, field: &str, number: u32, must: &str) {
        let item = match self {
            Self::Body | Self::Within(_) => 0,
            Self::Element(_, index) => index as u32 + 1,
        };
        violations.push((item, number), || {
            let path = match self {
                Self::Body => field.to_owned(),
                Self::Within(object) => format!("{object}.{field}"),
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
        let shape = self.fields.get(index).map_or(AnyShape::SCALAR, shape);
        self.values[index] = Some(entries.next_value_seed(Read(shape))?);
        Ok(true)
    }

    /// The object in a field of a message.
    fn within(message: &'static Description, entries: &[(Cow<'de, str>, Value<'de>)]) -> Self {
        let mut object = Self::new(message.fields, None);
        for (name, value) in entries {
            if let Some(index) = object.index(name) {
                object.values[index] = Some(value.clone());
            }
        }
        object
    }

    /// Reports the unknown keys of the objects within this one.
    pub(super) fn report_ignored(&self, ignored: &mut Ignored) {
        for (field, value) in self.entries() {
            let Kind::Message(message) = field.kind else { continue };
            match value {
                Value::Object(entries) => {
                    unknown(message, entries).for_each(|name| ignored.add(&format!("{}.{name}", field.name)));
                }
                Value::List(items) => {
                    for (index, item) in items.iter().enumerate() {
                        let Value::Object(entries) = item else { continue };
                        unknown(message, entries).for_each(|name| ignored.add_of_element(field.name, index, name));
                    }
                }
                _ => {}
            }
        }
    }

    /// Sets the value of a field, which is one of the object's.
    pub(super) fn set(&mut self, field: &Field, value: Value<'de>) {
        if let Some(index) = self.fields.iter().position(|known| known.number == field.number) {
            self.values[index] = Some(value);
        }
    }

    /// Forgets the value of a field, and returns whether it had one.
    pub(super) fn remove(&mut self, name: &str) -> bool {
        let index = self.fields.iter().position(|field| field.name == name);
        index.and_then(|index| self.values[index].take()).is_some()
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
                at.must(violations, field.name, field.number, &must);
                has_rules &= !field.entry;
            }
            match (field.kind, value) {
                (Kind::Message(message), Value::Object(entries)) if !field.is_list => {
                    Self::within(message, entries).report(At::Within(field.name), violations);
                }
                (kind, Value::List(items)) if field.is_list => {
                    for (index, item) in items.iter().enumerate() {
                        let mut must = |must: &str| {
                            at.must(violations, &format!("{}.{index}", field.name), field.number, must);
                        };
                        match (kind, item) {
                            (Kind::Message(message), Value::Object(entries)) => {
                                Self::within(message, entries).report(At::Element(field.name, index), violations);
                            }
                            (Kind::Message(_), _) => must("must be an object"),
                            (_, Value::Text(_)) => {}
                            _ => must("must be a string"),
                        }
                    }
                }
                _ => {}
            }
        }
        has_rules
    }

    /// The message of the fields; the ID is none of them. Values of another type are absent.
    pub(super) fn message<M: Message + Default>(&self) -> Result<M, Error> {
        let mut message = Vec::new();
        self.encode(&mut message);
        M::decode(&*message).map_err(|_| Error::internal())
    }

    fn encode(&self, message: &mut Vec<u8>) {
        for (field, value) in self.fields.iter().zip(&self.values) {
            let Some(value) = value.as_ref().filter(|value| wrong(field, value).is_none()) else { continue };
            match (field.kind, value) {
                (_, Value::Integer(number)) => encoding::int64::encode(field.number, number, message),
                (Kind::Choice(choices), Value::Text(text)) => {
                    let number = chosen(choices, text).unwrap_or_default();
                    encoding::int32::encode(field.number, &number, message);
                }
                (Kind::Flag, value) => {
                    if let Some(flag) = flag(value) {
                        encoding::bool::encode(field.number, &flag, message);
                    }
                }
                (Kind::Message(_), Value::Text(text)) => {
                    if let Some(seconds) = timestamp(text) {
                        encoding::message::encode(field.number, &Timestamp { seconds, nanos: 0 }, message);
                    }
                }
                (_, Value::Text(text)) => encode_bytes(field.number, text.as_bytes(), message),
                (Kind::Message(inner), Value::Object(entries)) => encode_within(field.number, inner, entries, message),
                (kind, Value::List(items)) => {
                    for item in items {
                        match (kind, item) {
                            (Kind::Message(inner), Value::Object(entries)) => {
                                encode_within(field.number, inner, entries, message);
                            }
                            (Kind::Text, Value::Text(text)) => encode_bytes(field.number, text.as_bytes(), message),
                            // It is reported, and keeps its place in the list.
                            _ => encode_bytes(field.number, &[], message),
                        }
                    }
                }
                _ => {}
            }
        }
    }
}

/// The keys of an object that its message does not have.
fn unknown<'e>(message: &Description, entries: &'e [(Cow<'_, str>, Value<'_>)]) -> impl Iterator<Item = &'e str> {
    entries.iter().map(|(name, _)| &**name).filter(|name| message.field(name).is_none())
}

fn encode_within(
    number: u32,
    within: &'static Description,
    entries: &[(Cow<'_, str>, Value<'_>)],
    message: &mut Vec<u8>,
) {
    let mut inner = Vec::new();
    Object::within(within, entries).encode(&mut inner);
    encode_bytes(number, &inner, message);
}

fn encode_bytes(number: u32, bytes: &[u8], message: &mut Vec<u8>) {
    encode_key(number, WireType::LengthDelimited, message);
    encode_varint(bytes.len() as u64, message);
    message.extend_from_slice(bytes);
}

/// What a field holds: its elements, and the objects within them.
fn shape(field: &Field) -> AnyShape {
    // One element more than the rules allow is enough for them to report it.
    let most = field.max_items.unwrap_or(MAX_ITEMS) + 1;
    AnyShape { depth: depth(field), most }
}

fn depth(field: &Field) -> usize {
    let within = message_of(field).map_or(0, |message| 1 + message.fields.iter().map(depth).max().unwrap_or_default());
    usize::from(field.is_list) + within
}

/// The message that an object in the field becomes. A timestamp is a text.
fn message_of(field: &Field) -> Option<&'static Description> {
    match field.kind {
        Kind::Message(message) if message.name != "Timestamp" => Some(message),
        _ => None,
    }
}

/// The number of a choice by its name in JSON.
fn chosen(choices: &[(i32, &str)], text: &str) -> Option<i32> {
    choices.iter().find(|(_, name)| in_json(name) == text).map(|(number, _)| *number)
}

/// The name of a choice as partners read it: `display ad`, where queries have `display_ad`.
pub(super) fn in_json(name: &str) -> String {
    name.replace('_', " ")
}

/// A flag, also in the form in which partners read it.
fn flag(value: &Value<'_>) -> Option<bool> {
    match value {
        Value::Flag(flag) => Some(*flag),
        Value::Text(text) if text == "yes" || text == "no" => Some(text == "yes"),
        _ => None,
    }
}

/// What the value of a field must be, if it is something else.
fn wrong(field: &Field, value: &Value<'_>) -> Option<Cow<'static, str>> {
    let must = match (field.kind, value) {
        (_, Value::Null) => return None,
        (_, value) if field.is_list => (!matches!(value, Value::List(_))).then_some("must be an array"),
        (Kind::Text, value) => (!matches!(value, Value::Text(_))).then_some("must be a string"),
        (Kind::Integer(_), value) => (!matches!(value, Value::Integer(_))).then_some("must be an integer"),
        // An option of a request has no other form.
        (Kind::Flag, Value::Text(_)) if !field.may_be_absent => Some("must be true or false"),
        (Kind::Flag, value) => flag(value).is_none().then_some("must be true or false"),
        (Kind::Choice(choices), Value::Text(text)) if chosen(choices, text).is_some() => None,
        (Kind::Choice(choices), _) => {
            let names: Vec<String> = choices.iter().map(|(_, name)| in_json(name)).collect();
            return Some(format!("must be one of: {}", names.join(", ")).into());
        }
        (Kind::Message(_), value) if message_of(field).is_some() => {
            (!matches!(value, Value::Object(_))).then_some("must be an object")
        }
        // The empty text is an absent timestamp.
        (Kind::Message(_), Value::Text(text)) if text.is_empty() || timestamp(text).is_some() => None,
        (Kind::Message(_), _) => Some("must match the format YYYY-MM-DD HH:MM:SS"),
    };
    must.map(Cow::Borrowed)
}

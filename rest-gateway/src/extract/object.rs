//! Reads JSON objects according to their message descriptions.

use std::borrow::Cow;

use compliance_api::{
    description::{Field, Kind, Message as Description},
    error::Error,
    rules::{Violations, label, must_be_time, not_one_of, timestamp},
    wire::MAX_ITEMS,
};
use prost::{
    Message,
    encoding::{self, WireType, encode_key, encode_varint},
};
use prost_types::{FieldMask, Timestamp};
use serde::de::{IgnoredAny, MapAccess, SeqAccess};

use super::json::{Key, Read, Scalar, Shape};
use crate::route::{Ignored, Location};

/// Fields that partners send in the path or in a header, never in a body.
const NOT_IN_BODY: [&str; 3] = ["id", "etag", "anchor_id"];

/// A JSON value, as sent.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value<'de> {
    Scalar(Scalar<'de>),
    /// An array, where one is expected.
    List(Vec<Self>),
    /// An object, where one is expected.
    Object(Object<'de>),
}

impl<'de> Value<'de> {
    pub(super) fn text(text: impl Into<Cow<'de, str>>) -> Self {
        Self::Scalar(Scalar::Text(text.into()))
    }

    fn as_text(&self) -> Option<&str> {
        match self {
            Self::Scalar(Scalar::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Returns the value as a flag. Also accepts `yes` and `no`, the format of flags in responses.
    fn as_flag(&self) -> Option<bool> {
        match self {
            Self::Scalar(Scalar::Flag(flag)) => Some(*flag),
            _ => self.as_text().filter(|text| ["yes", "no"].contains(text)).map(|text| text == "yes"),
        }
    }
}

/// A message's field values.
///
/// A message with an update mask changes a record. Its keys are the record's fields, and its mask lists the fields that were sent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Object<'de> {
    message: &'static Description,
    /// The field that contains the changed record.
    record: Option<&'static Field>,
    /// The fields that keys can name.
    fields: &'static [Field],
    values: Vec<Option<Value<'de>>>,
    /// Values of the message's own fields, except its record.
    beside_record: Vec<(&'static Field, Value<'de>)>,
    /// Index of the field after the last one found.
    next: usize,
}

impl<'de> Object<'de> {
    pub(super) fn new(message: &'static Description) -> Self {
        let is_record = |field: &&Field| field.name != "update_mask" && message_of(field).is_some();
        let record = message.field("update_mask").and_then(|_| message.fields.iter().find(is_record));
        let fields = record.and_then(message_of).unwrap_or(message).fields;
        Self { message, record, fields, values: vec![None; fields.len()], beside_record: Vec::new(), next: 0 }
    }

    /// Reads a key's value. Returns whether the key is known. If a key is repeated, the last value wins.
    pub(super) fn read<A: MapAccess<'de>>(
        &mut self,
        name: &str,
        entries: &mut A,
        ignored: &mut Ignored,
    ) -> Result<bool, A::Error> {
        if let Some(index) = self.index(name) {
            let shape = ValueShape::of(&self.fields[index], ignored);
            self.values[index] = Some(entries.next_value_seed(Read(shape))?);
            return Ok(true);
        }
        // Batch elements contain their IDs.
        let id = self.record.and_then(|_| self.message.field("id")).filter(|id| id.may_be_absent && id.name == name);
        let Some(field) = id else { return Ok(false) };
        let value = entries.next_value_seed(Read(ValueShape::of(field, ignored)))?;
        self.beside_record.clear();
        self.beside_record.push((field, value));
        Ok(true)
    }

    /// Returns a field's index. Keys tend to be in declaration order, so the search begins after the last field found.
    fn index(&mut self, name: &str) -> Option<usize> {
        let mut order = (self.next..self.fields.len()).chain(0..self.next);
        let index = order.find(|index| self.fields[*index].name == name).filter(|_| !NOT_IN_BODY.contains(&name))?;
        self.next = index + 1;
        Some(index)
    }

    /// Sets a field from outside the body.
    pub(super) fn set(&mut self, name: &str, value: Value<'de>) {
        let Some(field) = self.message.field(name) else { return };
        match self.fields.iter().position(|known| self.record.is_none() && known.number == field.number) {
            Some(index) => self.values[index] = Some(value),
            None => self.beside_record.push((field, value)),
        }
    }

    /// Returns the fields that were sent, in declaration order.
    fn sent_fields(&self) -> impl Iterator<Item = (&'static Field, &Value<'de>)> {
        self.fields.iter().zip(&self.values).filter_map(|(field, value)| Some((field, value.as_ref()?)))
    }

    fn entries(&self) -> impl Iterator<Item = (&'static Field, &Value<'de>)> {
        self.beside_record.iter().map(|(field, value)| (*field, value)).chain(self.sent_fields())
    }

    /// Returns the names that were sent, except a null ID.
    pub(super) fn sent(&self) -> impl Iterator<Item = &'static str> {
        let null = Value::Scalar(Scalar::Null);
        let sent = self.entries().filter(move |(field, value)| field.name != "id" || **value != null);
        sent.map(|(field, _)| field.name)
    }

    pub(super) fn is_true(&self, name: &str) -> bool {
        self.entries().any(|(field, value)| field.name == name && *value == Value::Scalar(Scalar::Flag(true)))
    }

    /// Builds the message. Reports and omits values of the wrong type.
    pub(super) fn message<M: Message + Default>(
        &self,
        location: Location,
        violations: &mut Violations,
    ) -> Result<M, Error> {
        M::decode(&*self.encode(location, violations)).map_err(|_| Error::internal())
    }

    fn encode(&self, location: Location, violations: &mut Violations) -> Vec<u8> {
        let (mut message, mut fields) = (Vec::new(), Vec::new());
        let mut write = |field: &Field, value: &Value<'_>, bytes: &mut Vec<u8>| {
            if let Err(wrong) = encode(field, value, location, violations, bytes) {
                match wrong {
                    Wrong::Must(must) => report(violations, location, field.name, field.number, must),
                    Wrong::NotOneOf(names) => add(violations, location, field.name, field.number, |label| {
                        not_one_of(label, &names.iter().map(String::as_str).collect::<Vec<_>>())
                    }),
                }
                if field.entry {
                    // Otherwise, the rules would report a missing entry at its element's path.
                    encode_bytes(field.number, &[], bytes);
                }
            }
        };
        self.beside_record.iter().for_each(|(field, value)| write(field, value, &mut message));
        self.sent_fields().for_each(|(field, value)| write(field, value, &mut fields));
        let Some((record, mask)) = self.record.zip(self.message.field("update_mask")) else { return fields };
        encode_bytes(record.number, &fields, &mut message);
        let paths = self.sent_fields().map(|(field, _)| field.name.to_owned()).collect();
        encoding::message::encode(mask.number, &FieldMask { paths }, &mut message);
        message
    }
}

/// Reads a value. Keeps the contents of an array or object only if one is expected.
pub(super) struct ValueShape<'a> {
    /// The message that an object becomes.
    message: Option<&'static Description>,
    /// Maximum number of list elements.
    max_items: Option<usize>,
    /// The location of an object's fields.
    location: Location,
    ignored: &'a mut Ignored,
}

impl<'a> ValueShape<'a> {
    /// Expects an object that becomes a message.
    pub(super) fn object(message: &'static Description, location: Location, ignored: &'a mut Ignored) -> Self {
        Self { message: Some(message), max_items: None, location, ignored }
    }

    /// Expects the value of a field.
    fn of(field: &'static Field, ignored: &'a mut Ignored) -> Self {
        let max_items = field.is_list.then(|| field.max_items.unwrap_or(MAX_ITEMS));
        Self { message: message_of(field), max_items, location: Location::Within(field.name), ignored }
    }
}

impl<'de> Shape<'de> for ValueShape<'_> {
    type Output = Value<'de>;

    fn scalar(self, value: Scalar<'de>) -> Value<'de> {
        Value::Scalar(value)
    }

    fn array<A: SeqAccess<'de>>(self, mut array: A) -> Result<Value<'de>, A::Error> {
        let Self { message, max_items, location, ignored } = self;
        let mut items = Vec::new();
        // One element beyond the limit is enough for the rules to report it.
        while let (Some(most), Location::Within(list)) = (max_items, location)
            && items.len() <= most
        {
            let location = Location::Element(list, items.len());
            let shape = ValueShape { message, max_items: None, location, ignored: &mut *ignored };
            match array.next_element_seed(Read(shape))? {
                Some(item) => items.push(item),
                None => return Ok(Value::List(items)),
            }
        }
        while array.next_element::<IgnoredAny>()?.is_some() {}
        Ok(if max_items.is_some() { Value::List(items) } else { Value::Scalar(Scalar::Other) })
    }

    fn object<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value<'de>, A::Error> {
        let Self { message, max_items, location, ignored } = self;
        let Some(message) = message.filter(|_| max_items.is_none()) else {
            while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(Value::Scalar(Scalar::Other));
        };
        let mut object = Object::new(message);
        while let Some(Key(name)) = entries.next_key()? {
            if object.read(&name, &mut entries, ignored)? {
                ignored.note_known(location, &name);
            } else {
                ignored.add(location, &name);
                entries.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Value::Object(object))
    }
}

/// Adds a violation that says what a field must be.
pub(super) fn report(violations: &mut Violations, location: Location, field: &str, number: u32, must: &str) {
    add(violations, location, field, number, |label| format!("The {label} field {must}."));
}

/// Adds a violation. Violations are sorted by element and field number.
fn add(
    violations: &mut Violations,
    location: Location,
    field: &str,
    number: u32,
    message: impl FnOnce(&str) -> String,
) {
    let item = match location {
        Location::Top | Location::Within(_) => 0,
        Location::Element(_, index) => index as u32 + 1,
    };
    violations.push((item, number), || {
        let path = format!("{location}{field}").trim_end_matches('.').to_owned();
        let message = message(&label(&path));
        (path, message)
    });
}

/// What is wrong with a field's value.
enum Wrong {
    /// What a value of the wrong type must be.
    Must(&'static str),
    /// The allowed values.
    NotOneOf(Vec<String>),
}

impl From<&'static str> for Wrong {
    fn from(must: &'static str) -> Self {
        Self::Must(must)
    }
}

/// Encodes a field.
fn encode(
    field: &Field,
    value: &Value<'_>,
    location: Location,
    violations: &mut Violations,
    message: &mut Vec<u8>,
) -> Result<(), Wrong> {
    let (number, text) = (field.number, value.as_text());
    match (field.kind, value) {
        (_, Value::Scalar(Scalar::Null)) => {}
        (_, Value::List(items)) if field.is_list => {
            for (index, item) in items.iter().enumerate() {
                encode_item(field, index, item, location, violations, message);
            }
        }
        _ if field.is_list => return Err("must be an array".into()),
        (Kind::Text, _) => encode_bytes(number, text.ok_or("must be a string")?.as_bytes(), message),
        (Kind::Integer(_), Value::Scalar(Scalar::Integer(value))) => encoding::int64::encode(number, value, message),
        (Kind::Integer(_), _) => {
            if location != Location::Top {
                // Otherwise, the rules would report that an alternative field is missing.
                encoding::int64::encode(number, &0, message);
            }
            return Err("must be an integer".into());
        }
        (Kind::Flag, _) => {
            // Request options accept only true and false.
            let flag = value.as_flag().filter(|_| field.may_be_absent || text.is_none());
            let must = if field.may_be_absent { "must be yes or no" } else { "must be true or false" };
            encoding::bool::encode(number, &flag.ok_or(must)?, message);
        }
        (Kind::Choice(choices), _) => {
            let chosen = choices.iter().find(|(_, name)| text.is_some_and(|text| in_json(name) == text));
            let Some((chosen, _)) = chosen else {
                return Err(Wrong::NotOneOf(choices.iter().map(|(_, name)| in_json(name)).collect()));
            };
            encoding::int32::encode(number, chosen, message);
        }
        (Kind::Message(_), Value::Object(object)) => {
            encode_bytes(number, &object.encode(Location::Within(field.name), violations), message);
        }
        (Kind::Message(_), _) if message_of(field).is_some() => return Err("must be an object".into()),
        // An empty string means no timestamp.
        (Kind::Message(_), _) if text == Some("") => {}
        (Kind::Message(_), _) => {
            let seconds = text.and_then(timestamp).ok_or_else(|| must_be_time(text.unwrap_or_default()))?;
            encoding::message::encode(number, &Timestamp { seconds, nanos: 0 }, message);
        }
    }
    Ok(())
}

/// Encodes a list element. Reports an element of the wrong type, and keeps its index.
fn encode_item(
    field: &Field,
    index: usize,
    item: &Value<'_>,
    location: Location,
    violations: &mut Violations,
    message: &mut Vec<u8>,
) {
    let must = match (field.kind, item) {
        (Kind::Text, Value::Scalar(Scalar::Text(text))) => return encode_bytes(field.number, text.as_bytes(), message),
        (_, Value::Object(object)) => {
            let item = object.encode(Location::Element(field.name, index), violations);
            return encode_bytes(field.number, &item, message);
        }
        (Kind::Text, _) => "must be a string",
        _ => "must be an object",
    };
    encode_bytes(field.number, &[], message);
    report(violations, location, &format!("{}.{index}", field.name), field.number, must);
}

fn encode_bytes(number: u32, bytes: &[u8], message: &mut Vec<u8>) {
    encode_key(number, WireType::LengthDelimited, message);
    encode_varint(bytes.len() as u64, message);
    message.extend_from_slice(bytes);
}

/// Returns the message type of a field's objects. Timestamps are strings, not objects.
fn message_of(field: &Field) -> Option<&'static Description> {
    match field.kind {
        Kind::Message(message) if message.name != "Timestamp" => Some(message),
        _ => None,
    }
}

/// Returns the JSON name of a choice, such as `display ad` for `display_ad` in queries.
pub(super) fn in_json(name: &str) -> String {
    name.replace('_', " ")
}

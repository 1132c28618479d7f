//! A JSON object, read by the description of the message that it becomes.

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
use prost_types::{FieldMask, Timestamp};
use serde::de::{IgnoredAny, MapAccess, SeqAccess};

use super::json::{Key, Read, Scalar, Shape};
use crate::ignored::{Ignored, Location};

/// Fields that partners send in the path or in a header, so no body has them as keys.
const NOT_IN_BODY: [&str; 3] = ["id", "etag", "anchor_id"];

/// A JSON value, as it was sent.
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

    /// Partners read flags as `yes` and `no`, and can send them so.
    fn as_flag(&self) -> Option<bool> {
        match self {
            Self::Scalar(Scalar::Flag(flag)) => Some(*flag),
            _ => self.as_text().filter(|text| ["yes", "no"].contains(text)).map(|text| text == "yes"),
        }
    }
}

/// The values of a message's fields.
///
/// A message with an update mask changes a record. Its keys are the fields of the record, and its mask lists the fields that were sent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Object<'de> {
    message: &'static Description,
    /// The field with the changed record.
    record: Option<&'static Field>,
    /// The fields whose names are the keys.
    fields: &'static [Field],
    values: Vec<Option<Value<'de>>>,
    /// Values of the message's own fields, next to its record.
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

    /// Forgets all values.
    pub(super) fn clear(&mut self) {
        self.values.fill(None);
        self.beside_record.clear();
    }

    /// Reads the value of a key. Returns whether the key is known. If a key is sent twice, the last value counts.
    pub(super) fn read<A: MapAccess<'de>>(
        &mut self,
        name: &str,
        entries: &mut A,
        ignored: &mut Ignored,
    ) -> Result<bool, A::Error> {
        if let Some(index) = self.index(name) {
            let shape = FieldShape { field: &self.fields[index], element: None, ignored };
            self.values[index] = Some(entries.next_value_seed(Read(shape))?);
            return Ok(true);
        }
        // Elements of a batch have their IDs in the body.
        let id = self.record.and_then(|_| self.message.field("id")).filter(|id| id.may_be_absent && id.name == name);
        let Some(field) = id else { return Ok(false) };
        let value = entries.next_value_seed(Read(FieldShape { field, element: None, ignored }))?;
        self.beside_record.clear();
        self.beside_record.push((field, value));
        Ok(true)
    }

    /// Reads all keys. Unknown keys are ignored.
    fn read_all<A: MapAccess<'de>>(
        &mut self,
        location: Location,
        mut entries: A,
        ignored: &mut Ignored,
    ) -> Result<(), A::Error> {
        while let Some(Key(name)) = entries.next_key()? {
            if !self.read(&name, &mut entries, ignored)? {
                ignored.add(location, &name);
                entries.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    /// Objects tend to have their keys in the order of declaration, so the search begins after the last one found.
    fn index(&mut self, name: &str) -> Option<usize> {
        let mut order = (self.next..self.fields.len()).chain(0..self.next);
        let index = order.find(|index| self.fields[*index].name == name).filter(|_| !NOT_IN_BODY.contains(&name))?;
        self.next = index + 1;
        Some(index)
    }

    /// Sets a field of the message that comes from elsewhere than the body.
    pub(super) fn set(&mut self, name: &str, value: Value<'de>) {
        let Some(field) = self.message.field(name) else { return };
        match self.fields.iter().position(|known| self.record.is_none() && known.number == field.number) {
            Some(index) => self.values[index] = Some(value),
            None => self.beside_record.push((field, value)),
        }
    }

    /// The keys that were sent, in the order of declaration.
    fn sent_fields(&self) -> impl Iterator<Item = (&'static Field, &Value<'de>)> {
        self.fields.iter().zip(&self.values).filter_map(|(field, value)| Some((field, value.as_ref()?)))
    }

    /// All values. Those beside the record come first.
    fn entries(&self) -> impl Iterator<Item = (&'static Field, &Value<'de>)> {
        self.beside_record.iter().map(|(field, value)| (*field, value)).chain(self.sent_fields())
    }

    /// The names that were sent, except an ID that is null.
    pub(super) fn sent(&self) -> impl Iterator<Item = &'static str> {
        let null = Value::Scalar(Scalar::Null);
        let sent = self.entries().filter(move |(field, value)| field.name != "id" || **value != null);
        sent.map(|(field, _)| field.name)
    }

    pub(super) fn is_true(&self, name: &str) -> bool {
        self.entries().any(|(field, value)| field.name == name && *value == Value::Scalar(Scalar::Flag(true)))
    }

    /// The ID in the body, if it is an integer.
    pub(super) fn id(&self) -> Option<i64> {
        self.beside_record.iter().find_map(|(field, value)| match value {
            Value::Scalar(Scalar::Integer(id)) if field.name == "id" => Some(*id),
            _ => None,
        })
    }

    /// Reports values of the wrong type.
    ///
    /// Returns whether the rules apply to the object: they would report an entry of the wrong type as missing.
    pub(super) fn report(&self, location: Location, violations: &mut Violations) -> bool {
        let mut has_rules = true;
        for (field, value) in self.entries() {
            if let Some(must) = wrong(field, value) {
                report(violations, location, field.name, field.number, &must);
                has_rules &= !field.entry;
            }
            match value {
                Value::Scalar(_) => {}
                Value::Object(object) => {
                    object.report(Location::Within(field.name), violations);
                }
                Value::List(items) => {
                    for (index, item) in items.iter().enumerate() {
                        let must = match item {
                            Value::Object(object) => {
                                object.report(Location::Element(field.name, index), violations);
                                continue;
                            }
                            _ if message_of(field).is_some() => "must be an object",
                            _ if item.as_text().is_none() => "must be a string",
                            _ => continue,
                        };
                        let path = format!("{}.{index}", field.name);
                        report(violations, location, &path, field.number, must);
                    }
                }
            }
        }
        has_rules
    }

    /// Decodes the message. Values of the wrong type are absent.
    pub(super) fn message<M: Message + Default>(&self) -> Result<M, Error> {
        M::decode(&*self.encode()).map_err(|_| Error::internal())
    }

    fn encode(&self) -> Vec<u8> {
        let mut fields = Vec::new();
        for (field, value) in self.sent_fields() {
            encode(field, value, &mut fields);
        }
        let Some((record, mask)) = self.record.zip(self.message.field("update_mask")) else { return fields };
        let mut message = Vec::new();
        for (field, value) in &self.beside_record {
            encode(field, value, &mut message);
        }
        encode_bytes(record.number, &fields, &mut message);
        let paths = self.sent_fields().map(|(field, _)| field.name.to_owned()).collect();
        encoding::message::encode(mask.number, &FieldMask { paths }, &mut message);
        message
    }
}

/// Reads an object. Returns whether the value is one.
pub(super) struct ObjectShape<'a, 'de> {
    pub(super) object: &'a mut Object<'de>,
    pub(super) location: Location,
    pub(super) ignored: &'a mut Ignored,
}

impl<'de> Shape<'de> for ObjectShape<'_, 'de> {
    type Output = bool;

    fn scalar(self, _: Scalar<'de>) -> bool {
        false
    }

    fn object<A: MapAccess<'de>>(self, entries: A) -> Result<bool, A::Error> {
        self.object.read_all(self.location, entries, self.ignored).map(|()| true)
    }
}

/// Reads the value of a field, or of one element of its list.
struct FieldShape<'a> {
    field: &'static Field,
    /// The index of the element.
    element: Option<usize>,
    ignored: &'a mut Ignored,
}

impl<'de> Shape<'de> for FieldShape<'_> {
    type Output = Value<'de>;

    fn scalar(self, value: Scalar<'de>) -> Value<'de> {
        Value::Scalar(value)
    }

    fn array<A: SeqAccess<'de>>(self, mut array: A) -> Result<Value<'de>, A::Error> {
        let Self { field, element, ignored } = self;
        let is_list = field.is_list && element.is_none();
        // One element more than the rules allow is enough for them to report it.
        let most = if is_list { field.max_items.unwrap_or(MAX_ITEMS) + 1 } else { 0 };
        let mut items = Vec::new();
        while items.len() < most {
            let shape = FieldShape { field, element: Some(items.len()), ignored };
            match array.next_element_seed(Read(shape))? {
                Some(item) => items.push(item),
                None => return Ok(Value::List(items)),
            }
        }
        while array.next_element::<IgnoredAny>()?.is_some() {}
        Ok(if is_list { Value::List(items) } else { Value::Scalar(Scalar::Other) })
    }

    fn object<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value<'de>, A::Error> {
        let Self { field, element, ignored } = self;
        let Some(message) = message_of(field).filter(|_| field.is_list == element.is_some()) else {
            while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(Value::Scalar(Scalar::Other));
        };
        let location = element.map_or(Location::Within(field.name), |index| Location::Element(field.name, index));
        let mut object = Object::new(message);
        object.read_all(location, entries, ignored)?;
        Ok(Value::Object(object))
    }
}

/// Adds the violation of a field, by what it must do. Violations are in the order of elements and field numbers.
pub(super) fn report(violations: &mut Violations, location: Location, field: &str, number: u32, must: &str) {
    let item = match location {
        Location::Top | Location::Within(_) => 0,
        Location::Element(_, index) => index as u32 + 1,
    };
    violations.push((item, number), || {
        let path = format!("{location}{field}").trim_end_matches('.').to_owned();
        let message = format!("The {} field {must}.", label(&path));
        (path, message)
    });
}

fn encode(field: &Field, value: &Value<'_>, message: &mut Vec<u8>) {
    if wrong(field, value).is_some() {
        return;
    }
    match (field.kind, value) {
        (_, Value::Scalar(Scalar::Integer(number))) => encoding::int64::encode(field.number, number, message),
        (Kind::Choice(choices), value) => {
            if let Some(number) = value.as_text().and_then(|text| chosen(choices, text)) {
                encoding::int32::encode(field.number, &number, message);
            }
        }
        (Kind::Flag, value) => {
            if let Some(flag) = value.as_flag() {
                encoding::bool::encode(field.number, &flag, message);
            }
        }
        (Kind::Message(_), Value::Scalar(Scalar::Text(text))) => {
            if let Some(seconds) = timestamp(text) {
                encoding::message::encode(field.number, &Timestamp { seconds, nanos: 0 }, message);
            }
        }
        (_, Value::Scalar(Scalar::Text(text))) => encode_bytes(field.number, text.as_bytes(), message),
        (_, Value::Object(object)) => encode_bytes(field.number, &object.encode(), message),
        (_, Value::List(items)) => {
            for item in items {
                match item {
                    Value::Object(object) => encode_bytes(field.number, &object.encode(), message),
                    // An element of the wrong type is reported, and keeps its index.
                    _ if field.kind != Kind::Text => encode_bytes(field.number, &[], message),
                    _ => encode_bytes(field.number, item.as_text().unwrap_or_default().as_bytes(), message),
                }
            }
        }
        (_, Value::Scalar(_)) => {}
    }
}

fn encode_bytes(number: u32, bytes: &[u8], message: &mut Vec<u8>) {
    encode_key(number, WireType::LengthDelimited, message);
    encode_varint(bytes.len() as u64, message);
    message.extend_from_slice(bytes);
}

/// Returns the message that an object in the field becomes. A timestamp is a string.
fn message_of(field: &Field) -> Option<&'static Description> {
    match field.kind {
        Kind::Message(message) if message.name != "Timestamp" => Some(message),
        _ => None,
    }
}

/// Returns the number of a choice by its name in JSON.
fn chosen(choices: &[(i32, &str)], text: &str) -> Option<i32> {
    choices.iter().find(|(_, name)| in_json(name) == text).map(|(number, _)| *number)
}

/// Returns the name of a choice in JSON: `display ad`, where queries have `display_ad`.
pub(super) fn in_json(name: &str) -> String {
    name.replace('_', " ")
}

/// Returns what the value of a field must be, if it is something else.
fn wrong(field: &Field, value: &Value<'_>) -> Option<Cow<'static, str>> {
    let is_null = *value == Value::Scalar(Scalar::Null);
    let (is_right, must) = match field.kind {
        _ if is_null => return None,
        _ if field.is_list => (matches!(value, Value::List(_)), "must be an array"),
        Kind::Text => (value.as_text().is_some(), "must be a string"),
        Kind::Integer(_) => (matches!(value, Value::Scalar(Scalar::Integer(_))), "must be an integer"),
        // Options of a request are true or false only.
        Kind::Flag => {
            let is_allowed = field.may_be_absent || value.as_text().is_none();
            (value.as_flag().is_some() && is_allowed, "must be true or false")
        }
        Kind::Choice(choices) => {
            if value.as_text().is_some_and(|text| chosen(choices, text).is_some()) {
                return None;
            }
            let names: Vec<String> = choices.iter().map(|(_, name)| in_json(name)).collect();
            return Some(format!("must be one of: {}", names.join(", ")).into());
        }
        Kind::Message(_) if message_of(field).is_some() => (matches!(value, Value::Object(_)), "must be an object"),
        // The empty string is an absent timestamp.
        Kind::Message(_) => {
            let is_time = value.as_text().is_some_and(|text| text.is_empty() || timestamp(text).is_some());
            (is_time, "must match the format YYYY-MM-DD HH:MM:SS")
        }
    };
    (!is_right).then_some(Cow::Borrowed(must))
}

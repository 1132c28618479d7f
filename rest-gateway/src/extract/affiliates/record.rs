//! One affiliate as it was sent: which fields the object has, and which of them are of the wrong type.

use std::marker::PhantomData;

use compliance_api::{
    record::{Access, Field, FieldSet, Record as _},
    rules::Check,
    v1::{AffiliateInput, AffiliateUpdate},
};

use crate::extract::{
    body_violations::{At, BodyViolations},
    document::Object,
    json::Value,
};

/// An affiliate as it was sent, to become an [`AffiliateInput`] or an [`AffiliateUpdate`].
pub(super) struct Record<M> {
    pub(super) id: Value,
    input: AffiliateInput,
    sent: FieldSet<AffiliateInput>,
    wrong: FieldSet<AffiliateInput>,
    /// Index of the field after the one whose key was found last.
    next: usize,
    message: PhantomData<M>,
}

/// What a record becomes.
pub(super) trait Message: From<Record<Self>> + Check {
    /// Whether `id` is a known key.
    const HAS_ID: bool;
}

impl Message for AffiliateInput {
    const HAS_ID: bool = false;
}

impl Message for AffiliateUpdate {
    const HAS_ID: bool = true;
}

impl From<Record<Self>> for AffiliateInput {
    fn from(record: Record<Self>) -> Self {
        record.input
    }
}

impl From<Record<Self>> for AffiliateUpdate {
    fn from(record: Record<Self>) -> Self {
        let id = if let Value::Integer(id) = record.id { Some(id) } else { None };
        Self { id, affiliate: Some(record.input), update_mask: Some(record.sent.to_mask()) }
    }
}

// Derived, this would ask the same of the message.
impl<M> Default for Record<M> {
    fn default() -> Self {
        Self {
            id: Value::Null,
            input: AffiliateInput::default(),
            sent: FieldSet::EMPTY,
            wrong: FieldSet::EMPTY,
            next: 0,
            message: PhantomData,
        }
    }
}

/// A known key of a record.
pub(super) enum Key {
    Id,
    Field(&'static Field<AffiliateInput>),
}

impl<M: Message> Object for Record<M> {
    type Message = M;
    type Key = Key;
    const LIST: &'static str = "affiliates";

    /// Objects tend to have their keys in the order of declaration, so the search starts after the last one found.
    fn key(&mut self, name: &str) -> Option<Key> {
        let fields = AffiliateInput::FIELDS;
        if let Some(index) = (self.next..fields.len()).chain(0..self.next).find(|index| fields[*index].name == name) {
            self.next = index + 1;
            return Some(Key::Field(&fields[index]));
        }
        (name == "id" && M::HAS_ID).then_some(Key::Id)
    }

    fn set(&mut self, key: Key, value: Value) {
        match key {
            Key::Id => self.id = value,
            Key::Field(field) => {
                self.sent.insert(field);
                self.wrong.remove(field);
                if !set_field(field, &mut self.input, value) {
                    self.wrong.insert(field);
                }
            }
        }
    }

    fn report(&self, at: At, violations: &mut BodyViolations) {
        if !matches!(self.id, Value::Integer(_) | Value::Null) {
            violations.push(at, "id", 1, "must be an integer");
        }
        for field in self.wrong.iter() {
            violations.push(at, field.name, field.number, &format!("must be {}", field.expected()));
        }
    }
}

/// Sets a field and returns whether the value is of its type. A value of another type clears the field.
fn set_field(field: &Field<AffiliateInput>, input: &mut AffiliateInput, value: Value) -> bool {
    let is_set = match (value, &field.access) {
        (Value::Integer(number), Access::Integer { set, .. }) => {
            set(input, Some(number));
            true
        }
        (Value::Flag(flag), Access::Boolean { set, .. }) => {
            set(input, Some(flag));
            true
        }
        (Value::Text(text), Access::Text { .. } | Access::Boolean { .. } | Access::Timestamp { .. }) => {
            field.set_written(input, Some(text))
        }
        (Value::Null, _) => return field.set_written(input, None),
        _ => false,
    };
    if !is_set {
        // Null is of every type.
        let _ = field.set_written(input, None);
    }
    is_set
}

//! One affiliate as it was sent: which fields the object has, and which of them are of the wrong type.

use std::marker::PhantomData;

use compliance_api::{
    record::{Access, Field, FieldSet, Record as _},
    v1::{AffiliateInput, AffiliateUpdate},
};
use serde::de::{IgnoredAny, MapAccess, SeqAccess};

use crate::extract::{
    body_violations::{At, BodyViolations},
    document::Object,
    json::{IntegerShape, Read, Sent, Shape, TextShape},
};

/// An affiliate as it was sent, to become an [`AffiliateInput`] or an [`AffiliateUpdate`].
pub(super) struct Record<M> {
    pub(super) id: Sent<i64>,
    input: AffiliateInput,
    sent: FieldSet<AffiliateInput>,
    wrong: FieldSet<AffiliateInput>,
    message: PhantomData<M>,
}

/// What a record becomes.
pub(super) trait Message: From<Record<Self>> + Default {
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
        Self { id: record.id.value(), affiliate: Some(record.input), update_mask: Some(record.sent.to_mask()) }
    }
}

// Derived, this would ask the same of the message.
impl<M> Default for Record<M> {
    fn default() -> Self {
        Self {
            id: Sent::Absent,
            input: AffiliateInput::default(),
            sent: FieldSet::EMPTY,
            wrong: FieldSet::EMPTY,
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
    fn key(name: &str, next: &mut usize) -> Option<Key> {
        let fields = AffiliateInput::FIELDS;
        if let Some(index) = (*next..fields.len()).chain(0..*next).find(|index| fields[*index].name == name) {
            *next = index + 1;
            return Some(Key::Field(&fields[index]));
        }
        (name == "id" && M::HAS_ID).then_some(Key::Id)
    }

    fn read<'de, A: MapAccess<'de>>(&mut self, key: Key, object: &mut A) -> Result<(), A::Error> {
        match key {
            Key::Id => self.id = object.next_value_seed(Read(IntegerShape))?,
            Key::Field(field) => {
                self.sent.insert(field);
                self.wrong.remove(field);
                if !object.next_value_seed(Read(FieldShape { field, input: &mut self.input }))? {
                    self.wrong.insert(field);
                }
            }
        }
        Ok(())
    }

    fn report(&self, at: At, violations: &mut BodyViolations) {
        if self.id == Sent::WrongType {
            violations.push(at, "id", 1, |label| format!("The {label} field must be an integer."));
        }
        if !self.wrong.is_empty() {
            for field in self.wrong.iter() {
                let message = |label: &str| format!("The {label} field must be {}.", field.expected());
                violations.push(at, field.name, field.number, message);
            }
        }
    }
}

/// The shape of a field's value: sets the field, and reports whether the value is of its type. A value of another type
/// clears the field.
struct FieldShape<'r> {
    field: &'static Field<AffiliateInput>,
    input: &'r mut AffiliateInput,
}

impl<'de> Shape<'de> for FieldShape<'_> {
    type Value = bool;

    fn other(self) -> bool {
        self.null();
        false
    }

    fn null(self) -> bool {
        self.field.set_written(self.input, None)
    }

    fn text(self, text: &str) -> bool {
        match self.field.access {
            Access::Integer { .. } | Access::Texts { .. } => self.other(),
            _ => self.field.set_written(self.input, Some(text.to_owned())) || self.other(),
        }
    }

    fn integer(self, number: i64) -> bool {
        let Access::Integer { set, .. } = self.field.access else { return self.other() };
        set(self.input, Some(number));
        true
    }

    fn flag(self, flag: bool) -> bool {
        let Access::Boolean { set, .. } = self.field.access else { return self.other() };
        set(self.input, Some(flag));
        true
    }

    fn array<A: SeqAccess<'de>>(self, mut array: A) -> Result<bool, A::Error> {
        let Access::Texts { set, .. } = self.field.access else {
            while array.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(self.other());
        };
        let mut texts = Some(Vec::new());
        while let Some(element) = array.next_element_seed(Read(TextShape))? {
            match (element, &mut texts) {
                (Sent::Value(text), Some(texts)) => texts.push(text),
                _ => texts = None,
            }
        }
        let are_texts = texts.is_some();
        set(self.input, texts.unwrap_or_default());
        Ok(are_texts)
    }
}

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
    json::{Integer, IntegerShape, Read, Shape, Text, TextShape},
};

/// An affiliate as it was sent, to become an [`AffiliateInput`] or an [`AffiliateUpdate`].
pub(super) struct Record<M> {
    pub(super) id: Integer,
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
        Self {
            id: if let Integer::Is(id) = record.id { Some(id) } else { None },
            affiliate: Some(record.input),
            update_mask: Some(record.sent.to_mask()),
        }
    }
}

// Derived, this would ask the same of the message.
impl<M> Default for Record<M> {
    fn default() -> Self {
        Self {
            id: Integer::default(),
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
        if self.id == Integer::Wrong {
            violations.push(at, "id", 1, |label| format!("The {label} field must be an integer."));
        }
        if self.wrong.is_empty() {
            return;
        }
        for field in self.wrong.iter() {
            let message = |label: &str| format!("The {label} field must be {}.", field.expected());
            violations.push(at, field.name, field.number, message);
        }
    }
}

/// The shape of a field's value: sets it, and reports whether it is of the field's type. A wrong one clears the field.
struct FieldShape<'r> {
    field: &'static Field<AffiliateInput>,
    input: &'r mut AffiliateInput,
}

impl FieldShape<'_> {
    fn written(self, text: String) -> bool {
        self.field.set_written(self.input, Some(text)) || self.other()
    }
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
            Access::Text { .. } | Access::Boolean { .. } | Access::Timestamp { .. } => self.written(text.to_owned()),
            Access::Integer { .. } | Access::Texts { .. } => self.other(),
        }
    }

    fn integer(self, number: i64) -> bool {
        match self.field.access {
            Access::Integer { .. } => self.written(number.to_string()),
            _ => self.other(),
        }
    }

    fn flag(self, flag: bool) -> bool {
        match self.field.access {
            Access::Boolean { .. } => self.written(flag.to_string()),
            _ => self.other(),
        }
    }

    fn array<A: SeqAccess<'de>>(self, mut array: A) -> Result<bool, A::Error> {
        let Access::Texts { set, .. } = self.field.access else {
            while array.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(self.other());
        };
        let mut texts = Some(Vec::new());
        while let Some(element) = array.next_element_seed(Read(TextShape))? {
            match (element, &mut texts) {
                (Text::Is(text), Some(texts)) => texts.push(text),
                _ => texts = None,
            }
        }
        let good = texts.is_some();
        set(self.input, texts.unwrap_or_default());
        Ok(good)
    }
}

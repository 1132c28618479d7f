//! One object of a body: which fields it sent, and which of them have the wrong type.

use compliance_api::{
    record::{Access, Field, FieldSet, Record as _},
    v1::{AffiliateInput, AffiliateUpdate},
};
use serde::de::{IgnoredAny, MapAccess, SeqAccess};

use super::{Item, LIST};
use crate::extract::{
    faults::Faults,
    json::{Integer, Read, Shape, Text, TextShape},
};

/// One object, as it was sent.
#[derive(Default)]
pub(super) struct Record {
    pub(super) id: Integer,
    input: AffiliateInput,
    sent: FieldSet<AffiliateInput>,
    wrong: FieldSet<AffiliateInput>,
}

impl From<Record> for AffiliateInput {
    fn from(record: Record) -> Self {
        record.input
    }
}

impl From<Record> for AffiliateUpdate {
    fn from(record: Record) -> Self {
        Self {
            id: if let Integer::Is(id) = record.id { Some(id) } else { None },
            affiliate: Some(record.input),
            update_mask: Some(record.sent.to_mask()),
        }
    }
}

impl Record {
    /// Reads the value of a field. If a key is sent twice, the last value counts.
    pub(super) fn read<'de, A: MapAccess<'de>>(
        &mut self,
        field: &'static Field<AffiliateInput>,
        object: &mut A,
    ) -> Result<(), A::Error> {
        self.sent.insert(field);
        self.wrong.remove(field);
        let good = object.next_value_seed(Read(FieldShape { field, input: &mut self.input }))?;
        if !good {
            self.wrong.insert(field);
        }
        Ok(())
    }

    /// Whether a value is of the wrong type.
    pub(super) fn is_wrong(&self) -> bool {
        !self.wrong.is_empty() || self.id == Integer::Wrong
    }

    /// Reports the values of the wrong type. `prefix` is the path of the object, with its closing dot.
    pub(super) fn report(&self, prefix: &str, item: u32, faults: &mut Faults) {
        if self.id == Integer::Wrong {
            faults.push(format!("{prefix}id"), item, 1, |label| format!("The {label} field must be an integer."));
        }
        for field in self.wrong.iter() {
            let path = format!("{prefix}{}", field.name);
            faults.push(path, item, field.number, |label| format!("The {label} field must be {}.", field.expected()));
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

/// The meaning of an object's key.
pub(super) enum Known {
    Field(&'static Field<AffiliateInput>),
    Id,
    List,
    Nothing,
}

/// Finds a key. Objects tend to have their keys in the order of declaration, so the search starts after the last.
pub(super) fn key<I: Item>(name: &str, after: &mut usize) -> Known {
    let fields = AffiliateInput::FIELDS;
    let found = (*after..fields.len()).chain(0..*after).find(|index| fields[*index].name == name);
    match found {
        Some(index) => {
            *after = index + 1;
            Known::Field(&fields[index])
        }
        None if name == "id" && I::HAS_ID => Known::Id,
        None if name == LIST => Known::List,
        None => Known::Nothing,
    }
}

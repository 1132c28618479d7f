//! One object of a body: which fields it sent, and which of them have the wrong type.

use compliance_api::{
    text_record::TextRecord as _,
    v1::{AffiliateInput, AffiliateUpdate},
};
use prost_types::FieldMask;

use super::{Item, LIST};
use crate::extract::{
    faults::Faults,
    json::{Integer, Text},
};

pub(super) const FIELDS: &[&str] = AffiliateInput::FIELDS;
// One bit a field tells which were sent and which were of the wrong type.
const _: () = assert!(FIELDS.len() <= 64);

/// One object, as it was sent.
#[derive(Default)]
pub(super) struct Record {
    pub(super) id: Integer,
    input: AffiliateInput,
    sent: u64,
    wrong: u64,
}

impl From<Record> for AffiliateInput {
    fn from(record: Record) -> Self {
        record.input
    }
}

impl From<Record> for AffiliateUpdate {
    fn from(record: Record) -> Self {
        let sent = FIELDS.iter().enumerate().filter(|(position, _)| record.sent & (1 << position) != 0);
        let paths = sent.map(|(_, name)| (*name).to_owned()).collect();
        Self {
            id: if let Integer::Is(id) = record.id { Some(id) } else { None },
            affiliate: Some(record.input),
            update_mask: Some(FieldMask { paths }),
        }
    }
}

impl Record {
    /// Takes the value of a key; of a key that is sent twice the last value counts.
    pub(super) fn set(&mut self, position: usize, value: Text) {
        let bit = 1 << position;
        self.sent |= bit;
        self.wrong &= !bit;
        let text = match value {
            Text::Is(text) => Some(text),
            Text::Null => None,
            Text::Wrong => {
                self.wrong |= bit;
                None
            }
        };
        self.input.set_text(position, text);
    }

    /// Whether a value is of the wrong type.
    pub(super) fn is_wrong(&self) -> bool {
        self.wrong != 0 || self.id == Integer::Wrong
    }

    /// Tells which values are of the wrong type. `prefix` is the path of the object, with its closing dot.
    pub(super) fn tell_faults(&self, prefix: &str, item: u32, faults: &mut Faults) {
        if self.id == Integer::Wrong {
            faults.push(format!("{prefix}id"), item, 1, |label| format!("The {label} field must be an integer."));
        }
        let wrong = (0..FIELDS.len()).filter(|position| self.wrong & (1 << position) != 0);
        for position in wrong {
            let path = format!("{prefix}{}", FIELDS[position]);
            // The fields of the message are numbered in the order of their declaration.
            faults.push(path, item, position as u32 + 1, |label| format!("The {label} field must be a string."));
        }
    }
}

/// What a key of an object means.
pub(super) enum Known {
    Field(usize),
    Id,
    List,
    Nothing,
}

/// Finds a key. Objects tend to have their keys in the order of declaration, so the search starts after the last.
pub(super) fn key<I: Item>(name: &str, after: usize) -> Known {
    let found = FIELDS[after..].iter().position(|field| *field == name).map(|position| after + position);
    match found.or_else(|| FIELDS[..after].iter().position(|field| *field == name)) {
        Some(position) => Known::Field(position),
        None if name == "id" && I::HAS_ID => Known::Id,
        None if name == LIST => Known::List,
        None => Known::Nothing,
    }
}

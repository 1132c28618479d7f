//! One affiliate as it was sent: which fields the object has, and which of them are of the wrong type.

use compliance_api::{
    record::{Access, FieldSet, Record as _, RecordField},
    rules::Violations,
    v1::{AffiliateInput, AffiliateSync, AffiliateUpdate},
};

use crate::extract::{
    document::{At, Object},
    json::Value,
};

/// An affiliate as it was sent, to become an [`AffiliateInput`], an [`AffiliateSync`], or an [`AffiliateUpdate`], of which `id` is a known
/// key.
#[derive(Default)]
pub(super) struct SentAffiliate<const HAS_ID: bool> {
    pub(super) id: Value,
    input: AffiliateInput,
    sent: FieldSet<AffiliateInput>,
    wrong: FieldSet<AffiliateInput>,
    /// Index of the field after the one whose key was found last.
    next: usize,
}

impl From<SentAffiliate<false>> for AffiliateInput {
    fn from(affiliate: SentAffiliate<false>) -> Self {
        affiliate.input
    }
}

impl From<SentAffiliate<false>> for AffiliateSync {
    fn from(affiliate: SentAffiliate<false>) -> Self {
        Self { affiliate: Some(affiliate.input), update_mask: Some(affiliate.sent.to_mask()) }
    }
}

impl From<SentAffiliate<true>> for AffiliateUpdate {
    fn from(affiliate: SentAffiliate<true>) -> Self {
        let id = if let Value::Integer(id) = affiliate.id { Some(id) } else { None };
        let update_mask = Some(affiliate.sent.to_mask());
        Self { id, affiliate: Some(affiliate.input), update_mask, etag: String::new() }
    }
}

impl<const HAS_ID: bool> Object for SentAffiliate<HAS_ID> {
    /// `None` is the ID.
    type Key = Option<&'static RecordField<AffiliateInput>>;
    const LIST: &'static str = "affiliates";

    /// Objects tend to have their keys in the order of declaration, so the search starts after the last one found.
    fn key(&mut self, name: &str) -> Option<Self::Key> {
        let fields = AffiliateInput::FIELDS;
        if let Some(index) = (self.next..fields.len()).chain(0..self.next).find(|index| fields[*index].name == name) {
            self.next = index + 1;
            return Some(Some(&fields[index]));
        }
        (name == "id" && HAS_ID).then_some(None)
    }

    fn set(&mut self, key: Self::Key, value: Value) {
        match key {
            None => self.id = value,
            Some(field) => {
                self.sent.insert(field);
                self.wrong.remove(field);
                if !set_field(field, &mut self.input, value) {
                    self.wrong.insert(field);
                }
            }
        }
    }

    fn sent(&self) -> impl Iterator<Item = &'static str> {
        let id = (self.id != Value::Null).then_some("id");
        id.into_iter().chain(self.sent.iter().map(|field| field.name))
    }

    fn report(&self, at: At, violations: &mut Violations) -> bool {
        if !matches!(self.id, Value::Integer(_) | Value::Null) {
            at.must(violations, "id", 1, "must be an integer");
        }
        for field in self.wrong.iter() {
            at.must(violations, field.name, field.number, &format!("must be {}", field.expected()));
        }
        true
    }
}

/// Sets a field and returns whether the value is of its type. A value of another type clears the field, as an empty text does.
fn set_field(field: &RecordField<AffiliateInput>, input: &mut AffiliateInput, value: Value) -> bool {
    field.clear(input);
    match (value, &field.access) {
        (Value::Integer(number), Access::Integer { .. }) => field.set_integer(input, Some(number)),
        (Value::Flag(flag), Access::Boolean { set, .. }) => {
            set(input, Some(flag));
            true
        }
        (Value::Text(text), Access::Text { .. }) => field.set_written(input, Some(text)),
        (Value::Text(text), _) if text.is_empty() => true,
        (Value::Text(text), Access::Boolean { .. } | Access::Timestamp { .. }) => field.set_written(input, Some(text)),
        (value, _) => value == Value::Null,
    }
}

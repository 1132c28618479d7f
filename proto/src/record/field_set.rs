//! Sets of record fields, such as the fields that an update changes.

use std::{fmt, marker::PhantomData};

use prost_types::FieldMask;

use super::field::{Record, RecordField};

/// A set of fields of the record `R`.
pub struct FieldSet<R> {
    bits: i64,
    record: PhantomData<fn() -> R>,
}

impl<R: Record> FieldSet<R> {
    /// Every field.
    pub const ALL: Self = {
        let (mut bits, mut index) = (0, 0);
        while index < R::FIELDS.len() {
            bits |= R::FIELDS[index].bit();
            index += 1;
        }
        Self { bits, record: PhantomData }
    };

    /// Returns the fields named by a mask. Skips unknown names.
    pub fn of_mask(mask: &FieldMask) -> Self {
        mask.paths.iter().filter_map(|path| R::field(path)).collect()
    }

    /// Converts the set to a field mask.
    pub fn to_mask(self) -> FieldMask {
        FieldMask { paths: self.iter().map(|field| field.name.to_owned()).collect() }
    }

    /// Returns the fields that have a value in `record`. An empty string is a value.
    pub fn given(record: &R) -> Self {
        R::FIELDS.iter().filter(|field| field.is_given(record)).collect()
    }

    /// Adds a field.
    pub fn insert(&mut self, field: &RecordField<R>) {
        self.bits |= field.bit();
    }

    /// Removes a field.
    pub fn remove(&mut self, field: &RecordField<R>) {
        self.bits &= !field.bit();
    }

    /// Returns whether a field is in the set.
    pub const fn contains(self, field: &RecordField<R>) -> bool {
        self.bits & field.bit() != 0
    }

    /// Returns whether the set contains a field with this name.
    pub fn names(self, name: &str) -> bool {
        R::field(name).is_some_and(|field| self.contains(field))
    }

    /// Returns whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.bits == 0
    }

    /// Returns the fields, in declaration order.
    pub fn iter(self) -> impl Iterator<Item = &'static RecordField<R>> {
        R::FIELDS.iter().filter(move |field| self.contains(field))
    }

    /// Returns the set as a bit mask for statements, with each field's [`bit`](RecordField::bit).
    pub const fn bits(self) -> i64 {
        self.bits
    }
}

impl<R: Record> FromIterator<&'static RecordField<R>> for FieldSet<R> {
    fn from_iter<I: IntoIterator<Item = &'static RecordField<R>>>(fields: I) -> Self {
        Self { bits: fields.into_iter().fold(0, |bits, field| bits | field.bit()), record: PhantomData }
    }
}

impl<R: Record> Default for FieldSet<R> {
    fn default() -> Self {
        Self { bits: 0, record: PhantomData }
    }
}

// A derived implementation would require `R: Clone`.
impl<R> Clone for FieldSet<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for FieldSet<R> {}

impl<R: Record> fmt::Debug for FieldSet<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|field| field.name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::{FieldSet, Record as _};
    use crate::v1::AffiliateInput;

    #[test]
    fn field_masks_convert_to_sets_and_back() {
        let mask = prost_types::FieldMask { paths: ["zip", "town", "city"].map(str::to_owned).into() };
        let set = FieldSet::<AffiliateInput>::of_mask(&mask);
        assert!(set.names("zip") && set.names("city") && !set.names("state") && !set.names("town"));
        assert_eq!(set.to_mask().paths, ["city", "zip"]);
        assert_eq!(AffiliateInput::FIELDS.iter().map(|field| field.bit().count_ones()).max(), Some(1));
    }

    #[test]
    fn empty_strings_count_as_values() {
        let affiliate = AffiliateInput { city: Some(String::new()), zip: Some("1".into()), ..Default::default() };
        assert_eq!(FieldSet::given(&affiliate).to_mask().paths, ["city", "zip"]);
    }
}

//! An affiliate as batches send it: the database's type `affiliate_input`.

use std::sync::LazyLock;

use compliance_api::{
    country,
    record::{FieldSet, Record as _},
    v1::AffiliateInput,
};

use crate::table::{Attribute, Composite};

/// One affiliate of a batch.
#[derive(Debug)]
pub(crate) struct Input {
    /// Of one to be created: its position in the batch, from 1. Of one to be changed: its ID.
    pub(super) key: i64,
    /// Of one to be changed: the fields that change.
    pub(super) mask: FieldSet<AffiliateInput>,
    pub(super) fields: AffiliateInput,
    /// Why the item fails by itself, whatever the database has.
    pub(super) bad_country: Option<String>,
}

/// The database's type of an [`Input`].
pub(crate) static INPUT: LazyLock<Composite<Input>> = LazyLock::new(|| {
    let fields = AffiliateInput::FIELDS.iter();
    let own = [
        Attribute::scalar("key", |input: &Input| Some(input.key)),
        Attribute::scalar("mask", |input: &Input| {
            Some(if input.bad_country.is_some() { 0 } else { input.mask.bits() })
        }),
    ];
    Composite::new(
        "affiliate_input",
        own.into_iter().chain(fields.filter_map(|field| Attribute::field(field, |input: &Input| &input.fields))),
    )
});

impl Input {
    /// An affiliate, of which `mask` is to be written.
    pub(super) fn new(key: i64, fields: AffiliateInput, mask: FieldSet<AffiliateInput>) -> Self {
        // What is not written cannot fail.
        let country = fields.country.as_deref().filter(|code| !code.is_empty() && mask.names("country"));
        let bad_country = country.filter(|code| country::numeric(code).is_none()).map(str::to_owned);
        Self { key, mask, fields, bad_country }
    }
}

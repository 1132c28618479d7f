//! An affiliate in a batch: the database type `affiliate_input`.

use std::sync::LazyLock;

use compliance_api::{
    record::{FieldSet, Record as _},
    rules::{ItemFailure, item_failure},
    v1::{AffiliateInput, AffiliateUpdate},
};
use storage::table::{Attribute, Composite};

use crate::record_sql::revisions;

#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub(super) company_id: i64,
    /// The affiliate's ID, for an update.
    pub(super) key: i64,
    /// The fields to write, for an update.
    pub(super) mask: FieldSet<AffiliateInput>,
    pub(super) fields: AffiliateInput,
    /// Revisions that an update accepts, or `None` to accept any revision.
    pub(super) revisions: Option<Vec<i64>>,
    /// Why the item fails regardless of the stored data, if it does.
    pub(super) failure: Option<ItemFailure>,
}

/// The database type of an [`Input`].
pub(crate) static INPUT: LazyLock<Composite<Input>> = LazyLock::new(|| {
    let fields = AffiliateInput::FIELDS.iter();
    let own = [
        Attribute::scalar("key", |input: &Input| Some(input.key)),
        Attribute::borrowed("revisions", |input: &Input| input.revisions.as_deref()),
        Attribute::scalar("mask", |input: &Input| Some(if input.failure.is_some() { 0 } else { input.mask.bits() })),
    ];
    Composite::new(
        "affiliate_input",
        own.into_iter().chain(fields.filter_map(|field| Attribute::field(field, |input: &Input| &input.fields))),
    )
});

impl Input {
    pub(super) fn created(company_id: i64, fields: AffiliateInput) -> Self {
        Self::new(company_id, 0, fields, FieldSet::ALL)
    }

    pub(super) fn updated(company_id: i64, update: AffiliateUpdate) -> Self {
        let fields = update.affiliate.unwrap_or_default();
        let mask = update.update_mask.as_ref().map_or_else(|| FieldSet::given(&fields), FieldSet::of_mask);
        let revisions = revisions(&update.etag);
        Self { revisions, ..Self::new(company_id, update.id.unwrap_or_default(), fields, mask) }
    }

    /// Creates an input that writes only the fields in `mask`.
    pub(super) fn new(company_id: i64, key: i64, fields: AffiliateInput, mask: FieldSet<AffiliateInput>) -> Self {
        // Fields that are not written cannot fail.
        let failure = item_failure(&fields).filter(|failure| mask.names(failure.field));
        Self { company_id, key, mask, fields, revisions: None, failure }
    }
}

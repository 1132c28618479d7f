//! The items of a roster.

use compliance_api::{
    record::{FieldSet, Record as _},
    rules::{Violations, check},
    v1::{AffiliateInput, AffiliateSync},
};

use super::compare::Found;
use crate::affiliates::{in_order::NAME, input::Input};

pub(super) const IDENTIFIER: &str = "client_affiliate_id";

/// An item of a roster.
pub(super) struct Item {
    /// The fields that the roster has, and no others.
    pub(super) input: Input,
    pub(super) violations: Violations,
}

impl Item {
    pub(super) fn new(company_id: i64, mut item: AffiliateSync) -> Self {
        let fields = item.affiliate.get_or_insert_default();
        let mask = item.update_mask.get_or_insert_with(|| FieldSet::given(&*fields).to_mask());
        mask.paths.push(IDENTIFIER.to_owned());
        let mask = FieldSet::of_mask(mask);
        let violations = check(&item);
        let mut fields = item.affiliate.unwrap_or_default();
        for field in AffiliateInput::FIELDS.iter().filter(|field| !mask.contains(field)) {
            field.clear(&mut fields);
        }
        Self { input: Input::new(company_id, 0, fields, mask), violations }
    }
}

/// An item that is to be written, and what was found for it.
pub(super) struct RosterUpdate<'i> {
    /// Its index in the batch, and its position in the roster.
    pub(super) index: usize,
    pub(super) position: i64,
    pub(super) input: &'i Input,
    pub(super) found: Found,
}

impl RosterUpdate<'_> {
    /// The affiliate that is changed; `None` if one is created.
    pub(super) fn id(&self) -> Option<i64> {
        self.found.ids.first().copied()
    }

    /// Fields that differ, or all given fields of a new affiliate.
    pub(super) fn fields(&self) -> FieldSet<AffiliateInput> {
        AffiliateInput::FIELDS.iter().filter(|field| self.found.changed & field.bit() != 0).collect()
    }

    /// The name that the affiliate gets, if it gets another one.
    pub(super) fn name(&self) -> Option<&str> {
        self.input.fields.affiliate_name.as_deref().filter(|_| self.fields().names(NAME))
    }

    /// The update of the affiliate as it was found.
    pub(super) fn update(&self) -> Input {
        let Input { company_id, fields, .. } = self.input;
        let update = Input::new(*company_id, self.id().unwrap_or_default(), fields.clone(), self.fields());
        Input { revisions: Some(vec![self.found.revision]), ..update }
    }
}

//! The state of a roster while its items are synced.

use std::{collections::HashMap, sync::Arc};

use admission::{Full, Reservation};
use compliance_api::v1::{AffiliateSyncResult, SyncAffiliatesRequest};

use super::{
    item::{IDENTIFIER, Item},
    names::{Digest, Names},
    result,
};
use crate::backend::Backend;

/// Memory of an identifier or a name until the roster is synced, in bytes.
const ROSTER_IDENTIFIER: usize = 56;

pub(super) struct Roster {
    pub(super) backend: Arc<Backend>,
    pub(super) company_id: i64,
    /// The last message, without its items. It says what happens to absent affiliates, so a stream that breaks off changes none of them.
    pub(super) options: SyncAffiliatesRequest,
    /// The value of the first message.
    pub(super) validate_only: Option<bool>,
    /// The positions of identifiers.
    identifiers: HashMap<Digest, i64>,
    pub(super) names: Names,
    /// Whether every item had a valid identifier.
    is_identified: bool,
    /// The position of the first item of the current batch.
    pub(super) first: i64,
    /// Absent affiliates up to this ID were reported.
    pub(super) after: i64,
    /// Whether the number of absent affiliates was checked.
    pub(super) is_absent_checked: bool,
    /// Whether the first batch is the whole roster. Then nothing is written if too many affiliates are absent.
    pub(super) is_one_batch: bool,
    /// The memory of identifiers and names.
    memory: Reservation,
}

impl Roster {
    pub(super) fn new(backend: &Arc<Backend>, company_id: i64) -> Self {
        Self {
            backend: Arc::clone(backend),
            company_id,
            options: SyncAffiliatesRequest::default(),
            validate_only: None,
            identifiers: HashMap::new(),
            names: Names::default(),
            is_identified: true,
            first: 0,
            after: 0,
            is_absent_checked: false,
            is_one_batch: false,
            memory: backend.quotas.memory.reservation(Some(company_id)),
        }
    }

    /// Reserves memory for this number of identifiers or names.
    pub(super) fn reserve(&mut self, texts: usize) -> Result<(), Full> {
        self.memory.grow(texts * ROSTER_IDENTIFIER)
    }

    pub(super) fn wants_absent(&self) -> bool {
        self.options.report_absent || !self.options.absent_status().is_empty()
    }

    /// The status that absent affiliates get. `None` if there are no items, or if an item lacks a valid identifier: it may be one of these
    /// affiliates.
    pub(super) fn absent_status(&self) -> Option<&str> {
        let is_known = self.is_identified && !self.identifiers.is_empty();
        Some(self.options.absent_status()).filter(|status| is_known && !status.is_empty())
    }

    pub(super) fn has(&self, identifier: &str) -> bool {
        self.identifiers.contains_key(&self.names.digest(identifier))
    }

    /// Remembers the identifiers of items. Returns the results of items that are invalid or share an identifier, because it is unclear which
    /// of them is right.
    pub(super) fn identify(&mut self, items: &[Item]) -> Result<Vec<Option<AffiliateSyncResult>>, Full> {
        self.reserve(items.len())?;
        let mut repeated: HashMap<i64, Vec<i64>> = HashMap::new();
        for (position, item) in (self.first..).zip(items) {
            self.is_identified &= !item.violations.names(IDENTIFIER);
            let Some(identifier) = item.input.fields.client_affiliate_id.as_deref() else { continue };
            let first = *self.identifiers.entry(self.names.digest(identifier)).or_insert(position);
            if first == position {
                continue;
            }
            repeated.insert(position, vec![first, position]);
            // An item of an earlier batch has been synced already.
            if first >= self.first {
                repeated.entry(first).or_insert_with(|| vec![first]).push(position);
            }
        }
        let result = |(position, item): (i64, &Item)| {
            if !item.violations.is_empty() {
                return Some(result::invalid(&item.input, item.violations.clone()));
            }
            repeated.remove(&position).map(|positions| result::repeated(&item.input, positions))
        };
        Ok((self.first..).zip(items).map(result).collect())
    }
}

//! What is known of a roster while its items are synced.

use std::{
    collections::{
        HashMap,
        hash_map::{Entry, RandomState},
    },
    hash::BuildHasher as _,
};

use admission::{Full, Reservation};
use compliance_api::v1::AffiliateSyncResult;

use super::{
    Item,
    names::{Taken, Want, taken},
    result,
};
use crate::{affiliates::input::Input, limits::ROSTER_IDENTIFIER};

/// A text, of which only a digest is kept: the texts of a million items would take much more memory.
type Digest = [u64; 2];

/// What is asked for with a roster.
#[derive(Clone, Debug, Default)]
pub(super) struct Options {
    pub(super) report_absent: bool,
    pub(super) absent_status: Option<String>,
    pub(super) validate_only: bool,
}

impl Options {
    pub(super) fn new(report_absent: bool, absent_status: Option<String>, validate_only: bool) -> Self {
        // An empty text is an absent one.
        let absent_status = absent_status.filter(|status| !status.is_empty());
        Self { report_absent, absent_status, validate_only }
    }

    pub(super) fn wants_absent(&self) -> bool {
        self.report_absent || self.absent_status.is_some()
    }
}

pub(super) struct Roster {
    pub(super) options: Options,
    hasher: RandomState,
    /// The positions of identifiers.
    identifiers: HashMap<Digest, u32>,
    /// Names that items got or left, if they are not written: that of an item at a position, or nobody's.
    names: HashMap<Digest, Option<u32>>,
    /// Whether every item had a valid identifier.
    is_identified: bool,
    /// Position of the first item of the batch that is synced.
    first: u32,
    memory: Reservation,
}

impl Roster {
    /// A roster, whose identifiers take memory.
    pub(super) fn new(options: Options, memory: Reservation) -> Self {
        Self {
            options,
            hasher: RandomState::new(),
            identifiers: HashMap::new(),
            names: HashMap::new(),
            is_identified: true,
            first: 0,
            memory,
        }
    }

    fn digest(&self, text: &str) -> Digest {
        [1, 2].map(|half: u8| self.hasher.hash_one((half, text)))
    }

    /// The position of the item of an index in the batch.
    pub(super) fn position(&self, index: usize) -> i64 {
        i64::from(self.first) + index as i64
    }

    /// The status that absent affiliates get. None if one of them may be an item whose identifier is unknown, or if there are no items.
    pub(super) fn absent_status(&self) -> Option<&str> {
        let is_known = self.is_identified && !self.identifiers.is_empty();
        self.options.absent_status.as_deref().filter(|_| is_known)
    }

    pub(super) fn has(&self, identifier: &str) -> bool {
        self.identifiers.contains_key(&self.digest(identifier))
    }

    /// Notes the identifiers of items. Returns the results of those that are invalid, or whose identifiers others have too: it is not
    /// known which of them is right.
    pub(super) fn identify(&mut self, items: &[Item]) -> Result<Vec<Option<AffiliateSyncResult>>, Full> {
        self.memory.grow(items.len() * ROSTER_IDENTIFIER)?;
        let mut positions: HashMap<u32, Vec<i64>> = HashMap::new();
        for (index, item) in (self.first..).zip(items) {
            self.is_identified &= item.is_identified();
            let Some(identifier) = item.identifier() else { continue };
            match self.identifiers.entry([1, 2].map(|half: u8| self.hasher.hash_one((half, identifier)))) {
                Entry::Vacant(vacant) => drop(vacant.insert(index)),
                Entry::Occupied(first) => {
                    let first = *first.get();
                    positions.insert(index, vec![first.into(), index.into()]);
                    // One of an earlier batch has been synced.
                    if first >= self.first {
                        positions.entry(first).or_insert_with(|| vec![first.into()]).push(index.into());
                    }
                }
            }
        }
        let result = |(position, item): (u32, &Item)| {
            if !item.violations.is_empty() {
                return Some(result::invalid(&item.input, item.violations.clone()));
            }
            positions.remove(&position).map(|positions| result::repeated(&item.input, positions))
        };
        Ok((self.first..).zip(items).map(result).collect())
    }

    /// The items that do not get their names. What other items got before, without being written, is taken into account.
    pub(super) fn refused_names(&self, wants: &mut [Want<'_>]) -> HashMap<usize, Refusal> {
        let mut refused = HashMap::new();
        for want in wants.iter_mut().filter(|_| !self.names.is_empty()) {
            match want.name.and_then(|name| self.names.get(&self.digest(name))) {
                Some(Some(position)) => {
                    want.name = None;
                    refused.insert(want.index, Refusal::Position((*position).into()));
                }
                Some(None) => want.holder = None,
                None => {}
            }
        }
        refused.extend(taken(wants).into_iter().map(|(index, taken)| match taken {
            Taken::ByAffiliate(holder) => (index, Refusal::Holder(holder)),
            Taken::ByItem(first) => (index, Refusal::Position(self.position(first))),
        }));
        refused
    }

    /// Notes the names that items get and leave, if they are not written.
    pub(super) fn take_names<'i>(&mut self, wants: impl Iterator<Item = Want<'i>>) -> Result<(), Full> {
        let wants: Vec<Want<'_>> = wants.filter(|want| want.name.is_some()).collect();
        self.memory.grow(2 * wants.len() * ROSTER_IDENTIFIER)?;
        for old in wants.iter().filter_map(|want| want.old_name.as_deref()) {
            self.names.insert(self.digest(old), None);
        }
        for want in &wants {
            let position = self.first + want.index as u32;
            if let Some(name) = want.name {
                self.names.insert(self.digest(name), Some(position));
            }
        }
        Ok(())
    }

    /// Ends a batch of so many items.
    pub(super) fn advance(&mut self, items: usize) {
        self.first += items as u32;
    }
}

/// Why an item does not get its name.
pub(super) enum Refusal {
    /// This affiliate has it.
    Holder(i64),
    /// The item at this position gets it.
    Position(i64),
}

impl Refusal {
    pub(super) fn result(&self, input: &Input, position: i64) -> AffiliateSyncResult {
        match self {
            Self::Holder(holder) => result::name_of_affiliate(input, *holder),
            Self::Position(first) => result::name_of_item(input, *first, position),
        }
    }
}

//! Decides which items in a batch get their names. All names in a batch change simultaneously, so two affiliates can swap names.

use std::{
    collections::{HashMap, HashSet, hash_map::RandomState},
    hash::BuildHasher as _,
};

use compliance_api::{
    error::{ResultCode, name_exists_text},
    v1::AffiliateSyncResult,
};

use super::item::{RosterUpdate, refused};

/// A name's digest. Storing a million names would use much more memory.
pub(super) type Digest = [u64; 2];

/// Why an item does not get its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// The affiliate with this ID keeps the name.
    ByAffiliate(i64),
    /// The item at this position gets the name.
    ByItem(i64),
}

impl Taken {
    /// Returns the affiliate that keeps the name, if any.
    pub(super) fn holder(&self) -> Option<i64> {
        match self {
            Self::ByAffiliate(id) => Some(*id),
            Self::ByItem(_) => None,
        }
    }
}

/// Names that earlier batches of a dry run would have taken or released.
#[derive(Default)]
pub(super) struct Names {
    hasher: RandomState,
    /// Names taken by items, with the items' positions.
    got: HashMap<Digest, i64>,
    /// Names released by affiliates.
    left: HashSet<Digest>,
}

impl Names {
    pub(super) fn digest(&self, text: &str) -> Digest {
        [1, 2].map(|half: u8| self.hasher.hash_one((half, text)))
    }

    /// Returns the positions of items that do not get their names, with the reasons.
    ///
    /// An affiliate whose item is refused keeps its name, so items that need this name are also refused. Runs in linear time.
    pub(super) fn taken(&self, changes: &[RosterUpdate<'_>]) -> HashMap<i64, Taken> {
        let named: Vec<_> = changes.iter().filter_map(|change| Some((change, change.name()?))).collect();
        let leaving: HashSet<i64> = named.iter().filter_map(|(change, _)| change.id()).collect();
        let (mut refused, mut getting, mut newly) = (HashMap::new(), HashMap::new(), Vec::new());
        // Items, grouped by the affiliate that releases the name they need.
        let mut dependents: HashMap<i64, Vec<&RosterUpdate<'_>>> = HashMap::new();
        for (change, name) in named {
            let digest = self.digest(name);
            let holder = change.found.holder.filter(|_| !self.left.contains(&digest));
            if let Some(holder) = holder.filter(|holder| !leaving.contains(holder)) {
                newly.push((change, Taken::ByAffiliate(holder)));
                continue;
            }
            if let Some(holder) = holder {
                dependents.entry(holder).or_default().push(change);
            }
            let earlier = self.got.get(&digest).copied();
            let first = earlier.unwrap_or_else(|| *getting.entry(digest).or_insert(change.position));
            if first != change.position {
                newly.push((change, Taken::ByItem(first)));
            }
        }
        while let Some((change, reason)) = newly.pop() {
            // Prefers `ByAffiliate`, because this reason does not depend on other items.
            let known = refused.entry(change.position).or_insert(reason);
            if matches!(reason, Taken::ByAffiliate(_)) {
                *known = reason;
            }
            if let Some(id) = change.id() {
                newly.extend(
                    dependents.remove(&id).into_iter().flatten().map(|change| (change, Taken::ByAffiliate(id))),
                );
            }
        }
        refused
    }

    /// Records the names that affiliates take and release.
    pub(super) fn remember(&mut self, changes: &[RosterUpdate<'_>]) {
        for change in changes {
            let left = change.found.old_name.as_deref().map(|name| self.digest(name));
            let got = change.name().map(|name| (self.digest(name), change.position));
            self.left.extend(left);
            self.got.extend(got);
        }
    }
}

/// Returns the result for an item that does not get its name.
pub(super) fn name_taken(RosterUpdate { input, position, .. }: &RosterUpdate<'_>, taken: Taken) -> AffiliateSyncResult {
    let (conflicting_ids, conflicting_positions, msg) = match taken {
        Taken::ByAffiliate(id) => (vec![id], Vec::new(), name_exists_text(Some(id))),
        Taken::ByItem(first) => {
            let msg = format!("The items at positions {first} and {position} have the same affiliate name.");
            (Vec::new(), vec![first, *position], msg)
        }
    };
    let refused = refused(input, ResultCode::Duplicate, &msg);
    AffiliateSyncResult { conflicting_ids, conflicting_positions, ..refused }
}

#[cfg(test)]
mod tests {
    use compliance_api::{
        record::{FieldSet, Record as _},
        v1::AffiliateInput,
    };

    use super::{
        Names,
        Taken::{self, ByAffiliate, ByItem},
    };
    use crate::affiliates::{
        in_order::NAME,
        input::Input,
        sync::item::{Found, RosterUpdate},
    };

    /// Returns the refused items. Each item has an affiliate (0 if new), its new name (if any), and the name's holder (0 if none).
    fn refused(items: &[(i64, &str, i64)]) -> Vec<(i64, Taken)> {
        let some = |id: i64| Some(id).filter(|id| *id != 0);
        let input = |name: &str| {
            let fields = AffiliateInput { affiliate_name: Some(name.to_owned()), ..AffiliateInput::default() };
            Input::new(1, 0, fields, FieldSet::ALL)
        };
        let inputs: Vec<Input> = items.iter().map(|(_, name, _)| input(name)).collect();
        let changes: Vec<RosterUpdate<'_>> = items
            .iter()
            .zip(&inputs)
            .enumerate()
            .map(|(index, ((id, name, holder), input))| {
                let (ids, holder) = (some(*id).into_iter().collect(), some(*holder));
                let changed = if name.is_empty() { 0 } else { AffiliateInput::field(NAME).unwrap().bit() };
                let found = Found { ids, revision: 1, changed, old_name: None, holder };
                RosterUpdate { index, position: index as i64, input, found }
            })
            .collect();
        let mut refused: Vec<_> = Names::default().taken(&changes).into_iter().collect();
        refused.sort_by_key(|(position, _)| *position);
        refused
    }

    #[test]
    fn affiliates_can_swap_names_in_one_batch() {
        assert_eq!(refused(&[(1, "b", 2), (2, "a", 1)]), []);
        assert_eq!(refused(&[(1, "b", 2), (2, "c", 3), (3, "a", 1)]), []);
        // A new affiliate can take a released name.
        assert_eq!(refused(&[(0, "a", 1), (1, "z", 0)]), []);
    }

    #[test]
    fn taken_and_duplicate_names_are_refused() {
        assert_eq!(refused(&[(1, "b", 2), (2, "", 0)]), [(0, ByAffiliate(2))]);
        assert_eq!(refused(&[(0, "n", 0), (5, "n", 0), (0, "m", 0)]), [(1, ByItem(0))]);
        // Affiliate 3 keeps its name, so affiliates 2 and 1 also keep theirs.
        assert_eq!(
            refused(&[(1, "b", 2), (2, "c", 3), (3, "d", 4)]),
            [(0, ByAffiliate(2)), (1, ByAffiliate(3)), (2, ByAffiliate(4))]
        );
    }
}

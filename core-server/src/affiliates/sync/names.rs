//! Which items of a batch can get the names that they give. All names of a batch change at once, so two affiliates can swap theirs.

use std::collections::{HashMap, HashSet, hash_map::Entry};

/// A name that the affiliate of an item gets, if it gets another one.
pub(super) struct Want<'i> {
    /// Index of the item.
    pub(super) index: usize,
    /// The affiliate; a new one has none.
    pub(super) id: Option<i64>,
    pub(super) name: Option<&'i str>,
    /// The name that it leaves.
    pub(super) old_name: Option<String>,
    /// The affiliate that has the name.
    pub(super) holder: Option<i64>,
}

/// Why an item does not get its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// The affiliate keeps it.
    ByAffiliate(i64),
    /// The item at this index gets it.
    ByItem(usize),
}

/// The items that do not get their names. An affiliate whose item is refused keeps its name, which others may have counted on. The
/// work is linear in the number of items.
pub(super) fn taken(wants: &[Want<'_>]) -> HashMap<usize, Taken> {
    let named = || wants.iter().filter(|want| want.name.is_some());
    let leaving: HashSet<i64> = named().filter_map(|want| want.id).collect();
    let (mut refused, mut getting) = (HashMap::new(), HashMap::new());
    // Those who count on the name of an affiliate that leaves it.
    let mut counting: HashMap<i64, Vec<&Want<'_>>> = HashMap::new();
    let mut newly = Vec::new();
    for want in named() {
        let Some(name) = want.name else { continue };
        match want.holder {
            Some(holder) if !leaving.contains(&holder) => newly.push((want, Taken::ByAffiliate(holder))),
            holder => {
                if let Some(holder) = holder {
                    counting.entry(holder).or_default().push(want);
                }
                match getting.entry(name) {
                    Entry::Vacant(first) => drop(first.insert(want.index)),
                    Entry::Occupied(first) => newly.push((want, Taken::ByItem(*first.get()))),
                }
            }
        }
    }
    while let Some((want, reason)) = newly.pop() {
        // Of several reasons, that an affiliate keeps the name is the one that does not depend on other items.
        let known = refused.entry(want.index).or_insert(reason);
        if matches!(reason, Taken::ByAffiliate(_)) {
            *known = reason;
        }
        if let Some(id) = want.id {
            newly.extend(counting.remove(&id).into_iter().flatten().map(|want| (want, Taken::ByAffiliate(id))));
        }
    }
    refused
}

#[cfg(test)]
mod tests {
    use super::{
        Taken::{self, ByAffiliate, ByItem},
        Want, taken,
    };

    /// Items of affiliates (0 is a new one), the name that each gets (if any), and who has it (0 is nobody).
    fn refused(items: &[(i64, &str, i64)]) -> Vec<(usize, Taken)> {
        let some = |id: i64| Some(id).filter(|id| *id != 0);
        let wants: Vec<Want<'_>> = items
            .iter()
            .enumerate()
            .map(|(index, (id, name, holder))| {
                let name = Some(*name).filter(|name| !name.is_empty());
                Want { index, id: some(*id), name, old_name: None, holder: some(*holder) }
            })
            .collect();
        let mut refused: Vec<_> = taken(&wants).into_iter().collect();
        refused.sort_by_key(|(index, _)| *index);
        refused
    }

    #[test]
    fn names_change_at_once() {
        assert_eq!(refused(&[(1, "b", 2), (2, "a", 1)]), []);
        assert_eq!(refused(&[(1, "b", 2), (2, "c", 3), (3, "a", 1)]), []);
        // A new affiliate gets the name that another one leaves.
        assert_eq!(refused(&[(0, "a", 1), (1, "z", 0)]), []);
    }

    #[test]
    fn a_name_that_is_kept_or_given_already_is_taken() {
        assert_eq!(refused(&[(1, "b", 2), (2, "", 0)]), [(0, ByAffiliate(2))]);
        assert_eq!(refused(&[(0, "n", 0), (5, "n", 0), (0, "m", 0)]), [(1, ByItem(0))]);
        // The affiliate 3 keeps its name, so 2 keeps its own, so 1 does.
        assert_eq!(
            refused(&[(1, "b", 2), (2, "c", 3), (3, "d", 4)]),
            [(0, ByAffiliate(2)), (1, ByAffiliate(3)), (2, ByAffiliate(4))]
        );
    }
}

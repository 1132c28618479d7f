//! Applies changes in memory, one after another, in linear time.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap, HashSet},
};

use super::input::Input;

pub(super) const NAME: &str = "affiliate_name";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Applied {
    /// The company has no affiliate with this ID.
    Unknown,
    /// The item is invalid.
    Failed,
    /// The affiliate's revision differs from the expected one. Contains the actual revision, if known.
    Changed(Option<i64>),
    /// Another affiliate holds the new name.
    Taken,
    /// The item was saved. Contains the new revision, if known.
    Saved(Option<i64>),
}

#[derive(Debug)]
pub(super) struct Plan<'c> {
    pub(super) applied: Vec<Applied>,
    /// One change per written affiliate, sorted by ID.
    pub(super) writes: Vec<Cow<'c, Input>>,
    /// Affiliates that must first release their old name, because another affiliate takes it.
    pub(super) release: Vec<i64>,
}

/// An affiliate before the changes: its ID, name and revision, and whether a change targets it. A change can also need the
/// name of an affiliate that no change targets.
pub(super) type Before = (i64, String, i64, bool);

/// Applies changes in order.
///
/// With `is_at_once`, all names change simultaneously, so a change can take a name that a later change releases. The plan is valid only if
/// every change is saved.
pub(super) fn apply<'c>(changes: &'c [Input], before: &'c [Before], is_at_once: bool) -> Plan<'c> {
    let mut holders: HashMap<&str, i64> = before.iter().map(|(id, name, ..)| (name.as_str(), *id)).collect();
    if is_at_once {
        let leaving: HashSet<i64> =
            changes.iter().filter(|change| change.new_name().is_some()).map(|change| change.key).collect();
        holders.retain(|_, holder| !leaving.contains(holder));
    }
    let targets = before.iter().filter(|(.., is_changed)| *is_changed);
    let mut names: HashMap<i64, &str> = targets.clone().map(|(id, name, ..)| (*id, name.as_str())).collect();
    // Revisions of affiliates that no item has changed yet.
    let mut revisions: HashMap<i64, i64> = targets.clone().map(|(id, _, revision, _)| (*id, *revision)).collect();
    let mut writes: BTreeMap<i64, Cow<'_, Input>> = BTreeMap::new();
    let mut applied = Vec::with_capacity(changes.len());
    for change in changes {
        let Some(name) = names.get_mut(&change.key) else {
            applied.push(Applied::Unknown);
            continue;
        };
        if change.failure.is_some() {
            applied.push(Applied::Failed);
            continue;
        }
        let revision = revisions.get(&change.key).copied();
        if let Some(expected) = &change.revisions
            && revision.is_none_or(|revision| !expected.contains(&revision))
        {
            applied.push(Applied::Changed(revision));
            continue;
        }
        if let Some(wanted) = change.new_name() {
            if holders.get(wanted).is_some_and(|holder| *holder != change.key) {
                applied.push(Applied::Taken);
                continue;
            }
            if holders.get(*name) == Some(&change.key) {
                holders.remove(*name);
            }
            holders.insert(wanted, change.key);
            *name = wanted;
        }
        applied.push(Applied::Saved(revision.filter(|_| change.mask.is_empty())));
        if !change.mask.is_empty() {
            revisions.remove(&change.key);
            let write = writes.entry(change.key).and_modify(|write| write.to_mut().merge(change));
            let write = write.or_insert(Cow::Borrowed(change));
            // The revision has already been checked, and releasing the name changes it.
            if write.revisions.is_some() {
                write.to_mut().revisions = None;
            }
        }
    }
    let loses_name = |(id, name, ..): &&Before| holders.get(name.as_str()).is_some_and(|holder| holder != id);
    let mut release: Vec<i64> = targets.filter(loses_name).map(|(id, ..)| *id).collect();
    release.sort_unstable();
    Plan { applied, writes: writes.into_values().collect(), release }
}

impl Input {
    /// Returns the affiliate's new name, if the change contains one.
    pub(super) fn new_name(&self) -> Option<&str> {
        self.fields.affiliate_name.as_deref().filter(|_| self.failure.is_none() && self.mask.names(NAME))
    }

    /// Merges the fields of a later change to the same affiliate.
    fn merge(&mut self, later: &Self) {
        for field in later.mask.iter() {
            // A value from the same field is always valid.
            let _ = field.set_written(&mut self.fields, field.written(&later.fields).map(Cow::into_owned));
            self.mask.insert(field);
        }
    }
}

#[cfg(test)]
mod tests {
    use compliance_api::{record::FieldSet, v1::AffiliateInput};

    use super::*;

    fn change(key: i64, name: Option<String>, city: Option<String>, country: Option<String>) -> Input {
        let fields = AffiliateInput { affiliate_name: name, city, country, ..AffiliateInput::default() };
        let mask = FieldSet::given(&fields);
        Input::new(1, key, fields, mask)
    }

    /// The name, city and revision of each affiliate. A revision is unknown after a change.
    type Model = BTreeMap<i64, (String, Option<String>, Option<i64>)>;

    /// Applies one change to the model, as a separate request would.
    fn apply_one(model: &mut Model, change: &Input) -> Applied {
        if !model.contains_key(&change.key) {
            return Applied::Unknown;
        }
        if change.failure.is_some() {
            return Applied::Failed;
        }
        let revision = model[&change.key].2;
        if change.revisions.as_ref().is_some_and(|expected| !expected.iter().any(|one| Some(*one) == revision)) {
            return Applied::Changed(revision);
        }
        let wanted = change.fields.affiliate_name.clone();
        if model.iter().any(|(id, (name, ..))| *id != change.key && Some(name) == wanted.as_ref()) {
            return Applied::Taken;
        }
        let one = model.get_mut(&change.key).unwrap();
        if !change.mask.is_empty() {
            one.2 = None;
        }
        one.0 = wanted.unwrap_or_else(|| one.0.clone());
        one.1 = change.fields.city.clone().or_else(|| one.1.clone());
        Applied::Saved(one.2)
    }

    fn before(model: &Model, changes: &[Input]) -> Vec<Before> {
        let mut before = Vec::new();
        for (id, (name, _, revision)) in model {
            let is_changed = changes.iter().any(|change| change.key == *id);
            if is_changed || changes.iter().any(|change| change.new_name() == Some(name)) {
                before.push((*id, name.clone(), revision.unwrap(), is_changed));
            }
        }
        before
    }

    /// Writes a plan to the model as the statements do: first releases names, and then writes each row, whose new name must be free.
    fn write(model: &mut Model, plan: &Plan<'_>) {
        for id in &plan.release {
            model.get_mut(id).unwrap().0 = format!("released by {id}");
        }
        for change in &plan.writes {
            let name = change.fields.affiliate_name.clone();
            assert!(change.revisions.is_none());
            assert!(
                model.iter().all(|(id, (other, ..))| *id == change.key || Some(other) != name.as_ref()),
                "{plan:?}"
            );
            let one = model.get_mut(&change.key).unwrap();
            one.0 = name.unwrap_or_else(|| one.0.clone());
            one.1 = change.fields.city.clone().or_else(|| one.1.clone());
            one.2 = None;
        }
        assert!(model.values().all(|(name, ..)| !name.starts_with("released")), "a name is still released: {plan:?}");
    }

    #[test]
    fn batched_changes_match_sequential_changes() {
        let mut seed = 1_u64;
        let mut random = |below: u64| {
            // SplitMix64.
            seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut mixed = seed;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            (mixed ^ (mixed >> 31)) % below
        };
        let (mut saved, mut taken, mut stale, mut released) = (0, 0, 0, 0);
        for _ in 0..5_000 {
            let affiliates = 1 + random(6) as i64;
            let model: Model = (1..=affiliates).map(|id| (id, (format!("N{id}"), None, Some(id % 2)))).collect();
            let changes: Vec<Input> = (0..=random(11))
                .map(|number| {
                    let name = (random(4) > 0).then(|| format!("N{}", 1 + random(affiliates as u64 + 2)));
                    let city = (random(3) == 0).then(|| number.to_string());
                    let unknown_country = (random(10) == 0).then(|| "ZZ".to_owned());
                    let change = change(1 + random(affiliates as u64 + 1) as i64, name, city, unknown_country);
                    let revisions = (random(4) == 0).then(|| vec![random(3) as i64, 7]);
                    Input { revisions, ..change }
                })
                .collect();
            let mut expected = model.clone();
            let one_by_one: Vec<Applied> = changes.iter().map(|change| apply_one(&mut expected, change)).collect();
            let before = before(&model, &changes);
            let plan = apply(&changes, &before, false);
            assert_eq!(plan.applied, one_by_one, "{changes:?}");
            let mut written = model;
            write(&mut written, &plan);
            assert_eq!(written, expected, "{changes:?}");
            saved += one_by_one.iter().filter(|applied| matches!(applied, Applied::Saved(_))).count();
            stale += one_by_one.iter().filter(|applied| matches!(applied, Applied::Changed(_))).count();
            taken += one_by_one.iter().filter(|applied| **applied == Applied::Taken).count();
            released += plan.release.len();
        }
        assert!(
            saved > 1000 && taken > 1000 && stale > 1000 && released > 300,
            "{saved}, {taken}, {stale}, {released}"
        );
    }

    #[test]
    fn simultaneous_changes_can_swap_names() {
        let before = |id, name: &str, is_changed| (id, name.to_owned(), 7, is_changed);
        let renamed = |id, name: &str, revision| Input {
            revisions: Some(vec![revision]),
            ..change(id, Some(name.to_owned()), None, None)
        };
        let swap = [renamed(1, "b", 7), renamed(2, "a", 7), change(3, None, Some("x".to_owned()), None)];
        let all = [before(1, "a", true), before(2, "b", true), before(3, "c", true), before(2, "b", false)];
        let plan = apply(&swap, &all, true);
        assert_eq!((plan.applied.len(), plan.release), (3, vec![1, 2]));
        assert!(plan.applied.iter().all(|applied| matches!(applied, Applied::Saved(_))));
        assert!(plan.writes.iter().all(|write| write.revisions.is_none()));
        let one = |revision, before: &[Before]| apply(&[renamed(1, "b", revision)], before, true).applied[0];
        assert_eq!(one(7, &all[..1]), Applied::Saved(None));
        // Another affiliate keeps the name, the revision is stale, or the affiliate is missing.
        assert_eq!(one(7, &[before(1, "a", true), before(2, "b", false)]), Applied::Taken);
        assert_eq!(one(6, &all[..1]), Applied::Changed(Some(7)));
        assert_eq!(one(7, &[]), Applied::Unknown);
    }
}

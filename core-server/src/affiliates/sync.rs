//! Syncs: affiliates that the client's own identifiers name are brought up to date with a roster. One statement compares the items of
//! a batch with the affiliates that have their identifiers. What differs is then written as creations and updates are; a batch of
//! which nothing differs is one statement that writes nothing.

mod absent;
mod compare;
mod names;
mod result;
mod roster;
mod service;

use compliance_api::{
    error::Error,
    record::{FieldSet, Record as _},
    rules::{Violations, check},
    v1::{AffiliateInput, AffiliateSync, AffiliateSyncResult, SyncAffiliatesRequest},
};

pub(crate) use self::service::Syncs;
pub(super) use self::{absent::PAGE, compare::COMPARE};
use self::{
    compare::{Found, compare},
    roster::Roster,
};
use super::{
    create::create_identified,
    in_order::{Applied, NAME},
    input::Input,
    update::update_known,
};
use storage::limits::MAX_TRIES;

const IDENTIFIER: &str = "client_affiliate_id";

/// An item of a roster.
struct Item {
    /// The fields that the roster has, and no others.
    input: Input,
    violations: Violations,
}

impl Item {
    fn new(company_id: i64, mut item: AffiliateSync) -> Self {
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
struct Change<'i> {
    /// Its index in the batch, and its position in the roster.
    index: usize,
    position: i64,
    input: &'i Input,
    found: Found,
}

impl Change<'_> {
    /// The affiliate that is changed; `None` if one is created.
    fn id(&self) -> Option<i64> {
        self.found.ids.first().copied()
    }

    /// The fields that differ, or those of a new affiliate.
    fn fields(&self) -> FieldSet<AffiliateInput> {
        AffiliateInput::FIELDS.iter().filter(|field| self.found.changed & field.bit() != 0).collect()
    }

    /// The name that the affiliate gets, if it gets another one.
    fn name(&self) -> Option<&str> {
        self.input.fields.affiliate_name.as_deref().filter(|_| self.fields().names(NAME))
    }

    /// The update of the affiliate as it was found.
    fn update(&self) -> Input {
        let Input { company_id, fields, .. } = self.input;
        let update = Input::new(*company_id, self.id().unwrap_or_default(), fields.clone(), self.fields());
        Input { revisions: Some(vec![self.found.revision]), ..update }
    }
}

impl Roster {
    /// Syncs the next items. One result each, in their order.
    async fn sync(&mut self, mut request: SyncAffiliatesRequest) -> Result<Vec<AffiliateSyncResult>, Error> {
        let items = std::mem::take(&mut request.affiliates).into_iter();
        let items: Vec<Item> = items.map(|item| Item::new(self.company_id, item)).collect();
        let validate_only = *self.validate_only.get_or_insert(request.validate_only);
        self.options = SyncAffiliatesRequest { validate_only, ..request };
        let mut results = self.identify(&items)?;
        if self.is_one_batch {
            self.check_absent().await?;
        }
        for _ in 0..MAX_TRIES {
            let pending: Vec<usize> = (0..items.len()).filter(|index| results[*index].is_none()).collect();
            if pending.is_empty() {
                break;
            }
            let inputs: Vec<&Input> = pending.iter().map(|index| &items[*index].input).collect();
            let found = compare(&self.backend.pool, self.company_id, &inputs).await?;
            let mut changes = Vec::new();
            for ((index, input), found) in pending.into_iter().zip(inputs).zip(found) {
                match found.ids[..] {
                    [] if input.new_name().is_none() => results[index] = Some(result::without_name(input)),
                    [id] if found.changed == 0 => results[index] = Some(result::unchanged(input, id)),
                    [_, _, ..] => results[index] = Some(result::ambiguous(input, found.ids)),
                    _ => changes.push(Change { index, position: self.first + index as i64, input, found }),
                }
            }
            let taken = self.names.taken(&changes);
            for change in &changes {
                let taken = taken.get(&change.position);
                results[change.index] = taken.map(|taken| result::name_taken(change, *taken));
            }
            changes.retain(|change| results[change.index].is_none());
            if validate_only {
                let names = changes.iter().filter(|change| change.name().is_some()).count();
                self.reserve(2 * names)?;
                self.names.keep(&changes);
                for change in changes {
                    results[change.index] = Some(result::saved(&change, None));
                }
                break;
            }
            self.write(&changes, &mut results).await?;
        }
        self.first += items.len() as i64;
        let results = results.into_iter().zip(&items);
        Ok(results.map(|(result, item)| result.unwrap_or_else(|| result::changed_meanwhile(&item.input))).collect())
    }

    /// Writes what differs. An item without a result afterwards has lost against another writer, and is compared again.
    async fn write(&self, changes: &[Change<'_>], results: &mut [Option<AffiliateSyncResult>]) -> Result<(), Error> {
        let (known, new): (Vec<&Change<'_>>, Vec<_>) = changes.iter().partition(|change| change.id().is_some());
        // New affiliates may get the names that others leave.
        let updates: Vec<Input> = known.iter().map(|change| change.update()).collect();
        for (change, applied) in known.iter().zip(update_known(&self.backend, self.company_id, &updates).await?) {
            results[change.index] = matches!(applied, Applied::Saved(_)).then(|| result::saved(change, None));
        }
        let affiliates = new.iter().map(|change| change.input.fields.clone()).collect();
        for (change, id) in new.iter().zip(create_identified(&self.backend, self.company_id, affiliates).await?) {
            results[change.index] = Some(result::saved(change, Some(id)));
        }
        Ok(())
    }
}

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
    v1::{AffiliateInput, AffiliateSync, AffiliateSyncResult},
};

pub(crate) use self::service::Syncs;
pub(super) use self::{absent::PAGE, compare::COMPARE};
use self::{
    compare::{Compared, Found, compare},
    names::Want,
    roster::Roster,
};
use super::{
    create::create_identified,
    in_order::{Applied, NAME},
    input::Input,
    update::update_known,
};
use crate::{backend::Backend, limits::MAX_TRIES};

const IDENTIFIER: &str = "client_affiliate_id";

/// An item of a roster.
struct Item {
    /// The fields that the roster has, and no others.
    input: Input,
    violations: Violations,
}

impl Item {
    fn new(company_id: i64, mut item: AffiliateSync) -> Self {
        if let Some(mask) = &mut item.update_mask
            && !mask.paths.iter().any(|path| path == IDENTIFIER)
        {
            mask.paths.push(IDENTIFIER.to_owned());
        }
        let mut violations = check(&item);
        let mut fields = item.affiliate.unwrap_or_default();
        if item.update_mask.is_none() && fields.client_affiliate_id.is_none() {
            violations.required(IDENTIFIER);
        }
        let mask = item.update_mask.as_ref().map_or_else(|| FieldSet::given(&fields), FieldSet::of_mask);
        for field in AffiliateInput::FIELDS.iter().filter(|field| !mask.contains(field)) {
            field.clear(&mut fields);
        }
        Self { input: Input::new(company_id, 0, fields, mask), violations }
    }

    fn is_identified(&self) -> bool {
        self.identifier().is_some() && !self.violations.names(IDENTIFIER)
    }

    fn identifier(&self) -> Option<&str> {
        self.input.fields.client_affiliate_id.as_deref().filter(|identifier| !identifier.trim().is_empty())
    }
}

fn items(company_id: i64, items: Vec<AffiliateSync>) -> Vec<Item> {
    items.into_iter().map(|item| Item::new(company_id, item)).collect()
}

/// What is to be done with an item.
enum Action {
    Create,
    /// The affiliate that was found is changed.
    Update(Found),
}

/// Syncs items, which are the next ones of a roster. One result each, in their order.
async fn sync(
    backend: &Backend,
    company_id: i64,
    roster: &mut Roster,
    items: &[Item],
) -> Result<Vec<AffiliateSyncResult>, Error> {
    let mut results = roster.identify(items)?;
    for _ in 0..MAX_TRIES {
        let pending: Vec<usize> = (0..items.len()).filter(|index| results[*index].is_none()).collect();
        if pending.is_empty() {
            break;
        }
        let inputs: Vec<&Input> = pending.iter().map(|index| &items[*index].input).collect();
        let compared = compare(&backend.pool, company_id, &inputs).await?;
        let (mut actions, mut wants) = (Vec::new(), Vec::new());
        for (index, Compared { found, holder }) in pending.into_iter().zip(compared) {
            match decide(&items[index].input, found) {
                Ok(action) => {
                    wants.push(Want { holder, ..want(index, &action, &items[index]) });
                    actions.push((index, action));
                }
                Err(result) => results[index] = Some(*result),
            }
        }
        for (index, refusal) in roster.refused_names(&mut wants) {
            results[index] = Some(refusal.result(&items[index].input, roster.position(index)));
        }
        actions.retain(|(index, _)| results[*index].is_none());
        if roster.options.validate_only {
            roster.take_names(actions.iter().map(|(index, action)| want(*index, action, &items[*index])))?;
            for (index, action) in actions {
                results[index] = Some(saved(&items[index].input, &action, None));
            }
            break;
        }
        write(backend, company_id, items, actions, &mut results).await?;
    }
    roster.advance(items.len());
    let results = results.into_iter().zip(items);
    Ok(results.map(|(result, item)| result.unwrap_or_else(|| result::changed_meanwhile(&item.input))).collect())
}

/// What is to be done with an item whose identifier these affiliates have, or its result.
fn decide(input: &Input, mut found: Vec<Found>) -> Result<Action, Box<AffiliateSyncResult>> {
    match found.len() {
        0 if input.new_name().is_none() => {
            let mut violations = Violations::new();
            violations.required(NAME);
            Err(Box::new(result::invalid(input, violations)))
        }
        0 => Ok(Action::Create),
        1 if found[0].changed == 0 => Err(Box::new(result::unchanged(input, found[0].id))),
        1 => Ok(Action::Update(found.remove(0))),
        _ => Err(Box::new(result::ambiguous(input, found.iter().map(|found| found.id).collect()))),
    }
}

/// The name that an affiliate gets.
fn want<'i>(index: usize, action: &Action, item: &'i Item) -> Want<'i> {
    let name = item.input.fields.affiliate_name.as_deref();
    match action {
        Action::Create => Want { index, id: None, name, old_name: None, holder: None },
        Action::Update(found) => {
            let name = name.filter(|_| found.changes().names(NAME));
            Want { index, id: Some(found.id), name, old_name: found.old_name.clone(), holder: None }
        }
    }
}

/// Writes what differs. An item without a result afterwards has lost against another writer, and is compared again.
async fn write(
    backend: &Backend,
    company_id: i64,
    items: &[Item],
    actions: Vec<(usize, Action)>,
    results: &mut [Option<AffiliateSyncResult>],
) -> Result<(), Error> {
    let (creations, updates): (Vec<_>, Vec<_>) =
        actions.into_iter().partition(|(_, action)| matches!(action, Action::Create));
    // New affiliates may get the names that others leave.
    if !updates.is_empty() {
        let changes: Vec<Input> = updates
            .iter()
            .filter_map(|(index, action)| {
                let Action::Update(found) = action else { return None };
                let fields = items[*index].input.fields.clone();
                let change = Input::new(company_id, found.id, fields, found.changes());
                Some(Input { revisions: Some(vec![found.revision]), ..change })
            })
            .collect();
        let applied = update_known(backend, company_id, &changes).await?;
        for ((index, action), applied) in updates.iter().zip(applied) {
            if let Applied::Saved(_) = applied {
                results[*index] = Some(saved(&items[*index].input, action, None));
            }
        }
    }
    if !creations.is_empty() {
        let affiliates = creations.iter().map(|(index, _)| items[*index].input.fields.clone()).collect();
        let created = create_identified(backend, company_id, affiliates).await?;
        for ((index, action), id) in creations.iter().zip(created.into_iter().flatten()) {
            results[*index] = Some(saved(&items[*index].input, action, Some(id)));
        }
    }
    Ok(())
}

fn saved(input: &Input, action: &Action, id: Option<i64>) -> AffiliateSyncResult {
    match action {
        Action::Create => result::created(input, id),
        Action::Update(found) => result::updated(input, found.id, found.changes()),
    }
}

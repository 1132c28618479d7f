//! Updates: a batch is one statement, or a few in one transaction where its items depend on each other.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use compliance_api::{
    error::{Error, affiliate_not_found_text},
    text_record::TextRecord as _,
    v1::{AffiliateInput, AffiliateResult, AffiliateUpdate, ResultCode},
};
use sqlx::{Connection as _, PgConnection};

use crate::database::Connections;

use super::columns;
use crate::error::{from_database, is_contention};

/// How often a batch that got in another's way is tried.
const TRIES: u32 = 5;

/// Locks the affiliates in the order of their IDs, so that two batches that cross do not wait for each other, and
/// changes those whose new name is free. Answers, for each item: whether the anchor exists, whether the affiliate
/// does, and who has the name if it is taken.
static UPDATE: LazyLock<&'static str> = LazyLock::new(|| {
    format!(
        "with anchor as materialized (
            select $2::bigint is null or exists (select from affiliates where company_id = $1 and id = $2) as exists
        ), input as materialized (
            select * from unnest($4::affiliate_input[]) with ordinality as input (id, mask, {names}, ord)
        ), locked as materialized (
            select a.id from affiliates a
            where a.company_id = $1 and a.id = any($3::bigint[]) and (select exists from anchor)
            order by a.id for update
        ), taken as materialized (
            select input.ord, a.id as holder
            from input join affiliates a on a.company_id = $1 and a.affiliate_name = input.affiliate_name
            where input.mask & {name_bit} <> 0 and a.id <> input.id
        ), updated as (
            update affiliates a set {assignments}
            from input join locked using (id)
            where a.company_id = $1 and a.id = input.id and input.mask <> 0
                and not exists (select from taken where taken.ord = input.ord)
        )
        select input.ord, (select exists from anchor), locked.id is not null, taken.holder
        from input left join locked using (id) left join taken using (ord)
        order by input.ord",
        names = columns::names(),
        name_bit = name_bit(),
        assignments = columns::assignments("input.mask", "input", "a"),
    )
    .leak()
});

/// Batches whose changes depend on each other take affiliates and names in an order of their own. However often two of
/// them that cross were tried again, they could meet again: so a company's take turns. (The counts of its lists have
/// turns of their own, numbered 1 and 2.)
const TAKE_TURNS: &str = "select pg_advisory_xact_lock($1::bigint << 2 | 3)";

/// One change, with the fields that it names as bits.
struct Change {
    id: i64,
    mask: i64,
    fields: AffiliateInput,
    /// A country that is none: the item's own failure.
    bad_country: Option<String>,
}

/// What the statement says of a change.
#[derive(Clone, Copy)]
struct Outcome {
    anchored: bool,
    found: bool,
    holder: Option<i64>,
}

/// Applies changes whose fields were checked; one result each, in their order. `None` when the company does not have
/// the anchor: then nothing is changed.
pub(super) async fn update(
    pool: &Connections,
    company_id: i64,
    anchor: Option<i64>,
    updates: Vec<AffiliateUpdate>,
) -> Result<Option<Vec<AffiliateResult>>, Error> {
    let changes: Vec<Change> = updates.into_iter().map(change).collect();
    let waves = waves(&changes);
    let renames = changes.iter().filter(|change| change.mask & name_bit() != 0).count();
    let outcomes = if waves.len() == 1 && (renames == 0 || changes.len() == 1) {
        alone(pool, company_id, anchor, &changes).await?
    } else {
        // In a task of its own: a caller that goes away must not leave a transaction half way.
        let (pool, task_changes) = (pool.clone(), std::sync::Arc::new(changes));
        let changes = std::sync::Arc::clone(&task_changes);
        let task = tokio::spawn(async move { together(&pool, company_id, anchor, &task_changes, &waves).await });
        let outcomes = task.await.unwrap_or_else(|error| {
            tracing::error!("a batch of updates ended: {error}");
            Err(Error::internal())
        })?;
        return Ok(results(&changes, outcomes));
    };
    Ok(results(&changes, outcomes))
}

/// The whole batch as one statement.
async fn alone(
    pool: &Connections,
    company_id: i64,
    anchor: Option<i64>,
    changes: &[Change],
) -> Result<Vec<Outcome>, Error> {
    let all: Vec<usize> = (0..changes.len()).collect();
    for tries in 1.. {
        let mut connection = pool.lease().await.map_err(|error| from_database(&error))?;
        let result = run(&mut connection, company_id, anchor, changes, &all).await;
        connection.done(&result);
        match result {
            Err(error) if tries < TRIES && is_contention(&error) => {
                tracing::debug!("a batch is tried again: {error}");
            }
            result => return result.map_err(|error| from_database(&error)),
        }
    }
    Err(Error::internal())
}

/// The batch as waves of changes in one transaction.
async fn together(
    pool: &Connections,
    company_id: i64,
    anchor: Option<i64>,
    changes: &[Change],
    waves: &[Vec<usize>],
) -> Result<Vec<Outcome>, Error> {
    for tries in 1.. {
        match transaction(pool, company_id, anchor, changes, waves).await {
            Err(error) if tries < TRIES && is_contention(&error) => {
                tracing::debug!("a batch is tried again: {error}");
            }
            result => return result.map_err(|error| from_database(&error)),
        }
    }
    Err(Error::internal())
}

async fn transaction(
    pool: &Connections,
    company_id: i64,
    anchor: Option<i64>,
    changes: &[Change],
    waves: &[Vec<usize>],
) -> Result<Vec<Outcome>, sqlx::Error> {
    // The connection goes back to its pool afterwards, which rolls back what was not committed.
    let mut connection = pool.lease().await?;
    let mut transaction = connection.begin().await?;
    sqlx::query(TAKE_TURNS).bind(company_id).execute(&mut *transaction).await?;
    let mut outcomes = vec![Outcome { anchored: true, found: false, holder: None }; changes.len()];
    for wave in waves {
        let mut rest = wave.clone();
        while !rest.is_empty() {
            let told = run(&mut transaction, company_id, anchor, changes, &rest).await?;
            for (index, outcome) in rest.iter().zip(&told) {
                outcomes[*index] = *outcome;
            }
            if told.iter().any(|outcome| !outcome.anchored) {
                return Ok(outcomes);
            }
            rest = freed(&rest, &told, changes);
        }
    }
    transaction.commit().await?;
    Ok(outcomes)
}

/// The changes whose name was held by an affiliate that an earlier change of the same wave has renamed: in order, the
/// name is free by now.
fn freed(wave: &[usize], told: &[Outcome], changes: &[Change]) -> Vec<usize> {
    let mut renamed = HashSet::new();
    let mut freed = Vec::new();
    for (index, outcome) in wave.iter().zip(told) {
        let Change { id, mask, .. } = &changes[*index];
        let free = outcome.holder.is_none_or(|holder| renamed.contains(&holder));
        if outcome.found && free && mask & name_bit() != 0 {
            renamed.insert(*id);
            if outcome.holder.is_some() {
                freed.push(*index);
            }
        }
    }
    freed
}

/// Groups of changes, in order, of which no two touch the same affiliate or want the same name.
fn waves(changes: &[Change]) -> Vec<Vec<usize>> {
    let mut waves = vec![Vec::new()];
    let (mut ids, mut names) = (HashSet::new(), HashSet::new());
    for (index, Change { id, mask, fields, .. }) in changes.iter().enumerate() {
        let name = fields.affiliate_name.as_deref().filter(|_| mask & name_bit() != 0);
        if ids.contains(id) || name.is_some_and(|name| names.contains(name)) {
            waves.push(Vec::new());
            ids.clear();
            names.clear();
        }
        ids.insert(*id);
        names.extend(name);
        if let Some(wave) = waves.last_mut() {
            wave.push(index);
        }
    }
    waves
}

async fn run(
    connection: &mut PgConnection,
    company_id: i64,
    anchor: Option<i64>,
    changes: &[Change],
    wave: &[usize],
) -> Result<Vec<Outcome>, sqlx::Error> {
    // A country that is none is the item's own failure; the statement must not see it.
    let ids: Vec<i64> = wave.iter().map(|index| changes[*index].id).collect();
    let inputs: Vec<_> = wave
        .iter()
        .map(|index| &changes[*index])
        .map(|change| {
            let mask = if change.bad_country.is_some() { 0 } else { change.mask };
            columns::Input { key: change.id, mask, affiliate: &change.fields }
        })
        .collect();
    let query = sqlx::query_as::<_, (i64, bool, bool, Option<i64>)>(*UPDATE)
        .bind(company_id)
        .bind(anchor)
        .bind(ids)
        .bind(inputs.as_slice());
    let rows = query.fetch_all(connection).await?;
    let mut told: HashMap<i64, Outcome> =
        rows.into_iter().map(|(place, anchored, found, holder)| (place, Outcome { anchored, found, holder })).collect();
    let missing = Outcome { anchored: true, found: false, holder: None };
    Ok((1..=wave.len() as i64).map(|place| told.remove(&place).unwrap_or(missing)).collect())
}

fn results(changes: &[Change], outcomes: Vec<Outcome>) -> Option<Vec<AffiliateResult>> {
    if outcomes.iter().any(|outcome| !outcome.anchored) {
        return None;
    }
    let result = |change: &Change, outcome: Outcome| {
        let (code, msg) = if !outcome.found {
            (ResultCode::NotFound, affiliate_not_found_text(&change.id.to_string()))
        } else if let Some(code) = &change.bad_country {
            (ResultCode::UpdateFailed, format!("{code} is no ISO 3166-1 alpha-2 country code."))
        } else if outcome.holder.is_some() {
            (ResultCode::UpdateFailed, "The affiliate name has already been taken.".to_owned())
        } else {
            (ResultCode::Saved, "Affiliate updated successfully.".to_owned())
        };
        AffiliateResult { code: code.into(), affiliate_id: Some(change.id), client_affiliate_id: None, msg }
    };
    Some(changes.iter().zip(outcomes).map(|(change, outcome)| result(change, outcome)).collect())
}

fn change(update: AffiliateUpdate) -> Change {
    let mut fields = update.affiliate.unwrap_or_default();
    let mut mask: i64 = 0;
    for (position, column) in columns::COLUMNS.iter().enumerate() {
        let named = match &update.update_mask {
            Some(update_mask) => update_mask.paths.iter().any(|path| path == column),
            None => fields.text(position).is_some(),
        };
        mask |= i64::from(named) << position;
    }
    let country = AffiliateInput::position("country").unwrap_or_default();
    // What the mask does not name is not written, so it cannot fail either.
    let bad_country = columns::normalise(&mut fields).filter(|_| mask >> country & 1 == 1);
    Change { id: update.id.unwrap_or_default(), mask, fields, bad_country }
}

fn name_bit() -> i64 {
    AffiliateInput::position("affiliate_name").map_or(0, |position| 1 << position)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rename(id: i64, name: &str) -> Change {
        let fields = AffiliateInput { affiliate_name: Some(name.to_owned()), ..AffiliateInput::default() };
        change(AffiliateUpdate { id: Some(id), affiliate: Some(fields), update_mask: None })
    }

    #[test]
    fn changes_that_touch_each_other_are_in_different_waves() {
        let changes = [rename(1, "a"), rename(2, "b"), rename(1, "c"), rename(3, "d"), rename(4, "d")];
        assert_eq!(waves(&changes), [vec![0, 1], vec![2, 3], vec![4]]);
    }

    #[test]
    fn a_name_is_free_once_its_holder_was_renamed_before() {
        let changes = [rename(1, "x"), rename(2, "was 1"), rename(3, "was 4"), rename(4, "y")];
        let outcome = |holder| Outcome { anchored: true, found: true, holder };
        let told = [outcome(None), outcome(Some(1)), outcome(Some(4)), outcome(None)];
        assert_eq!(freed(&[0, 1, 2, 3], &told, &changes), [1]);
    }
}

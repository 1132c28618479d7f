//! Updates: a batch is one statement, or a few in one transaction where its items depend on each other.

use std::{
    collections::HashSet,
    sync::{Arc, LazyLock},
};

use compliance_api::{
    error::{Error, affiliate_not_found_text},
    record::{Field, FieldSet, Record as _},
    v1::{AffiliateInput, AffiliateResult, AffiliateUpdate, ResultCode},
};
use sqlx::{Connection as _, Executor, Postgres};

use super::input::{INPUT, Input};
use crate::{
    database::Connections,
    error::is_contention,
    table::{self, Layouts},
};

/// Locks the affiliates in the order of their IDs, so that two batches that cross do not wait for each other, and
/// changes those whose new name is free. Returns an [`Outcome`] for each item.
static UPDATE: LazyLock<&'static str> = LazyLock::new(|| {
    format!(
        "with anchor as materialized (
            select $2::bigint is null or exists (select from affiliates where company_id = $1 and id = $2) as exists
        ), input as materialized (
            select * from unnest($4::affiliate_input[]) with ordinality as input
        ), locked as materialized (
            select a.id from affiliates a
            where a.company_id = $1 and a.id = any($3::bigint[]) and (select exists from anchor)
            order by a.id for update
        ), taken as materialized (
            select input.ordinality, a.id as holder
            from input join affiliates a on a.company_id = $1 and a.affiliate_name = input.affiliate_name
            where input.mask & {name_bit} <> 0 and a.id <> input.key
        ), updated as (
            update affiliates a set {assignments}
            from input join locked on locked.id = input.key
            where a.company_id = $1 and a.id = input.key and input.mask <> 0
                and not exists (select from taken where taken.ordinality = input.ordinality)
        )
        select (select exists from anchor) as anchored, locked.id is not null as found, taken.holder
        from input left join locked on locked.id = input.key left join taken using (ordinality)
        order by input.ordinality",
        name_bit = AffiliateInput::field(NAME).map_or(0, Field::bit),
        assignments = table::assignments::<AffiliateInput>("input.mask", "input", "a"),
    )
    .leak()
});

/// Batches whose changes depend on each other take affiliates and names in an order of their own. However often two of
/// them that cross were tried again, they could collide again: so those of one company run one after the other. (The
/// counts of its lists have locks of their own, numbered 1 and 2.)
const ONE_AT_A_TIME: &str = "select pg_advisory_xact_lock($1::bigint << 2 | 3)";

/// The field that is unique within a company.
const NAME: &str = "affiliate_name";

/// What the statement reports of a change.
#[derive(Clone, Copy, sqlx::FromRow)]
struct Outcome {
    /// Whether the anchor exists.
    anchored: bool,
    /// Whether the affiliate does.
    found: bool,
    /// Who has the new name, if it is taken.
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
    let changes: Vec<Input> = updates.into_iter().map(change).collect();
    let waves = waves(&changes);
    let renames = changes.iter().filter(|change| change.mask.names(NAME)).count();
    let outcomes = if waves.len() == 1 && (renames == 0 || changes.len() == 1) {
        alone(pool, company_id, anchor, &changes).await?
    } else {
        // In a task of its own: a caller that goes away must not leave a transaction half way.
        let (pool, task_changes) = (pool.clone(), Arc::new(changes));
        let changes = Arc::clone(&task_changes);
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
    changes: &[Input],
) -> Result<Vec<Outcome>, Error> {
    let all: Vec<usize> = (0..changes.len()).collect();
    pool.write(is_contention, |layouts| run(pool, layouts, company_id, anchor, changes, &all)).await
}

/// The batch as waves of changes in one transaction.
async fn together(
    pool: &Connections,
    company_id: i64,
    anchor: Option<i64>,
    changes: &[Input],
    waves: &[Vec<usize>],
) -> Result<Vec<Outcome>, Error> {
    pool.write(is_contention, |layouts| transaction(pool, layouts, company_id, anchor, changes, waves)).await
}

async fn transaction(
    pool: &Connections,
    layouts: Arc<Layouts>,
    company_id: i64,
    anchor: Option<i64>,
    changes: &[Input],
    waves: &[Vec<usize>],
) -> Result<Vec<Outcome>, sqlx::Error> {
    // The connection goes back to its pool afterwards, which rolls back what was not committed.
    let mut lease = pool.lease().await?;
    let mut transaction = lease.connection().begin().await?;
    sqlx::query(ONE_AT_A_TIME).bind(company_id).execute(&mut *transaction).await?;
    let mut outcomes = vec![Outcome { anchored: true, found: false, holder: None }; changes.len()];
    for wave in waves {
        let mut rest = wave.clone();
        while !rest.is_empty() {
            let reported = run(&mut *transaction, Arc::clone(&layouts), company_id, anchor, changes, &rest).await?;
            for (index, outcome) in rest.iter().zip(&reported) {
                outcomes[*index] = *outcome;
            }
            if reported.iter().any(|outcome| !outcome.anchored) {
                return Ok(outcomes);
            }
            rest = freed(&rest, &reported, changes);
        }
    }
    transaction.commit().await?;
    Ok(outcomes)
}

/// The changes whose name was held by an affiliate that an earlier change of the same wave has renamed: in order, the
/// name is free by now.
fn freed(wave: &[usize], reported: &[Outcome], changes: &[Input]) -> Vec<usize> {
    let mut renamed = HashSet::new();
    let mut freed = Vec::new();
    for (index, outcome) in wave.iter().zip(reported) {
        let Input { key, mask, .. } = &changes[*index];
        let free = outcome.holder.is_none_or(|holder| renamed.contains(&holder));
        if outcome.found && free && mask.names(NAME) {
            renamed.insert(*key);
            if outcome.holder.is_some() {
                freed.push(*index);
            }
        }
    }
    freed
}

/// Groups of changes, in order, of which no two touch the same affiliate or want the same name.
fn waves(changes: &[Input]) -> Vec<Vec<usize>> {
    let mut waves = vec![Vec::new()];
    let (mut ids, mut names) = (HashSet::new(), HashSet::new());
    for (index, Input { key, mask, fields, .. }) in changes.iter().enumerate() {
        let name = fields.affiliate_name.as_deref().filter(|_| mask.names(NAME));
        if ids.contains(key) || name.is_some_and(|name| names.contains(name)) {
            waves.push(Vec::new());
            ids.clear();
            names.clear();
        }
        ids.insert(*key);
        names.extend(name);
        if let Some(wave) = waves.last_mut() {
            wave.push(index);
        }
    }
    waves
}

async fn run(
    executor: impl Executor<'_, Database = Postgres>,
    layouts: Arc<Layouts>,
    company_id: i64,
    anchor: Option<i64>,
    changes: &[Input],
    wave: &[usize],
) -> Result<Vec<Outcome>, sqlx::Error> {
    let wave: Vec<&Input> = wave.iter().map(|index| &changes[*index]).collect();
    let ids: Vec<i64> = wave.iter().map(|change| change.key).collect();
    let query = sqlx::query_as(*UPDATE);
    query.bind(company_id).bind(anchor).bind(ids).bind(INPUT.batch(&layouts, &wave)).fetch_all(executor).await
}

fn results(changes: &[Input], outcomes: Vec<Outcome>) -> Option<Vec<AffiliateResult>> {
    if outcomes.iter().any(|outcome| !outcome.anchored) {
        return None;
    }
    let result = |change: &Input, outcome: Outcome| {
        let (code, msg) = if !outcome.found {
            (ResultCode::NotFound, affiliate_not_found_text(&change.key.to_string()))
        } else if let Some(failure) = &change.failure {
            (failure.codes.on_update(), failure.message.clone())
        } else if outcome.holder.is_some() {
            (ResultCode::UpdateFailed, "The affiliate name has already been taken.".to_owned())
        } else {
            (ResultCode::Saved, "Affiliate updated successfully.".to_owned())
        };
        AffiliateResult { code: code.into(), affiliate_id: Some(change.key), client_affiliate_id: None, msg }
    };
    Some(changes.iter().zip(outcomes).map(|(change, outcome)| result(change, outcome)).collect())
}

fn change(update: AffiliateUpdate) -> Input {
    let fields = update.affiliate.unwrap_or_default();
    let mask = update.update_mask.as_ref().map_or_else(|| FieldSet::given(&fields), FieldSet::of_mask);
    Input::new(update.id.unwrap_or_default(), fields, mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rename(id: i64, name: &str) -> Input {
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
        let reported = [outcome(None), outcome(Some(1)), outcome(Some(4)), outcome(None)];
        assert_eq!(freed(&[0, 1, 2, 3], &reported, &changes), [1]);
    }
}

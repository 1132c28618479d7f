//! Updates: a batch is one statement, or a few in one transaction where its items depend on each other.

use std::{
    borrow::{Borrow, Cow},
    collections::HashSet,
    sync::{Arc, LazyLock},
};

use compliance_api::{
    error::{Error, affiliate_not_found_text},
    record::{Field, FieldSet, Record as _},
    v1::{AffiliateInput, AffiliateResult, AffiliateUpdate, ResultCode},
};
use sqlx::{Connection as _, Executor, Postgres};

use super::{
    in_order::{self, Applied, Before, NAME},
    input::{INPUT, Input},
};
use crate::{
    database::{Connections, MAX_TRIES},
    deadline::check_caller,
    error::is_contention,
    table::{self, Layouts},
    writes::{CompanyQueue, WritePermit},
};

/// Locks the affiliates in the order of their IDs, so that two batches that cross do not wait for each other, and
/// changes those whose new name is free. Nothing is changed if the anchor is missing, or if an item wants the name of
/// another item's affiliate. Returns an [`Outcome`] for each item.
///
/// A row is read by its key for each item, and written as the conflict of an insert: so no plan can join the items with
/// all affiliates of the company, whatever the statistics say. `(… in …) is true` looks up a hash; as a join it could be
/// a loop over both.
static UPDATE: LazyLock<&'static str> = LazyLock::new(|| {
    format!(
        "with anchor as materialized (
            select $2::bigint is null or exists (select from affiliates where company_id = $1 and id = $2) as exists
        ), resolved as materialized (
            select i.ordinality, i.key, i.mask, a.id is not null as found, t.id as holder, {merged}
            from (select i.* from unnest($3::affiliate_input[]) with ordinality as i order by i.key) i
            left join lateral (
                select a.* from affiliates a
                where a.company_id = $1 and a.id = i.key and (select exists from anchor)
                for no key update
            ) a on true
            left join lateral (
                select t.id from affiliates t
                where t.company_id = $1 and t.affiliate_name = i.affiliate_name and t.id <> i.key
                    and i.mask & {name_bit} <> 0
                limit 1
            ) t on true
        ), dependent as materialized (
            select bool_or((r.holder in (select k.key from resolved k)) is true) as exists from resolved r
        ), written as (
            insert into affiliates (company_id, id, {names})
            select $1, r.key, {names} from resolved r
            where r.found and r.mask <> 0 and r.holder is null and not (select exists from dependent)
            order by r.key
            on conflict on constraint affiliates_pkey do update set {replacements}
        )
        select (select exists from anchor) as anchored, (select exists from dependent) as dependent, found, holder
        from resolved order by ordinality",
        names = table::names::<AffiliateInput>(),
        merged = table::merged::<AffiliateInput>("i.mask", "i", "a"),
        replacements = table::replacements::<AffiliateInput>(),
        name_bit = AffiliateInput::field(NAME).map_or(0, Field::bit),
    )
    .leak()
});

/// Locks the affiliates of a batch whose items depend on each other, in the order of their IDs. Such a batch takes names
/// in an order of its own. However often two of them that cross were tried again, they could collide again: so those of
/// one company run one after the other. (The counts of its lists have locks of their own, numbered 1 and 2.)
const LOCK: &str = "
    with alone as materialized (
        select pg_advisory_xact_lock($1::bigint << 2 | 3)
    ), anchor as materialized (
        select $2::bigint is null or exists (select from affiliates where company_id = $1 and id = $2) as exists
        from alone
    )
    select exists as anchored, array(
        select a.id from (select i.id from unnest($3::bigint[]) as i (id) order by i.id) i
        cross join lateral (
            select a.id from affiliates a
            where a.company_id = $1 and a.id = i.id and (select exists from anchor)
            for no key update
        ) a
    ) as ids
    from anchor";

/// The names of the affiliates that are locked, and who has the names that the batch wants.
const NAMES: &str = "
    select a.id, a.affiliate_name, true as is_changed from unnest($2::bigint[]) as i (id)
    cross join lateral (
        select a.id, a.affiliate_name from affiliates a where a.company_id = $1 and a.id = i.id limit 1
    ) a
    union all
    select a.id, a.affiliate_name, false from unnest($3::text[]) as i (name)
    cross join lateral (
        select a.id, a.affiliate_name from affiliates a where a.company_id = $1 and a.affiliate_name = i.name limit 1
    ) a";

/// Gives affiliates names that no caller can give, because they are too long. The transaction gives them others.
const GIVE_UP: &str = "
    insert into affiliates (company_id, id, client_affiliate_id, affiliate_name)
    select $1, a.id, a.client_affiliate_id, repeat('.', 200) || a.id from unnest($2::bigint[]) as i (id)
    cross join lateral (
        select a.id, a.client_affiliate_id from affiliates a where a.company_id = $1 and a.id = i.id limit 1
    ) a
    on conflict on constraint affiliates_pkey do update set affiliate_name = excluded.affiliate_name";

/// The statements, with the types of their parameters.
pub(super) fn statements() -> [(&'static str, &'static str); 4] {
    [
        (*UPDATE, "bigint, bigint, affiliate_input[]"),
        (LOCK, "bigint, bigint, bigint[]"),
        (NAMES, "bigint, bigint[], text[]"),
        (GIVE_UP, "bigint, bigint[]"),
    ]
}

/// What the statement reports of a change.
#[derive(Clone, Copy, sqlx::FromRow)]
struct Outcome {
    /// Whether the anchor exists.
    anchored: bool,
    /// Whether an item wants the name of another item's affiliate. Then nothing was changed.
    dependent: bool,
    /// Whether the affiliate exists.
    found: bool,
    /// Who has the new name, if it is taken.
    holder: Option<i64>,
}

/// Applies changes whose fields were checked; one result each, in their order. `None` when the company does not have
/// the anchor: then nothing is changed.
pub(super) async fn update(
    pool: &Connections,
    queue: &CompanyQueue,
    company_id: i64,
    anchor: Option<i64>,
    updates: Vec<AffiliateUpdate>,
) -> Result<Option<Vec<AffiliateResult>>, Error> {
    let changes: Vec<Input> = updates.into_iter().map(change).collect();
    let alone = if are_distinct(&changes) {
        let permit = queue.one(company_id).await?;
        apply_alone(pool, &permit, company_id, anchor, &changes).await?
    } else {
        Alone::Dependent
    };
    let applied = match alone {
        Alone::Applied(applied) => Some(applied),
        Alone::NotAnchored => None,
        Alone::Dependent => {
            let permit = queue.all(company_id).await?;
            apply_in_order(pool, &permit, company_id, anchor, &changes).await?
        }
    };
    Ok(applied.map(|applied| changes.iter().zip(applied).map(|(change, applied)| result(change, applied)).collect()))
}

/// What became of a batch that was sent as one statement.
enum Alone {
    Applied(Vec<Applied>),
    NotAnchored,
    /// Nothing was changed: the items depend on each other.
    Dependent,
}

/// Whether no two changes are of one affiliate, or want one name.
fn are_distinct(changes: &[Input]) -> bool {
    let (mut ids, mut names) = (HashSet::new(), HashSet::new());
    changes.iter().all(|change| ids.insert(change.key) && change.new_name().is_none_or(|name| names.insert(name)))
}

/// Applies distinct changes by one statement.
async fn apply_alone(
    pool: &Connections,
    permit: &WritePermit,
    company_id: i64,
    anchor: Option<i64>,
    changes: &[Input],
) -> Result<Alone, Error> {
    let update = |pool, layouts| async move { run(&pool, layouts, company_id, anchor, changes).await };
    let outcomes = permit.write(pool, is_contention, update).await?;
    Ok(if outcomes.iter().any(|outcome| !outcome.anchored) {
        Alone::NotAnchored
    } else if outcomes.iter().any(|outcome| outcome.dependent) {
        Alone::Dependent
    } else {
        Alone::Applied(
            outcomes
                .into_iter()
                .zip(changes)
                .map(|(outcome, change)| Applied::new(change, outcome.found, outcome.holder))
                .collect(),
        )
    })
}

/// Applies changes that depend on each other, in a few statements. `None` when the company does not have the anchor.
async fn apply_in_order(
    pool: &Connections,
    permit: &WritePermit,
    company_id: i64,
    anchor: Option<i64>,
    changes: &[Input],
) -> Result<Option<Vec<Applied>>, Error> {
    for _ in 0..MAX_TRIES {
        let run = |pool, layouts| transaction(pool, layouts, company_id, anchor, changes);
        match permit.write(pool, is_contention, run).await? {
            InOrder::Applied(applied) => return Ok(Some(applied)),
            InOrder::NotAnchored => return Ok(None),
            InOrder::NameLost => {}
        }
    }
    tracing::error!("a batch of updates lost a name to another writer {MAX_TRIES} times");
    Err(Error::internal())
}

/// What became of a batch that was applied in order.
enum InOrder {
    Applied(Vec<Applied>),
    NotAnchored,
    /// Nothing was changed: another writer has taken a name that was free.
    NameLost,
}

async fn transaction(
    pool: Connections,
    layouts: Arc<Layouts>,
    company_id: i64,
    anchor: Option<i64>,
    changes: &[Input],
) -> Result<InOrder, sqlx::Error> {
    // A connection that is not `done` is closed, which rolls back what was not committed.
    let mut lease = pool.lease().await?;
    let mut transaction = lease.transaction()?.begin().await?;
    let mut ids: Vec<i64> = changes.iter().map(|change| change.key).collect();
    ids.sort_unstable();
    ids.dedup();
    let (anchored, ids): (bool, Vec<i64>) =
        sqlx::query_as(LOCK).bind(company_id).bind(anchor).bind(ids).fetch_one(&mut *transaction).await?;
    if !anchored {
        transaction.rollback().await?;
        lease.done(&Ok(()));
        return Ok(InOrder::NotAnchored);
    }
    let mut wanted: Vec<&str> = changes.iter().filter_map(Input::new_name).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let names = sqlx::query_as(NAMES).bind(company_id).bind(ids).bind(wanted);
    let names: Vec<(i64, String, bool)> = names.fetch_all(&mut *transaction).await?;
    let mut before = Before::default();
    for (id, name, is_changed) in names {
        before.insert(id, name, is_changed);
    }
    let plan = in_order::apply(changes, before);
    if !plan.give_up.is_empty() {
        check_caller().await;
        sqlx::query(GIVE_UP).bind(company_id).bind(plan.give_up).execute(&mut *transaction).await?;
    }
    check_caller().await;
    let written = run(&mut *transaction, layouts, company_id, None, &plan.writes).await?;
    if written.iter().any(|outcome| outcome.holder.is_some()) {
        transaction.rollback().await?;
        lease.done(&Ok(()));
        return Ok(InOrder::NameLost);
    }
    check_caller().await;
    transaction.commit().await?;
    lease.done(&Ok(()));
    Ok(InOrder::Applied(plan.applied))
}

async fn run<I: Borrow<Input>>(
    executor: impl Executor<'_, Database = Postgres>,
    layouts: Arc<Layouts>,
    company_id: i64,
    anchor: Option<i64>,
    changes: &[I],
) -> Result<Vec<Outcome>, sqlx::Error> {
    let query = sqlx::query_as(*UPDATE);
    query.bind(company_id).bind(anchor).bind(INPUT.batch(&layouts, changes)).fetch_all(executor).await
}

fn result(change: &Input, applied: Applied) -> AffiliateResult {
    let (code, msg) = match (applied, &change.failure) {
        (Applied::Unknown, _) => (ResultCode::NotFound, affiliate_not_found_text(&change.key.to_string()).into()),
        (Applied::Failed, Some(failure)) => (failure.codes.on_update(), Cow::Borrowed(failure.message.as_str())),
        (Applied::Taken | Applied::Failed, _) => {
            (ResultCode::UpdateFailed, "The affiliate name has already been taken.".into())
        }
        (Applied::Saved, _) => (ResultCode::Saved, "Affiliate updated successfully.".into()),
    };
    let msg = msg.into_owned();
    AffiliateResult { code: code.into(), affiliate_id: Some(change.key), client_affiliate_id: None, msg }
}

pub(super) fn change(update: AffiliateUpdate) -> Input {
    let fields = update.affiliate.unwrap_or_default();
    let mask = update.update_mask.as_ref().map_or_else(|| FieldSet::given(&fields), FieldSet::of_mask);
    Input::new(update.id.unwrap_or_default(), fields, mask)
}

//! Updates affiliates. A batch uses one statement, or several statements in one transaction if its items depend on each other.

use std::{
    borrow::{Borrow, Cow},
    collections::{BTreeSet, HashSet},
    sync::{Arc, LazyLock},
};

use compliance_api::{
    error::{Error, RECORD_CHANGED, affiliate_not_found_text},
    record::{Record as _, RecordField},
    v1::{AffiliateInput, AffiliateResult, AffiliateUpdate, ResultCode},
};
use sqlx::{Executor, PgConnection, Postgres};

use super::{
    in_order::{self, Applied, Before, NAME},
    input::{INPUT, Input},
};
use crate::backend::Backend;
use storage::{
    database::{self, Connections},
    deadline::check_caller,
    error::{from_database, is_contention},
    limits::MAX_TRIES,
    statement_context,
    table::{self, Layouts},
    template::fill,
};

/// Builds a statement that returns an [`Outcome`] for each item.
///
/// `company` is the company of item `i`. The statement changes nothing if `anchored` is false or `dependent` is true. `writer` is the
/// parameter for the change's author.
pub(super) fn statement_for(company: &str, anchored: &str, dependent: &str, writer: &str) -> &'static str {
    let parts = [
        ("company", company),
        ("anchored", anchored),
        ("dependent", dependent),
        ("writer", writer),
        ("names", &table::names::<AffiliateInput>()),
        ("differs", &table::differs::<AffiliateInput>("i.mask", "i", "a")),
        ("merged", &table::merged::<AffiliateInput>("i.mask", "i", "a")),
        ("replacements", &table::replacements::<AffiliateInput>()),
        ("name_bit", &AffiliateInput::field(NAME).map_or(0, RecordField::bit).to_string()),
    ];
    fill(include_str!("sql/update.sql"), &parts).leak()
}

/// Updates affiliates of company `$1` if it owns the anchor `$3`. An item is dependent if it wants the name of another item's affiliate.
/// `(… in …) is true` is a hash lookup, while a join could become a nested loop.
static UPDATE: LazyLock<&'static str> = LazyLock::new(|| {
    statement_for(
        "$1::bigint",
        "$3::bigint is null or exists (select from affiliates where company_id = $1 and id = $3)",
        "(select bool_or((r.holder in (select k.key from resolved k)) is true) from resolved r)",
        "$4",
    )
});

const LOCK: &str = include_str!("sql/lock.sql");
const NAMES: &str = include_str!("sql/names.sql");
/// Assigns affiliates temporary names, which are too long for any caller to send. The same transaction replaces them. The database function
/// `published_name` recognizes them, so the record of changes never contains them.
const RELEASE_NAMES: &str = include_str!("sql/release_names.sql");

pub(super) fn statements() -> [(&'static str, &'static str); 4] {
    [
        (*UPDATE, "bigint, affiliate_input[], bigint, text"),
        (LOCK, "bigint, bigint, bigint[]"),
        (NAMES, "bigint, bigint[], text[]"),
        (RELEASE_NAMES, "bigint, bigint[]"),
    ]
}

#[derive(Clone, Copy, sqlx::FromRow)]
pub(super) struct Outcome {
    anchored: bool,
    /// Whether an item wants the name of another item's affiliate. If so, nothing was changed.
    dependent: bool,
    found: bool,
    /// Whether the affiliate has a revision that the item accepts.
    as_expected: Option<bool>,
    /// The revision after the statement.
    revision: Option<i64>,
    /// The other affiliate that holds the new name, if any.
    holder: Option<i64>,
}

impl Outcome {
    pub(super) fn applied(self, change: &Input) -> Applied {
        match (self.found, &change.failure, self.holder) {
            (false, ..) => Applied::Unknown,
            (true, Some(_), _) => Applied::Failed,
            (true, None, _) if self.as_expected != Some(true) => Applied::Changed(self.revision),
            (true, None, Some(_)) => Applied::Taken,
            (true, None, None) => Applied::Saved(self.revision),
        }
    }
}

enum Batch {
    Applied(Vec<Applied>),
    NotAnchored,
    /// Nothing was changed: items depend on each other, or another writer took a name that was free.
    Conflict,
}

/// Applies changes with validated fields, or only computes their results. Returns one result per change, in order.
///
/// Returns `None` and changes nothing if the anchor is not one of the company's affiliates.
pub(super) async fn update(
    backend: &Backend,
    company_id: i64,
    anchor: Option<i64>,
    updates: Vec<AffiliateUpdate>,
    validate_only: bool,
) -> Result<Option<Vec<AffiliateResult>>, Error> {
    let changes: Vec<Input> = updates.into_iter().map(|update| Input::updated(company_id, update)).collect();
    let batch = if validate_only {
        validate(backend, company_id, anchor, &changes).await?
    } else {
        Update { company_id, anchor, changes: &changes, is_at_once: false }.apply(backend).await?
    };
    match batch {
        Batch::Applied(applied) => {
            Ok(Some(changes.iter().zip(applied).map(|(change, applied)| result(change, applied)).collect()))
        }
        Batch::NotAnchored => Ok(None),
        Batch::Conflict => {
            tracing::error!("gave up on a batch update after {MAX_TRIES} attempts: concurrent writes took a name");
            Err(Error::internal())
        }
    }
}

async fn validate(backend: &Backend, company_id: i64, anchor: Option<i64>, changes: &[Input]) -> Result<Batch, Error> {
    let ids: BTreeSet<i64> = changes.iter().map(|change| change.key).chain(anchor).collect();
    let names: BTreeSet<&str> = changes.iter().filter_map(Input::new_name).collect();
    let before = before(&backend.pool, company_id, &Vec::from_iter(ids), &Vec::from_iter(names)).await?;
    if anchor.is_some_and(|anchor| !before.iter().any(|(id, .., is_named)| *id == anchor && *is_named)) {
        return Ok(Batch::NotAnchored);
    }
    Ok(Batch::Applied(in_order::apply(changes, &before, false).applied))
}

/// Returns the affiliates with these IDs or names.
pub(super) async fn before(
    pool: &Connections,
    company_id: i64,
    ids: &[i64],
    names: &[&str],
) -> Result<Vec<Before>, Error> {
    let read =
        async |pool: Connections| sqlx::query_as(NAMES).bind(company_id).bind(ids).bind(names).fetch_all(&pool).await;
    database::read(pool, read).await.map_err(from_database)
}

/// Updates affiliates at known revisions simultaneously, so two of them can swap names. Returns one result per change.
///
/// No two changes may share an affiliate or a name. An affiliate at a different revision stays unchanged, as do affiliates that depend on
/// it.
pub(super) async fn update_known(backend: &Backend, company_id: i64, changes: &[Input]) -> Result<Vec<Applied>, Error> {
    if changes.is_empty() {
        return Ok(Vec::new());
    }
    let all = Update { company_id, anchor: None, changes, is_at_once: true };
    match all.apply(backend).await? {
        Batch::Applied(applied) => Ok(applied),
        Batch::NotAnchored | Batch::Conflict => Ok(vec![Applied::Changed(None); changes.len()]),
    }
}

/// Returns whether no two changes share an affiliate or a name.
fn are_distinct(changes: &[Input]) -> bool {
    let (mut ids, mut names) = (HashSet::new(), HashSet::new());
    changes.iter().all(|change| ids.insert(change.key) && change.new_name().is_none_or(|name| names.insert(name)))
}

/// A batch of changes, applied only if the company owns the anchor.
#[derive(Clone, Copy)]
struct Update<'c> {
    company_id: i64,
    anchor: Option<i64>,
    changes: &'c [Input],
    /// Whether dependent changes are applied simultaneously instead of in order.
    is_at_once: bool,
}

impl Update<'_> {
    async fn apply(self, backend: &Backend) -> Result<Batch, Error> {
        let (pool, queue) = (&backend.pool, &backend.queues.updated_affiliates);
        let mut batch = Batch::Conflict;
        if are_distinct(self.changes) {
            let apply = |pool, layouts| self.apply_alone(pool, layouts);
            batch = queue.one(self.company_id).await?.write(pool, is_contention, apply).await?;
        }
        if matches!(batch, Batch::Conflict) {
            let permit = queue.all(self.company_id).await?;
            let mut tries = 0;
            while matches!(batch, Batch::Conflict) && tries < MAX_TRIES {
                batch = permit.write(pool, is_contention, |pool, layouts| self.apply_in_order(pool, layouts)).await?;
                tries += 1;
            }
        }
        Ok(batch)
    }

    async fn apply_alone(self, pool: Connections, layouts: Arc<Layouts>) -> Result<Batch, sqlx::Error> {
        let Self { company_id, anchor, changes, .. } = self;
        let outcomes = run(&pool, layouts, company_id, anchor, changes).await?;
        Ok(match outcomes.first() {
            Some(first) if !first.anchored => Batch::NotAnchored,
            Some(first) if first.dependent => Batch::Conflict,
            _ => {
                Batch::Applied(outcomes.iter().zip(changes).map(|(outcome, change)| outcome.applied(change)).collect())
            }
        })
    }

    async fn apply_in_order(self, pool: Connections, layouts: Arc<Layouts>) -> Result<Batch, sqlx::Error> {
        let is_applied = |batch: &Batch| matches!(batch, Batch::Applied(_));
        pool.in_transaction(is_applied, async |connection| self.write_in_order(connection, layouts).await).await
    }

    async fn write_in_order(self, connection: &mut PgConnection, layouts: Arc<Layouts>) -> Result<Batch, sqlx::Error> {
        let Self { company_id, anchor, changes, is_at_once } = self;
        let ids: BTreeSet<i64> = changes.iter().map(|change| change.key).collect();
        let lock = sqlx::query_as(LOCK).bind(company_id).bind(anchor).bind(Vec::from_iter(ids));
        let (anchored, ids): (bool, Vec<i64>) = lock.fetch_one(&mut *connection).await?;
        if !anchored {
            return Ok(Batch::NotAnchored);
        }
        let wanted: BTreeSet<&str> = changes.iter().filter_map(Input::new_name).collect();
        let names = sqlx::query_as(NAMES).bind(company_id).bind(ids).bind(Vec::from_iter(wanted));
        let names: Vec<Before> = names.fetch_all(&mut *connection).await?;
        let plan = in_order::apply(changes, &names, is_at_once);
        if is_at_once && !plan.applied.iter().all(|applied| matches!(applied, Applied::Saved(_))) {
            return Ok(Batch::Applied(vec![Applied::Changed(None); changes.len()]));
        }
        if !plan.release.is_empty() {
            check_caller().await;
            sqlx::query(RELEASE_NAMES).bind(company_id).bind(plan.release).execute(&mut *connection).await?;
        }
        check_caller().await;
        let written = run(connection, layouts, company_id, None, &plan.writes).await?;
        let is_name_lost = written.iter().any(|outcome| outcome.holder.is_some());
        Ok(if is_name_lost { Batch::Conflict } else { Batch::Applied(plan.applied) })
    }
}

async fn run<I: Borrow<Input>>(
    executor: impl Executor<'_, Database = Postgres>,
    layouts: Arc<Layouts>,
    company_id: i64,
    anchor: Option<i64>,
    changes: &[I],
) -> Result<Vec<Outcome>, sqlx::Error> {
    let query = sqlx::query_as(*UPDATE).bind(company_id).bind(INPUT.batch(&layouts, changes)).bind(anchor);
    let query = query.bind(statement_context::writer());
    query.fetch_all(executor).await
}

fn result(change: &Input, applied: Applied) -> AffiliateResult {
    let (code, msg) = match (applied, &change.failure) {
        (Applied::Unknown, _) => (ResultCode::NotFound, affiliate_not_found_text(&change.key.to_string()).into()),
        (Applied::Failed, Some(failure)) => (failure.codes.on_update(), Cow::Borrowed(failure.message.as_str())),
        (Applied::Taken | Applied::Failed, _) => {
            (ResultCode::UpdateFailed, "The affiliate name has already been taken.".into())
        }
        (Applied::Changed(_), _) => (ResultCode::UpdateFailed, RECORD_CHANGED.into()),
        (Applied::Saved(_), _) => (ResultCode::Saved, "Affiliate updated successfully.".into()),
    };
    let msg = msg.into_owned();
    AffiliateResult { code: code.into(), affiliate_id: Some(change.key), client_affiliate_id: None, msg }
}

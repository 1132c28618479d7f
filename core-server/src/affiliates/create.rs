//! Creates the affiliates of a batch, or of concurrent single requests: with one statement, or with `COPY` if there are many.

use std::{
    collections::HashSet,
    sync::{Arc, LazyLock},
};

use compliance_api::{
    error::{Error, NAME_EXISTS},
    record::Record as _,
    v1::{AffiliateInput, AffiliateResult, ResultCode},
};
use sqlx::{PgConnection, Postgres, postgres::PgArguments, query::QueryScalar};

use super::{
    input::{INPUT, Input},
    update::before,
};
use crate::backend::Backend;
use storage::{
    database::{Connections, Session},
    error::{is_contention, is_disconnected, is_exhausted, is_lock_timeout_of_write, is_unique_violation},
    statement,
    table::{self, Layouts},
    template::fill,
    writes::Write,
};

/// Minimum number of affiliates for `COPY`. For fewer, one statement saves round trips.
pub const MANY_AFFILIATES: usize = 500;

static CREATE: LazyLock<&'static str> = LazyLock::new(|| {
    let (names, values) = (table::names::<AffiliateInput>(), table::values::<AffiliateInput>("input"));
    fill(include_str!("sql/create.sql"), &[("names", &names), ("values", &values)]).leak()
});

const NUMBER: &str = "select array(select nextval('affiliates_id_seq') from generate_series(1, $1))";

pub(super) fn statements() -> [(&'static str, &'static str); 4] {
    [
        (*CREATE, "bigint[], affiliate_input[], text[]"),
        (NUMBER, "bigint"),
        (LOCK_IDENTIFIERS, "bigint"),
        (ARE_IDENTIFIED, "bigint, text[]"),
    ]
}

/// Creates affiliates whose fields were checked. Returns a result for each, in order.
pub(super) async fn create(
    backend: &Backend,
    company_id: i64,
    affiliates: Vec<AffiliateInput>,
) -> Result<Vec<AffiliateResult>, Error> {
    let inputs = inputs(company_id, affiliates);
    let valid: Vec<&Input> = inputs.iter().filter(|input| input.failure.is_none()).collect();
    let valid = valid.as_slice();
    let insert = |pool: Connections, layouts| async move {
        if valid.len() >= MANY_AFFILIATES
            && let Some(ids) = copy(&pool, company_id, valid, false).await?
        {
            return Ok(ids.into_iter().map(Some).collect());
        }
        let pool = pool.of_company(company_id).creating(valid.len());
        insert(&layouts, valid, vec![statement::writer()]).fetch_all(&pool).await
    };
    let mut ids = Vec::new();
    if !valid.is_empty() {
        let permit = backend.queues.created_affiliates.one(company_id).await?;
        ids = permit.write(&backend.pool, is_contention, insert).await?;
    }
    Ok(results(&inputs, ids.into_iter().map(|id| id.map(Some))))
}

/// Returns the results of creating affiliates whose fields were checked, without creating them.
pub(super) async fn validate(
    backend: &Backend,
    company_id: i64,
    affiliates: Vec<AffiliateInput>,
) -> Result<Vec<AffiliateResult>, Error> {
    let inputs = inputs(company_id, affiliates);
    let names: Vec<&str> = inputs.iter().filter_map(Input::new_name).collect();
    let before = before(&backend.pool, company_id, &[], &names).await?;
    let mut taken: HashSet<&str> = before.iter().map(|(_, name, ..)| name.as_str()).collect();
    let valid = inputs.iter().filter(|input| input.failure.is_none());
    let is_new = valid.map(|input| input.new_name().is_none_or(|name| taken.insert(name)));
    let is_new: Vec<Option<Option<i64>>> = is_new.map(|is_new| is_new.then_some(None)).collect();
    Ok(results(&inputs, is_new.into_iter()))
}

fn inputs(company_id: i64, affiliates: Vec<AffiliateInput>) -> Vec<Input> {
    affiliates.into_iter().map(|affiliate| Input::created(company_id, affiliate)).collect()
}

/// Returns the results of all items. `created` has an entry for each valid item: its new ID, or `None` if its name is taken.
fn results(inputs: &[Input], mut created: impl Iterator<Item = Option<Option<i64>>>) -> Vec<AffiliateResult> {
    let result = |input: &Input| {
        let created = if input.failure.is_none() { created.next().flatten() } else { None };
        let (code, msg) = match (&input.failure, created) {
            (Some(failure), _) => (failure.codes.on_create(), failure.message.as_str()),
            (None, Some(_)) => (ResultCode::Saved, "Affiliate created successfully."),
            (None, None) => (ResultCode::Duplicate, NAME_EXISTS),
        };
        let (client_affiliate_id, msg) = (input.fields.client_affiliate_id.clone(), msg.to_owned());
        AffiliateResult { code: code.into(), affiliate_id: created.flatten(), client_affiliate_id, msg }
    };
    inputs.iter().map(result).collect()
}

/// Inserts affiliates. Returns the ID of each that was inserted.
fn insert<'i>(
    layouts: &Arc<Layouts>,
    inputs: &'i [&'i Input],
    writers: Vec<String>,
) -> QueryScalar<'i, Postgres, Option<i64>, PgArguments> {
    let companies: Vec<i64> = inputs.iter().map(|input| input.company_id).collect();
    sqlx::query_scalar(*CREATE).bind(companies).bind(INPUT.batch(layouts, inputs)).bind(writers)
}

/// Copies affiliates into the table, and returns their IDs.
///
/// `None` if one of their names is taken or, with `identified`, one of their identifiers. Then nothing is created. The server inserts many
/// rows together, while the next rows are encoded.
async fn copy(
    pool: &Connections,
    company_id: i64,
    inputs: &[&Input],
    identified: bool,
) -> Result<Option<Vec<i64>>, sqlx::Error> {
    let copy = async |connection: &mut PgConnection| {
        if identified && are_identified(connection, company_id, inputs).await? {
            return Ok(None);
        }
        let ids: Vec<i64> = sqlx::query_scalar(NUMBER).bind(inputs.len() as i64).fetch_one(&mut *connection).await?;
        match copy_rows(connection, company_id, &ids, inputs).await {
            Ok(()) => Ok(Some(ids)),
            Err(error) if is_unique_violation(&error) => Ok(None),
            // Citus does not report the kind of error.
            Err(error) if pool.is_divided() && is_rejected(&error) => Ok(None),
            Err(error) => Err(error),
        }
    };
    pool.in_transaction(Option::is_some, copy).await
}

/// Copies affiliates with these IDs.
async fn copy_rows(
    connection: &mut PgConnection,
    company_id: i64,
    ids: &[i64],
    inputs: &[&Input],
) -> Result<(), sqlx::Error> {
    let mut rows: Vec<_> = ids.iter().map(|id| [company_id, *id]).zip(inputs.iter().copied()).collect();
    // In the order of the name's collation, by bytes, so that two batches lock names in the same order.
    rows.sort_by_key(|(_, input)| input.fields.affiliate_name());
    // Columns without values are not sent, which saves time.
    let given = AffiliateInput::FIELDS.iter().filter(|field| inputs.iter().any(|input| field.is_given(&input.fields)));
    let given: Vec<&str> = given.map(|field| field.column.name).collect();
    let attributes = INPUT.attributes.iter().filter(|attribute| given.contains(&attribute.name));
    let attributes: Vec<_> = attributes.collect();
    table::copy(connection, "affiliates", &attributes, rows.into_iter()).await
}

const LOCK_IDENTIFIERS: &str = include_str!("sql/lock_identifiers.sql");
const ARE_IDENTIFIED: &str = include_str!("sql/are_identified.sql");

/// Creates affiliates with new identifiers, and returns their IDs.
///
/// Returns no ID if another writer has just taken an identifier or a name. Then nothing is created.
pub(super) async fn create_identified(
    backend: &Backend,
    company_id: i64,
    affiliates: Vec<AffiliateInput>,
) -> Result<Vec<i64>, Error> {
    if affiliates.is_empty() {
        return Ok(Vec::new());
    }
    let inputs = inputs(company_id, affiliates);
    let inputs: Vec<&Input> = inputs.iter().collect();
    let inputs = inputs.as_slice();
    let create = |pool: Connections, _| async move { copy(&pool, company_id, inputs, true).await };
    let queue = &backend.queues.created_affiliates;
    let ids = queue.one(company_id).await?.write(&backend.pool, is_contention, create).await?;
    Ok(ids.unwrap_or_default())
}

/// Whether affiliates have one of the identifiers. Until the end of the transaction, no affiliate gets one.
async fn are_identified(
    connection: &mut PgConnection,
    company_id: i64,
    inputs: &[&Input],
) -> Result<bool, sqlx::Error> {
    sqlx::query(LOCK_IDENTIFIERS).bind(company_id).execute(&mut *connection).await?;
    let identifiers: Vec<&str> = inputs.iter().map(|input| input.fields.client_affiliate_id()).collect();
    sqlx::query_scalar(ARE_IDENTIFIED).bind(company_id).bind(identifiers).fetch_one(connection).await
}

/// Whether the database rejected a statement for a reason other than a lock.
fn is_rejected(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Database(_))
        && !is_lock_timeout_of_write(error)
        && !is_disconnected(error)
        && !is_exhausted(error)
}

pub(super) struct CreateOne;

impl Write for CreateOne {
    type Item = Input;
    type Written = Option<i64>;
    /// No key: of two equal names, only the first is created, whether they share a statement or not.
    type Key = ();
    const NAME: &'static str = "writes of new affiliates";

    fn company(item: &Input) -> i64 {
        item.company_id
    }

    async fn write(
        &self,
        session: Session<'_>,
        layouts: Arc<Layouts>,
        items: &[&Input],
        writers: Vec<String>,
    ) -> Result<Vec<Option<i64>>, sqlx::Error> {
        let insert = insert(&layouts, items, writers);
        let ids: Vec<(Option<i64>,)> = session.creating(items.len()).fetch_all(insert).await?;
        Ok(ids.into_iter().map(|(id,)| id).collect())
    }
}

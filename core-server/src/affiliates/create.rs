//! Creates affiliates from a batch or from concurrent single requests. Uses one statement, or `COPY` for many affiliates.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, LazyLock},
};

use compliance_api::{
    error::{Error, name_exists_text},
    record::Record as _,
    v1::{AffiliateInput, AffiliateResult, ResultCode},
};
use sqlx::{FromRow, PgConnection, Postgres, postgres::PgArguments, query::QueryAs};

use super::{
    input::{INPUT, Input},
    update::before,
};
use crate::backend::Backend;
use storage::{
    database::{Connections, Session},
    error::{is_contention, is_disconnected, is_exhausted, is_lock_timeout_of_write, is_unique_violation},
    statement_context,
    table::{self, Layouts},
    template::fill,
    writes::Write,
};

/// Minimum batch size for `COPY`. For smaller batches, one statement saves round trips.
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

/// Creates affiliates with validated fields. Returns one result per affiliate, in order.
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
            return Ok(ids.into_iter().map(Created::with_id).collect());
        }
        let pool = pool.of_company(company_id).creating(valid.len());
        let mut created = insert(&layouts, valid, vec![statement_context::writer()]).fetch_all(&pool).await?;
        name_holders(valid, &mut created);
        Ok(created)
    };
    let mut created = Vec::new();
    if !valid.is_empty() {
        let permit = backend.queues.created_affiliates.one(company_id).await?;
        created = permit.write(&backend.pool, is_contention, insert).await?;
    }
    Ok(results(&inputs, created.into_iter().map(Some)))
}

/// Returns the results that [`create`] would return, without creating affiliates.
pub(super) async fn validate(
    backend: &Backend,
    company_id: i64,
    affiliates: Vec<AffiliateInput>,
) -> Result<Vec<AffiliateResult>, Error> {
    let inputs = inputs(company_id, affiliates);
    let names: Vec<&str> = inputs.iter().filter_map(Input::new_name).collect();
    let before = before(&backend.pool, company_id, &[], &names).await?;
    let mut taken: HashMap<&str, Option<i64>> =
        before.iter().map(|(id, name, ..)| (name.as_str(), Some(*id))).collect();
    let valid = inputs.iter().filter(|input| input.failure.is_none());
    // A new affiliate has no ID yet.
    let created = valid.map(|input| match input.new_name().map(|name| taken.entry(name)) {
        Some(Entry::Occupied(holder)) => Some(Created { id: None, holder: *holder.get() }),
        Some(Entry::Vacant(free)) => {
            free.insert(None);
            None
        }
        None => None,
    });
    let created: Vec<Option<Created>> = created.collect();
    Ok(results(&inputs, created.into_iter()))
}

/// The result of a valid item.
#[derive(Clone, Copy, Debug, FromRow)]
pub(super) struct Created {
    /// The ID of the new affiliate, or `None` if its name is taken.
    pub(super) id: Option<i64>,
    /// The affiliate that holds the name, if known.
    pub(super) holder: Option<i64>,
}

impl Created {
    fn with_id(id: i64) -> Self {
        Self { id: Some(id), holder: None }
    }
}

/// Fills in the holders of names taken within the same statement.
fn name_holders(inputs: &[&Input], created: &mut [Created]) {
    if created.iter().all(|created| created.id.or(created.holder).is_some()) {
        return;
    }
    let names = || inputs.iter().map(|input| (input.company_id, input.fields.affiliate_name()));
    let new: HashMap<_, i64> = names().zip(&*created).filter_map(|(name, created)| Some((name, created.id?))).collect();
    for (name, created) in names().zip(created).filter(|(_, created)| created.id.is_none()) {
        created.holder = created.holder.or_else(|| new.get(&name).copied());
    }
}

fn inputs(company_id: i64, affiliates: Vec<AffiliateInput>) -> Vec<Input> {
    affiliates.into_iter().map(|affiliate| Input::created(company_id, affiliate)).collect()
}

/// Returns the results of all items. `created` yields an entry for each valid item, or `None` if the item would be created.
fn results(inputs: &[Input], mut created: impl Iterator<Item = Option<Created>>) -> Vec<AffiliateResult> {
    let result = |input: &Input| {
        let created = if input.failure.is_none() { created.next().flatten() } else { None };
        let (code, msg) = match (&input.failure, created) {
            (Some(failure), _) => (failure.codes.on_create(), failure.message.clone()),
            (None, Some(Created { id: None, holder })) => (ResultCode::Duplicate, name_exists_text(holder)),
            (None, _) => (ResultCode::Saved, "Affiliate created successfully.".to_owned()),
        };
        let affiliate_id = created.and_then(|created| created.id);
        let client_affiliate_id = input.fields.client_affiliate_id.clone();
        AffiliateResult { code: code.into(), affiliate_id, client_affiliate_id, msg }
    };
    inputs.iter().map(result).collect()
}

/// Returns a query that inserts affiliates and returns a row for each.
fn insert<'i>(
    layouts: &Arc<Layouts>,
    inputs: &'i [&'i Input],
    writers: Vec<String>,
) -> QueryAs<'i, Postgres, Created, PgArguments> {
    let companies: Vec<i64> = inputs.iter().map(|input| input.company_id).collect();
    sqlx::query_as(*CREATE).bind(companies).bind(INPUT.batch(layouts, inputs)).bind(writers)
}

/// Copies affiliates into the table and returns their IDs.
///
/// Returns `None` and creates nothing if a name or, with `identified`, an identifier is taken. PostgreSQL inserts rows in bulk while the
/// core encodes the next ones.
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
            // Citus does not report the error kind.
            Err(error) if pool.is_divided() && is_rejected(&error) => Ok(None),
            Err(error) => Err(error),
        }
    };
    pool.in_transaction(Option::is_some, copy).await
}

/// Copies affiliates into the table with these IDs.
async fn copy_rows(
    connection: &mut PgConnection,
    company_id: i64,
    ids: &[i64],
    inputs: &[&Input],
) -> Result<(), sqlx::Error> {
    let mut rows: Vec<_> = ids.iter().map(|id| [company_id, *id]).zip(inputs.iter().copied()).collect();
    // Sorts by bytes, like the name column's collation, so concurrent batches lock names in the same order.
    rows.sort_by_key(|(_, input)| input.fields.affiliate_name());
    // Omits columns without values, to save time.
    let given = AffiliateInput::FIELDS.iter().filter(|field| inputs.iter().any(|input| field.is_given(&input.fields)));
    let given: Vec<&str> = given.map(|field| field.column.name).collect();
    let attributes = INPUT.attributes.iter().filter(|attribute| given.contains(&attribute.name));
    let attributes: Vec<_> = attributes.collect();
    table::copy(connection, "affiliates", &attributes, rows.into_iter()).await
}

const LOCK_IDENTIFIERS: &str = include_str!("sql/lock_identifiers.sql");
const ARE_IDENTIFIED: &str = include_str!("sql/are_identified.sql");

/// Creates affiliates with new identifiers and returns their IDs.
///
/// Returns no IDs and creates nothing if another writer has just taken one of the identifiers or names.
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

/// Returns whether any affiliate has one of these identifiers. Prevents other writers from taking them until the transaction ends.
async fn are_identified(
    connection: &mut PgConnection,
    company_id: i64,
    inputs: &[&Input],
) -> Result<bool, sqlx::Error> {
    sqlx::query(LOCK_IDENTIFIERS).bind(company_id).execute(&mut *connection).await?;
    let identifiers: Vec<&str> = inputs.iter().map(|input| input.fields.client_affiliate_id()).collect();
    sqlx::query_scalar(ARE_IDENTIFIED).bind(company_id).bind(identifiers).fetch_one(connection).await
}

/// Returns whether the database rejected a statement for a reason other than a lock timeout, a lost connection or exhausted resources.
fn is_rejected(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Database(_))
        && !is_lock_timeout_of_write(error)
        && !is_disconnected(error)
        && !is_exhausted(error)
}

pub(super) struct CreateOne;

impl Write for CreateOne {
    type Item = Input;
    type Written = Created;
    /// Needs no key: if a name appears twice in a statement, only its first affiliate is created.
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
    ) -> Result<Vec<Created>, sqlx::Error> {
        let insert = insert(&layouts, items, writers);
        let mut created = session.creating(items.len()).fetch_all(insert).await?;
        name_holders(items, &mut created);
        Ok(created)
    }
}

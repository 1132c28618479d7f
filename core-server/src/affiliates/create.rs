//! Creation of several affiliates: one statement, or `COPY` for many.

use std::sync::{Arc, LazyLock};

use compliance_api::{
    error::{Error, NAME_EXISTS},
    record::FieldSet,
    v1::{AffiliateInput, AffiliateResult, ResultCode},
};

use super::{
    create_many::{MANY, create_many},
    input::{INPUT, Input},
};
use crate::{
    database::Connections,
    error::is_contention,
    table::{self, Layouts},
    writes::{CompanyQueue, WritePermit},
};

/// Inserts affiliates in the order in which they come, with IDs in the order of their keys. Returns the IDs of all
/// keys, and those that were inserted.
static CREATE: LazyLock<&'static str> = LazyLock::new(|| {
    format!(
        "with numbered as materialized (
            select array_agg(nextval('affiliates_id_seq')) as ids
            from generate_series(1, cardinality($2::affiliate_input[]))
        ), inserted as (
            insert into affiliates (company_id, id, {names})
            select $1, (select ids from numbered)[input.key], {values} from unnest($2) as input
            on conflict (company_id, affiliate_name) where affiliate_name is not null do nothing
            returning id
        )
        select ids, array(select id from inserted) as inserted from numbered",
        names = table::names::<AffiliateInput>(),
        values = table::values::<AffiliateInput>("input"),
    )
    .leak()
});

/// What became of affiliates that were to be created.
#[derive(sqlx::FromRow)]
pub(super) struct Created {
    /// The IDs of all affiliates, in their order.
    pub(super) ids: Vec<i64>,
    /// The IDs of those that were inserted.
    pub(super) inserted: Vec<i64>,
}

/// The statement, with the types of its parameters.
pub(super) fn statement() -> (&'static str, &'static str) {
    (*CREATE, "bigint, affiliate_input[]")
}

/// Creates affiliates whose fields were checked; one result each, in their order.
pub(super) async fn create(
    pool: &Connections,
    queue: &CompanyQueue,
    company_id: i64,
    affiliates: Vec<AffiliateInput>,
) -> Result<Vec<AffiliateResult>, Error> {
    let mut results = Vec::with_capacity(affiliates.len());
    let mut inputs = Vec::with_capacity(affiliates.len());
    // The index of each input's result.
    let mut indexes = Vec::with_capacity(affiliates.len());
    for affiliate in affiliates {
        let client_affiliate_id = affiliate.client_affiliate_id.clone();
        let input = Input::new(indexes.len() as i64 + 1, affiliate, FieldSet::ALL);
        let (code, msg) = match &input.failure {
            Some(failure) => (failure.codes.on_create(), failure.message.clone()),
            None => (ResultCode::Duplicate, NAME_EXISTS.to_owned()),
        };
        if input.failure.is_none() {
            indexes.push(results.len());
            inputs.push(input);
        }
        results.push(AffiliateResult { code: code.into(), affiliate_id: None, client_affiliate_id, msg });
    }
    if inputs.is_empty() {
        return Ok(results);
    }
    let permit = queue.one(company_id).await?;
    let Created { ids, inserted } = insert(pool, &permit, company_id, &inputs).await?;
    for id in inserted {
        // A sequence only grows.
        let result = ids.binary_search(&id).ok().and_then(|key| results.get_mut(*indexes.get(key)?));
        if let Some(result) = result {
            result.code = ResultCode::Saved.into();
            result.affiliate_id = Some(id);
            "Affiliate created successfully.".clone_into(&mut result.msg);
        }
    }
    Ok(results)
}

/// Inserts affiliates in the order of their names: two batches that cross take the same names in the same order, so
/// neither waits for the other while it is waited for. Of two equal names the first in order is inserted.
async fn insert(pool: &Connections, permit: &WritePermit, company_id: i64, inputs: &[Input]) -> Result<Created, Error> {
    // By bytes, as the name's collation has it.
    let mut order: Vec<_> = inputs.iter().collect();
    order.sort_unstable_by_key(|input| (input.fields.affiliate_name(), input.key));
    let order = order.as_slice();
    let create = |pool: Connections, layouts: Arc<Layouts>| async move {
        if order.len() >= MANY
            && let Some(created) = create_many(&pool, company_id, order).await?
        {
            return Ok(created);
        }
        let query = sqlx::query_as(*CREATE).bind(company_id).bind(INPUT.batch(&layouts, order));
        query.fetch_one(&pool).await
    };
    permit.write(pool, is_contention, create).await
}

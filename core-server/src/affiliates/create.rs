//! Creation of affiliates, of one request or of concurrent requests that create one each: one statement, or `COPY` for many.

use std::sync::{Arc, LazyLock};

use compliance_api::{
    error::{Error, NAME_EXISTS},
    record::Record as _,
    v1::{AffiliateInput, AffiliateResult, ResultCode},
};
use sqlx::{Executor, Postgres};

use super::input::{INPUT, Input};
use crate::{
    backend::Backend,
    database::{Connections, Session},
    error::{is_contention, is_unique_violation},
    limits::MANY_AFFILIATES,
    statement,
    table::{self, Layouts, Rows},
    writes::Write,
};

/// Inserts affiliates of the companies `$1` in the order of companies and names, so that two statements that cross cannot
/// deadlock, and of two equal names the first. Returns the ID of each that was, and null for
/// each that was not, in the order sent. `$3` is who changes records: one element for each affiliate, or one for all.
static CREATE: LazyLock<&'static str> = LazyLock::new(|| {
    format!(
        "with numbered as materialized (
            select array_agg(nextval('affiliates_id_seq')) as ids
            from generate_series(1, cardinality($2::affiliate_input[]))
        ), inserted as (
            insert into affiliates (company_id, id, {names})
            select ($1::bigint[])[input.ordinality], (select ids from numbered)[input.ordinality], {values}
            from unnest($2) with ordinality as input
            order by ($1::bigint[])[input.ordinality], input.affiliate_name, input.ordinality
            on conflict (company_id, affiliate_name) where affiliate_name is not null do nothing
            returning id
        )
        select case when (ids.id in (select id from inserted)) is true then ids.id end as id
        from numbered
        cross join unnest(numbered.ids) with ordinality as ids (id, ordinality)
        cross join set_config('compliance.changed_by', case
            when cardinality($3::text[]) = 1 then ($3::text[])[1]
            else (
                select '{{' || string_agg('\"' || n.id || '\":' || n.writer, ',') || '}}'
                from unnest((select ids from numbered), $3::text[]) as n (id, writer)
            )
        end, true)
        order by ids.ordinality",
        names = table::names::<AffiliateInput>(),
        values = table::values::<AffiliateInput>("input"),
    )
    .leak()
});

const NUMBER: &str = "select array(select nextval('affiliates_id_seq') from generate_series(1, $1))";

pub(super) fn statements() -> [(&'static str, &'static str); 2] {
    [(*CREATE, "bigint[], affiliate_input[], text[]"), (NUMBER, "bigint")]
}

/// Creates affiliates whose fields were checked; one result each, in their order.
pub(super) async fn create(
    backend: &Backend,
    company_id: i64,
    affiliates: Vec<AffiliateInput>,
) -> Result<Vec<AffiliateResult>, Error> {
    let inputs: Vec<Input> = affiliates.into_iter().map(|affiliate| Input::created(company_id, affiliate)).collect();
    let valid: Vec<&Input> = inputs.iter().filter(|input| input.failure.is_none()).collect();
    let valid = valid.as_slice();
    let insert = |pool: Connections, layouts| async move {
        if valid.len() >= MANY_AFFILIATES
            && let Some(ids) = copy(&pool, company_id, valid).await?
        {
            return Ok(ids.into_iter().map(Some).collect());
        }
        insert(&pool.of_company(company_id).creating(valid.len()), &layouts, valid, &[statement::writer()]).await
    };
    let mut ids = Vec::new();
    if !valid.is_empty() {
        ids = backend
            .queues
            .created_affiliates
            .one(company_id)
            .await?
            .write(&backend.pool, is_contention, insert)
            .await?;
    }
    let mut ids = ids.into_iter();
    let result = |input: &Input| {
        let affiliate_id = if input.failure.is_none() { ids.next().flatten() } else { None };
        let (code, msg) = match (&input.failure, affiliate_id) {
            (Some(failure), _) => (failure.codes.on_create(), failure.message.as_str()),
            (None, Some(_)) => (ResultCode::Saved, "Affiliate created successfully."),
            (None, None) => (ResultCode::Duplicate, NAME_EXISTS),
        };
        let (client_affiliate_id, msg) = (input.fields.client_affiliate_id.clone(), msg.to_owned());
        AffiliateResult { code: code.into(), affiliate_id, client_affiliate_id, msg }
    };
    Ok(inputs.iter().map(result).collect())
}

/// Inserts affiliates. Returns the ID of each that was inserted.
async fn insert(
    executor: impl Executor<'_, Database = Postgres>,
    layouts: &Arc<Layouts>,
    inputs: &[&Input],
    writers: &[String],
) -> Result<Vec<Option<i64>>, sqlx::Error> {
    let companies: Vec<i64> = inputs.iter().map(|input| input.company_id).collect();
    let query = sqlx::query_as(*CREATE).bind(companies).bind(INPUT.batch(layouts, inputs)).bind(writers);
    let created: Vec<(Option<i64>,)> = query.fetch_all(executor).await?;
    Ok(created.into_iter().map(|(id,)| id).collect())
}

/// Copies affiliates into the table, and returns their IDs. `None` if one of their names is taken: then nothing is created.
/// The server takes rows while the next ones are encoded, and inserts many of them together.
async fn copy(pool: &Connections, company_id: i64, inputs: &[&Input]) -> Result<Option<Vec<i64>>, sqlx::Error> {
    let ids: Vec<i64> = sqlx::query_scalar(NUMBER).bind(inputs.len() as i64).fetch_one(pool).await?;
    let mut rows: Vec<_> = ids.iter().map(|id| [company_id, *id]).zip(inputs.iter().copied()).collect();
    // By bytes, as the name's collation has it: two batches that cross take the same names in the same order.
    rows.sort_by_key(|(_, input)| input.fields.affiliate_name());
    // What no affiliate has is not sent, which saves time.
    let given = AffiliateInput::FIELDS.iter().filter(|field| inputs.iter().any(|input| field.is_given(&input.fields)));
    let given: Vec<&str> = given.map(|field| field.column.name).collect();
    let attributes = INPUT.attributes.iter().filter(|attribute| given.contains(&attribute.name)).collect();
    match pool.copy(Rows::new("affiliates", attributes, rows.into_iter())).await {
        Ok(()) => Ok(Some(ids)),
        Err(error) if is_unique_violation(&error) => Ok(None),
        // Citus does not report which error it was. A statement does.
        Err(sqlx::Error::Database(_)) if pool.is_divided() => Ok(None),
        Err(error) => Err(error),
    }
}

pub(super) struct CreateOne;

impl Write for CreateOne {
    type Item = Input;
    type Written = Option<i64>;
    /// None: of two equal names the first is created, in one statement as in two.
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
        insert(session.creating(items.len()), &layouts, items, &writers).await
    }
}

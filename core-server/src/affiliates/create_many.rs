//! Creation of many affiliates of one company: those whose names are free are copied into the table. The server takes rows
//! while the next ones are encoded, and inserts many of them together.

use std::{collections::HashSet, sync::LazyLock};

use compliance_api::{record::Record as _, v1::AffiliateInput};

use super::{create::Created, input::Input};
use crate::{
    database::Connections,
    error::is_unique_violation,
    table::{Attribute, Copy},
};

/// So many affiliates are copied; fewer are created by one statement, which saves round trips.
pub(super) const MANY: usize = 500;

/// Numbers affiliates, and finds out which of their names are taken. Each name is looked up by its key: with `= any` a plan
/// could read all names of the company.
const NUMBER: &str = "
    select array(select nextval('affiliates_id_seq') from generate_series(1, cardinality($2::text[]))) as ids,
        array(
            select a.affiliate_name from unnest($2) as i (name)
            cross join lateral (
                select a.affiliate_name from affiliates a where a.company_id = $1 and a.affiliate_name = i.name limit 1
            ) a
        ) as taken";

static COPY: LazyLock<Copy<Input, 2>> = LazyLock::new(|| {
    let fields = AffiliateInput::FIELDS.iter();
    let attributes = fields.filter_map(|field| Attribute::field(field, |input: &Input| &input.fields));
    Copy::new("affiliates", ["company_id", "id"], attributes)
});

/// The statement, with the types of its parameters.
pub(super) fn statement() -> (&'static str, &'static str) {
    (NUMBER, "bigint, text[]")
}

/// Creates affiliates that are in the order of their names and, of equal names, of their keys. `None` if another writer
/// takes one of the names meanwhile: then nothing is created.
pub(super) async fn create_many(
    pool: &Connections,
    company_id: i64,
    inputs: &[&Input],
) -> Result<Option<Created>, sqlx::Error> {
    let names: Vec<&str> = inputs.iter().map(|input| input.fields.affiliate_name()).collect();
    let (ids, taken): (Vec<i64>, Vec<String>) =
        sqlx::query_as(NUMBER).bind(company_id).bind(&names).fetch_one(pool).await?;
    // Of equal names the first one is created.
    let mut taken: HashSet<&str> = taken.iter().map(String::as_str).collect();
    let free: Vec<&Input> =
        inputs.iter().copied().filter(|input| taken.insert(input.fields.affiliate_name())).collect();
    if free.is_empty() {
        return Ok(Some(Created { ids, inserted: Vec::new() }));
    }
    let id = |input: &Input| ids[input.key as usize - 1];
    let inserted = free.iter().map(|input| id(input)).collect();
    let is_given = |column: &str| {
        let field = AffiliateInput::FIELDS.iter().find(|field| field.column.name == column);
        field.is_some_and(|field| free.iter().any(|input| field.is_given(&input.fields)))
    };
    let rows = free.iter().map(|input| ([company_id, id(input)], *input));
    match pool.copy(COPY.rows(is_given, rows)).await {
        Ok(()) => Ok(Some(Created { ids, inserted })),
        Err(error) if is_unique_violation(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

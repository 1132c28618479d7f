//! Creation: one statement for one affiliate and for ten thousand.

use std::sync::LazyLock;

use crate::database::Connections;
use compliance_api::{
    error::{Error, NAME_EXISTS},
    v1::{AffiliateInput, AffiliateResult, ResultCode},
};

use super::columns;
use crate::error::{from_database, is_contention};

/// How often a batch that got in another's way is tried.
const TRIES: u32 = 5;

/// Numbers the affiliates in the order sent and inserts them in the order of their names: two batches that cross take
/// the same names in the same order, so neither waits for the other while it is waited for. Of two equal names the
/// first in order is inserted. Answers with the place and the ID of each that was.
static CREATE: LazyLock<&'static str> = LazyLock::new(|| {
    format!(
        "with input as materialized (
            select ord, nextval('affiliates_id_seq') as id, {names}
            from unnest({arrays}) with ordinality as input ({names}, ord)
        ), inserted as (
            insert into affiliates (company_id, id, {names})
            select $1, id, {values} from input order by affiliate_name collate \"C\", ord
            on conflict on constraint affiliates_name_key do nothing
            returning id
        )
        select ord, id from inserted join input using (id)",
        names = columns::names(),
        arrays = columns::arrays(2),
        values = columns::values("input"),
    )
    .leak()
});

/// Creates affiliates whose fields were checked; one result each, in their order.
pub(super) async fn create(
    pool: &Connections,
    company_id: i64,
    mut affiliates: Vec<AffiliateInput>,
) -> Result<Vec<AffiliateResult>, Error> {
    let mut results = Vec::with_capacity(affiliates.len());
    let mut good = Vec::with_capacity(affiliates.len());
    for affiliate in &mut affiliates {
        if let Some(code) = columns::normalise(affiliate) {
            let msg = format!("{code} is no ISO 3166-1 alpha-2 country code.");
            results.push(failure(affiliate, ResultCode::InvalidCountry, msg));
        } else {
            good.push((results.len(), &*affiliate));
            results.push(failure(affiliate, ResultCode::Duplicate, NAME_EXISTS.to_owned()));
        }
    }
    if good.is_empty() {
        return Ok(results);
    }
    for (place, id) in insert(pool, company_id, &good).await? {
        let Some((index, affiliate)) = usize::try_from(place - 1).ok().and_then(|place| good.get(place)) else {
            continue;
        };
        results[*index] = AffiliateResult {
            code: ResultCode::Saved.into(),
            affiliate_id: Some(id),
            client_affiliate_id: affiliate.client_affiliate_id.clone(),
            msg: "Affiliate created successfully.".to_owned(),
        };
    }
    Ok(results)
}

async fn insert(
    pool: &Connections,
    company_id: i64,
    good: &[(usize, &AffiliateInput)],
) -> Result<Vec<(i64, i64)>, Error> {
    let mut tries = 0;
    loop {
        tries += 1;
        let mut query = sqlx::query_as::<_, (i64, i64)>(*CREATE).bind(company_id);
        for position in 0..columns::COLUMNS.len() {
            query = query.bind(columns::array(position, good.iter().map(|(_, affiliate)| *affiliate)));
        }
        match query.fetch_all(pool).await {
            Ok(created) => return Ok(created),
            Err(error) if tries < TRIES && is_contention(&error) => tracing::debug!("a batch is tried again: {error}"),
            Err(error) => return Err(from_database(&error)),
        }
    }
}

fn failure(affiliate: &AffiliateInput, code: ResultCode, msg: String) -> AffiliateResult {
    AffiliateResult {
        code: code.into(),
        affiliate_id: None,
        client_affiliate_id: affiliate.client_affiliate_id.clone(),
        msg,
    }
}

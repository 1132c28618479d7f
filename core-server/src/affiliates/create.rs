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

/// Inserts affiliates in the order in which they come, with IDs in the order of their places. Answers with the IDs of
/// all places, and with those that were inserted.
static CREATE: LazyLock<&'static str> = LazyLock::new(|| {
    format!(
        "with numbered as materialized (
            select array_agg(nextval('affiliates_id_seq')) as ids
            from generate_series(1, cardinality($2::affiliate_input[]))
        ), inserted as (
            insert into affiliates (company_id, id, {names})
            select $1, (select ids from numbered)[key], {values} from unnest($2) as input
            on conflict (company_id, affiliate_name) where affiliate_name is not null do nothing
            returning id
        )
        select ids, array(select id from inserted) from numbered",
        names = columns::names(),
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
        let Some((index, affiliate)) = good.get(place) else { continue };
        results[*index] = AffiliateResult {
            code: ResultCode::Saved.into(),
            affiliate_id: Some(id),
            client_affiliate_id: affiliate.client_affiliate_id.clone(),
            msg: "Affiliate created successfully.".to_owned(),
        };
    }
    Ok(results)
}

/// Inserts affiliates; tells the place and the ID of each that was. They go in the order of their names: two batches
/// that cross take the same names in the same order, so neither waits for the other while it is waited for. Of two
/// equal names the first in order is inserted.
async fn insert(
    pool: &Connections,
    company_id: i64,
    good: &[(usize, &AffiliateInput)],
) -> Result<Vec<(usize, i64)>, Error> {
    // By bytes, as the name's collation has it; of equal names the first comes first.
    let mut order: Vec<_> = good
        .iter()
        .enumerate()
        .map(|(place, (_, affiliate))| (affiliate.affiliate_name(), place, *affiliate))
        .collect();
    order.sort_unstable_by_key(|(name, place, _)| (*name, *place));
    let inputs: Vec<_> = order
        .into_iter()
        .map(|(_, place, affiliate)| columns::Input { key: place as i64 + 1, mask: 0, affiliate })
        .collect();
    let mut tries = 0;
    let (ids, inserted) = loop {
        tries += 1;
        let query = sqlx::query_as::<_, (Vec<i64>, Vec<i64>)>(*CREATE).bind(company_id).bind(inputs.as_slice());
        match query.fetch_one(pool).await {
            Ok(created) => break created,
            Err(error) if tries < TRIES && is_contention(&error) => tracing::debug!("a batch is tried again: {error}"),
            Err(error) => return Err(from_database(&error)),
        }
    };
    // A sequence only grows.
    Ok(inserted.into_iter().filter_map(|id| Some((ids.binary_search(&id).ok()?, id))).collect())
}

fn failure(affiliate: &AffiliateInput, code: ResultCode, msg: String) -> AffiliateResult {
    AffiliateResult {
        code: code.into(),
        affiliate_id: None,
        client_affiliate_id: affiliate.client_affiliate_id.clone(),
        msg,
    }
}

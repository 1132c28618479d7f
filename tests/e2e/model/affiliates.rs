//! Compares affiliate pages with a model.

use std::iter;

use serde_json::{Value, json};
use sqlx::PgPool;
use test_support::{TestService, new_company};

use super::{Dice, seed};
use crate::cases::ask_over_grpc;

const AFFILIATES: usize = 300;
const QUERIES: usize = 400;
const STATUSES: [&str; 3] = ["active", "inactive", "probation"];
const COUNTRIES: [(&str, i32); 2] = [("US", 840), ("de", 276)];

struct Affiliate {
    id: i64,
    name: String,
    status: Option<&'static str>,
    country: Option<(&'static str, i32)>,
    start: Option<String>,
}

impl Affiliate {
    /// Inserts a random affiliate whose values collide often.
    async fn random(dice: &mut Dice, pool: &PgPool, company: i64, place: usize) -> Self {
        let mut affiliate = Self {
            id: 0,
            name: format!("{} {place}", dice.pick(&["Ann", "ann", "BOB", "zoë"])),
            status: dice.unless(4, |dice| *dice.pick(&STATUSES)),
            country: dice.unless(3, |dice| *dice.pick(&COUNTRIES)),
            start: dice.unless(3, |dice| format!("2024-0{}-01", 1 + dice.below(5))),
        };
        let insert = sqlx::query_scalar(
            "insert into affiliates (company_id, client_affiliate_id, affiliate_name, status, country, start_date)
            values ($1, 'C', $2, $3, $4, $5::text::date) returning id",
        );
        let country = affiliate.country.map(|(_, number)| number);
        let insert = insert.bind(company).bind(&affiliate.name).bind(affiliate.status).bind(country);
        affiliate.id = insert.bind(&affiliate.start).fetch_one(pool).await.unwrap();
        affiliate
    }

    /// Returns the sort key, or `None` if the value is null or the sort is by ID.
    fn key(&self, sort: &str) -> Option<String> {
        match sort {
            "affiliate_name" => Some(self.name.to_ascii_lowercase()),
            "status" => self.status.map(str::to_owned),
            "start_date" => self.start.clone(),
            _ => None,
        }
    }
}

/// Returns a random query, with its page's IDs and `meta`.
fn random_query(dice: &mut Dice, affiliates: &[Affiliate]) -> (String, Vec<i64>, Value) {
    let status = dice.once_in(3).then(|| *dice.pick(&STATUSES));
    let country = dice.once_in(3).then(|| *dice.pick(&COUNTRIES));
    let word = dice.once_in(3).then(|| *dice.pick(&["ann", "ZOE", "o", "nobody"]));
    let sort = *dice.pick(&["id", "affiliate_name", "status", "start_date"]);
    let (is_ascending, per_page) = (dice.once_in(2), 1 + dice.below(40));
    let mut found: Vec<&Affiliate> = affiliates
        .iter()
        .filter(|it| status.is_none_or(|status| it.status == Some(status)))
        .filter(|it| country.is_none_or(|country| it.country == Some(country)))
        .filter(|it| word.is_none_or(|word| it.name.replace('ë', "e").to_lowercase().contains(&word.to_lowercase())))
        .collect();
    found.sort_by(|one, other| {
        let (key, of_other) = (one.key(sort), other.key(sort));
        let nulls = key.is_none().cmp(&of_other.is_none());
        let order = key.cmp(&of_other).then(one.id.cmp(&other.id));
        nulls.then(if is_ascending { order } else { order.reverse() })
    });
    let last = found.len().div_ceil(per_page).max(1);
    let page = 1 + dice.below(last + 1);
    let ids = found.iter().skip((page - 1) * per_page).take(per_page).map(|it| it.id).collect();
    let direction = if is_ascending { "asc" } else { "desc" };
    let paging = format!("/affiliates?sort_by={sort}&sort_dir={direction}&per_page={per_page}&page={page}");
    let filters = [("status", status), ("country", country.map(|(code, _)| code)), ("q", word)];
    let filters = filters.into_iter().filter_map(|(name, value)| Some(format!("&{name}={}", value?)));
    let query = iter::once(paging).chain(filters).collect();
    let meta = json!({"total": found.len(), "per_page": per_page, "current_page": page, "last_page": last});
    (query, ids, meta)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_affiliate_pages_match_the_model() {
    let mut dice = Dice::new(seed());
    let service = TestService::start().await;
    let mut companies = Vec::new();
    for _ in 0..2 {
        companies.push((new_company(), Vec::new()));
    }
    // The companies' IDs alternate.
    for place in 0..AFFILIATES {
        for (company, affiliates) in &mut companies {
            affiliates.push(Affiliate::random(&mut dice, &service.pool, *company, place).await);
        }
    }
    for number in 0..QUERIES {
        let (company, affiliates) = dice.pick(&companies);
        let (query, ids, meta) = random_query(&mut dice, affiliates);
        let text = match number % 3 {
            0 => service.rest(*company).get(&query).await.text,
            1 => service.rest_remote(*company).get(&query).await.text,
            _ => ask_over_grpc(&service.grpc(*company).await, "GET", &query, None).await.unwrap(),
        };
        let page: Value = serde_json::from_str(&text).unwrap();
        let found: Vec<i64> = page["data"].as_array().unwrap().iter().map(|it| it["id"].as_i64().unwrap()).collect();
        assert_eq!((found, &page["meta"]), (ids, &meta), "{query} with COMPLIANCE_MODEL_SEED={}", seed());
    }
}

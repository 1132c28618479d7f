//! Compares affiliate pages with a model.

use std::iter;

use futures::{StreamExt as _, future::join_all, stream};
use serde_json::{Value, json};
use test_support::{Layer, TestService, new_company};

use super::{AT_ONCE, Clients, Dice, seed, write};

const AFFILIATES: usize = 300;
const QUERIES: usize = 200;
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
    /// Returns a random affiliate whose values collide often.
    fn random(dice: &mut Dice, id: i64, place: usize) -> Self {
        Self {
            id,
            name: format!("{} {place}", dice.pick(&["Ann", "ann", "BOB", "zoë"])),
            status: dice.unless(4, |dice| *dice.pick(&STATUSES)),
            country: dice.unless(3, |dice| *dice.pick(&COUNTRIES)),
            start: dice.unless(3, |dice| format!("2024-0{}-01", 1 + dice.below(5))),
        }
    }

    /// Returns the affiliate's row.
    fn row(&self, company: i64) -> Value {
        json!({
            "company_id": company, "id": self.id, "client_affiliate_id": "C", "affiliate_name": self.name,
            "status": self.status, "country": self.country.map(|(_, number)| number), "start_date": self.start,
        })
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
    let service = TestService::shared().await;
    let mut companies = Vec::new();
    for _ in 0..2 {
        companies.push((new_company(), Vec::new()));
    }
    // The companies' IDs alternate.
    let mut rows = Vec::new();
    for place in 0..AFFILIATES {
        for (company, affiliates) in &mut companies {
            let affiliate = Affiliate::random(&mut dice, rows.len() as i64 + 1, place);
            rows.push(affiliate.row(*company));
            affiliates.push(affiliate);
        }
    }
    write::insert(&service.pool, "affiliates", &rows).await;
    let clients = join_all(companies.iter().map(|(company, _)| Clients::connect(&service, *company))).await;
    let queries: Vec<_> = (0..QUERIES)
        .map(|number| {
            let company = dice.below(companies.len());
            let layer = [Layer::Rest, Layer::RestRemote, Layer::Grpc][number % 3];
            (company, layer, random_query(&mut dice, &companies[company].1))
        })
        .collect();
    let compared = stream::iter(&queries).for_each_concurrent(AT_ONCE, async |(company, layer, (query, ids, meta))| {
        let page: Value = serde_json::from_str(&clients[*company].get(*layer, query).await).unwrap();
        let found: Vec<i64> = page["data"].as_array().unwrap().iter().map(|it| it["id"].as_i64().unwrap()).collect();
        assert_eq!((&found, &page["meta"]), (ids, meta), "{query} with COMPLIANCE_MODEL_SEED={}", seed());
    });
    compared.await;
}

//! `GET /affiliates`: filters, sorting, pages and complete lists.

use test_support::{TestService, new_company};

use super::{
    Case,
    affiliates::{list, named},
    expect::{page, text},
    records, run_table,
};

/// Client identifier, name, status, numeric country code, start date and phone number of affiliates `<1>` to `<5>`, with ties and nulls.
type Row = (&'static str, &'static str, Option<&'static str>, Option<i16>, Option<&'static str>, Option<&'static str>);
const AFFILIATES: [Row; 5] = [
    ("KA", "bob", Some("active"), Some(840), Some("2024-03-01"), None),
    ("KB", "Ann", Some("inactive"), Some(840), None, None),
    ("KC", "Zoe", Some("active"), Some(276), Some("2024-03-01"), None),
    ("KD", "ann lee", None, None, Some("2023-01-01"), Some("+1 (555) 010-4477")),
    ("KE", "Émile Ann", Some("active"), None, None, None),
];

fn given(name: &str) -> Case {
    let sql = |value: Option<&str>| value.map_or("null".to_owned(), |value| format!("'{value}'"));
    AFFILIATES.iter().fold(Case::new(name), |case, (client_id, name, status, country, start, phone)| {
        let country = country.map(|country| country.to_string());
        let values = [*status, country.as_deref(), *start, *phone].map(sql).join(", ");
        case.sql(&format!(
            "insert into affiliates (company_id, client_affiliate_id, affiliate_name, status, country, start_date, phone_one)
            values (<company>, '{client_id}', '{name}', {values}) returning id"
        ))
    })
}

/// Returns an affiliate as it appears in a response. `number` starts at 1.
fn affiliate(number: usize) -> String {
    let (client_id, name, status, country, start, phone) = AFFILIATES[number - 1];
    let texts = [("status", status), ("start_date", start), ("phone_one", phone)];
    let mut values = vec![("client_affiliate_id", text(client_id)), ("affiliate_name", text(name))];
    values.extend(texts.into_iter().filter_map(|(field, value)| Some((field, text(value?)))));
    values.extend(country.map(|country| ("country", country.to_string())));
    records::affiliate(&format!("<{number}>"), &values)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_are_filtered_and_sorted() {
    let whole: &[(&str, &[usize])] = &[
        ("page=1", &[5, 4, 3, 2, 1]),
        ("per_page=100", &[5, 4, 3, 2, 1]),
        ("sort_by=id", &[5, 4, 3, 2, 1]),
        ("sort_dir=desc", &[5, 4, 3, 2, 1]),
        ("sort_dir=asc", &[1, 2, 3, 4, 5]),
        ("sort_by=affiliate_name", &[5, 3, 1, 4, 2]),
        ("sort_by=affiliate_name&sort_dir=asc", &[2, 4, 1, 3, 5]),
        ("sort_by=status", &[2, 5, 3, 1, 4]),
        ("sort_by=status&sort_dir=asc", &[1, 3, 5, 2, 4]),
        ("sort_by=start_date", &[3, 1, 4, 5, 2]),
        ("sort_by=start_date&sort_dir=asc", &[4, 1, 3, 2, 5]),
        ("status=active", &[5, 3, 1]),
        ("status=terminated", &[]),
        ("status=active&sort_by=affiliate_name&sort_dir=asc", &[1, 3, 5]),
        ("country=us", &[2, 1]),
        ("country=US&status=active", &[1]),
        ("country=FR", &[]),
        ("q=ANN", &[5, 4, 2]),
        ("q=emile%20ann", &[5]),
        ("q=kc", &[3]),
        ("q=<3>", &[3]),
        ("q=15550104477", &[4]),
        ("q=nobody", &[]),
        ("q=ann&status=active&country=us", &[]),
        ("q=ann&sort_by=affiliate_name&sort_dir=asc", &[2, 4, 5]),
    ];
    let found = |numbers: &[usize]| numbers.iter().map(|number| affiliate(*number)).collect::<Vec<_>>();
    let mut case = given("pages are filtered and sorted");
    for (query, numbers) in whole {
        let expected = page("Affiliates found", &found(numbers), numbers.len() as u32, 100, 1, 1);
        case = case.get(&format!("/affiliates?{query}"), expected);
    }
    // Total, records per page, current page, last page.
    let paged: &[(&str, &[usize], (u32, u32, u64, u32))] = &[
        ("per_page=2", &[5, 4], (5, 2, 1, 3)),
        ("per_page=2&page=3", &[1], (5, 2, 3, 3)),
        ("per_page=2&page=4", &[], (5, 2, 4, 3)),
        ("per_page=1&page=5", &[1], (5, 1, 5, 5)),
        ("per_page=200", &[5, 4, 3, 2, 1], (5, 200, 1, 1)),
        ("page=9007199254740991&per_page=200", &[], (5, 200, 9_007_199_254_740_991, 1)),
        ("sort_by=status&sort_dir=asc&per_page=2&page=2", &[5, 2], (5, 2, 2, 3)),
        ("sort_by=start_date&per_page=2&page=2", &[4, 5], (5, 2, 2, 3)),
        ("status=active&per_page=2&page=2", &[1], (3, 2, 2, 2)),
        ("q=ann&per_page=1&page=3", &[2], (3, 1, 3, 3)),
        ("country=FR&page=3", &[], (0, 100, 3, 1)),
    ];
    for (query, numbers, (total, per_page, current, last)) in paged {
        let expected = page("Affiliates found", &found(numbers), *total, *per_page, *current, *last);
        case = case.get(&format!("/affiliates?{query}"), expected);
    }
    let empty = Case::new("page is empty without affiliates")
        .get("/affiliates?page=1", page("Affiliates found", &[], 0, 100, 1, 1));
    run_table(vec![case, empty]).await;
}

/// An update that changes no values does not affect the order. Affiliates without an update time come last.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_are_sorted_by_last_update() {
    let service = TestService::shared().await;
    let company = new_company();
    let rest = service.rest(company);
    let mut ids = Vec::new();
    for name in ["Ann", "Bob", "Cid", "Dan"] {
        let body = format!(r#"{{"client_affiliate_id":"{name}","affiliate_name":"{name}"}}"#);
        ids.push(rest.post("/affiliates", body).await.with_status(201)["detail"]["affiliate_id"].as_i64().unwrap());
    }
    // Triggers only set the time if the revision stays the same or increases.
    let old =
        "update affiliates set last_updated_date = null, revision = revision - 1 where company_id = $1 and id = $2";
    sqlx::query(old).bind(company).bind(ids[3]).execute(&service.pool).await.unwrap();
    for (affiliate, city) in [(0, "Bern"), (1, "Bern"), (0, "Bern")] {
        let body = format!(r#"{{"id":{},"city":"{city}"}}"#, ids[affiliate]);
        rest.put(&format!("/affiliates/{}", ids[affiliate]), body).await.with_status(200);
    }
    for (direction, expected) in [("desc", [1, 0, 2, 3]), ("asc", [2, 0, 1, 3])] {
        let page =
            rest.get(&format!("/affiliates?sort_by=last_updated_date&sort_dir={direction}")).await.with_status(200);
        let found: Vec<_> = page["data"].as_array().unwrap().iter().map(|affiliate| affiliate["id"].as_i64()).collect();
        assert_eq!(found, expected.map(|affiliate| Some(ids[affiliate])), "{direction}");
    }
}

/// Empty and unknown parameters do not request a page.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_without_parameters_are_complete() {
    let queries = ["", "?", "?page=&per_page=&sort_by=&sort_dir=&status=&country=&q=", "?colour=red&Page=2"];
    let given = |query| Case::new(query).given_affiliate("C-1", "Zoe").given_affiliate("C-2", "Ann");
    let whole = || list(&[named("<1>", "C-1", "Zoe"), named("<2>", "C-2", "Ann")]);
    run_table(queries.map(|query| given(query).get(&format!("/affiliates{query}"), whole()).only_rest()).into()).await;
}

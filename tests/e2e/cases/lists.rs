//! `GET /urls` and `GET /cases`: filters, sorting and pages.

use super::{
    Case,
    expect::{page, text},
    records, run_table,
};

/// URLs `<2>` to `<6>` of a company with affiliate `<1>`. They include ties, nulls, and the first and last second of a day.
const URLS: &[(i32, bool, &str, Option<&str>, Option<&str>, bool)] = &[
    (1, false, "2024-03-01 00:00:00", None, Some("2024-05-01 08:00:00"), false),
    (3, true, "2024-03-01 23:59:59", Some("2024-04-01 10:00:00"), None, false),
    (3, false, "2024-03-02 00:00:00", Some("2024-04-01 10:00:00"), None, false),
    (2, false, "2024-02-29 23:59:59", Some("2024-03-15 00:00:00"), Some("2024-05-01 08:00:00"), true),
    (3, true, "2024-03-01 12:00:00", None, Some("2024-06-01 00:00:00"), true),
];

const INCIDENT_STATUS: [&str; 4] = ["", "New", "Open", "In Violation"];

fn sql_text(value: Option<&str>) -> String {
    value.map_or("null".to_owned(), |value| format!("'{value}'"))
}

fn json_text(value: Option<&str>) -> String {
    value.map_or("null".to_owned(), text)
}

fn given_urls(name: &str) -> Case {
    let mut case = Case::new(name).given_affiliate("C", "Ann");
    for (number, (status, disabled, discovery, review, seen, affiliate)) in URLS.iter().enumerate() {
        let affiliate = if *affiliate { "<1>" } else { "null" };
        case = case.sql(&format!(
            "insert into compliance_urls (company_id, url, url_hash, incident_status_id, disabled, discovery_date,
                last_review_date, last_seen, affiliate_id)
            values (<company>, 'http://u{number}/', '{number}', {status}, {disabled}, '{discovery}', {}, {}, {affiliate})
            returning id",
            sql_text(*review),
            sql_text(*seen)
        ));
    }
    case
}

/// Returns a URL as it appears in a response. `number` starts at 1.
fn url(number: usize) -> String {
    let (status, disabled, discovery, review, seen, affiliate) = URLS[number - 1];
    let affiliate = |value: &str| if affiliate { text(value) } else { "null".to_owned() };
    records::url(&[
        ("id", format!("<{}>", number + 1)),
        ("url", format!(r#""http://u{}/""#, number - 1)),
        ("incident_status", text(INCIDENT_STATUS[status as usize])),
        ("disabled", text(if disabled { "yes" } else { "no" })),
        ("discovery_date", text(discovery)),
        ("last_review_date", json_text(review)),
        ("last_seen", json_text(seen)),
        ("affiliate_name", affiliate("Ann")),
        ("affiliate_id", affiliate("C")),
    ])
}

/// A query without paging, and the numbers of its results.
type Query = (&'static str, &'static [usize]);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn url_lists_are_filtered_and_sorted() {
    let whole: &[Query] = &[
        ("", &[5, 4, 3, 2, 1]),
        ("sort_by=id", &[5, 4, 3, 2, 1]),
        ("sort_dir=desc", &[5, 4, 3, 2, 1]),
        ("sort_dir=asc", &[1, 2, 3, 4, 5]),
        ("sort_by=discovery_dt", &[3, 2, 5, 1, 4]),
        ("sort_by=discovery_dt&sort_dir=asc", &[4, 1, 5, 2, 3]),
        ("sort_by=last_review_dt", &[3, 2, 4, 5, 1]),
        ("sort_by=last_review_dt&sort_dir=asc", &[4, 2, 3, 1, 5]),
        ("sort_by=last_seen&sort_dir=desc", &[5, 4, 1, 3, 2]),
        ("sort_by=last_seen&sort_dir=asc", &[1, 4, 5, 2, 3]),
        ("incident_status_id=3", &[5, 3, 2]),
        ("incident_status_id=4", &[]),
        ("incident_status_id=99", &[]),
        ("incident_status_id=9007199254740991", &[]),
        ("disabled=yes", &[5, 2]),
        ("disabled=no", &[4, 3, 1]),
        ("distributor_id=<1>", &[5, 4]),
        ("distributor_id=<1>&sort_by=discovery_dt&sort_dir=asc", &[4, 5]),
        ("distributor_id=<1>&sort_by=last_review_dt", &[4, 5]),
        ("distributor_id=<1>&sort_by=last_review_dt&sort_dir=asc", &[4, 5]),
        ("distributor_id=<1>&discovery_after=2024-03-01", &[5]),
        ("distributor_id=9007199254740991", &[]),
        ("discovery_after=2024-03-01", &[5, 3, 2, 1]),
        ("discovery_after=2024-03-02", &[3]),
        ("discovery_after=2024-03-03", &[]),
        ("discovery_before=2024-03-01", &[5, 4, 2, 1]),
        ("discovery_before=2024-02-29", &[4]),
        ("discovery_before=2024-02-28", &[]),
        ("discovery_after=2024-03-01&discovery_before=2024-03-01", &[5, 2, 1]),
        ("discovery_after=2024-03-02&discovery_before=2024-03-01", &[]),
        ("discovery_after=0001-01-01&discovery_before=9999-12-31", &[5, 4, 3, 2, 1]),
        ("discovery_before=2024-03-01&sort_by=last_seen&sort_dir=asc", &[1, 4, 5, 2]),
        ("incident_status_id=3&disabled=yes&discovery_after=2024-03-01&sort_by=discovery_dt", &[2, 5]),
        ("incident_status_id=3&disabled=yes&distributor_id=<1>&discovery_before=2024-03-01", &[5]),
    ];
    let mut case = given_urls("lists are filtered and sorted");
    for (query, numbers) in whole {
        let urls: Vec<String> = numbers.iter().map(|number| url(*number)).collect();
        case = case.get(&format!("/urls?{query}"), page("URLs found", &urls, urls.len() as u32, 100, 1, 1));
    }
    // Total, records per page, current page, last page.
    let paged: &[(&str, &[usize], (u32, u32, u64, u32))] = &[
        ("per_page=2", &[5, 4], (5, 2, 1, 3)),
        ("per_page=2&page=2", &[3, 2], (5, 2, 2, 3)),
        ("per_page=2&page=3", &[1], (5, 2, 3, 3)),
        ("per_page=2&page=4", &[], (5, 2, 4, 3)),
        ("per_page=1&page=5", &[1], (5, 1, 5, 5)),
        ("per_page=5", &[5, 4, 3, 2, 1], (5, 5, 1, 1)),
        ("per_page=200", &[5, 4, 3, 2, 1], (5, 200, 1, 1)),
        ("page=2", &[], (5, 100, 2, 1)),
        ("page=9007199254740991&per_page=200", &[], (5, 200, 9_007_199_254_740_991, 1)),
        ("sort_by=last_review_dt&per_page=2&page=2", &[4, 5], (5, 2, 2, 3)),
        ("sort_by=last_review_dt&per_page=2&page=3", &[1], (5, 2, 3, 3)),
        ("sort_by=last_seen&sort_dir=asc&per_page=2&page=2", &[5, 2], (5, 2, 2, 3)),
        ("sort_by=last_seen&sort_dir=asc&per_page=1&page=4", &[2], (5, 1, 4, 5)),
        ("disabled=no&per_page=2&page=2", &[1], (3, 2, 2, 2)),
        ("distributor_id=<1>&per_page=1&page=2", &[4], (2, 1, 2, 2)),
        ("distributor_id=<1>&per_page=1&page=3", &[], (2, 1, 3, 2)),
        ("incident_status_id=99&page=3", &[], (0, 100, 3, 1)),
    ];
    for (query, numbers, (total, per_page, current, last)) in paged {
        let urls: Vec<String> = numbers.iter().map(|number| url(*number)).collect();
        case = case.get(&format!("/urls?{query}"), page("URLs found", &urls, *total, *per_page, *current, *last));
    }
    let empty = Case::new("list is empty without URLs").get("/urls", page("URLs found", &[], 0, 100, 1, 1));
    run_table(vec![case, empty]).await;
}

/// Four cases for two affiliates (`<1>`, `<2>`): status, creation time, affiliate.
const CASES: &[(i32, &str, usize)] = &[
    (1, "2024-03-01 00:00:00", 1),
    (2, "2024-03-01 23:59:59", 1),
    (2, "2024-02-29 23:59:59", 2),
    (5, "2024-03-01 00:00:00", 2),
];

const CASE_STATUS: [&str; 6] = ["", "New", "Open", "In Progress", "Blocked", "Resolved"];

fn given_cases(name: &str) -> Case {
    let mut case = Case::new(name).given_affiliate("C1", "Ann").given_affiliate("C2", "Bob");
    for (status, created, affiliate) in CASES {
        case = case.sql(&format!(
            "insert into compliance_cases (company_id, case_status_id, created_date, affiliate_id)
            values (<company>, {status}, '{created}', <{affiliate}>) returning id"
        ));
    }
    case
}

fn case(number: usize) -> String {
    let (status, created, affiliate) = CASES[number - 1];
    records::case(&[
        ("case_id", format!("<{}>", number + 2)),
        ("case_status", text(CASE_STATUS[status as usize])),
        ("created_date", text(created)),
        ("affiliate_name", text(["Ann", "Bob"][affiliate - 1])),
        ("affiliate_id", text(&format!("C{affiliate}"))),
        ("distributor_id", format!("<{affiliate}>")),
    ])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn case_lists_are_filtered_and_sorted() {
    let whole: &[Query] = &[
        ("", &[4, 3, 2, 1]),
        ("sort_by=id&sort_dir=asc", &[1, 2, 3, 4]),
        ("sort_dir=asc", &[1, 2, 3, 4]),
        ("sort_by=created_dt", &[2, 4, 1, 3]),
        ("sort_by=created_dt&sort_dir=desc", &[2, 4, 1, 3]),
        ("sort_by=created_dt&sort_dir=asc", &[3, 1, 4, 2]),
        ("case_status_id=2", &[3, 2]),
        ("case_status_id=9", &[]),
        ("case_status_id=9007199254740991", &[]),
        ("distributor_id=<2>", &[4, 3]),
        ("distributor_id=<2>&sort_by=created_dt&sort_dir=asc", &[3, 4]),
        ("distributor_id=9007199254740991", &[]),
        ("created_after=2024-03-01", &[4, 2, 1]),
        ("created_before=2024-03-01", &[4, 3, 2, 1]),
        ("created_before=2024-02-29", &[3]),
        ("created_after=2024-03-01&created_before=2024-03-01", &[4, 2, 1]),
        ("created_after=2024-03-02", &[]),
        ("created_after=2024-03-02&created_before=2024-03-01", &[]),
        ("created_after=2024-03-01&case_status_id=2&distributor_id=<1>&sort_by=created_dt", &[2]),
    ];
    let mut lists = given_cases("lists are filtered and sorted");
    for (query, numbers) in whole {
        let found: Vec<String> = numbers.iter().map(|number| case(*number)).collect();
        lists = lists.get(&format!("/cases?{query}"), page("Cases found", &found, found.len() as u32, 100, 1, 1));
    }
    let paged: &[(&str, &[usize], (u32, u32, u64, u32))] = &[
        ("per_page=3", &[4, 3, 2], (4, 3, 1, 2)),
        ("per_page=3&page=2", &[1], (4, 3, 2, 2)),
        ("per_page=3&page=3", &[], (4, 3, 3, 2)),
        ("per_page=200", &[4, 3, 2, 1], (4, 200, 1, 1)),
        ("sort_by=created_dt&per_page=1&page=2", &[4], (4, 1, 2, 4)),
        ("distributor_id=<2>&per_page=1&page=2", &[3], (2, 1, 2, 2)),
        ("page=9007199254740991", &[], (4, 100, 9_007_199_254_740_991, 1)),
    ];
    for (query, numbers, (total, per_page, current, last)) in paged {
        let found: Vec<String> = numbers.iter().map(|number| case(*number)).collect();
        lists = lists.get(&format!("/cases?{query}"), page("Cases found", &found, *total, *per_page, *current, *last));
    }
    let empty = Case::new("list is empty without cases").get("/cases", page("Cases found", &[], 0, 100, 1, 1));
    run_table(vec![lists, empty]).await;
}

/// REST ignores empty and unknown parameters, and uses the last of repeated `page` parameters.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_and_empty_parameters_are_ignored() {
    let all = || page("URLs found", &[5, 4, 3, 2, 1].map(url), 5, 100, 1, 1);
    let all_cases = || page("Cases found", &[4, 3, 2, 1].map(case), 4, 100, 1, 1);
    let queries = [
        "disabled=&incident_status_id=&distributor_id=&discovery_after=&discovery_before=&sort_by=&sort_dir=&per_page=&page=",
        "colour=red&case_status_id=2&created_after=x&Disabled=yes&=&&x",
        "page=7&page=1",
        "page=x&page=",
    ];
    let mut urls = given_urls("parameters of URLs");
    for query in queries {
        urls = urls.get(&format!("/urls?{query}"), all()).only_rest();
    }
    let encoded = page("URLs found", &[5, 2].map(url), 2, 100, 1, 1);
    urls = urls.get("/urls?%64isabled=%79es", encoded).only_rest();
    let queries = [
        "case_status_id=&distributor_id=&created_after=&created_before=&sort_by=&sort_dir=&per_page=&page=",
        "colour=red&incident_status_id=2&disabled=no&discovery_after=x",
    ];
    let mut cases = given_cases("parameters of cases");
    for query in queries {
        cases = cases.get(&format!("/cases?{query}"), all_cases()).only_rest();
    }
    run_table(vec![urls, cases]).await;
}

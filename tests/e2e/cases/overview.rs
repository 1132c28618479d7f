//! The overview, with records on both sides of every boundary.

use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use test_support::{TestService, new_company};
use time::{Duration, OffsetDateTime};

use super::ask_over_grpc;

/// Returns the overview and its day. All layers must agree. Retries if the day ends between the reads.
async fn overview(service: &TestService, company: i64, fill: impl Fn(i64) -> String) -> (Value, time::Date) {
    loop {
        let day = OffsetDateTime::now_utc().date();
        sqlx::raw_sql(AssertSqlSafe(fill(company))).execute(&service.pool).await.unwrap();
        let mut responses = Vec::new();
        for rest in [service.rest(company), service.rest_remote(company)] {
            let response = rest.get("/overview").await;
            assert_eq!(response.status, 200, "{}", response.text);
            responses.push(response.text);
        }
        responses.push(ask_over_grpc(&service.grpc(company).await, "GET", "/overview", None).await.unwrap());
        if day == OffsetDateTime::now_utc().date() {
            assert_eq!(responses[0], responses[1]);
            assert_eq!(responses[0], responses[2]);
            let response: Value = serde_json::from_str(&responses[0]).unwrap();
            assert_eq!(
                (&response["code"], &response["status"], &response["detail"]),
                (&json!("1026"), &json!("ok"), &json!({"msg": "Overview found"}))
            );
            return (response["data"].clone(), day);
        }
    }
}

/// Returns statements that remove the company's records.
fn without_records(company: i64) -> String {
    let tables =
        ["infractions", "incidents", "compliance_urls", "compliance_cases", "affiliates", "vocabulary_entries"];
    tables.map(|table| format!("delete from {table} where company_id = {company};")).concat()
}

/// Counts the days in each of the last twelve weeks.
fn weekly(days_ago: &[i64]) -> [i64; 12] {
    let mut weeks = [0; 12];
    for days in days_ago.iter().filter(|days| (0..84).contains(*days)) {
        weeks[11 - usize::try_from(days / 7).unwrap()] += 1;
    }
    weeks
}

/// A case: ID, status, risk level, days since creation, hours until the follow-up, days since closing.
type Row = (i64, i32, Option<i32>, i64, Option<i64>, Option<i64>);

const CASES: &[Row] = &[
    // Open cases of every age.
    (9001, 1, Some(4), 0, Some(-1), None),
    (9002, 2, None, 7, Some(1), None),
    (9003, 3, Some(2), 8, None, None),
    (9004, 1001, Some(1000), 30, Some(-200), None),
    (9005, 4, Some(4), 31, Some(-100), None),
    (9006, 2, None, 90, None, None),
    (9007, 2, Some(1), 91, None, None),
    (9008, 2, Some(1), -2, Some(-200), None),
    // Closed cases, some with a past follow-up date.
    (9010, 5, Some(3), 3, Some(-5), None),
    (9011, 6, Some(3), 200, Some(-5), Some(0)),
    (9012, 9, None, 83, None, Some(83)),
    (9013, 7, None, 84, None, Some(84)),
    (9014, 8, Some(1000), 84, None, Some(6)),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn overview_counts_match_the_records() {
    let service = TestService::shared().await;
    let fill = |company: i64| {
        let midnight = "date_trunc('day', now() at time zone 'UTC') at time zone 'UTC'";
        // Alternates between the first and the last second of a day.
        let day = |days: i64| {
            let second = if days % 2 == 0 { 0 } else { 86_399 };
            format!("{midnight} - interval '{days} days' + interval '{second} seconds'")
        };
        let or_null = |value: Option<String>| value.unwrap_or_else(|| "null".to_owned());
        let cases = CASES.iter().map(|(id, status, risk, created, follow_up, closed)| {
            let risk = or_null(risk.map(|risk| risk.to_string()));
            let follow_up =
                or_null(follow_up.map(|hours| format!("date_trunc('second', now()) + interval '{hours} hours'")));
            let (created, closed) = (day(*created), or_null(closed.map(day)));
            format!("({company}, {id}, 9101, {status}, {risk}, {created}, {follow_up}, {closed})")
        });
        let urls = URLS.iter().enumerate().map(|(index, days)| {
            format!("({company}, {}, 'https://example.org/{index}', '{index}', {})", 9200 + index, day(*days))
        });
        let infractions = INFRACTIONS.iter().enumerate();
        let infractions = infractions
            .map(|(index, (days, url))| format!("({company}, {}, {}, {})", 9200 + url, index + 1, day(*days)));
        format!(
            "{} insert into vocabulary_entries (company_id, vocabulary, id, name) values
                ({company}, 4, 1000, 'Press'), ({company}, 4, 1002, 'Unused'), ({company}, 1, 1001, 'Waiting');
            insert into affiliates (company_id, id, client_affiliate_id, affiliate_name)
                values ({company}, 9101, 'C-1', 'Ann');
            insert into compliance_cases (company_id, id, affiliate_id, case_status_id, risk_level_id, created_date,
                follow_up_date, closed_date) values {};
            insert into compliance_urls (company_id, id, url, url_hash, discovery_date) values {};
            insert into infractions (company_id, url_id, infraction_type_id, created_date) values {};",
            without_records(company),
            cases.collect::<Vec<_>>().join(","),
            urls.collect::<Vec<_>>().join(","),
            infractions.collect::<Vec<_>>().join(","),
        )
    };
    let (mut found, today) = overview(&service, new_company(), fill).await;
    for case in found["cases"]["overdue_cases"].as_array_mut().unwrap() {
        let date = case.as_object_mut().unwrap().remove("follow_up_date").unwrap();
        assert_eq!(date.as_str().map(str::len), Some("2026-01-31 12:00:00".len()));
    }
    let overdue = |id: i64, risk: Value, status: &str| json!({"case_id": id, "risk_level": risk, "case_status": status, "affiliate_name": "Ann", "affiliate_id": "C-1"});
    let days = |column: fn(&Row) -> Option<i64>| weekly(&CASES.iter().filter_map(column).collect::<Vec<_>>());
    let (created, closed) = (days(|case| Some(case.3)), days(|case| case.5));
    let of_infractions = |found: &[(i64, i64)]| weekly(&found.iter().map(|(days, _)| *days).collect::<Vec<_>>());
    let (urls, infractions) = (weekly(URLS), of_infractions(INFRACTIONS));
    let past = INFRACTIONS.iter().filter(|(days, _)| *days >= 0);
    let mut at_urls: Vec<_> = past.map(|(days, url)| (days / 7 * 7, *url)).collect();
    at_urls.dedup();
    let infraction_urls = of_infractions(&at_urls);
    let weeks: Vec<Value> = (0..12)
        .map(|week| {
            let from = today - Duration::days(83 - 7 * week as i64);
            json!({"from": from.to_string(), "new_urls": urls[week], "new_infractions": infractions[week],
                "infraction_urls": infraction_urls[week], "new_cases": created[week], "closed_cases": closed[week]})
        })
        .collect();
    let expected = json!({
        "cases": {
            "open": 8,
            "by_risk": [
                {"risk_level": "Critical", "open": 2}, {"risk_level": "High", "open": 0},
                {"risk_level": "Medium", "open": 1}, {"risk_level": "Low", "open": 2},
                {"risk_level": null, "open": 2}, {"risk_level": "Press", "open": 1},
            ],
            "by_age": [
                {"from_days": 0, "to_days": 7, "open": 3}, {"from_days": 8, "to_days": 30, "open": 2},
                {"from_days": 31, "to_days": 90, "open": 2}, {"from_days": 91, "to_days": null, "open": 1},
            ],
            "overdue": 4,
            "overdue_cases": [
                overdue(9004, json!("Press"), "Waiting"), overdue(9008, json!("Low"), "Open"),
                overdue(9005, json!("Critical"), "Blocked"), overdue(9001, json!("Critical"), "New"),
            ],
        },
        "urls": {"total": 6, "new": 2},
        "infractions": {"new": 4, "urls": 2},
        "weeks": weeks,
    });
    assert_eq!(found, expected, "found {found:#}");
}

/// Days since each URL's discovery.
const URLS: &[i64] = &[0, 6, 7, 83, 84, -1];
/// Days since each infraction was recorded, and the index of its URL. Entries with the same week and URL are adjacent.
const INFRACTIONS: &[(i64, i64)] = &[(0, 0), (3, 0), (6, 0), (6, 1), (7, 0), (83, 1), (84, 0), (-1, 0)];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn overview_lists_at_most_twenty_overdue_cases() {
    let service = TestService::shared().await;
    let fill = |company: i64| {
        format!(
            "{} insert into affiliates (company_id, id, client_affiliate_id, affiliate_name) values ({company}, 1, '1', '1');
            insert into compliance_cases (company_id, id, affiliate_id, follow_up_date)
            select {company}, n, 1, now() - interval '1 day' * (n / 2) from generate_series(2, 42) n",
            without_records(company)
        )
    };
    let (found, _) = overview(&service, new_company(), fill).await;
    assert_eq!(found["cases"]["overdue"], 41);
    let cases = found["cases"]["overdue_cases"].as_array().unwrap().iter();
    let ids: Vec<i64> = cases.map(|case| case["case_id"].as_i64().unwrap()).collect();
    // Cases come in pairs with the same date.
    let expected = [42, 40, 41, 38, 39, 36, 37, 34, 35, 32, 33, 30, 31, 28, 29, 26, 27, 24, 25, 22];
    assert_eq!(ids, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn empty_company_overview_has_zero_counts() {
    let service = TestService::shared().await;
    let (found, _) = overview(&service, new_company(), without_records).await;
    assert_eq!(found["cases"]["overdue_cases"], json!([]));
    assert_eq!(found["urls"], json!({"total": 0, "new": 0}));
    let counts = found["weeks"].as_array().unwrap().iter().flat_map(|week| week.as_object().unwrap().values());
    assert_eq!(counts.filter_map(Value::as_i64).sum::<i64>(), 0);
    let open = ["by_risk", "by_age"].map(|list| found["cases"][list].as_array().unwrap().len());
    assert_eq!(open, [5, 4]);
}

//! Affiliate and URL search by partial text.

use compliance_api::v1::SearchComplianceUrlsRequest;
use sqlx::AssertSqlSafe;
use test_support::{Options, TestService, fresh_database, new_company, reason_of};
use tonic::Code;

use super::{
    Case,
    expect::{created_one, found, invalid, invalid_one, text},
    records, run_table,
};

/// Client identifiers and names of affiliates `<1>` to `<4>`.
const AFFILIATES: [(&str, &str); 4] =
    [("C-1", "Ann Müller"), ("c-2", "BOB 100% _x"), ("X.3", r"anna [a] (b)\d"), ("ZZ-ann", "Émile O'Neill")];

fn affiliate(number: usize) -> String {
    let (client_id, name) = AFFILIATES[number - 1];
    records::affiliate(
        &format!("<{number}>"),
        &[("client_affiliate_id", text(client_id)), ("affiliate_name", text(name))],
    )
}

/// Adds searches to a case: queries, and queries that only REST can express, each with the numbers of the records that it finds.
fn with_searches(
    mut case: Case,
    resource: &str,
    name: &str,
    record: fn(usize) -> String,
    [queries, encoded]: [&[(&str, &[usize])]; 2],
) -> Case {
    for (number, (query, numbers)) in queries.iter().chain(encoded).enumerate() {
        let data: Vec<String> = numbers.iter().map(|number| record(*number)).collect();
        let expected = found(&format!("{name} found"), &format!("[{}]", data.join(",")));
        case = case.get(&format!("/{resource}:search?{query}"), expected);
        if number >= queries.len() {
            case = case.only_rest();
        }
    }
    case
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn affiliate_search_matches_words() {
    // Queries and the affiliates they find.
    let queries: &[(&str, &[usize])] = &[
        ("q=ANN", &[1, 3, 4]),
        ("q=ann&limit=2", &[1, 3]),
        ("q=ann&limit=50", &[1, 3, 4]),
        ("q=C-", &[1, 2]),
        ("q=zz-A", &[4]),
        ("q=mÜLL", &[1]),
        ("q=éMILE", &[4]),
        ("q=Emile", &[4]),
        ("q=muller", &[1]),
        ("q=NEILL emile", &[4]),
        ("q=_x bob 100%", &[2]),
        ("q=bob ann", &[]),
        ("q=ZZ-ann", &[4]),
        ("q=.", &[3]),
        ("q=_", &[2]),
        ("q=[A]", &[3]),
        ("q=(b)", &[3]),
        ("q=O'n", &[4]),
        ("q=*", &[]),
        ("q=nobody", &[]),
    ];
    // Only REST can express percent-encoding and repeated parameters.
    let encoded: &[(&str, &[usize])] = &[
        ("q=%25", &[2]),
        ("q=100%25+_", &[2]),
        ("q=%5C", &[3]),
        ("q=%5Cd", &[3]),
        ("q=M%C3%BCL", &[1]),
        ("q=&q=zz&q=zz&limit=", &[4]),
    ];
    let given = Case::new("affiliates are found by words");
    let case = AFFILIATES.iter().fold(given, |case, (id, name)| case.given_affiliate(id, name));
    run_table(vec![with_searches(case, "affiliates", "Affiliates", affiliate, [queries, encoded])]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn affiliate_search_matches_emails_and_phones() {
    let (email, phone) = (text("Ann@Example.org"), text("+1 (555) 010-4477"));
    let ann = records::affiliate(
        "<1>",
        &[
            ("client_affiliate_id", text("A")),
            ("affiliate_name", text("First")),
            ("email_two", email),
            ("phone_one", phone),
        ],
    );
    let body = serde_json::json!({
        "client_affiliate_id": "A", "affiliate_name": "First", "email_two": "Ann@Example.org", "phone_one": "+1 (555) 010-4477"
    });
    let mut case = Case::new("affiliates are found by email and phone")
        .post("/affiliates", body, created_one("A"))
        .given_affiliate("B", "Second");
    let queries = [
        ("ann@example.ORG", true),
        ("ann@example.or", true),
        ("EXAMPLE.org", true),
        ("nn@example", true),
        ("ann@other.org", false),
        ("1-555-010-4477", true),
        ("15550104477", true),
        ("5550104477", false),
        ("0000", false),
    ];
    for (query, is_found) in queries {
        let data = if is_found { format!("[{ann}]") } else { "[]".to_owned() };
        case = case.get(&format!("/affiliates:search?q={query}"), found("Affiliates found", &data));
    }
    run_table(vec![case]).await;
}

/// Partners send names in composed and decomposed forms. Queries find both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn search_ignores_accents_and_unicode_forms() {
    let names = [
        "Fran\u{e7}ois Gar\u{e7}on",
        "Franc\u{327}ois Garc\u{327}on",
        "Stra\u{df}e",
        "\u{141}\u{f3}d\u{17a}",
        "\u{304c}",
        "Ilyas KIRMIZI",
        "Mary-Ann O\u{2019}Neill",
        "S\u{153}ur O\u{fb01}lia",
        "Of\u{fb01}ce Gri\u{fb03}n",
        "최은영",
    ];
    let queries: &[(&str, &[usize])] = &[
        ("q=garcon", &[1, 2]),
        ("q=GAR\u{c7}ON francois", &[1, 2]),
        ("q=garc\u{327}on", &[1, 2]),
        ("q=strasse", &[3]),
        ("q=STRA\u{df}E", &[3]),
        ("q=lodz", &[4]),
        ("q=\u{304b}\u{3099}", &[5]),
        ("q=kirmizi ilyas", &[6]),
        ("q=o'neill mary\u{2011}ann", &[7]),
        ("q=O'Neill, Mary", &[7]),
        ("q=soeur ofilia", &[8]),
        ("q=office", &[9]),
        ("q=Of\u{fb01}ce", &[9]),
        ("q=griffin", &[9]),
        ("q=최은영", &[10]),
    ];
    let given = Case::new("affiliates are found without accents");
    let mut case =
        names.iter().zip(1..).fold(given, |case, (name, number)| case.given_affiliate(&format!("{number}."), name));
    for (query, numbers) in queries {
        let found_one = |number: &usize| {
            let id = format!("{number}.");
            let values = [("client_affiliate_id", text(&id)), ("affiliate_name", text(names[number - 1]))];
            records::affiliate(&format!("<{number}>"), &values)
        };
        let data: Vec<String> = numbers.iter().map(found_one).collect();
        let expected = found("Affiliates found", &format!("[{}]", data.join(",")));
        case = case.get(&format!("/affiliates:search?{query}"), expected);
    }
    run_table(vec![case]).await;
}

/// An exact match comes first, even if many earlier records contain the text.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exact_matches_come_first() {
    let service = TestService::shared().await;
    let (company, other) = (new_company(), new_company());
    let records = |company: i64| {
        format!(
            "insert into affiliates (company_id, client_affiliate_id, affiliate_name)
                select {company}, 'C' || n, 'Ann ' || n from generate_series(1, 60) n
                union all select {company}, 'C', 'Ann';
            insert into compliance_urls (company_id, url, url_hash)
                select {company}, url, sha256(url::bytea)
                from (select 'https://example.org/' || n as url from generate_series(60, 0, -1) n) n"
        )
    };
    for company in [company, other] {
        sqlx::raw_sql(AssertSqlSafe(records(company))).execute(&service.pool).await.unwrap();
    }
    for rest in [service.rest(company), service.rest_remote(company)] {
        let first = async |path: &str, field: &str| {
            rest.get(path).await.with_status(200)["data"][0][field].as_str().unwrap_or_default().to_owned()
        };
        for q in ["Ann", "ann", "%20ANN%20", "A\u{301}nn", "C", "c"] {
            assert_eq!(first(&format!("/affiliates:search?q={q}&limit=1"), "distributor_name").await, "Ann", "{q}");
        }
        assert_eq!(first("/urls:search?q=https://Example.org/1&limit=1", "url").await, "https://example.org/1");
        let all = rest.get("/affiliates:search?q=nn&limit=50").await.with_status(200);
        let ids: Vec<i64> = all["data"].as_array().unwrap().iter().map(|one| one["id"].as_i64().unwrap()).collect();
        assert!(ids.len() == 50 && ids.is_sorted(), "{ids:?}");
        let (affiliate, url) = (ids[40], rest.get("/urls").await.json()["data"][7]["id"].as_i64().unwrap());
        for q in [format!("{affiliate}"), format!("%23{affiliate}"), format!("Affiliate%20{affiliate}")] {
            let found = rest.get(&format!("/affiliates:search?q={q}&limit=1")).await.with_status(200);
            assert_eq!(found["data"][0]["id"], affiliate, "{q}");
        }
        for q in [format!("%23{url}%20"), format!("URL%20%23{url}")] {
            let found = rest.get(&format!("/urls:search?q={q}")).await.with_status(200);
            assert_eq!(found["data"][0]["id"], url, "{q}");
        }
        // The search never finds another company's record by its ID.
        let foreign = "select min(id) from affiliates where company_id = $1";
        let foreign: i64 = sqlx::query_scalar(foreign).bind(other).fetch_one(&service.pool).await.unwrap();
        let found = rest.get(&format!("/affiliates:search?q=%23{foreign}")).await.with_status(200);
        assert_eq!(found["data"], serde_json::json!([]));
    }
}

const URLS: [&str; 4] = [
    "https://Example.org/Offer?id=100%25",
    "https://example.org/offer/2",
    "https://bücher.example/A_b",
    "https://other.example/x",
];

/// Returns URL `<number + 1>` as it appears in a response. The second URL has affiliate `<1>` and infractions.
fn url(number: usize) -> String {
    let mut values = vec![
        ("id", format!("<{}>", number + 1)),
        ("url", text(URLS[number - 1])),
        ("incident_status", text("New")),
        ("discovery_date", text("2024-03-01 00:00:00")),
    ];
    if number == 2 {
        let infraction = |kind: &str, name: &str| {
            format!(r#"{{"infraction_type":"{kind}","infraction_name":{name},"created_date":"2024-03-02 00:00:00"}}"#)
        };
        let infractions = [infraction("Health Claim", "\"weight loss\""), infraction("Trademark", "null")];
        values.extend([
            ("affiliate_name", text("Ann")),
            ("affiliate_id", text("C-1")),
            ("infractions", format!("[{}]", infractions.join(","))),
        ]);
    }
    records::url(&values)
}

fn given_urls() -> Case {
    let mut case = Case::new("URLs are found by parts").given_affiliate("C-1", "Ann");
    for (index, url) in URLS.iter().enumerate() {
        let affiliate = if index == 1 { "<1>" } else { "null" };
        case = case.sql(&format!(
            "insert into compliance_urls (company_id, url, url_hash, affiliate_id, discovery_date)
            values (<company>, '{url}', '{index}', {affiliate}, '2024-03-01Z') returning id"
        ));
    }
    case.sql(
        "insert into infractions (company_id, url_id, infraction_type_id, infraction_name_id, created_date)
        values (<company>, <3>, 2, 8, '2024-03-02Z'), (<company>, <3>, 4, null, '2024-03-02Z')",
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn url_search_matches_partial_urls() {
    let queries: &[(&str, &[usize])] = &[
        ("q=EXAMPLE", &[4, 3, 2, 1]),
        ("q=EXAMPLE&limit=1", &[4]),
        ("q=org/OFFER", &[2, 1]),
        ("q=BÜCHER", &[3]),
        ("q=a_B", &[3]),
        ("q=a.b", &[]),
        ("q=.example/", &[4, 3]),
        ("q=nothing", &[]),
    ];
    let encoded: &[(&str, &[usize])] = &[("q=100%2525", &[1]), ("q=%3Fid%3D1", &[1]), ("q=ex%25le", &[])];
    run_table(vec![with_searches(given_urls(), "urls", "URLs", url, [queries, encoded])]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_search_parameters_are_rejected() {
    let (required, limit) = ("The q field is required.", "The limit field must be between 1 and 50.");
    let mut table = Vec::new();
    let mut add = |path: &str, query: &str, violations: &[(&str, &str)], only_rest: bool| {
        let case = Case::new(format!("{path}?{query}")).get(&format!("{path}?{query}"), invalid(violations));
        table.push(if only_rest { case.only_rest() } else { case });
    };
    for (path, most) in [("/affiliates:search", 128), ("/urls:search", 256)] {
        add(path, "", &[("q", required)], false);
        add(path, "q=", &[("q", required)], false);
        add(path, "q=%20%20%20", &[("q", required)], true);
        let long = format!("The q field must not be greater than {most} characters.");
        add(path, &format!("q={}", "é".repeat(most + 1)), &[("q", &long)], false);
        add(path, "q=abc%00", &[("q", "The q field must not contain the character U+0000.")], true);
        for value in ["0", "51", "-1"] {
            add(path, &format!("q=abc&limit={value}"), &[("limit", limit)], false);
        }
        add(path, "q=abc&limit=x", &[("limit", "The limit field must be an integer.")], true);
        add(path, "limit=0", &[("q", required), ("limit", limit)], false);
    }
    add("/urls:search", "q=éé", &[("q", "The q field must be at least 3 characters.")], false);
    for (path, most) in [("/affiliates:search", 128), ("/urls:search", 256)] {
        let longest = format!("{path}?q={}", "é".repeat(most));
        let msg = if most == 128 { "Affiliates found" } else { "URLs found" };
        table.push(Case::new(format!("{path} accepts the maximum query length")).get(&longest, found(msg, "[]")));
    }
    table.push(
        Case::new("URL query requires three characters")
            .get("/urls:search?q=ab", invalid_one("q", "The q field must be at least 3 characters.")),
    );
    run_table(table).await;
}

/// A message fits only one of the three records.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn oversized_search_results_return_413() {
    let options = Options { message_limit: 1 << 20, ..Options::default() };
    let service = TestService::over(fresh_database().await.options, options).await;
    let company = new_company();
    let records = format!(
        "insert into compliance_urls (company_id, url, url_hash, transcription_text)
        select {company}, 'https://example.org/' || n, n::text::bytea, repeat('x', 400000) from generate_series(1, 3) n"
    );
    sqlx::raw_sql(AssertSqlSafe(records)).execute(&service.pool).await.unwrap();
    for rest in [service.rest(company), service.rest_remote(company)] {
        let response = rest.get("/urls:search?q=example").await;
        let msg = "The records need more than 524288 bytes. Please request fewer records.";
        let expected = format!(r#"{{"code":"413","status":"error","detail":{{"msg":"{msg}"}}}}"#);
        assert_eq!((response.status, response.text), (413, expected));
        let response = rest.get("/urls:search?q=example&limit=1").await.with_status(200);
        assert_eq!(response["data"][0]["url"], "https://example.org/3");
    }
    let mut grpc = service.grpc(company).await;
    let request = SearchComplianceUrlsRequest { q: "example".to_owned(), limit: Some(2) };
    let status = grpc.urls.search_compliance_urls(request).await.unwrap_err();
    assert_eq!((status.code(), reason_of(&status).as_str()), (Code::OutOfRange, "BODY_TOO_LARGE"));
}

//! Lists as NDJSON and CSV. The lists contain the same records as the pages, for one company.

use compliance_api::{
    csv_cell,
    v1::{ListAffiliatesRequest, ListAllComplianceCasesRequest, ListAllComplianceUrlsRequest},
};
use serde_json::Value;
use sqlx::AssertSqlSafe;
use test_support::{RestClient, RestResponse, TestService, new_company};

const NDJSON: &str = "application/x-ndjson";
const CSV: &str = "text/csv";

/// Inserts more records than one read returns. Their dates are not in ID order.
const RECORDS: &str = "
    insert into affiliates (company_id, id, client_affiliate_id, affiliate_name, country, status, start_date, notes)
        select $1, n, 'C-' || n, 'Name, \"' || n || '\"', 276, case when n % 3 = 0 then 'active' end, '2024-01-31',
            case when n % 2 = 0 then E'two\\r\\nlines' end
        from generate_series(1, 200) n;
    insert into vocabulary_entries (company_id, vocabulary, id, name) values ($1, 1, 1000, 'Parked');
    insert into compliance_cases (company_id, id, affiliate_id, case_status_id, tags, created_date)
        select $1, n, 1 + n % 5, case when n % 10 = 0 then 1000 else 1 + n % 9 end, array['a,b', n::text],
            timestamptz '2024-01-01Z' + (n * 7 % 100) * interval '1 day'
        from generate_series(1, 160) n;
    insert into compliance_urls (company_id, id, url, url_hash, domain, incident_status_id, disabled, affiliate_id, case_id,
            discovery_date, transcription_text)
        select $1, n, 'https://a.example/' || n, sha256(n::text::bytea), 'a.example', 1 + n % 6, n % 4 = 0, 1 + n % 5,
            case when n % 3 = 0 then 1 + n % 160 end, timestamptz '2024-01-01Z' + (n * 7 % 100) * interval '1 day',
            case when n % 40 = 0 then repeat('long ', 20000) end
        from generate_series(1, 250) n;
    insert into infractions (company_id, url_id, infraction_type_id, infraction_name_id)
        select $1, n, 2, 8 from generate_series(1, 250, 3) n;
    insert into incidents (company_id, case_id, incident_type, url_id) select $1, n, 1, n from generate_series(1, 160, 2) n";

/// Creates two companies whose records have the same IDs.
async fn companies(service: &TestService) -> [i64; 2] {
    let companies = [new_company(), new_company()];
    for company in companies {
        let statements = RECORDS.replace("$1", &company.to_string());
        sqlx::raw_sql(AssertSqlSafe(statements)).execute(&service.pool).await.unwrap();
    }
    let others = format!("update affiliates set affiliate_name = 'other ' || id where company_id = {}", companies[1]);
    sqlx::query(AssertSqlSafe(others)).execute(&service.pool).await.unwrap();
    companies
}

async fn accepting(rest: &RestClient, path: &str, accept: &str) -> RestResponse {
    RestResponse::of(rest.request("GET", path).header("Accept", accept)).await
}

/// Returns all records in a list's pages, by ID.
async fn paged(rest: &RestClient, path: &str) -> Vec<Value> {
    if path == "/affiliates" {
        return rest.get(path).await.with_status(200)["data"].as_array().unwrap().clone();
    }
    let mut records = Vec::new();
    for page in 1.. {
        let separator = if path.contains('?') { '&' } else { '?' };
        let page = rest.get(&format!("{path}{separator}sort_dir=asc&per_page=50&page={page}")).await.with_status(200);
        let data = page["data"].as_array().unwrap();
        records.extend(data.iter().cloned());
        if data.len() < 50 {
            break;
        }
    }
    records
}

/// Returns a CSV file's column names and rows.
fn table(text: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let texts = |record: &csv::StringRecord| record.iter().map(str::to_owned).collect::<Vec<_>>();
    let names = texts(reader.headers().unwrap());
    let rows = reader.records().map(|record| texts(&record.unwrap())).collect();
    (names, rows)
}

/// Checks that the list at a path contains these records in both formats.
async fn expect(rest: &RestClient, path: &str, records: &[Value]) {
    let response = accepting(rest, path, NDJSON).await;
    assert_eq!((response.status, response.header("content-type")), (200, Some(NDJSON)), "{path}: {}", response.text);
    assert!(response.text.is_empty() || response.text.ends_with('\n'));
    let lines: Vec<Value> = response.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines == records, "{path}: got {} records, expected {}", lines.len(), records.len());

    let response = accepting(rest, path, CSV).await;
    let content_type = Some("text/csv; charset=utf-8; header=present");
    assert_eq!((response.status, response.header("content-type")), (200, content_type), "{path}: {}", response.text);
    let (names, rows) = table(&response.text);
    assert_eq!(rows.len(), records.len(), "{path}");
    for (row, record) in rows.iter().zip(records) {
        let mut keys: Vec<&str> = record.as_object().unwrap().keys().map(String::as_str).collect();
        let mut columns: Vec<&str> = names.iter().map(String::as_str).collect();
        keys.sort_unstable();
        columns.sort_unstable();
        assert_eq!(columns, keys, "{path}");
        for (name, cell) in names.iter().zip(row) {
            match &record[name] {
                Value::Null => assert_eq!(cell, "", "{path}: {name}"),
                Value::String(text) => assert!(csv_cell::text(cell) == text, "{path}: {name} is {cell:.100}"),
                other => assert_eq!(serde_json::from_str::<Value>(cell).unwrap(), *other, "{path}: {name}"),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_match_in_every_format() {
    let service = TestService::shared().await;
    let [company, _] = companies(&service).await;
    let lists = [
        ("/affiliates", 200),
        ("/affiliates?status=active", 66),
        ("/affiliates?status=active&country=de&q=name", 66),
        ("/affiliates?country=us", 0),
        ("/urls", 250),
        ("/urls?incident_status_id=3", 42),
        ("/urls?disabled=yes&incident_status_id=1", 20),
        ("/urls?distributor_id=2", 50),
        ("/urls?distributor_id=2&disabled=no", 38),
        ("/urls?discovery_after=2024-01-10&discovery_before=2024-01-19", 25),
        ("/urls?discovery_after=2024-02-01&distributor_id=3&disabled=no", 27),
        ("/urls?discovery_before=2023-12-31", 0),
        ("/urls?infraction_after=2024-01-01", 84),
        ("/urls?infraction_before=2023-12-31&disabled=no", 0),
        ("/cases", 160),
        ("/cases?case_status_id=1000", 16),
        ("/cases?distributor_id=4&created_after=2024-01-01", 32),
        ("/cases?created_before=2024-01-10&case_status_id=3", 2),
        ("/cases?open=yes", 80),
        ("/cases?open=no&distributor_id=4", 18),
        ("/cases?assigned=no&risk_level_id=0&overdue=no&case_status_id=1000", 16),
        ("/cases?infraction_type_id=2", 0),
    ];
    for rest in [service.rest(company), service.rest_remote(company)] {
        for (path, count) in lists {
            let records = paged(&rest, path).await;
            assert_eq!(records.len(), count, "{path}");
            expect(&rest, path, &records).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn empty_lists_are_valid_csv_and_ndjson() {
    let service = TestService::shared().await;
    let rest = service.rest(new_company());
    for (path, names) in
        [("/affiliates", "id,client_id,"), ("/urls", "id,url,domain,"), ("/cases", "case_id,case_worker,")]
    {
        expect(&rest, path, &[]).await;
        let text = accepting(&rest, path, CSV).await.text;
        assert!(text.starts_with(names) && text.ends_with("\r\n") && text.lines().count() == 1, "{text}");
        assert_eq!(accepting(&rest, path, NDJSON).await.text, "");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn csv_formulas_are_escaped() {
    let service = TestService::shared().await;
    let company = new_company();
    let values = ["=1+1", "+49 30 1", "-5", "@SUM(A1)", "\t=1", "\r=1", "'=1", "plain", "a=b", "\"q\",;"];
    for (number, value) in (1_i64..).zip(values) {
        let add =
            "insert into affiliates (company_id, id, client_affiliate_id, affiliate_name) values ($1, $2, $3, $3)";
        sqlx::query(add).bind(company).bind(number).bind(value).execute(&service.pool).await.unwrap();
    }
    let (names, rows) = table(&accepting(&service.rest(company), "/affiliates", CSV).await.text);
    let name = names.iter().position(|name| name == "distributor_name").unwrap();
    let cells: Vec<&str> = rows.iter().map(|row| row[name].as_str()).collect();
    let expected = ["'=1+1", "'+49 30 1", "'-5", "'@SUM(A1)", "'\t=1", "'\r=1", "''=1", "plain", "a=b", "\"q\",;"];
    assert_eq!(cells, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn json_is_the_default_list_format() {
    let service = TestService::shared().await;
    let [company, _] = companies(&service).await;
    let rest = service.rest(company);
    for path in ["/affiliates", "/urls?per_page=3", "/cases?per_page=3"] {
        let expected = rest.get(path).await;
        for accept in
            ["*/*", "text/html", "application/json", "image/png", "text/csv;q=0", "application/xml;q=0.9, */*;q=0.8"]
        {
            let response = accepting(&rest, path, accept).await;
            assert_eq!(response.header("content-type"), Some("application/json"), "{accept}");
            assert!((response.status, &response.text) == (200, &expected.text), "{path} {accept}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whole_lists_reject_page_parameters() {
    let service = TestService::shared().await;
    let company = new_company();
    for rest in [service.rest(company), service.rest_remote(company)] {
        for path in ["/urls", "/cases"] {
            let response = accepting(&rest, &format!("{path}?page=1&per_page=10&distributor_id=0"), NDJSON).await;
            assert_eq!(response.status, 422, "{}", response.text);
            let errors = &response.json()["errors"];
            let expected = serde_json::json!({
                "distributor_id": ["The distributor id field must be between 1 and 9007199254740991."],
                "per_page": ["The per page field is only for pages: NDJSON and CSV return the whole list, sorted by ID."],
                "page": ["The page field is only for pages: NDJSON and CSV return the whole list, sorted by ID."],
            });
            assert_eq!(*errors, expected);
            assert_eq!(accepting(&rest, &format!("{path}?distributor_id=x"), CSV).await.paths(), ["distributor_id"]);
            assert_eq!(accepting(&rest, &format!("{path}?distributor_id=0"), CSV).await.paths(), ["distributor_id"]);
            accepting(&rest, &format!("{path}?page=&sort_by="), CSV).await;
        }
        assert_eq!(accepting(&rest, "/affiliates?sort_by=id&status=active", NDJSON).await.paths(), ["sort_by"]);
        assert_eq!(rest.get("/affiliates?status=active&changed_after=0").await.paths(), ["changed_after"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn grpc_lists_have_filters_and_resume_after_an_id() {
    let service = TestService::shared().await;
    let [company, _] = companies(&service).await;
    let mut grpc = service.grpc(company).await;
    let request = ListAffiliatesRequest { status: Some("active".to_owned()), ..Default::default() };
    let mut affiliates = grpc.affiliates.list_affiliates(request).await.unwrap().into_inner();
    let mut found = 0;
    while let Some(message) = affiliates.message().await.unwrap() {
        found += message.affiliates.len();
    }
    assert_eq!(found, 66);
    let request = ListAllComplianceUrlsRequest { after_id: Some(100), disabled: Some(true), ..Default::default() };
    let mut urls = grpc.urls.list_all_compliance_urls(request).await.unwrap().into_inner();
    let mut ids = Vec::new();
    while let Some(message) = urls.message().await.unwrap() {
        ids.extend(message.urls.iter().map(|url| url.id));
    }
    assert_eq!(ids, (104..=250).step_by(4).collect::<Vec<_>>());
    let request = ListAllComplianceCasesRequest { after_id: Some(158), ..Default::default() };
    let mut cases = grpc.cases.list_all_compliance_cases(request).await.unwrap().into_inner();
    let mut ids = Vec::new();
    while let Some(message) = cases.message().await.unwrap() {
        ids.extend(message.cases.iter().map(|case| case.case_id));
    }
    assert_eq!(ids, [159, 160]);
}

//! Change lists, audit searches and past records, over REST and gRPC.

use test_support::{RestClient, TestService, new_company, token_with_scope};

use super::{
    Case,
    affiliates::{list, named},
    expect::{affiliate_unknown, found, gone, invalid, invalid_one, position_gone, updated_one, url_unknown},
    run_table,
};

/// Creates records with SQL, because a REST request would record a random request ID.
const RECORDS: &str = "insert into affiliates (company_id, client_affiliate_id, affiliate_name, country, start_date)
    values (<company>, 'A', 'Ann', 840, '2024-02-29') returning id;
update affiliates set city = 'X', country = null where company_id = <company>;
insert into compliance_urls (company_id, url, url_hash, discovery_date, disabled)
    values (<company>, 'https://a.example/', 'a', '2024-05-06 07:08:09Z', true) returning id;
delete from compliance_urls where company_id = <company>";

/// Returns the changes made by [`RECORDS`], in JSON.
fn listed(numbers: &[usize]) -> String {
    let change = |number: &usize| {
        let (resource, id, operation, fields) = [
            (
                "affiliate",
                "<1>",
                "created",
                r#"[{"field":"affiliate_name","before":null,"after":"Ann"},{"field":"client_affiliate_id","before":null,"after":"A"},{"field":"country","before":null,"after":"840"},{"field":"etag","before":null,"after":"1"},{"field":"start_date","before":null,"after":"2024-02-29"}]"#,
            ),
            (
                "affiliate",
                "<1>",
                "updated",
                r#"[{"field":"city","before":null,"after":"X"},{"field":"country","before":"840","after":null},{"field":"etag","before":"1","after":"2"}]"#,
            ),
            (
                "url",
                "<2>",
                "created",
                r#"[{"field":"disabled","before":null,"after":"yes"},{"field":"discovery_date","before":null,"after":"2024-05-06 07:08:09"},{"field":"incident_status_id","before":null,"after":"1"},{"field":"etag","before":null,"after":"1"},{"field":"url","before":null,"after":"https://a.example/"}]"#,
            ),
            (
                "url",
                "<2>",
                "deleted",
                r#"[{"field":"disabled","before":"yes","after":null},{"field":"discovery_date","before":"2024-05-06 07:08:09","after":null},{"field":"incident_status_id","before":"1","after":null},{"field":"etag","before":"1","after":null},{"field":"url","before":"https://a.example/","after":null}]"#,
            ),
        ][number - 1];
        format!(
            r#"{{"position":{number},"time":"<now>","resource":"{resource}","id":{id},"operation":"{operation}","fields":{fields},"subject":null,"request_id":null}}"#
        )
    };
    numbers.iter().map(change).collect::<Vec<_>>().join(",")
}

fn page(numbers: &[usize], position: i64) -> String {
    let changes = listed(numbers);
    format!(r#"{{"changes":[{changes}],"position":{position},"last_position":4,"dropped_position":0}}"#)
}

fn searched(numbers: &[usize], next: &str) -> String {
    format!(r#"{{"changes":[{}],"next":{next},"dropped_position":0}}"#, listed(numbers))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_are_listed() {
    let none = r#"{"changes":[],"position":0,"last_position":0,"dropped_position":0}"#;
    let none = Case::new("list is empty without changes")
        .get("/changes", found("Changes found", none))
        .get("/changes?after=0", found("Changes found", none));
    let mut changes = Case::new("changes are listed").sql(RECORDS);
    for (query, numbers, position) in [
        ("limit=5", &[][..], 4),
        ("after=0", &[1, 2, 3, 4], 4),
        ("after=4", &[], 4),
        ("after=2", &[3, 4], 4),
        ("after=1&limit=2", &[2, 3], 3),
        ("after=0&types=url", &[3, 4], 4),
        ("after=0&types=url,affiliate&limit=1", &[1], 1),
        ("after=0&types=case,vocabulary_entry,incident,infraction", &[], 4),
    ] {
        changes = changes.get(&format!("/changes?{query}"), found("Changes found", &page(numbers, position)));
    }
    run_table(vec![none, changes]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_change_parameters_are_rejected() {
    let types = "It must be one of: affiliate, url, infraction, case, incident, vocabulary_entry.";
    let query = "/changes?after=-1&types=url,color&limit=1001";
    let expected = invalid(&[
        ("after", "The after field must be between 0 and 9007199254740991."),
        ("types.1", &format!("The selected types.1 is invalid. {types}")),
        ("limit", "The limit field must be between 1 and 1000."),
    ]);
    let text = [("after", "The after field must be an integer.")];
    run_table(vec![
        Case::new("all invalid parameters are reported").get(query, expected),
        Case::new("non-numeric position is rejected").get("/changes?after=x", invalid(&text)).only_rest(),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unavailable_positions_return_410() {
    let dropped = "delete from changes where company_id = <company> and position <= 2";
    run_table(vec![
        Case::new("position after the last change returns 410")
            .sql(RECORDS)
            .get("/changes?after=5", position_gone(5, 0, 4)),
        Case::new("position before the retained changes returns 410")
            .sql(RECORDS)
            .sql(dropped)
            .get("/changes?after=0", position_gone(0, 2, 4))
            .get("/changes?after=1&types=url", position_gone(1, 2, 4)),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn audit_searches_return_matching_changes() {
    let none =
        Case::new("search is empty without changes").get("/audit", found("Changes found", &searched(&[], "null")));
    let mut changes = Case::new("changes are found").sql(RECORDS);
    for (query, numbers, next) in [
        ("limit=5", &[4, 3, 2, 1][..], "null"),
        ("limit=2", &[4, 3], "3"),
        ("before=3&limit=2", &[2, 1], "1"),
        ("before=1", &[], "null"),
        ("resource=url", &[4, 3], "null"),
        ("resource=affiliate&id=<1>", &[2, 1], "null"),
        ("resource=affiliate&id=<1>&limit=1", &[2], "2"),
        ("resource=affiliate&id=<1>&before=2", &[1], "null"),
        ("resource=case&id=<1>", &[], "null"),
        ("subject=nobody", &[], "null"),
        ("request_id=none", &[], "null"),
        ("from=2020-01-01%2000:00:00&to=9999-12-31T23:59:59Z", &[4, 3, 2, 1], "null"),
        ("to=2020-01-01%2000:00:00", &[], "null"),
        ("from=9000-01-01%2000:00:00", &[], "null"),
        // Timestamps in common formats.
        ("from=2020-01-01T00:00:00.123Z&to=9999-12-31%2012:00:00.5Z", &[4, 3, 2, 1], "null"),
        ("from=2020-01-01T00:00:00-0800&to=9999-12-31T01:00:00.999999-08:00", &[4, 3, 2, 1], "null"),
    ] {
        changes = changes.get(&format!("/audit?{query}"), found("Changes found", &searched(numbers, next)));
    }
    run_table(vec![none, changes]).await;
}

/// Officers see who changed the cases and URLs that they work on, and no other changes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cases_scope_shows_changes_of_one_case_or_url() {
    let service = TestService::start().await;
    let company = new_company();
    service.rest(company).post("/urls", r#"{"urls":[{"url":"https://a.example/"}]}"#).await.with_status(201);
    let token = token_with_scope(company, Some("cases"), 3600);
    for address in [service.rest, service.rest_remote] {
        let rest = RestClient::new(address, Some(token.clone()));
        let changes = rest.get("/audit?resource=url&id=1").await.with_status(200);
        assert_eq!(changes["data"]["changes"][0]["operation"], "created");
        rest.get("/audit?resource=case&id=1").await.with_status(200);
        for other in
            ["", "?resource=url", "?resource=affiliate&id=1", "?resource=infraction&id=1", "?resource=webhook&id=1"]
        {
            let refused = rest.get(&format!("/audit{other}")).await.with_status(403);
            assert_eq!(refused["detail"]["msg"], "The operation needs a token with the scope audit.", "{other}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_audit_searches_are_rejected() {
    let resource = "The selected resource is invalid. It must be one of: affiliate, url, infraction, case, incident, vocabulary_entry, webhook.";
    run_table(vec![
        Case::new("all invalid search parameters are reported").get(
            "/audit?before=0&resource=color&id=0&from=2024-02-30%2000:00:00&to=2024-02-29&limit=0",
            invalid(&[
                ("before", "The before field must be between 1 and 9007199254740991."),
                ("resource", resource),
                ("id", "The id field must be between 1 and 9007199254740991."),
                ("from", "The from field must be an existing date and time."),
                ("to", "The to field must match the format YYYY-MM-DD HH:MM:SS."),
                ("limit", "The limit field must be between 1 and 1000."),
            ]),
        ),
        Case::new("ID requires a resource")
            .get("/audit?id=1", invalid_one("resource", "The resource field is required with id.")),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_of_returns_earlier_states() {
    // Spread the changes over several days, one per day.
    let days =
        "update changes set changed_at = (timestamp '2026-01-01 12:00:00' + make_interval(days => position::integer)) at time zone 'UTC'
        where company_id = <company>";
    let (format, future) =
        ("The as of field must match the format YYYY-MM-DD HH:MM:SS.", "The as of field must not be in the future.");
    run_table(vec![
        Case::new("as_of returns earlier states")
            .sql(RECORDS)
            .sql(days)
            .get("/affiliates/<1>?as_of=2026-01-02%2011:59:59", affiliate_unknown("<1>"))
            .get("/urls/<2>?as_of=2026-01-05T12:00:00Z", url_unknown())
            .get("/urls/<2>?as_of=2026-01-04%2011:59:59", url_unknown())
            .get("/affiliates/<1>?as_of=2026-01-02T13:30:00.5+02:00", affiliate_unknown("<1>"))
            .get("/urls/<2>?as_of=2026-01-05%2010:00:00.999999-0200", url_unknown())
            .get("/affiliates/<1>?as_of=2024-02-29", invalid_one("as_of", format))
            .get("/affiliates/<1>?as_of=2024-02-29T00:00:00", invalid_one("as_of", format))
            .get("/affiliates/<1>?as_of=0001-01-01T00:00:00+00:01", invalid_one("as_of", format))
            .get("/affiliates/<1>?as_of=9000-01-01%2000:00:00", invalid_one("as_of", future))
            .get("/cases/1?as_of=9000-01-01%2000:00:00", invalid_one("as_of", future)),
        Case::new("as_of before the retained changes returns 410")
            .sql(RECORDS)
            .sql(days)
            .sql("delete from changes where company_id = <company> and position <= 1")
            .get("/affiliates/<1>?as_of=2026-01-03%2011:59:59", gone())
            .get("/urls/<2>?as_of=2026-01-01%2000:00:00", gone()),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changed_after_lists_changed_affiliates() {
    let none = || found("Affiliates found", "[]");
    let between = "The changed after field must be between 0 and 9007199254740991.";
    run_table(vec![
        Case::new("changed_after lists only changed affiliates")
            .given_affiliate("A", "Ann")
            .given_affiliate("B", "Bob")
            .get("/affiliates?changed_after=1", list(&[named("<2>", "B", "Bob")]))
            .get("/affiliates?changed_after=2", none())
            .put("/affiliates/<1>", r#"{"id":<1>,"affiliate_name":"Al"}"#, updated_one("<1>"))
            .get("/affiliates?changed_after=2", list(&[named("<1>", "A", "Al")]))
            .get("/affiliates?changed_after=3", none())
            .get("/affiliates?changed_after=4", position_gone(4, 0, 3))
            .get("/affiliates?changed_after=-1", invalid_one("changed_after", between)),
        Case::new("changed_after before the retained changes returns 410")
            .sql(RECORDS)
            .sql("delete from changes where company_id = <company> and position <= 2")
            .get("/affiliates?changed_after=1", position_gone(1, 2, 4))
            .get("/affiliates?changed_after=2", none()),
    ])
    .await;
}

//! The record of changes, as callers of either layer read it.

use test_support::tests;

use super::{
    Case,
    expect::{found, invalid, position_gone},
    run_table,
};

tests![changes, wrong_parameters, positions_that_are_gone];

/// Records by SQL: a request over REST has an ID that is drawn at random.
const RECORDS: &str = "insert into affiliates (company_id, client_affiliate_id, affiliate_name, country, start_date)
    values (<company>, 'A', 'Ann', 840, '2024-02-29') returning id;
update affiliates set city = 'X', country = null where company_id = <company>;
insert into compliance_urls (company_id, url, url_hash, discovery_date, disabled)
    values (<company>, 'https://a.example/', 'a', '2024-05-06 07:08:09Z', true) returning id;
delete from compliance_urls where company_id = <company>";

/// Changes of a company with [`RECORDS`].
fn page(numbers: &[usize], position: i64) -> String {
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
                r#"[{"field":"disabled","before":null,"after":"yes"},{"field":"discovery_date","before":null,"after":"2024-05-06 07:08:09"},{"field":"incident_status_id","before":null,"after":"1"},{"field":"url","before":null,"after":"https://a.example/"}]"#,
            ),
            (
                "url",
                "<2>",
                "deleted",
                r#"[{"field":"disabled","before":"yes","after":null},{"field":"discovery_date","before":"2024-05-06 07:08:09","after":null},{"field":"incident_status_id","before":"1","after":null},{"field":"url","before":"https://a.example/","after":null}]"#,
            ),
        ][number - 1];
        format!(
            r#"{{"position":{number},"time":"<now>","resource":"{resource}","id":{id},"operation":"{operation}","fields":{fields},"subject":null,"request_id":null}}"#
        )
    };
    let changes: Vec<String> = numbers.iter().map(change).collect();
    format!(r#"{{"changes":[{}],"position":{position},"last_position":4,"dropped_position":0}}"#, changes.join(","))
}

async fn changes() {
    let none = r#"{"changes":[],"position":0,"last_position":0,"dropped_position":0}"#;
    let mut all = vec![
        Case::new("no changes")
            .get("/changes", found("Changes found", none))
            .get("/changes?after=0", found("Changes found", none)),
    ];
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
        let case = Case::new(format!("changes?{query}")).sql(RECORDS);
        all.push(case.get(&format!("/changes?{query}"), found("Changes found", &page(numbers, position))));
    }
    run_table(all).await;
}

async fn wrong_parameters() {
    let types = "It must be one of: affiliate, url, infraction, case, incident, vocabulary_entry.";
    let query = "/changes?after=-1&types=url,color&limit=1001";
    let expected = invalid(&[
        ("after", "The after field must be between 0 and 9007199254740991."),
        ("types.1", &format!("The selected types.1 is invalid. {types}")),
        ("limit", "The limit field must be between 1 and 1000."),
    ]);
    let text = [("after", "The after field must be an integer.")];
    run_table(vec![
        Case::new("wrong parameters").get(query, expected),
        Case::new("a position that is no number").get("/changes?after=x", invalid(&text)).only_rest(),
    ])
    .await;
}

async fn positions_that_are_gone() {
    let dropped = "delete from changes where company_id = <company> and position <= 2";
    run_table(vec![
        Case::new("a position above the last one").sql(RECORDS).get("/changes?after=5", position_gone(5, 0, 4)),
        Case::new("a position that is no longer kept")
            .sql(RECORDS)
            .sql(dropped)
            .get("/changes?after=0", position_gone(0, 2, 4))
            .get("/changes?after=1&types=url", position_gone(1, 2, 4)),
    ])
    .await;
}

//! `GET /urls`, filtered by infractions and cases.

use super::{
    Case,
    expect::{page, text},
    records, run_table,
};

/// Infraction dates of URLs `<1>` to `<4>`. The URLs were discovered on 1 to 4 February.
const INFRACTIONS: [&[&str]; 4] =
    [&["2024-03-01 00:00:00"], &["2024-03-01 23:59:59", "2024-03-05 12:00:00"], &[], &["2024-03-04 00:00:00"]];

fn given() -> Case {
    let mut case = Case::new("lists of URLs with infractions");
    for (id, recorded) in (1..).zip(INFRACTIONS) {
        case = case.sql(&format!(
            "insert into compliance_urls (company_id, url, url_hash, discovery_date, disabled)
            values (<company>, 'u{id}', '{id}', '2024-02-0{id}', {}) returning id",
            id == 4
        ));
        assert!(recorded.len() < 3, "`url` names only the infraction types 1 and 2");
    }
    for (id, recorded) in (1..).zip(INFRACTIONS) {
        for (infraction, date) in (1..).zip(recorded) {
            case = case.sql(&format!(
                "insert into infractions (company_id, url_id, infraction_type_id, created_date)
                values (<company>, <{id}>, {infraction}, '{date}Z')"
            ));
        }
    }
    // URL `<2>` is in a case.
    case.sql("insert into affiliates (company_id, id, client_affiliate_id, affiliate_name) values (<company>, 900, 'C', 'N')")
        .sql("insert into compliance_cases (company_id, id, affiliate_id) values (<company>, 900, 900)")
        .sql("insert into incidents (company_id, case_id, incident_type, url_id) values (<company>, 900, 1, <2>)")
}

/// Returns a URL as it appears in a response. `number` starts at 1.
fn url(number: usize) -> String {
    let infractions = ["Earnings Claim", "Health Claim"].into_iter().zip(INFRACTIONS[number - 1]);
    let infractions = infractions.map(|(infraction, date)| {
        format!(r#"{{"infraction_type":"{infraction}","infraction_name":null,"created_date":"{date}"}}"#)
    });
    records::url(&[
        ("id", format!("<{number}>")),
        ("url", text(&format!("u{number}"))),
        ("disabled", text(if number == 4 { "yes" } else { "no" })),
        ("discovery_date", text(&format!("2024-02-0{number} 00:00:00"))),
        ("case_id", if number == 2 { "900" } else { "null" }.into()),
        ("infractions", format!("[{}]", infractions.collect::<Vec<_>>().join(","))),
    ])
}

/// Queries and the numbers of the URLs they find.
const FOUND: &[(&str, &[usize])] = &[
    ("infraction_after=2024-03-01", &[4, 2, 1]),
    ("infraction_after=2024-03-02", &[4, 2]),
    ("infraction_after=2024-03-06", &[]),
    ("infraction_before=2024-02-29", &[]),
    ("infraction_before=2024-03-01", &[2, 1]),
    // No infraction is in this range. One infraction before it and one after it do not match.
    ("infraction_after=2024-03-02&infraction_before=2024-03-03", &[]),
    ("infraction_after=2024-03-04&infraction_before=2024-03-04", &[4]),
    ("infraction_after=2024-03-01&disabled=no", &[2, 1]),
    ("infraction_after=2024-03-01&discovery_after=2024-02-02&discovery_before=2024-02-03", &[2]),
    ("infraction_after=2024-03-01&sort_by=discovery_dt&sort_dir=asc", &[1, 2, 4]),
    ("infraction_after=2024-03-01&sort_by=last_seen&sort_dir=asc", &[1, 2, 4]),
    ("infraction_after=2024-03-01&sort_by=last_review_dt", &[4, 2, 1]),
    ("infraction_after=&infraction_before=", &[4, 3, 2, 1]),
    ("infraction_type_id=1", &[4, 2, 1]),
    ("infraction_type_id=2", &[2]),
    // One infraction meets all conditions.
    ("infraction_type_id=2&infraction_before=2024-03-01", &[]),
    ("infraction_type_id=3", &[]),
    ("infraction_type_id=9007199254740991", &[]),
    ("has_case=yes", &[2]),
    ("has_case=no", &[4, 3, 1]),
    ("has_case=no&infraction_type_id=1&disabled=no", &[1]),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn urls_are_filtered_by_infractions_and_cases() {
    let mut lists = given();
    for (query, numbers) in FOUND {
        let records: Vec<String> = numbers.iter().map(|number| url(*number)).collect();
        lists = lists.get(&format!("/urls?{query}"), page("URLs found", &records, records.len() as u32, 100, 1, 1));
    }
    let paged = page("URLs found", &[url(1)], 3, 2, 2, 2);
    run_table(vec![lists.get("/urls?infraction_after=2024-03-01&per_page=2&page=2", paged)]).await;
}

//! Reads URLs and cases, with data in every field and in required fields only.

use serde_json::json;

use super::{
    Case,
    expect::{case_unknown, found, page, text, updated_one, url_unknown},
    records, run_table,
};

/// Returns a statement that adds a custom vocabulary name.
fn own_name(vocabulary: i32, id: i32, name: &str, parent: &str) -> String {
    format!(
        "insert into vocabulary_entries (company_id, vocabulary, id, name, parent_id)
        values (<company>, {vocabulary}, {id}, '{name}', {parent})"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn urls_are_read_by_id() {
    let full = records::url(&[
        ("id", "<2>".into()),
        ("url", r#""https://example.org/x""#.into()),
        ("domain", r#""example.org""#.into()),
        ("incident_status", r#""Remediated""#.into()),
        ("disabled", r#""yes""#.into()),
        ("false_positive", r#""no""#.into()),
        ("country", r#""Germany""#.into()),
        ("discovery_date", r#""2023-12-31 23:59:59""#.into()),
        ("last_review_date", r#""2024-01-01 00:00:00""#.into()),
        ("last_crawl_date", r#""2024-02-29 12:30:01""#.into()),
        ("last_seen", r#""2024-03-01 01:02:03""#.into()),
        ("affiliate_name", r#""Ann""#.into()),
        ("affiliate_id", r#""C-1""#.into()),
        ("sub_affiliate_id", r#""S-1""#.into()),
        ("owner_email", r#""o@example.org""#.into()),
        ("social_one", r#""s1""#.into()),
        ("social_two", r#""s2""#.into()),
        ("social_three", r#""s3""#.into()),
        ("phone_one", r#""p1""#.into()),
        ("phone_two", r#""p2""#.into()),
        ("landing_page", r#""https://example.org/land""#.into()),
        ("case_id", "<3>".into()),
        ("note", r#""n \"q\"""#.into()),
        ("video_path", r#""/v""#.into()),
        ("transcription_text", r#""t\n""#.into()),
        ("transcription_status", r#""Completed""#.into()),
        (
            "infractions",
            concat!(
                r#"[{"infraction_type":"Health Claim","infraction_name":"weight loss","created_date":"2024-01-02 03:04:05"},"#,
                r#"{"infraction_type":"Trademark","infraction_name":null,"created_date":"2023-01-02 03:04:05"},"#,
                r#"{"infraction_type":null,"infraction_name":null,"created_date":"2024-01-01 00:00:00"},"#,
                r#"{"infraction_type":"Own Type","infraction_name":"own name","created_date":"2024-01-01 00:00:00"}]"#
            )
            .into(),
        ),
    ]);
    let given = || {
        Case::new("every URL field is returned")
            .given_affiliate("C-1", "Ann")
            .sql(
                "insert into compliance_urls (company_id, url, url_hash, domain, incident_status_id, disabled,
                    false_positive, country, discovery_date, last_review_date, last_crawl_date, last_seen, affiliate_id,
                    sub_affiliate_id, owner_email, social_one, social_two, social_three, phone_one, phone_two,
                    landing_page, note, video_path, transcription_text, transcription_status_id)
                values (<company>, 'https://example.org/x', '1', 'example.org', 5, true, false, 276,
                    '2023-12-31 23:59:59Z', '2024-01-01Z', '2024-02-29 14:30:01+02', '2024-03-01 01:02:03.9Z', <1>,
                    'S-1', 'o@example.org', 's1', 's2', 's3', 'p1', 'p2', 'https://example.org/land', 'n \"q\"', '/v',
                    E't\\n', 3) returning id",
            )
            .sql("insert into compliance_cases (company_id, affiliate_id) values (<company>, <1>) returning id")
            .sql("update compliance_urls set case_id = <3> where company_id = <company> and id = <2>")
            .sql(&own_name(7, 1000, "Own Type", "null"))
            .sql(&own_name(8, 1000, "own name", "1000"))
            .sql(
                "insert into infractions (company_id, url_id, infraction_type_id, infraction_name_id, created_date) values
                (<company>, <2>, 2, 8, '2024-01-02 03:04:05Z'), (<company>, <2>, 4, null, '2023-01-02 03:04:05Z'),
                (<company>, <2>, null, null, '2024-01-01Z'), (<company>, <2>, 1000, 1000, '2024-01-01Z')",
            )
    };
    run_table(vec![
        given()
            .get("/urls/<2>", found("URL found.", &full))
            .get("/urls", page("URLs found", std::slice::from_ref(&full), 1, 100, 1, 1)),
        Case::new("absent URL fields are null")
            .sql("insert into compliance_urls (company_id, url, url_hash, discovery_date) values (<company>, 'x', '1', '2024-01-01Z') returning id")
            .get("/urls/<1>", found("URL found.", &records::url(&[
                ("id", "<1>".into()), ("url", r#""x""#.into()), ("discovery_date", r#""2024-01-01 00:00:00""#.into()),
            ]))),
        Case::new("URL shows `false_positive` and custom statuses")
            .sql(&own_name(5, 1003, "Under Appeal", "null"))
            .sql(&own_name(6, 1000, "Human", "null"))
            .sql("insert into compliance_urls (company_id, url, url_hash, discovery_date, false_positive, incident_status_id, transcription_status_id)
                values (<company>, 'x', '1', '2024-01-01Z', true, 1003, 1000) returning id")
            .get("/urls/<1>", found("URL found.", &records::url(&[
                ("id", "<1>".into()), ("url", r#""x""#.into()), ("discovery_date", r#""2024-01-01 00:00:00""#.into()),
                ("false_positive", r#""yes""#.into()), ("incident_status", r#""Under Appeal""#.into()), ("transcription_status", r#""Human""#.into()),
            ]))),
        Case::new("unknown URL returns 404").get("/urls/9007199254740991", url_unknown()),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cases_are_read_by_id() {
    let affiliate = json!({
        "client_affiliate_id": "C-1", "affiliate_name": "Ann", "merchant_type": "mt", "first_name": "A", "last_name": "B",
        "status": "inactive", "ranking": "r", "start_date": "01/31/2020", "language_used": "de", "territory": "te",
        "notes": "no", "email_one": "1@example.org", "email_two": "2@example.org", "phone_one": "p1", "phone_two": "p2",
        "address": "ad", "city": "ci", "state": "st", "zip": "zi", "country": "FR", "facebook": "fb", "youtube": "yt",
        "twitter": "tw", "tiktok": "tt", "pintrest": "pi", "replicated_website": "https://example.org/ann",
        "sponsor": "Sponsor's Name", "sponsor_id": "S-9", "upline": "C-0", "instagram": "never shown",
    });
    let shown = |name: &str| -> Vec<(&'static str, String)> {
        vec![
            ("case_id", "<3>".into()),
            ("case_worker", r#""w""#.into()),
            ("tags", r#"["b","a","b"]"#.into()),
            ("case_status", r#""Closed""#.into()),
            ("sub_status", r#""Content Removed""#.into()),
            ("submitter", r#""s""#.into()),
            ("notice_status", r#""Reminder Sent""#.into()),
            ("risk_level", r#""Critical""#.into()),
            ("case_country", r#""Mexico""#.into()),
            ("sub_affiliate_id", r#""sub""#.into()),
            ("created_date", r#""2024-01-01 00:00:01""#.into()),
            ("reviewed_date", r#""2024-01-02 00:00:00""#.into()),
            ("resolved_date", r#""2024-01-03 00:00:00""#.into()),
            ("first_action_date", r#""2024-01-04 00:00:00""#.into()),
            ("flagged_date", r#""2024-01-05 00:00:00""#.into()),
            ("follow_up_date", r#""2024-01-06 00:00:00""#.into()),
            ("closed_date", r#""2024-01-07 00:00:00""#.into()),
            ("affiliate_name", text(name)),
            ("affiliate_id", r#""C-1""#.into()),
            ("merchant_type", r#""mt""#.into()),
            ("first_name", r#""A""#.into()),
            ("last_name", r#""B""#.into()),
            ("status", r#""inactive""#.into()),
            ("ranking", r#""r""#.into()),
            ("start_date", r#""2020-01-31""#.into()),
            ("language_used", r#""de""#.into()),
            ("territory", r#""te""#.into()),
            ("notes", r#""no""#.into()),
            ("email_one", r#""1@example.org""#.into()),
            ("email_two", r#""2@example.org""#.into()),
            ("phone_one", r#""p1""#.into()),
            ("phone_two", r#""p2""#.into()),
            ("address", r#""ad""#.into()),
            ("city", r#""ci""#.into()),
            ("state", r#""st""#.into()),
            ("zip", r#""zi""#.into()),
            ("affiliate_country", r#""France""#.into()),
            ("facebook", r#""fb""#.into()),
            ("youtube", r#""yt""#.into()),
            ("twitter", r#""tw""#.into()),
            ("tiktok", r#""tt""#.into()),
            ("pintrest", r#""pi""#.into()),
            ("replicated_website", r#""https://example.org/ann""#.into()),
            ("sponsor", r#""S-9""#.into()),
            ("upline", r#""C-0""#.into()),
            ("upline_name", r#""Top""#.into()),
            ("last_updated_date", r#""2024-01-08 00:00:00""#.into()),
            (
                "incidents",
                concat!(
                    r#"[{"incident_id":<5>,"incident_type":"form","infraction_type":"Health Claim","infraction_name":"mental health","url_id":null,"url":null,"reference":"f"},"#,
                    r#"{"incident_id":<6>,"incident_type":"url","infraction_type":null,"infraction_name":null,"url_id":<4>,"url":"x","reference":null},"#,
                    r#"{"incident_id":<7>,"incident_type":"paid search ad","infraction_type":"Trademark","infraction_name":"brand bidding","url_id":null,"url":null,"reference":"p"},"#,
                    r#"{"incident_id":<8>,"incident_type":"display ad","infraction_type":"Own","infraction_name":null,"url_id":null,"url":null,"reference":"d"}]"#
                )
                .into(),
            ),
            ("distributor_id", "<2>".into()),
            ("note", r#""the note""#.into()),
        ]
    };
    let full = || records::case(&shown("Ann"));
    let given = |name: &str| {
        Case::new(name)
            .given_affiliate("C-0", "Top")
            .post("/affiliates", &affiliate, super::expect::created_one("C-1"))
            .sql(
                "insert into compliance_cases (company_id, affiliate_id, case_worker, tags, case_status_id, sub_status_id,
                    submitter, notice_status_id, risk_level_id, case_country, sub_affiliate_id, created_date,
                    reviewed_date, resolved_date, first_action_date, flagged_date, follow_up_date, closed_date,
                    last_updated_date, note)
                values (<company>, <2>, 'w', '{b,a,b}', 6, 5, 's', 4, 4, 484, 'sub', '2024-01-01 00:00:01Z',
                    '2024-01-02Z', '2024-01-03Z', '2024-01-04Z', '2024-01-05Z', '2024-01-06Z', '2024-01-07Z',
                    '2024-01-08Z', 'the note') returning id",
            )
            .sql("insert into compliance_urls (company_id, url, url_hash) values (<company>, 'x', '1') returning id")
            .sql(&own_name(7, 1000, "Own", "null"))
            .sql(
                "insert into incidents (company_id, case_id, incident_type, url_id, reference, infraction_type_id, infraction_name_id) values
                (<company>, <3>, 2, null, 'f', 2, 7), (<company>, <3>, 1, <4>, null, null, null),
                (<company>, <3>, 4, null, 'p', 4, 11), (<company>, <3>, 3, null, 'd', 1000, null) returning id",
            )
    };
    run_table(vec![
        given("every case field is returned")
            .get("/cases/<3>", found("Case found.", &full()))
            .get("/cases", page("Cases found", &[full()], 1, 100, 1, 1))
            .get("/cases?url_id=<4>", page("Cases found", &[full()], 1, 100, 1, 1))
            .get("/cases?url_id=9007199254740991", page("Cases found", &[], 0, 100, 1, 1))
            .get("/cases?tag=a&open=no", page("Cases found", &[full()], 1, 100, 1, 1))
            .get("/cases?tag=A", page("Cases found", &[], 0, 100, 1, 1))
            .get("/cases?tag=", page("Cases found", &[full()], 1, 100, 1, 1)),
        given("case shows the affiliate's current data")
            .put("/affiliates/<2>", r#"{"id":<2>,"affiliate_name":"Anna"}"#, updated_one("<2>"))
            .get("/cases/<3>", found("Case found.", &records::case(&shown("Anna")))),
        Case::new("absent case fields are null")
            .given_affiliate("C-1", "Ann")
            .sql("insert into compliance_cases (company_id, affiliate_id, created_date) values (<company>, <1>, '2024-01-01Z') returning id")
            .get("/cases/<2>", found("Case found.", &records::case(&[
                ("case_id", "<2>".into()), ("created_date", r#""2024-01-01 00:00:00""#.into()),
                ("affiliate_name", r#""Ann""#.into()), ("affiliate_id", r#""C-1""#.into()),
            ]))),
        Case::new("unknown upline has no name")
            .post("/affiliates", json!({"client_affiliate_id": "C-1", "affiliate_name": "Ann", "upline": "C-7"}), super::expect::created_one("C-1"))
            .sql("insert into compliance_cases (company_id, affiliate_id, created_date) values (<company>, <1>, '2024-01-01Z') returning id")
            .get("/cases/<2>", found("Case found.", &records::case(&[
                ("case_id", "<2>".into()), ("created_date", r#""2024-01-01 00:00:00""#.into()),
                ("affiliate_name", r#""Ann""#.into()), ("affiliate_id", r#""C-1""#.into()), ("upline", r#""C-7""#.into()),
            ]))),
        Case::new("case shows custom vocabulary names")
            .given_affiliate("C-1", "Ann")
            .sql(&own_name(1, 1001, "S", "null"))
            .sql(&own_name(2, 1002, "SS", "null"))
            .sql(&own_name(3, 1003, "N", "null"))
            .sql(&own_name(4, 1004, "R", "null"))
            .sql("insert into compliance_cases (company_id, affiliate_id, created_date, case_status_id, sub_status_id, notice_status_id, risk_level_id)
                values (<company>, <1>, '2024-01-01Z', 1001, 1002, 1003, 1004) returning id")
            .get("/cases/<2>", found("Case found.", &records::case(&[
                ("case_id", "<2>".into()), ("created_date", r#""2024-01-01 00:00:00""#.into()),
                ("affiliate_name", r#""Ann""#.into()), ("affiliate_id", r#""C-1""#.into()),
                ("case_status", r#""S""#.into()), ("sub_status", r#""SS""#.into()), ("notice_status", r#""N""#.into()), ("risk_level", r#""R""#.into()),
            ]))),
        Case::new("unknown case returns 404").get("/cases/9007199254740991", case_unknown()),
    ])
    .await;
}

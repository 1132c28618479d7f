//! Case work: opens, updates and closes cases, and reviews URLs.

use serde_json::json;
use tonic::Code;

use super::{
    Case, Expect,
    expect::{case_unknown, found, invalid, mixed, no_known_field, ok, refused, url_unknown},
    records, run_table,
};

fn saved(http: u16, id: &str, msg: &str) -> Expect {
    let body = format!(r#"{{"code":"1020","status":"ok","detail":{{"case_id":{id},"msg":"{msg}"}}}}"#);
    Expect { http, ..ok(body) }
}

/// Adds record IDs or field names to an error.
fn named(error: Expect, names: &str) -> Expect {
    Expect { body: error.body.replacen(r#""msg""#, &format!(r#"{names},"msg""#), 1), ..error }
}

fn item(code: &str, status: &str, id: &str, msg: &str) -> String {
    format!(r#"{{"code":"{code}","status":"{status}","detail":{{{id}"msg":"{msg}"}}}}"#)
}

/// Adds an affiliate `<1>`, a URL `<2>` and the affiliate's case `<3>`.
fn given(name: &str) -> Case {
    let added = r#"[{"code":"1020","status":"ok","detail":{"url_id":<number>,"msg":"URL added successfully."}}]"#;
    let added = Expect { http: 201, ..ok(added) };
    Case::new(name)
        .given_affiliate("A-1", "Ann")
        // SQL reads the next IDs. IDs in different tables can be equal, and `<id>` matches only new IDs.
        .post("/urls", r#"{"urls":[{"url":"https://example.org/"}]}"#, added)
        .sql("select id from compliance_urls where company_id = <company>")
        .post(
            "/cases",
            r#"{"request_id":"R-1","case":{"client_affiliate_id":"A-1"}}"#,
            saved(201, "<number>", "Case opened."),
        )
        .sql("select id from compliance_cases where company_id = <company>")
}

fn case(values: &[(&str, &str)]) -> Expect {
    let now = || r#""<now>""#.to_owned();
    let usual = [
        ("case_id", "<3>".to_owned()),
        ("case_status", r#""New""#.to_owned()),
        ("created_date", now()),
        ("last_updated_date", now()),
        ("affiliate_name", r#""Ann""#.to_owned()),
        ("affiliate_id", r#""A-1""#.to_owned()),
    ];
    let values = values.iter().map(|(name, value)| (*name, (*value).to_owned()));
    found("Case found.", &records::case(&values.chain(usual).collect::<Vec<_>>()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cases_are_opened_updated_and_closed() {
    let all = r#"{"case_worker":"Bea","tags":["b","a"],"case_status":"In Progress","sub_status":"Escalated","submitter":"Cy",
        "notice_status":"Sent","risk_level":"High","case_country":"de","sub_affiliate_id":"S-1","follow_up_date":"2027-01-02 03:04:05",
        "note":"Call her."}"#;
    let changed: &[(&str, &str)] = &[
        ("case_worker", r#""Bea""#),
        ("tags", r#"["b","a"]"#),
        ("case_status", r#""In Progress""#),
        ("sub_status", r#""Escalated""#),
        ("submitter", r#""Cy""#),
        ("notice_status", r#""Sent""#),
        ("risk_level", r#""High""#),
        ("case_country", r#""Germany""#),
        ("sub_affiliate_id", r#""S-1""#),
        ("reviewed_date", r#""<now>""#),
        ("first_action_date", r#""<now>""#),
        ("flagged_date", r#""<now>""#),
        ("follow_up_date", r#""2027-01-02 03:04:05""#),
        ("note", r#""Call her.""#),
    ];
    let cleared: Vec<(&str, &str)> = changed
        .iter()
        .map(|(name, value)| match *name {
            "case_worker" | "sub_status" | "follow_up_date" | "note" => (*name, "null"),
            "tags" => (*name, "[]"),
            _ => (*name, *value),
        })
        .collect();
    let with = |status: &'static str, dates: &[(&'static str, &'static str)]| {
        case(
            &[
                &[("case_status", status)],
                dates,
                &[("first_action_date", r#""<now>""#), ("reviewed_date", r#""<now>""#)],
            ]
            .concat(),
        )
    };
    let follow_up = |text: &str| format!(r#"{{"follow_up_date":"{text}"}}"#);
    let mut times = given("common timestamp formats are accepted")
        .patch("/cases/<3>", follow_up("2027-01-02 03:04:05"), saved(200, "<3>", "Case updated."))
        .get("/cases/<3>", case(&[("follow_up_date", r#""2027-01-02 03:04:05""#)]));
    for same in [
        "2027-01-02T03:04:05Z",
        "2027-01-02T03:04:05.000Z",
        "2027-01-02 03:04:05.123456",
        "2027-01-02T05:04:05.123456+02:00",
        "2027-01-01 22:04:05-0500",
    ] {
        times = times.patch("/cases/<3>", follow_up(same), saved(200, "<3>", "The case already has these values."));
    }
    let violation = "The follow up date field must match the format YYYY-MM-DD HH:MM:SS.";
    for wrong in ["2027-01-02T03:04:05", "2027-01-02", "2027-01-02 03:04", "2027-01-02T03:04:05 +02:00"] {
        times = times.patch("/cases/<3>", follow_up(wrong), invalid(&[("follow_up_date", violation)])).only_rest();
    }
    run_table(vec![
        times,
        given("repeated request opens no second case").get("/cases/<3>", case(&[])).post(
            "/cases",
            r#"{"request_id":"R-1","case":{"client_affiliate_id":"A-1"}}"#,
            saved(200, "<3>", "The case was already opened."),
        ),
        given("unknown fields change nothing")
            .patch("/cases/<3>", r#"{"colour":"red"}"#, no_known_field(saved(200, "<3>", "")))
            .only_rest()
            .patch("/cases/<3>", "{}", no_known_field(saved(200, "<3>", "")))
            .get("/cases/<3>", case(&[])),
        given("case fields are changed and cleared")
            .patch("/cases/<3>", all, saved(200, "<3>", "Case updated."))
            .get("/cases/<3>", case(changed))
            .patch("/cases/<3>", all, saved(200, "<3>", "The case already has these values."))
            .patch(
                "/cases/<3>",
                r#"{"case_worker":null,"tags":[],"sub_status":"","follow_up_date":null,"note":""}"#,
                saved(200, "<3>", "Case updated."),
            )
            .get("/cases/<3>", case(&cleared)),
        given("case is resolved, closed and reopened")
            .call("POST", "/cases/<3>/resolve", None, saved(200, "<3>", "Case resolved."))
            .post("/cases/<3>/resolve", "{}", saved(200, "<3>", "The case was already resolved."))
            .get("/cases/<3>", with(r#""Resolved""#, &[("resolved_date", r#""<now>""#)]))
            .post(
                "/cases/<3>/close",
                r#"{"case_status":"Rejected","closed_date":"2026-01-02 03:04:05"}"#,
                saved(200, "<3>", "Case closed."),
            )
            .get(
                "/cases/<3>",
                with(r#""Rejected""#, &[("resolved_date", r#""<now>""#), ("closed_date", r#""2026-01-02 03:04:05""#)]),
            )
            .call("POST", "/cases/<3>/reopen", None, saved(200, "<3>", "Case reopened."))
            .post("/cases/<3>/reopen", r#"{"case_status":"Blocked"}"#, saved(200, "<3>", "The case was already open."))
            .get("/cases/<3>", with(r#""Open""#, &[])),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn incidents_are_attached_and_detached() {
    let attached = |id: &str| item("1020", "ok", &format!(r#""incident_id":{id},"#), "Incident attached.");
    let both = format!("[{},{}]", attached("<number>"), attached("<number>"));
    let unknown = item("1025", "error", "", "URL not found.");
    let invalid = item("1021", "error", "", "The reference field is required.");
    let detached = item("1020", "ok", r#""incident_id":<4>,"#, "Incident detached.");
    let known = item("1020", "ok", r#""incident_id":<5>,"#, "The incident was already attached.");
    let incidents = concat!(
        r#"[{"incident_id":<5>,"incident_type":"display ad","infraction_type":"Trademark","infraction_name":null,"#,
        r#""url_id":null,"url":null,"reference":"ad 7"}]"#
    );
    run_table(vec![
        given("incidents are attached and detached")
            .post(
                "/cases/<3>/incidents",
                r#"{"incidents":[{"incident_type":"url","url_id":<2>},{"incident_type":"display ad","reference":"ad 7","infraction_type":"Trademark"}]}"#,
                ok(&*both),
            )
            .sql("select id from incidents where company_id = <company> order by id")
            .post(
                "/cases/<3>/incidents",
                r#"{"incidents":[{"incident_type":"url","url":"https://other.example/"},{"incident_type":"form"},{"incident_type":"display ad","reference":"ad 7","infraction_type":"Trademark"}]}"#,
                mixed(&[unknown, invalid, known]),
            )
            .post("/cases/<3>/incidents:detach", r#"{"incidents":[{"incident_id":<4>}]}"#, ok(format!("[{detached}]")))
            .get("/cases/<3>", case(&[("incidents", incidents), ("first_action_date", r#""<now>""#)])),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reviews_update_urls() {
    let reviewed = || ok(r#"{"code":"1020","status":"ok","detail":{"url_id":<2>,"msg":"URL reviewed."}}"#);
    let url = |values: &[(&str, &str)]| {
        let usual = [
            ("id", "<2>"),
            ("url", r#""https://example.org/""#),
            ("domain", r#""example.org""#),
            ("incident_status", r#""New""#),
            ("discovery_date", r#""<now>""#),
            ("last_review_date", r#""<now>""#),
        ];
        let values = values.iter().chain(&usual).map(|(name, value)| (*name, (*value).to_owned()));
        found("URL found.", &records::url(&values.collect::<Vec<_>>()))
    };
    let infraction = |kind: &str, name: &str, date: &str| {
        format!(r#"{{"infraction_type":"{kind}","infraction_name":{name},"created_date":"{date}"}}"#)
    };
    let one = format!("[{}]", infraction("Health Claim", r#""weight loss""#, "2026-01-02 03:04:05"));
    let two = format!(
        "[{},{}]",
        infraction("Health Claim", r#""weight loss""#, "2026-01-02 03:04:05"),
        infraction("Trademark", "null", "<now>")
    );
    let trademark = format!("[{}]", infraction("Trademark", "null", "<now>"));
    let verdict = r#"{"incident_status":"In Violation","false_positive":"no","disabled":true,"note":"Seen.",
        "infractions":[{"infraction_type":"Health Claim","infraction_name":"weight loss","created_date":"2026-01-02 03:04:05"}]}"#;
    let written: &[(&str, &str)] = &[
        ("incident_status", r#""In Violation""#),
        ("false_positive", r#""no""#),
        ("disabled", r#""yes""#),
        ("note", r#""Seen.""#),
        ("infractions", &one),
    ];
    run_table(vec![
        given("later reviews change the verdict")
            .patch("/urls/<2>", verdict, reviewed())
            .get("/urls/<2>", url(written))
            .patch(
                "/urls/<2>",
                r#"{"infractions":[{"infraction_type":"Health Claim","infraction_name":"weight loss"},{"infraction_type":"Trademark"}]}"#,
                reviewed(),
            )
            .get("/urls/<2>", url(&[&[("infractions", &*two)], written].concat()))
            .patch("/urls/<2>", r#"{"false_positive":null,"note":"","disabled":"no","infractions":[]}"#, reviewed())
            .get("/urls/<2>", url(&[("incident_status", r#""In Violation""#)])),
        given("infractions without a type are also replaced")
            .sql("insert into infractions (company_id, url_id) values (<company>, <2>)")
            .patch("/urls/<2>", r#"{"infractions":[{"infraction_type":"Trademark"}]}"#, reviewed())
            .get("/urls/<2>", url(&[("infractions", &trademark)])),
        given("review without fields changes nothing")
            .patch("/urls/<2>", "{}", no_known_field(reviewed()))
            .patch("/urls/<2>", r#"{"notes":"x"}"#, no_known_field(reviewed()))
            .only_rest()
            .get("/urls/<2>", url(&[("last_review_date", "null")])),
        given("infractions in a review require a type")
            .patch(
                "/urls/<2>",
                r#"{"infractions":[{"infraction_type":"Trademark"},{"infraction_name":"weight loss"},{"infraction_type":""}]}"#,
                invalid(&[
                    ("infractions.1.infraction_type", "The infractions.1.infraction_type field is required."),
                    ("infractions.2.infraction_type", "The infractions.2.infraction_type field is required."),
                ]),
            )
            .get("/urls/<2>", url(&[("last_review_date", "null")])),
        given("invalid reviews are rejected")
            .patch("/urls/9007199254740991", r#"{"note":"x"}"#, url_unknown())
            .patch(
                "/urls/<2>",
                r#"{"incident_status":null,"disabled":null}"#,
                invalid(&[
                    ("incident_status", "The incident status field cannot be cleared."),
                    ("disabled", "The disabled field cannot be cleared."),
                ]),
            ),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_case_requests_are_rejected() {
    let types = r#"{"request_id":5,"case":{"client_affiliate_id":"A-1","tags":[1],"created_date":"soon","affiliate_id":"7"},"incidents":[{"incident_type":"page"},7,"x"]}"#;
    let affiliate = "No affiliate of the company has this identifier.";
    let unknown = |msg: &str| refused(404, Code::NotFound, "REFERENCE_NOT_FOUND", "1025", msg);
    run_table(vec![
        given("reused request ID with different content is rejected").post(
            "/cases",
            r#"{"request_id":"R-1","case":{"client_affiliate_id":"A-1","case_worker":"Bea"},"incidents":[{"incident_type":"form","reference":"f"}]}"#,
            named(
                refused(
                    409,
                    Code::AlreadyExists,
                    "REQUEST_ID_REUSED",
                    "1023",
                    "This request_id has already opened a case with other content.",
                ),
                r#""case_id":<3>,"fields":["case.case_worker","incidents"]"#,
            ),
        ),
        given("unknown records are rejected")
            .post(
                "/cases",
                r#"{"request_id":"R-2","case":{"client_affiliate_id":"A-2"}}"#,
                named(unknown(affiliate), r#""fields":["case.client_affiliate_id"]"#),
            )
            .post(
                "/cases",
                r#"{"request_id":"R-2","case":{"client_affiliate_id":"A-1"},"incidents":[{"incident_type":"form","reference":"f"},{"incident_type":"url","url":"https://unknown.example/"}]}"#,
                named(unknown("URL not found."), r#""fields":["incidents.1.url"]"#),
            )
            .post(
                "/cases",
                r#"{"request_id":"R-2","case":{"client_affiliate_id":"A-2"},"incidents":[{"incident_type":"url","url":"https://unknown.example/"}]}"#,
                named(
                    unknown("No affiliate of the company has this identifier. (and 1 more error)"),
                    r#""fields":["case.client_affiliate_id","incidents.0.url"]"#,
                ),
            )
            .patch(
                "/cases/<3>",
                r#"{"affiliate_id":9007199254740991}"#,
                named(unknown(affiliate), r#""fields":["affiliate_id"]"#),
            ),
        Case::new("unknown cases return 404")
            .patch("/cases/9007199254740991", r#"{"note":"x"}"#, case_unknown())
            .call("POST", "/cases/9007199254740991/resolve", None, case_unknown())
            .call("POST", "/cases/9007199254740991/close", None, case_unknown())
            .call("POST", "/cases/9007199254740991/reopen", None, case_unknown())
            .post("/cases/9007199254740991/incidents", r#"{"incidents":[]}"#, case_unknown())
            .post("/cases/9007199254740991/incidents:detach", r#"{"incidents":[]}"#, case_unknown()),
        Case::new("missing fields are rejected").post(
            "/cases",
            r#"{"incidents":[{"incident_type":"url"}]}"#,
            invalid(&[
                ("request_id", "The request id field is required."),
                ("case", "The case field is required."),
                ("incidents.0.url", "The incidents.0.url field is required, unless you send incidents.0.url_id."),
            ]),
        ),
        given("unknown names are rejected").patch(
            "/cases/<3>",
            json!({"risk_level": "Grave", "case_status": null, "case_worker": "x".repeat(256)}),
            invalid(&[
                ("case_worker", "The case worker field must not be greater than 255 characters."),
                ("risk_level", "The selected risk level is invalid. It must be one of: Low, Medium, High, Critical."),
                ("case_status", "The case status field cannot be cleared."),
            ]),
        ),
        given("wrong types do not hide other violations")
            .post(
                "/cases",
                r#"{"case":{"risk_level":"Hgih","tags":"a"},"incidents":[{"incident_type":"url"},{"incident_type":"form"},{"incident_type":"url","url_id":"5"}]}"#,
                invalid(&[
                    ("request_id", "The request id field is required."),
                    (
                        "case.risk_level",
                        "The selected case.risk_level is invalid. It must be one of: Low, Medium, High, Critical.",
                    ),
                    (
                        "case.client_affiliate_id",
                        "The case.client_affiliate_id field is required, unless you send case.affiliate_id.",
                    ),
                    ("case.tags", "The case.tags field must be an array."),
                    ("incidents.0.url", "The incidents.0.url field is required, unless you send incidents.0.url_id."),
                    ("incidents.1.reference", "The incidents.1.reference field is required."),
                    ("incidents.2.url_id", "The incidents.2.url_id field must be an integer."),
                ]),
            )
            .only_rest()
            .patch(
                "/cases/<3>",
                r#"{"risk_level":"Hgih","follow_up_date":"soon","case_status":null}"#,
                invalid(&[
                    ("risk_level", "The selected risk level is invalid. It must be one of: Low, Medium, High, Critical."),
                    ("case_status", "The case status field cannot be cleared."),
                    ("follow_up_date", "The follow up date field must match the format YYYY-MM-DD HH:MM:SS."),
                ]),
            )
            .only_rest()
            .patch(
                "/urls/<2>",
                r#"{"incident_status":"Nwe","disabled":5}"#,
                invalid(&[
                    (
                        "incident_status",
                        "The selected incident status is invalid. It must be one of: New, Open, In Violation, Approved, Remediated, Archived.",
                    ),
                    ("disabled", "The disabled field must be yes or no."),
                ]),
            )
            .only_rest()
            .get("/cases/<3>", case(&[])),
        Case::new("wrong types are rejected")
            .post(
                "/cases",
                types,
                invalid(&[
                    ("request_id", "The request id field must be a string."),
                    ("case.affiliate_id", "The case.affiliate_id field must be an integer."),
                    ("incidents.1", "The incidents.1 field must be an object."),
                    ("incidents.2", "The incidents.2 field must be an object."),
                    ("case.tags.0", "The case.tags.0 field must be a string."),
                    ("case.created_date", "The case.created_date field must match the format YYYY-MM-DD HH:MM:SS."),
                    (
                        "incidents.0.incident_type",
                        "The selected incidents.0.incident_type is invalid. It must be one of: url, form, display ad, paid search ad.",
                    ),
                ]),
            )
            .only_rest(),
    ])
    .await;
}

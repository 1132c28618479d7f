//! Webhook management, over REST and gRPC.

use super::{
    Case, Expect,
    expect::{found, invalid, refused, saved, webhook_unknown},
    run_table,
};

/// Nothing listens on port 1.
const URL: &str = "https://127.0.0.1:1/changes";
/// Makes two changes.
const CHANGES: &str = "insert into affiliates (company_id, client_affiliate_id, affiliate_name)
    values (<company>, 'A', 'Ann'), (<company>, 'B', 'Ben')";

struct Webhook<'w> {
    id: &'w str,
    types: &'w str,
    description: &'w str,
    disabled_reason: &'w str,
    position: i64,
    previous_secret_until: &'w str,
}

const NEW: Webhook<'_> = Webhook {
    id: "<1>",
    types: "[]",
    description: "null",
    disabled_reason: "null",
    position: 0,
    previous_secret_until: "null",
};

impl Webhook<'_> {
    fn json(&self) -> String {
        let Self { id, types, description, disabled_reason, position, previous_secret_until } = self;
        let status = if *disabled_reason == "null" { "enabled" } else { "disabled" };
        format!(
            r#"{{"id":{id},"url":"{URL}","types":{types},"description":{description},"status":"{status}","disabled_reason":{disabled_reason},"position":{position},"attempts":0,"failing_since":null,"next_attempt_at":null,"previous_secret_until":{previous_secret_until},"created_at":"<now>"}}"#
        )
    }

    fn found(&self) -> Expect {
        found("Webhook found.", &self.json())
    }

    fn updated(&self) -> Expect {
        saved(200, "Webhook updated successfully.", Some(&self.json()))
    }
}

fn created(webhook: &Webhook<'_>) -> Expect {
    let data = format!(r#"{{"webhook":{},"secret":"<secret>"}}"#, Webhook { id: "<id>", ..*webhook }.json());
    saved(201, "Webhook created successfully.", Some(&data))
}

fn given(name: &str) -> Case {
    Case::new(name).post("/webhooks", format!(r#"{{"url":"{URL}"}}"#), created(&NEW))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhooks_are_created_updated_and_deleted() {
    let none = || found("Webhooks found", "[]");
    let deleted = || saved(200, "Webhook deleted successfully.", None);
    let described = Webhook { types: r#"["url","case"]"#, description: r#""Ours""#, ..NEW };
    let disabled = Webhook { disabled_reason: r#""The webhook was disabled through the API.""#, ..NEW };
    let rotated = Webhook { previous_secret_until: r#""<tomorrow>""#, ..NEW };
    let list = format!("[{},{}]", NEW.json(), Webhook { id: "<2>", ..described }.json());
    let with_all = format!(r#"{{"url":"{URL}","types":["url","case"],"description":"Ours","position":0,"x":1}}"#);
    let secret = format!(r#"{{"webhook":{},"secret":"<secret>"}}"#, rotated.json());
    let again = format!(r#"{{"webhook":{},"secret":"<secret>"}}"#, NEW.json());
    let tested = r#"{"message_id":"msg_<number>","http_status":null,"error":"the endpoint refused the connection","duration_ms":<number>}"#;
    run_table(vec![
        Case::new("list is empty without webhooks").get("/webhooks", none()),
        given("new webhook is returned")
            .get("/webhooks/<1>", NEW.found())
            .get("/webhooks/<1>/deliveries", found("Deliveries found", "[]")),
        given("webhooks are listed by ID")
            .post("/webhooks", with_all, created(&described))
            .get("/webhooks", found("Webhooks found", &list)),
        given("deleted webhook is gone")
            .call("DELETE", "/webhooks/<1>", None, deleted())
            .get("/webhooks", none())
            .call("DELETE", "/webhooks/<1>", None, webhook_unknown()),
        given("only sent fields change")
            .put("/webhooks/<1>", r#"{"types":["url","case"],"description":"Ours"}"#, described.updated())
            .put("/webhooks/<1>", r#"{"url":"","types":[],"position":null,"status":null}"#, described.updated())
            .put("/webhooks/<1>", r#"{"description":""}"#, Webhook { description: "null", ..described }.updated()),
        given("webhook is disabled and enabled")
            .put("/webhooks/<1>", r#"{"status":"disabled"}"#, disabled.updated())
            .put("/webhooks/<1>", r#"{"description":null}"#, disabled.updated())
            .put("/webhooks/<1>", r#"{"status":"enabled"}"#, NEW.updated()),
        Case::new("webhook starts at the last change or the sent position")
            .sql(CHANGES)
            .post("/webhooks", format!(r#"{{"url":"{URL}"}}"#), created(&Webhook { position: 2, ..NEW }))
            .put("/webhooks/<1>", r#"{"position":1}"#, Webhook { position: 1, ..NEW }.updated())
            // The creation and the move count as changes.
            .put("/webhooks/<1>", r#"{"position":4}"#, Webhook { position: 4, ..NEW }.updated())
            .put(
                "/webhooks/<1>",
                r#"{"position":9}"#,
                invalid(&[("position", "The position field must not be greater than 5, the last position.")]),
            )
            .post(
                "/webhooks",
                format!(r#"{{"url":"{URL}","types":["url","case"],"position":1}}"#),
                created(&Webhook { position: 1, types: r#"["url","case"]"#, ..NEW }),
            ),
        given("repeated create returns the same webhook")
            .post(
                "/webhooks",
                format!(r#"{{"url":"{URL}"}}"#),
                saved(201, "Webhook created successfully.", Some(&again)),
            )
            .get("/webhooks", found("Webhooks found", &format!("[{}]", NEW.json()))),
        given("secret is rotated")
            .call("POST", "/webhooks/<1>/secret", None, saved(200, "Secret rotated successfully.", Some(&secret)))
            .get("/webhooks/<1>", rotated.found()),
        given("webhook test reports its result").call(
            "POST",
            "/webhooks/<1>/test",
            None,
            found("Webhook tested.", tested),
        ),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_webhooks_are_rejected() {
    let types = "It must be one of: affiliate, url, infraction, case, incident, vocabulary_entry.";
    let color = format!("The selected types.0 is invalid. {types}");
    let long = format!(r#"{{"url":"https://127.0.0.1/{}","description":"{}"}}"#, "x".repeat(2048), "x".repeat(256));
    run_table(vec![
        Case::new("URL is required").post("/webhooks", "{}", invalid(&[("url", "The url field is required.")])).post(
            "/webhooks",
            r#"{"url":""}"#,
            invalid(&[("url", "The url field is required.")]),
        ),
        Case::new("invalid URL is rejected").post(
            "/webhooks",
            r#"{"url":"x"}"#,
            invalid(&[("url", "The url field must be a valid URL.")]),
        ),
        Case::new("URL without TLS is rejected").post(
            "/webhooks",
            r#"{"url":"http://127.0.0.1/"}"#,
            invalid(&[("url", "The url field must begin with https://.")]),
        ),
        Case::new("private address is rejected").post(
            "/webhooks",
            r#"{"url":"https://10.0.0.1/"}"#,
            invalid(&[("url", "The url field must have a host with a public address.")]),
        ),
        Case::new("private address is reported with other violations").post(
            "/webhooks",
            r#"{"url":"https://10.0.0.1/","types":["color"],"status":"x"}"#,
            invalid(&[
                ("url", "The url field must have a host with a public address."),
                ("types.0", &color),
                ("status", "The selected status is invalid. It must be one of: enabled, disabled."),
            ]),
        ),
        Case::new("overlong values are rejected").post(
            "/webhooks",
            long,
            invalid(&[
                ("url", "The url field must not be greater than 2048 characters."),
                ("description", "The description field must not be greater than 255 characters."),
            ]),
        ),
        given("invalid updates are rejected").put(
            "/webhooks/<1>",
            r#"{"url":"http://127.0.0.1/","types":["color"],"status":"x","position":-1}"#,
            invalid(&[
                ("url", "The url field must begin with https://."),
                ("types.0", &*color),
                ("status", "The selected status is invalid. It must be one of: enabled, disabled."),
                ("position", "The position field must be between 0 and 9007199254740991."),
            ]),
        ),
        Case::new("wrong types are rejected")
            .post(
                "/webhooks",
                r#"{"url":5,"types":"url","description":[],"position":"1"}"#,
                invalid(&[
                    ("url", "The url field must be a string."),
                    ("types", "The types field must be an array."),
                    ("description", "The description field must be a string."),
                    ("position", "The position field must be an integer."),
                ]),
            )
            .only_rest(),
        Case::new("out-of-range delivery limit is rejected").get(
            "/webhooks/1/deliveries?limit=1001",
            invalid(&[("limit", "The limit field must be between 1 and 1000.")]),
        ),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_webhooks_return_404() {
    let mut cases = Vec::new();
    for (method, path, body) in [
        ("GET", "", None),
        ("PUT", "", Some("{}")),
        ("DELETE", "", None),
        ("POST", "/secret", None),
        ("POST", "/test", None),
        ("GET", "/deliveries", None),
    ] {
        for (id, only_rest) in [("424242", false), ("0", true), ("x", true)] {
            let case = Case::new(format!("{method} webhook {id}{path}"));
            let case = case.call(method, &format!("/webhooks/{id}{path}"), body.map(str::to_owned), webhook_unknown());
            cases.push(if only_rest { case.only_rest() } else { case });
        }
    }
    run_table(cases).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deliveries_are_listed() {
    let entries = "insert into webhook_deliveries
        (company_id, webhook_id, number, message_id, after, position, attempt, started_at, duration_ms, http_status, error)
        values (<company>, <1>, 1, 'msg_a', 0, 2, 1, '2026-01-31 12:00:00Z', 7, 500, 'no'), (<company>, <1>, 2, 'msg_a', 0, 2, 2, '2026-01-31 12:01:00Z', 8, 204, null)";
    let first = r#"{"number":1,"message_id":"msg_a","after":0,"position":2,"attempt":1,"time":"2026-01-31 12:00:00","duration_ms":7,"http_status":500,"error":"no"}"#;
    let second = r#"{"number":2,"message_id":"msg_a","after":0,"position":2,"attempt":2,"time":"2026-01-31 12:01:00","duration_ms":8,"http_status":204,"error":null}"#;
    run_table(vec![
        given("deliveries are listed newest first")
            .sql(entries)
            .get("/webhooks/<1>/deliveries", found("Deliveries found", &format!("[{second},{first}]")))
            .get("/webhooks/<1>/deliveries?limit=1", found("Deliveries found", &format!("[{second}]"))),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhooks_are_limited_per_company() {
    let many = "insert into webhooks (company_id, url, types, secret, position)
        select <company>, 'https://127.0.0.1:1/', '{}', 'whsec_', 0 from generate_series(1, 20)";
    let refused = refused(
        409,
        tonic::Code::FailedPrecondition,
        "FAILED_PRECONDITION",
        "1021",
        "A company can have at most 20 webhooks.",
    );
    run_table(vec![Case::new("webhook beyond the limit is rejected").sql(many).post(
        "/webhooks",
        format!(r#"{{"url":"{URL}"}}"#),
        refused,
    )])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn duplicate_webhooks_are_rejected() {
    let exists = refused(
        409,
        tonic::Code::FailedPrecondition,
        "FAILED_PRECONDITION",
        "1021",
        "Webhook <1> already has this URL and these types. Update that webhook, or rotate its secret.",
    );
    let typed = format!(r#"{{"url":"{URL}","types":["url","case"]}}"#);
    // The second webhook starts after the change that created the first webhook.
    let other = Webhook { types: r#"["case"]"#, position: 1, ..NEW };
    run_table(vec![
        given("description does not distinguish webhooks").post(
            "/webhooks",
            format!(r#"{{"url":"{URL}","description":"Ours"}}"#),
            exists.clone(),
        ),
        Case::new("duplicates are detected by type set")
            .post("/webhooks", typed, created(&Webhook { types: r#"["url","case"]"#, ..NEW }))
            .post("/webhooks", format!(r#"{{"url":"{URL}","types":["case","url"],"position":0}}"#), exists)
            .post("/webhooks", format!(r#"{{"url":"{URL}","types":["case"]}}"#), created(&other)),
    ])
    .await;
}

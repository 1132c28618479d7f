//! Every affiliate field rule, in single and batch creates and updates. The cases come from the documented table.

use serde_json::{Value, json};

use super::{
    Case,
    expect::{Expect, batch_created, created_item, created_one, found, invalid, invalid_one, updated_one},
    records::{FIELDS, Field, Form, affiliate},
    run_table,
};

/// Returns a valid affiliate with `field` set to `value`.
fn body(field: &str, value: &Value) -> Value {
    let mut body = json!({"client_affiliate_id": "C", "affiliate_name": "N"});
    body[field] = value.clone();
    body
}

/// Returns the affiliate of [`body`] as it appears in a response.
fn read(field: &str, value: String) -> String {
    let mut values = vec![("client_affiliate_id", r#""C""#.to_owned()), ("affiliate_name", r#""N""#.to_owned())];
    values.retain(|(name, _)| *name != field);
    values.push((field, value));
    affiliate("<1>", &values)
}

fn client_id(body: &Value) -> String {
    body["client_affiliate_id"].as_str().unwrap().to_owned()
}

/// Returns a case where one of the four writes rejects a value. `turn` picks the write, and `message` takes the field's label.
///
/// All writes check the same rules (`described::rules`), so the cases take turns.
fn refused(
    turn: usize,
    name: &str,
    field: &Field,
    value: &Value,
    only_rest: bool,
    message: &dyn Fn(&str) -> String,
) -> Case {
    let flat = || invalid_one(field.0, &message(&field.label()));
    let nested = |path: &str| invalid_one(path, &message(path));
    let mark = |case: Case| if only_rest { case.only_rest() } else { case };
    let path = format!("affiliates.1.{}", field.0);
    let mut change = json!({"id": 0});
    change[field.0] = value.clone();
    let with_id = change.to_string().replace(r#""id":0"#, r#""id":<1>"#);
    let batch = json!({"affiliates": [{"client_affiliate_id": "D", "affiliate_name": "M"}, body(field.0, value)]});
    let nothing =
        || super::expect::ok(r#"{"code":"1026","status":"ok","detail":{"msg":"Affiliates found"},"data":[]}"#);
    match turn % 4 {
        0 => mark(Case::new(format!("{name}: create")).post("/affiliates", body(field.0, value), flat())),
        // The batch saves nothing.
        1 => mark(Case::new(format!("{name}: batch create")).get("/affiliates", nothing()).post(
            "/affiliates",
            batch,
            nested(&path),
        ))
        .get("/affiliates", nothing()),
        2 => mark(Case::new(format!("{name}: update")).given_affiliate("C", "N").put(
            "/affiliates/<1>",
            &with_id,
            flat(),
        )),
        _ => mark(Case::new(format!("{name}: batch update")).given_affiliate("C", "N").put(
            "/affiliates/<1>",
            format!(r#"{{"affiliates":[{{"id":<1>,"city":"Changed"}},{with_id}]}}"#),
            nested(&path),
        ))
        .get("/affiliates/<1>", found("Affiliate found.", &read("city", "null".to_owned()))),
    }
}

/// Returns cases where every write accepts a value and every read returns it.
fn taken_everywhere(name: &str, field: &Field, written: &Value, read_back: &str) -> Vec<Case> {
    let body = body(field.0, written);
    let client_id = client_id(&body);
    let record = || found("Affiliate found.", &read(field.0, read_back.to_owned()));
    let change = format!(r#"{{"id":<1>,"{}":{written}}}"#, field.0);
    let updated = || updated_one("<1>");
    vec![
        Case::new(format!("{name}: create"))
            .post("/affiliates", &body, created_one(&client_id))
            .get("/affiliates/<1>", record()),
        Case::new(format!("{name}: batch create"))
            .post("/affiliates", json!({"affiliates": [body]}), batch_created(&[created_item(&client_id)]))
            .get("/affiliates/<1>", record()),
        Case::new(format!("{name}: update"))
            .given_affiliate("C", "N")
            .put("/affiliates/<1>", &change, updated())
            .get("/affiliates/<1>", record()),
        Case::new(format!("{name}: batch update"))
            .given_affiliate("C", "N")
            .put(
                "/affiliates/<1>",
                format!(r#"{{"affiliates":[{change}]}}"#),
                Expect { body: format!("[{}]", updated().body), ..updated() },
            )
            .get("/affiliates/<1>", record()),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn valid_values_are_stored() {
    let cases = FIELDS.iter().flat_map(|field| {
        let (written, read) = field.sample();
        taken_everywhere(&format!("{}: valid value", field.0), field, &written, &read)
    });
    run_table(cases.collect()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn maximum_lengths_are_enforced() {
    let mut cases = Vec::new();
    let texts = FIELDS.iter().filter(|field| matches!(field.2, Form::Any | Form::Email | Form::Url));
    for (turn, field) in texts.enumerate() {
        let (longest, too_long) = (field.of_length(field.1), field.of_length(field.1 + 1));
        assert_eq!((longest.chars().count(), too_long.chars().count()), (field.1, field.1 + 1));
        let name = format!("{}: {} characters", field.0, field.1);
        let taken = taken_everywhere(&name, field, &json!(longest), &json!(longest).to_string());
        cases.extend(taken.into_iter().nth(turn % 4));
        let name = format!("{}: {} characters", field.0, field.1 + 1);
        cases.push(refused(turn, &name, field, &json!(too_long), false, &|label| {
            format!("The {label} field must not be greater than {} characters.", field.1)
        }));
    }
    run_table(cases).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn formats_are_enforced() {
    let mut cases = Vec::new();
    for field in FIELDS {
        let wrong: (&[&str], fn(&str) -> String) = match field.2 {
            Form::Any | Form::Integer | Form::YesNo => continue,
            Form::Email => (
                &[
                    "ann",
                    "ann@",
                    "@example.org",
                    "ann example.org",
                    "Ann <ann@example.org>",
                    "a@b@c.org",
                    "ann@exa mple.org",
                ],
                |label| format!("The {label} field must be a valid email address."),
            ),
            Form::Url => (
                &[
                    "example.org",
                    "//example.org",
                    "ftp://example.org/",
                    "http://",
                    "javascript:alert(1)",
                    "http://exa mple.org/",
                ],
                |label| format!("The {label} field must be a valid URL."),
            ),
            Form::Status => (&["Active", "asleep", " active", "active ", "ACTIVE"], |label| {
                format!(
                    "The selected {label} is invalid. It must be one of: active, inactive, probation, suspended, terminated, \
                     forgotten."
                )
            }),
            Form::StartDate => (
                &["29/02/2024", "2024/02/29", "2024-02-2x", "2024-1-1", "1/1/2024", "2024-02-29 ", "20240229"],
                |label| format!("The {label} field must match the format YYYY-MM-DD or MM/DD/YYYY."),
            ),
            Form::Country => (&["U", "USA", "ée€"], |label| format!("The {label} field must be 2 characters.")),
        };
        for value in wrong.0 {
            let name = format!("{}: {value:?}", field.0);
            cases.push(refused(cases.len(), &name, field, &json!(value), false, &wrong.1));
        }
    }
    let start_date = FIELDS.iter().find(|field| field.0 == "start_date").unwrap();
    for value in ["2023-02-29", "2024-13-01", "2024-00-10", "2024-01-32", "0000-01-01", "02/30/2024"] {
        let message = |label: &str| format!("The {label} field must be an existing date.");
        let name = format!("start_date: {value:?}");
        cases.push(refused(cases.len(), &name, start_date, &json!(value), false, &message));
    }
    let mut taken = |name: String, field: &Field, written: &str, read: &str| {
        let all = taken_everywhere(&name, field, &json!(written), read);
        cases.extend(all.into_iter().nth(cases.len() % 4));
    };
    for (written, read) in [
        ("2024-02-29", "2024-02-29"),
        ("12/31/1999", "1999-12-31"),
        ("0001-01-01", "0001-01-01"),
        ("9999-12-31", "9999-12-31"),
    ] {
        taken(format!("start_date: {written}"), start_date, written, &json!(read).to_string());
    }
    let status = FIELDS.iter().find(|field| field.0 == "status").unwrap();
    for value in ["active", "inactive", "probation", "suspended", "terminated", "forgotten"] {
        taken(format!("status: {value}"), status, value, &json!(value).to_string());
    }
    let country = FIELDS.iter().find(|field| field.0 == "country").unwrap();
    for (written, read) in [("US", 840), ("us", 840), ("De", 276), ("GB", 826), ("AF", 4), ("zw", 716), ("MX", 484)] {
        taken(format!("country: {written}"), country, written, &read.to_string());
    }
    run_table(cases).await;
}

/// String and integer fields accept no other JSON types. Only the gateway reports these errors, because gRPC cannot express such values.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_json_types_are_rejected() {
    let mut cases = Vec::new();
    for field in FIELDS {
        for value in field.wrong_types() {
            let name = format!("{}: {value}", field.0);
            let message = |label: &str| format!("The {label} field must be {}.", field.expected_type());
            cases.push(refused(cases.len(), &name, field, &value, true, &message));
        }
    }
    run_table(cases).await;
}

/// Tests null, empty and absent values in creates and updates.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn null_and_empty_values_count_as_absent() {
    let mut cases = Vec::new();
    for field in FIELDS {
        let required = |label: &str| format!("The {label} field is required.");
        for value in [json!(null), json!("")] {
            let name = format!("{}: {value}", field.0);
            if field.required() {
                cases.extend((0..4).map(|turn| refused(turn, &name, field, &value, false, &required)));
                continue;
            }
            let body = body(field.0, &value);
            cases.push(
                Case::new(format!("{name}: create treats it as absent"))
                    .post("/affiliates", &body, created_one("C"))
                    .get("/affiliates/<1>", found("Affiliate found.", &read(field.0, "null".to_owned()))),
            );
            let (written, read_back) = field.sample();
            let full = self::body(field.0, &written);
            let change = format!(r#"{{"id":<1>,"{}":{value}}}"#, field.0);
            cases.push(
                Case::new(format!("{name}: update clears the field"))
                    .post("/affiliates", &full, created_one("C"))
                    .put("/affiliates/<1>", r#"{"id":<1>,"affiliate_name":"Other"}"#, updated_one("<1>"))
                    .put("/affiliates/<1>", r#"{"id":<1>,"affiliate_name":"N"}"#, updated_one("<1>"))
                    .get("/affiliates/<1>", found("Affiliate found.", &read(field.0, read_back)))
                    .put("/affiliates/<1>", change, updated_one("<1>"))
                    .get("/affiliates/<1>", found("Affiliate found.", &read(field.0, "null".to_owned()))),
            );
        }
        if field.required() {
            for value in [" ", "\t\n ", "\u{a0}"] {
                let name = format!("{}: whitespace {value:?}", field.0);
                cases.push(refused(cases.len(), &name, field, &json!(value), false, &required));
            }
            let mut without = body("city", &json!("X"));
            without.as_object_mut().unwrap().remove(field.0);
            let batch = json!({"affiliates": [without]});
            let path = format!("affiliates.0.{}", field.0);
            cases.push(Case::new(format!("{}: missing in create", field.0)).post(
                "/affiliates",
                &without,
                invalid_one(field.0, &required(&field.label())),
            ));
            cases.push(Case::new(format!("{}: missing in batch create", field.0)).post(
                "/affiliates",
                batch,
                invalid_one(&path, &required(&path)),
            ));
        }
    }
    let both = invalid(&[
        ("client_affiliate_id", "The client affiliate id field is required."),
        ("affiliate_name", "The affiliate name field is required."),
    ]);
    cases.push(Case::new("empty object lacks both required fields").post("/affiliates", "{}", both));
    run_table(cases).await;
}

/// Texts cannot contain U+0000.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nul_characters_are_rejected() {
    let texts = FIELDS.iter().filter(|field| !matches!(field.2, Form::Integer | Form::YesNo));
    let cases = texts.enumerate().map(|(turn, field)| {
        let value = match field.2 {
            Form::Country => "\0".repeat(2),
            Form::StartDate => "2024-02-\u{0}9".to_owned(),
            _ => "a\0b".to_owned(),
        };
        refused(turn, &format!("{}: NUL character", field.0), field, &json!(value), false, &|label| {
            format!("The {label} field must not contain the character U+0000.")
        })
    });
    run_table(cases.collect()).await;
}

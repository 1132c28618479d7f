//! Creates affiliates, one at a time and in batches, and lists them.

use serde_json::json;

use super::{
    Case,
    expect::{
        bad_country_item, batch_created, created_item, created_one, duplicate_item, found, invalid, invalid_one, mixed,
        name_exists, ok,
    },
    records::affiliate,
    run_table,
};

/// The error for an unknown status.
const STATUS: &str =
    "The selected status is invalid. It must be one of: active, inactive, probation, suspended, terminated, forgotten.";

pub(super) fn named(id: &str, client_id: &str, name: &str) -> String {
    affiliate(id, &[("client_affiliate_id", json!(client_id).to_string()), ("affiliate_name", json!(name).to_string())])
}

pub(super) fn list(records: &[String]) -> super::Expect {
    ok(format!(
        r#"{{"code":"1026","status":"ok","detail":{{"msg":"Affiliates found"}},"data":[{}]}}"#,
        records.join(",")
    ))
}

pub(super) fn record(record: &str) -> super::Expect {
    found("Affiliate found.", record)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn single_affiliates_are_created() {
    run_table(vec![
        Case::new("created affiliate can be read by ID")
            .given_affiliate("C-1", "Ann")
            .get("/affiliates/<1>", record(&named("<1>", "C-1", "Ann"))),
        Case::new("list is empty without affiliates").get("/affiliates", list(&[])),
        Case::new("list is sorted by ID")
            .given_affiliate("C-1", "Zoe")
            .given_affiliate("C-2", "Ann")
            .given_affiliate("C-3", "Mia")
            .get("/affiliates", list(&[named("<1>", "C-1", "Zoe"), named("<2>", "C-2", "Ann"), named("<3>", "C-3", "Mia")])),
        Case::new("existing name returns a conflict")
            .given_affiliate("C-1", "Ann")
            .post("/affiliates", r#"{"client_affiliate_id":"C \"2\"","affiliate_name":"Ann"}"#, name_exists("C \"2\"", "<1>"))
            .get("/affiliates", list(&[named("<1>", "C-1", "Ann")])),
        Case::new("names are compared exactly")
            .given_affiliate("C-1", "Ann")
            .given_affiliate("C-1", "ann")
            .given_affiliate("C-1", "Ann ")
            .given_affiliate("C-1", " Ann")
            .given_affiliate("C-1", "A\u{301}nn")
            .given_affiliate("C-1", "Ánn"),
        Case::new("client identifiers can repeat").given_affiliate("C", "Ann").given_affiliate("C", "Bob"),
        Case::new("text is stored as sent")
            .post(
                "/affiliates",
                json!({"client_affiliate_id": " \u{1F600}\t", "affiliate_name": "\u{202e} x\r\n\"\\", "notes": "   "}),
                created_one(" \u{1F600}\t"),
            )
            .get(
                "/affiliates/<1>",
                record(&affiliate(
                    "<1>",
                    &[
                        ("client_affiliate_id", json!(" \u{1F600}\t").to_string()),
                        ("affiliate_name", json!("\u{202e} x\r\n\"\\").to_string()),
                        ("notes", r#""   ""#.to_owned()),
                    ],
                )),
            ),
        Case::new("single create rejects an unknown country").post(
            "/affiliates",
            json!({"client_affiliate_id": "C", "affiliate_name": "N", "country": "ZZ"}),
            invalid_one("country", "The selected country is invalid. It must be an ISO 3166-1 alpha-2 code."),
        ),
        Case::new("all invalid fields are reported in field order").post(
            "/affiliates",
            json!({"status": "x", "zip": "12345678901234567", "email_one": "x", "client_affiliate_id": "C", "country": "USA"}),
            invalid(&[
                ("affiliate_name", "The affiliate name field is required."),
                ("email_one", "The email one field must be a valid email address."),
                ("country", "The country field must be 2 characters."),
                ("zip", "The zip field must not be greater than 16 characters."),
                ("status", STATUS),
            ]),
        ),
        Case::new("one field can have two violations").post(
            "/affiliates",
            json!({"client_affiliate_id": "C", "affiliate_name": "N", "email_one": "x".repeat(51)}),
            invalid(&[
                ("email_one", "The email one field must not be greater than 50 characters."),
                ("email_one", "The email one field must be a valid email address."),
            ]),
        ),
        Case::new("wrong types and rule violations are reported together")
            .post(
                "/affiliates",
                json!({"client_affiliate_id": 5, "affiliate_name": "", "city": [], "status": "x"}),
                invalid(&[
                    ("client_affiliate_id", "The client affiliate id field must be a string."),
                    ("affiliate_name", "The affiliate name field is required."),
                    ("city", "The city field must be a string."),
                    ("status", STATUS),
                ]),
            )
            .only_rest(),
        Case::new("unknown keys are ignored").post(
            "/affiliates",
            json!({"client_affiliate_id": "C", "affiliate_name": "N", "id": "x", "colour": {"a": [null]}, "client_id": 5}),
            created_one("C"),
        ),
        Case::new("last duplicate key wins")
            .post("/affiliates", r#"{"client_affiliate_id":5,"affiliate_name":"A","client_affiliate_id":"C","affiliate_name":"B"}"#, created_one("C"))
            .only_rest()
            .get("/affiliates/<1>", record(&named("<1>", "C", "B"))),
        Case::new("response field names are not valid in requests").post(
            "/affiliates",
            json!({"client_affiliate_id": "C", "distributor_name": "N"}),
            invalid_one("affiliate_name", "The affiliate name field is required."),
        ),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn affiliates_are_created_in_batches() {
    let item = |id: &str, name: &str| json!({"client_affiliate_id": id, "affiliate_name": name});
    let country =
        |id: &str, name: &str, code: &str| json!({"client_affiliate_id": id, "affiliate_name": name, "country": code});
    run_table(vec![
        Case::new("all items succeed")
            .post("/affiliates", json!({"affiliates": [item("1", "Zoe"), item("2", "Ann")]}), batch_created(&[created_item("1"), created_item("2")]))
            .get("/affiliates/<1>", record(&named("<1>", "1", "Zoe")))
            .get("/affiliates/<2>", record(&named("<2>", "2", "Ann"))),
        Case::new("batch can contain one item").post("/affiliates", json!({"affiliates": [item("1", "Ann")]}), batch_created(&[created_item("1")])),
        Case::new("mixed results keep the item order")
            .given_affiliate("0", "Old")
            .post(
                "/affiliates",
                json!({"affiliates": [country("1", "A", "ZZ"), item("2", "B"), item("3", "Old"), country("4", "D", "de"), item("5", "E")]}),
                mixed(&[bad_country_item("1", "ZZ"), created_item("2"), duplicate_item("3", "<1>"), created_item("4"), created_item("5")]),
            ),
        Case::new("first of two equal names wins")
            .post("/affiliates", json!({"affiliates": [item("1", "A"), item("2", "A"), item("3", "B"), item("4", "A")]}),
                mixed(&[created_item("1"), duplicate_item("2", "<number>"), created_item("3"), duplicate_item("4", "<number>")]))
            .get("/affiliates/<1>", record(&named("<1>", "1", "A"))),
        Case::new("failed item does not reserve its name")
            .post("/affiliates", json!({"affiliates": [country("1", "A", "QQ"), item("2", "A")]}), mixed(&[bad_country_item("1", "QQ"), created_item("2")])),
        Case::new("batch with only failures returns 207")
            .given_affiliate("0", "Old")
            .post("/affiliates", json!({"affiliates": [item("1", "Old"), country("2", "B", "XX")]}), mixed(&[duplicate_item("1", "<1>"), bad_country_item("2", "XX")]))
            .get("/affiliates", list(&[named("<1>", "0", "Old")])),
        Case::new("unknown country takes precedence over duplicate name")
            .given_affiliate("0", "Old")
            .post("/affiliates", json!({"affiliates": [country("1", "Old", "ZZ")]}), mixed(&[bad_country_item("1", "ZZ")])),
        Case::new("empty array counts as missing").post("/affiliates", json!({"affiliates": []}), invalid_one("affiliates", "The affiliates field is required.")),
        Case::new("null counts as missing").post("/affiliates", json!({"affiliates": null}), invalid_one("affiliates", "The affiliates field is required.")),
        Case::new("batch must be an array")
            .post("/affiliates", json!({"affiliates": {"0": item("1", "A")}}), invalid_one("affiliates", "The affiliates field must be an array."))
            .only_rest(),
        Case::new("items must be objects")
            .post(
                "/affiliates",
                json!({"affiliates": [item("1", "A"), 5, null, [], "x", item("2", "")]}),
                invalid(&[
                    ("affiliates.1", "The affiliates.1 field must be an object."),
                    ("affiliates.2", "The affiliates.2 field must be an object."),
                    ("affiliates.3", "The affiliates.3 field must be an object."),
                    ("affiliates.4", "The affiliates.4 field must be an object."),
                    ("affiliates.5.affiliate_name", "The affiliates.5.affiliate_name field is required."),
                ]),
            )
            .only_rest()
            .get("/affiliates", list(&[])),
        Case::new("`affiliates` key takes precedence over single fields").post(
            "/affiliates",
            json!({"client_affiliate_id": 5, "affiliate_name": "X", "affiliates": [item("1", "A")]}),
            batch_created(&[created_item("1")]),
        ),
        Case::new("invalid batch reports all violations and saves nothing")
            .post(
                "/affiliates",
                json!({"affiliates": [
                    {"client_affiliate_id": "1", "affiliate_name": "A"},
                    {"affiliate_name": "B", "country": "USA", "email_two": "x"},
                    {"client_affiliate_id": "3", "affiliate_name": "C", "country": "ZZ"},
                    {"client_affiliate_id": " ", "affiliate_name": "D", "zip": "é".repeat(17)},
                ]}),
                invalid(&[
                    ("affiliates.1.client_affiliate_id", "The affiliates.1.client_affiliate_id field is required."),
                    ("affiliates.1.email_two", "The affiliates.1.email_two field must be a valid email address."),
                    ("affiliates.1.country", "The affiliates.1.country field must be 2 characters."),
                    ("affiliates.3.client_affiliate_id", "The affiliates.3.client_affiliate_id field is required."),
                    ("affiliates.3.zip", "The affiliates.3.zip field must not be greater than 16 characters."),
                ]),
            )
            .get("/affiliates", list(&[])),
        Case::new("REST reports more violations than fit in a gRPC status")
            .post(
                "/affiliates",
                json!({"affiliates": vec![json!({"client_affiliate_id": "1"}); 300]}),
                invalid(&(0..300).map(|index| {
                    let path = format!("affiliates.{index}.affiliate_name");
                    let message = format!("The {path} field is required.");
                    (path, message)
                }).collect::<Vec<_>>()),
            )
            .only_rest(),
    ])
    .await;
}

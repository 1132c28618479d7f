//! Affiliates: create, update, both batches, the list.

use serde_json::json;

use super::{
    Case,
    expect::{
        affiliate_unknown, bad_country_item, bad_country_update, batch_created, batch_updated, created_item,
        created_one, duplicate_item, found, invalid, invalid_one, mixed, name_exists, name_taken, ok, taken_item,
        unknown_item, updated_item, updated_one,
    },
    records::affiliate,
    run_table,
};
use crate::harness::tests;

tests![single, batch_create, update, batch_update, order_of_checks, bodies];

fn named(id: &str, client_id: &str, name: &str) -> String {
    affiliate(id, &[("client_affiliate_id", json!(client_id).to_string()), ("affiliate_name", json!(name).to_string())])
}

fn list(records: &[String]) -> super::Expect {
    ok(format!(
        r#"{{"code":"1026","status":"ok","detail":{{"msg":"Affiliates found"}},"data":[{}]}}"#,
        records.join(",")
    ))
}

fn record(record: &str) -> super::Expect {
    found("Affiliate found.", record)
}

async fn single() {
    run_table(vec![
        Case::new("a created affiliate is read by its ID")
            .given_affiliate("C-1", "Ann")
            .get("/affiliates/<1>", record(&named("<1>", "C-1", "Ann"))),
        Case::new("no affiliates are an empty list").get("/affiliates", list(&[])),
        Case::new("the list is ordered by ID")
            .given_affiliate("C-1", "Zoe")
            .given_affiliate("C-2", "Ann")
            .given_affiliate("C-3", "Mia")
            .get("/affiliates", list(&[named("<1>", "C-1", "Zoe"), named("<2>", "C-2", "Ann"), named("<3>", "C-3", "Mia")])),
        Case::new("a name that exists is a conflict")
            .given_affiliate("C-1", "Ann")
            .post("/affiliates", r#"{"client_affiliate_id":"C \"2\"","affiliate_name":"Ann"}"#, name_exists("C \"2\""))
            .get("/affiliates", list(&[named("<1>", "C-1", "Ann")])),
        Case::new("names are compared exactly")
            .given_affiliate("C-1", "Ann")
            .given_affiliate("C-1", "ann")
            .given_affiliate("C-1", "Ann ")
            .given_affiliate("C-1", " Ann")
            .given_affiliate("C-1", "A\u{301}nn")
            .given_affiliate("C-1", "Ánn"),
        Case::new("a client's identifier may occur twice").given_affiliate("C", "Ann").given_affiliate("C", "Bob"),
        Case::new("texts are stored as sent")
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
        Case::new("an unknown country is a fault of a single create").post(
            "/affiliates",
            json!({"client_affiliate_id": "C", "affiliate_name": "N", "country": "ZZ"}),
            invalid_one("country", "The selected country is invalid."),
        ),
        Case::new("every failing field is told, in the order of the fields").post(
            "/affiliates",
            json!({"status": "x", "zip": "12345678901234567", "email_one": "x", "client_affiliate_id": "C", "country": "USA"}),
            invalid(&[
                ("affiliate_name", "The affiliate name field is required."),
                ("email_one", "The email one field must be a valid email address."),
                ("country", "The country field must be 2 characters."),
                ("zip", "The zip field must not be greater than 16 characters."),
                ("status", "The selected status is invalid."),
            ]),
        ),
        Case::new("one field can fail twice").post(
            "/affiliates",
            json!({"client_affiliate_id": "C", "affiliate_name": "N", "email_one": "x".repeat(51)}),
            invalid(&[
                ("email_one", "The email one field must not be greater than 50 characters."),
                ("email_one", "The email one field must be a valid email address."),
            ]),
        ),
        Case::new("wrong types and rules are told together")
            .post(
                "/affiliates",
                json!({"client_affiliate_id": 5, "affiliate_name": "", "city": [], "status": "x"}),
                invalid(&[
                    ("client_affiliate_id", "The client affiliate id field must be a string."),
                    ("affiliate_name", "The affiliate name field is required."),
                    ("city", "The city field must be a string."),
                    ("status", "The selected status is invalid."),
                ]),
            )
            .only_rest(),
        Case::new("unknown keys are ignored").post(
            "/affiliates",
            json!({"client_affiliate_id": "C", "affiliate_name": "N", "id": "x", "colour": {"a": [null]}, "client_id": 5}),
            created_one("C"),
        ),
        Case::new("of a key sent twice the last counts")
            .post("/affiliates", r#"{"client_affiliate_id":5,"affiliate_name":"A","client_affiliate_id":"C","affiliate_name":"B"}"#, created_one("C"))
            .only_rest()
            .get("/affiliates/<1>", record(&named("<1>", "C", "B"))),
        Case::new("a read form is no write form").post(
            "/affiliates",
            json!({"client_affiliate_id": "C", "distributor_name": "N"}),
            invalid_one("affiliate_name", "The affiliate name field is required."),
        ),
    ])
    .await;
}

async fn batch_create() {
    let item = |id: &str, name: &str| json!({"client_affiliate_id": id, "affiliate_name": name});
    let country =
        |id: &str, name: &str, code: &str| json!({"client_affiliate_id": id, "affiliate_name": name, "country": code});
    run_table(vec![
        Case::new("every item succeeds")
            .post("/affiliates", json!({"affiliates": [item("1", "Zoe"), item("2", "Ann")]}), batch_created(&[created_item("1"), created_item("2")]))
            .get("/affiliates/<1>", record(&named("<1>", "1", "Zoe")))
            .get("/affiliates/<2>", record(&named("<2>", "2", "Ann"))),
        Case::new("a batch of one").post("/affiliates", json!({"affiliates": [item("1", "Ann")]}), batch_created(&[created_item("1")])),
        Case::new("successes, duplicates and unknown countries, in order")
            .given_affiliate("0", "Old")
            .post(
                "/affiliates",
                json!({"affiliates": [country("1", "A", "ZZ"), item("2", "B"), item("3", "Old"), country("4", "D", "de"), item("5", "E")]}),
                mixed(&[bad_country_item("1", "ZZ"), created_item("2"), duplicate_item("3"), created_item("4"), created_item("5")]),
            ),
        Case::new("of two equal names in a batch the first wins")
            .post("/affiliates", json!({"affiliates": [item("1", "A"), item("2", "A"), item("3", "B"), item("4", "A")]}),
                mixed(&[created_item("1"), duplicate_item("2"), created_item("3"), duplicate_item("4")]))
            .get("/affiliates/<1>", record(&named("<1>", "1", "A"))),
        Case::new("a name of an item that failed is free")
            .post("/affiliates", json!({"affiliates": [country("1", "A", "QQ"), item("2", "A")]}), mixed(&[bad_country_item("1", "QQ"), created_item("2")])),
        Case::new("a batch in which every item fails is 207")
            .given_affiliate("0", "Old")
            .post("/affiliates", json!({"affiliates": [item("1", "Old"), country("2", "B", "XX")]}), mixed(&[duplicate_item("1"), bad_country_item("2", "XX")]))
            .get("/affiliates", list(&[named("<1>", "0", "Old")])),
        Case::new("a duplicate with an unknown country is told of its country")
            .given_affiliate("0", "Old")
            .post("/affiliates", json!({"affiliates": [country("1", "Old", "ZZ")]}), mixed(&[bad_country_item("1", "ZZ")])),
        Case::new("an empty array is missing").post("/affiliates", json!({"affiliates": []}), invalid_one("affiliates", "The affiliates field is required.")),
        Case::new("null is missing").post("/affiliates", json!({"affiliates": null}), invalid_one("affiliates", "The affiliates field is required.")),
        Case::new("a batch is an array")
            .post("/affiliates", json!({"affiliates": {"0": item("1", "A")}}), invalid_one("affiliates", "The affiliates field must be an array."))
            .only_rest(),
        Case::new("an element is an object")
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
        Case::new("the key affiliates selects the batch, whatever else is there").post(
            "/affiliates",
            json!({"client_affiliate_id": 5, "affiliate_name": "X", "affiliates": [item("1", "A")]}),
            batch_created(&[created_item("1")]),
        ),
        Case::new("every fault of every item is told, and nothing is saved")
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
        Case::new("more faults than a gRPC status can carry are all told")
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

async fn update() {
    run_table(vec![
        Case::new("only what is sent changes")
            .post(
                "/affiliates",
                json!({"client_affiliate_id": "C", "affiliate_name": "N", "city": "Bonn", "zip": "1"}),
                created_one("C"),
            )
            .put("/affiliates/<1>", r#"{"id":<1>,"zip":"2","state":"NRW"}"#, updated_one("<1>"))
            .get(
                "/affiliates/<1>",
                record(&affiliate(
                    "<1>",
                    &[
                        ("client_affiliate_id", r#""C""#.to_owned()),
                        ("affiliate_name", r#""N""#.to_owned()),
                        ("city", r#""Bonn""#.to_owned()),
                        ("zip", r#""2""#.to_owned()),
                        ("state", r#""NRW""#.to_owned()),
                    ],
                )),
            ),
        Case::new("only the ID changes nothing")
            .given_affiliate("C", "N")
            .put("/affiliates/<1>", r#"{"id":<1>}"#, updated_one("<1>"))
            .get("/affiliates/<1>", record(&named("<1>", "C", "N"))),
        Case::new("unknown keys and read names change nothing")
            .given_affiliate("C", "N")
            .put("/affiliates/<1>", r#"{"id":<1>,"distributor_name":"X","client_id":5,"x":[1]}"#, updated_one("<1>"))
            .get("/affiliates/<1>", record(&named("<1>", "C", "N"))),
        Case::new("a new name is free")
            .given_affiliate("C", "N")
            .put("/affiliates/<1>", r#"{"id":<1>,"affiliate_name":"M","client_affiliate_id":"D"}"#, updated_one("<1>"))
            .get("/affiliates/<1>", record(&named("<1>", "D", "M"))),
        Case::new("an affiliate's own name is its own").given_affiliate("C", "N").put(
            "/affiliates/<1>",
            r#"{"id":<1>,"affiliate_name":"N"}"#,
            updated_one("<1>"),
        ),
        Case::new("another's name is taken")
            .given_affiliate("C", "N")
            .given_affiliate("D", "M")
            .put("/affiliates/<2>", r#"{"id":<2>,"affiliate_name":"N","city":"X"}"#, name_taken())
            .get("/affiliates/<2>", record(&named("<2>", "D", "M"))),
        Case::new("the old name is free again")
            .given_affiliate("C", "N")
            .put("/affiliates/<1>", r#"{"id":<1>,"affiliate_name":"M"}"#, updated_one("<1>"))
            .given_affiliate("D", "N"),
        Case::new("an unknown country is a fault of a single update")
            .given_affiliate("C", "N")
            .put(
                "/affiliates/<1>",
                r#"{"id":<1>,"country":"zz","city":"X"}"#,
                invalid_one("country", "The selected country is invalid."),
            )
            .get("/affiliates/<1>", record(&named("<1>", "C", "N"))),
        Case::new("an unknown affiliate").put(
            "/affiliates/9007199254740991",
            r#"{"id":9007199254740991,"city":"X"}"#,
            affiliate_unknown("9007199254740991"),
        ),
        Case::new("an unknown affiliate, and nothing to change").put(
            "/affiliates/9007199254740991",
            r#"{"id":9007199254740991}"#,
            affiliate_unknown("9007199254740991"),
        ),
        Case::new("the ID is required").given_affiliate("C", "N").put(
            "/affiliates/<1>",
            r#"{"city":"X"}"#,
            invalid_one("id", "The id field is required."),
        ),
        Case::new("null is no ID").given_affiliate("C", "N").put(
            "/affiliates/<1>",
            r#"{"id":null,"city":"X"}"#,
            invalid_one("id", "The id field is required."),
        ),
        Case::new("the ID is the URL's")
            .given_affiliate("C", "N")
            .given_affiliate("D", "M")
            .put(
                "/affiliates/<1>",
                r#"{"id":<2>,"city":"X"}"#,
                invalid_one("id", "The id field must match the ID in the URL."),
            )
            .only_rest()
            .get("/affiliates/<2>", record(&named("<2>", "D", "M"))),
        integer_written_otherwise("<1>.0"),
        integer_written_otherwise("<1>e0"),
        integer_written_otherwise(r#""<1>""#),
        integer_written_otherwise("true"),
        integer_written_otherwise("[<1>]"),
        integer_written_otherwise("99999999999999999999999"),
        Case::new("faults of the ID and of the fields are told together")
            .given_affiliate("C", "N")
            .put(
                "/affiliates/<1>",
                r#"{"affiliate_name":null,"city":5}"#,
                invalid(&[
                    ("id", "The id field is required."),
                    ("affiliate_name", "The affiliate name field is required."),
                    ("city", "The city field must be a string."),
                ]),
            )
            .only_rest(),
    ])
    .await;
}

fn integer_written_otherwise(id: &str) -> Case {
    Case::new(format!("an ID written as {id}"))
        .given_affiliate("C", "N")
        .put(
            "/affiliates/<1>",
            format!(r#"{{"id":{id},"city":"X"}}"#),
            invalid_one("id", "The id field must be an integer."),
        )
        .only_rest()
}

async fn batch_update() {
    let two = |name: &str| Case::new(name).given_affiliate("C", "N").given_affiliate("D", "M");
    run_table(vec![
        two("every item succeeds, in the order sent")
            .put("/affiliates/<1>", r#"{"affiliates":[{"id":<2>,"city":"X"},{"id":<1>,"city":"Y"}]}"#, batch_updated(&[updated_item("<2>"), updated_item("<1>")]))
            .get("/affiliates", list(&[
                affiliate("<1>", &[("client_affiliate_id", r#""C""#.into()), ("affiliate_name", r#""N""#.into()), ("city", r#""Y""#.into())]),
                affiliate("<2>", &[("client_affiliate_id", r#""D""#.into()), ("affiliate_name", r#""M""#.into()), ("city", r#""X""#.into())]),
            ])),
        two("the ID in the URL need not be among the items").put("/affiliates/<1>", r#"{"affiliates":[{"id":<2>,"city":"X"}]}"#, batch_updated(&[updated_item("<2>")])),
        two("successes, unknown, taken and bad countries, in order")
            .put(
                "/affiliates/<1>",
                r#"{"affiliates":[{"id":9007199254740991,"city":"X"},{"id":<1>,"affiliate_name":"M"},{"id":<2>,"country":"ZZ","city":"X"},{"id":<2>,"zip":"7"}]}"#,
                mixed(&[unknown_item("9007199254740991"), taken_item("<1>"), bad_country_update("<2>", "ZZ"), updated_item("<2>")]),
            )
            .get("/affiliates", list(&[
                named("<1>", "C", "N"),
                affiliate("<2>", &[("client_affiliate_id", r#""D""#.into()), ("affiliate_name", r#""M""#.into()), ("zip", r#""7""#.into())]),
            ])),
        two("a batch in which every item fails is 207").put(
            "/affiliates/<1>",
            r#"{"affiliates":[{"id":9007199254740990},{"id":<1>,"affiliate_name":"M"}]}"#,
            mixed(&[unknown_item("9007199254740990"), taken_item("<1>")]),
        ),
        two("IDs that no record can have are unknown").put(
            "/affiliates/<1>",
            r#"{"affiliates":[{"id":0},{"id":-5,"city":"X"},{"id":9223372036854775807,"affiliate_name":"X"},{"id":<1>}]}"#,
            mixed(&[unknown_item("0"), unknown_item("-5"), unknown_item("9223372036854775807"), updated_item("<1>")]),
        ),
        two("an unknown ID in the URL changes nothing")
            .put("/affiliates/9007199254740991", r#"{"affiliates":[{"id":<1>,"city":"X"}]}"#, affiliate_unknown("9007199254740991"))
            .get("/affiliates", list(&[named("<1>", "C", "N"), named("<2>", "D", "M")])),
        two("an unknown ID in the URL, of a batch that would be waves")
            .put("/affiliates/9007199254740991", r#"{"affiliates":[{"id":<1>,"affiliate_name":"X"},{"id":<1>,"affiliate_name":"Y"}]}"#, affiliate_unknown("9007199254740991"))
            .get("/affiliates", list(&[named("<1>", "C", "N"), named("<2>", "D", "M")])),
        two("the same ID twice is changed twice, in order")
            .put("/affiliates/<1>", r#"{"affiliates":[{"id":<1>,"city":"X","zip":"1"},{"id":<2>,"city":"Z"},{"id":<1>,"city":"Y"}]}"#,
                batch_updated(&[updated_item("<1>"), updated_item("<2>"), updated_item("<1>")]))
            .get("/affiliates/<1>", record(&affiliate("<1>", &[
                ("client_affiliate_id", r#""C""#.into()), ("affiliate_name", r#""N""#.into()), ("city", r#""Y""#.into()), ("zip", r#""1""#.into()),
            ]))),
        two("a rename chain: each takes the name that the one before gave up")
            .given_affiliate("E", "O")
            .put("/affiliates/<1>", r#"{"affiliates":[{"id":<1>,"affiliate_name":"P"},{"id":<2>,"affiliate_name":"N"},{"id":<3>,"affiliate_name":"M"}]}"#,
                batch_updated(&[updated_item("<1>"), updated_item("<2>"), updated_item("<3>")]))
            .get("/affiliates", list(&[named("<1>", "C", "P"), named("<2>", "D", "N"), named("<3>", "E", "M")])),
        two("a name that is given up only later is taken still")
            .put("/affiliates/<1>", r#"{"affiliates":[{"id":<1>,"affiliate_name":"M"},{"id":<2>,"affiliate_name":"X"}]}"#, mixed(&[taken_item("<1>"), updated_item("<2>")]))
            .get("/affiliates", list(&[named("<1>", "C", "N"), named("<2>", "D", "X")])),
        two("a swap by way of a third name")
            .put("/affiliates/<1>", r#"{"affiliates":[{"id":<1>,"affiliate_name":"tmp"},{"id":<2>,"affiliate_name":"N"},{"id":<1>,"affiliate_name":"M"}]}"#,
                batch_updated(&[updated_item("<1>"), updated_item("<2>"), updated_item("<1>")]))
            .get("/affiliates", list(&[named("<1>", "C", "M"), named("<2>", "D", "N")])),
        two("a direct swap: neither name is free when it is asked for")
            .put("/affiliates/<1>", r#"{"affiliates":[{"id":<1>,"affiliate_name":"M"},{"id":<2>,"affiliate_name":"N"}]}"#, mixed(&[taken_item("<1>"), taken_item("<2>")]))
            .get("/affiliates", list(&[named("<1>", "C", "N"), named("<2>", "D", "M")])),
        two("of two that want one name the first gets it")
            .put("/affiliates/<1>", r#"{"affiliates":[{"id":<2>,"affiliate_name":"X"},{"id":<1>,"affiliate_name":"X"}]}"#, mixed(&[updated_item("<2>"), taken_item("<1>")]))
            .get("/affiliates", list(&[named("<1>", "C", "N"), named("<2>", "D", "X")])),
        two("renamed to and fro")
            .put("/affiliates/<1>", r#"{"affiliates":[{"id":<1>,"affiliate_name":"X"},{"id":<1>,"affiliate_name":"N"},{"id":<2>,"affiliate_name":"X"}]}"#,
                batch_updated(&[updated_item("<1>"), updated_item("<1>"), updated_item("<2>")]))
            .get("/affiliates", list(&[named("<1>", "C", "N"), named("<2>", "D", "X")])),
        two("a name freed by an item that fails is not free")
            .put("/affiliates/<1>", r#"{"affiliates":[{"id":<1>,"affiliate_name":"X","country":"ZZ"},{"id":<2>,"affiliate_name":"N"}]}"#,
                mixed(&[bad_country_update("<1>", "ZZ"), taken_item("<2>")]))
            .get("/affiliates", list(&[named("<1>", "C", "N"), named("<2>", "D", "M")])),
        two("a name wanted by an item that fails is free")
            .put("/affiliates/<1>", r#"{"affiliates":[{"id":<1>,"affiliate_name":"X","country":"ZZ"},{"id":<2>,"affiliate_name":"X"}]}"#,
                mixed(&[bad_country_update("<1>", "ZZ"), updated_item("<2>")]))
            .get("/affiliates", list(&[named("<1>", "C", "N"), named("<2>", "D", "X")])),
        two("an empty array is missing").put("/affiliates/<1>", r#"{"affiliates":[]}"#, invalid_one("affiliates", "The affiliates field is required.")),
        two("the ID of an item is required").put("/affiliates/<1>", r#"{"affiliates":[{"id":<1>,"city":"X"},{"city":"X"}]}"#, invalid_one("affiliates.1.id", "The affiliates.1.id field is required."))
            .get("/affiliates/<1>", record(&named("<1>", "C", "N"))),
        two("the ID of an item is an integer").put("/affiliates/<1>", r#"{"affiliates":[{"id":"<1>"},{"id":<1>.0}]}"#, invalid(&[
            ("affiliates.0.id", "The affiliates.0.id field must be an integer."),
            ("affiliates.1.id", "The affiliates.1.id field must be an integer."),
        ])).only_rest(),
        two("an element is an object").put("/affiliates/<1>", r#"{"affiliates":[<1>]}"#, invalid_one("affiliates.0", "The affiliates.0 field must be an object.")).only_rest(),
        two("the key affiliates selects the batch, whatever else is there").put(
            "/affiliates/<1>", r#"{"id":<2>,"city":"Q","affiliates":[{"id":<2>,"zip":"1"}]}"#, batch_updated(&[updated_item("<2>")]))
            .get("/affiliates/<1>", record(&named("<1>", "C", "N"))),
    ])
    .await;
}

/// 422 before 404 before 409. What comes before those is in `access.rs`.
async fn order_of_checks() {
    let bad = r#"{"id":9007199254740991,"affiliate_name":"N","email_one":"x"}"#;
    let fault = || invalid_one("email_one", "The email one field must be a valid email address.");
    run_table(vec![
        Case::new("a fault comes before an unknown affiliate").put("/affiliates/9007199254740991", bad, fault()),
        Case::new("a fault comes before a path that is no ID")
            .put("/affiliates/abc", r#"{"id":5,"email_one":"x"}"#, fault())
            .only_rest(),
        Case::new("a missing body ID comes before a path that is no ID")
            .put("/affiliates/abc", r#"{"city":"X"}"#, invalid_one("id", "The id field is required."))
            .only_rest(),
        Case::new("a path that is no ID, and a good body")
            .put("/affiliates/abc", r#"{"id":5}"#, affiliate_unknown("abc"))
            .only_rest(),
        Case::new("a fault comes before an unknown affiliate, in a batch").given_affiliate("C", "N").put(
            "/affiliates/9007199254740991",
            r#"{"affiliates":[{"id":<1>,"email_one":"x"}]}"#,
            invalid_one("affiliates.0.email_one", "The affiliates.0.email_one field must be a valid email address."),
        ),
        Case::new("a fault comes before a name that exists").given_affiliate("C", "N").post(
            "/affiliates",
            r#"{"client_affiliate_id":"D","affiliate_name":"N","email_one":"x"}"#,
            fault(),
        ),
        Case::new("an unknown affiliate comes before a taken name").given_affiliate("C", "N").put(
            "/affiliates/9007199254740991",
            r#"{"id":9007199254740991,"affiliate_name":"N"}"#,
            affiliate_unknown("9007199254740991"),
        ),
    ])
    .await;
}

/// Bodies that are no JSON, or no object.
async fn bodies() {
    let mut cases = Vec::new();
    for (body, message) in [
        ("", "The body must be valid JSON."),
        ("{", "The body must be valid JSON."),
        ("{} {}", "The body must be valid JSON."),
        ("{'a':1}", "The body must be valid JSON."),
        (r#"{"a":1,}"#, "The body must be valid JSON."),
        ("affiliate_name=N", "The body must be valid JSON."),
        ("[]", "The body must be a JSON object."),
        (r#"[{"client_affiliate_id":"C","affiliate_name":"N"}]"#, "The body must be a JSON object."),
        ("null", "The body must be a JSON object."),
        ("5", "The body must be a JSON object."),
        (r#""x""#, "The body must be a JSON object."),
        ("true", "The body must be a JSON object."),
    ] {
        for (method, path) in [("POST", "/affiliates"), ("PUT", "/affiliates/<1>"), ("POST", "/urls")] {
            let case = Case::new(format!("{method} {path} with {body}")).given_affiliate("C", "N");
            cases.push(case.call(method, path, Some(body.to_owned()), invalid_one("body", message)).only_rest());
        }
    }
    run_table(cases).await;
}

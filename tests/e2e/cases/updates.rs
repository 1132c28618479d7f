//! Updates affiliates, one at a time and in batches.

use serde_json::{Map, Value, json};

use super::{
    Case,
    affiliates::{list, named, record},
    expect::{
        affiliate_unknown, bad_country_update, batch_updated, created_one, invalid, invalid_one, mixed, name_taken,
        no_known_field, taken_item, unknown_item, updated_item, updated_one,
    },
    records::{FIELDS, affiliate},
    run_table,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn single_affiliates_are_updated() {
    run_table(vec![
        Case::new("only sent fields change")
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
        Case::new("update with only an ID changes nothing")
            .given_affiliate("C", "N")
            .put("/affiliates/<1>", r#"{"id":<1>}"#, no_known_field(updated_one("<1>")))
            .get("/affiliates/<1>", record(&named("<1>", "C", "N"))),
        Case::new("unknown keys and response field names change nothing")
            .given_affiliate("C", "N")
            .put(
                "/affiliates/<1>",
                r#"{"id":<1>,"distributor_name":"X","client_id":5,"x":[1]}"#,
                no_known_field(updated_one("<1>")),
            )
            .only_rest()
            .get("/affiliates/<1>", record(&named("<1>", "C", "N"))),
        Case::new("affiliate can take an unused name")
            .given_affiliate("C", "N")
            .put("/affiliates/<1>", r#"{"id":<1>,"affiliate_name":"M","client_affiliate_id":"D"}"#, updated_one("<1>"))
            .get("/affiliates/<1>", record(&named("<1>", "D", "M"))),
        Case::new("affiliate can keep its name").given_affiliate("C", "N").put(
            "/affiliates/<1>",
            r#"{"id":<1>,"affiliate_name":"N"}"#,
            updated_one("<1>"),
        ),
        Case::new("another affiliate's name is rejected")
            .given_affiliate("C", "N")
            .given_affiliate("D", "M")
            .put("/affiliates/<2>", r#"{"id":<2>,"affiliate_name":"N","city":"X"}"#, name_taken())
            .get("/affiliates/<2>", record(&named("<2>", "D", "M"))),
        Case::new("renamed affiliate frees its old name")
            .given_affiliate("C", "N")
            .put("/affiliates/<1>", r#"{"id":<1>,"affiliate_name":"M"}"#, updated_one("<1>"))
            .given_affiliate("D", "N"),
        Case::new("single update rejects an unknown country")
            .given_affiliate("C", "N")
            .put(
                "/affiliates/<1>",
                r#"{"id":<1>,"country":"zz","city":"X"}"#,
                invalid_one("country", "The selected country is invalid. It must be an ISO 3166-1 alpha-2 code."),
            )
            .get("/affiliates/<1>", record(&named("<1>", "C", "N"))),
        Case::new("unknown affiliate returns 404").put(
            "/affiliates/9007199254740991",
            r#"{"id":9007199254740991,"city":"X"}"#,
            affiliate_unknown("9007199254740991"),
        ),
        Case::new("unknown affiliate without changes returns 404").put(
            "/affiliates/9007199254740991",
            r#"{"id":9007199254740991}"#,
            affiliate_unknown("9007199254740991"),
        ),
        Case::new("ID is required").given_affiliate("C", "N").put(
            "/affiliates/<1>",
            r#"{"city":"X"}"#,
            invalid_one("id", "The id field is required."),
        ),
        Case::new("null ID counts as missing").given_affiliate("C", "N").put(
            "/affiliates/<1>",
            r#"{"id":null,"city":"X"}"#,
            invalid_one("id", "The id field is required."),
        ),
        Case::new("ID must match the URL")
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
        Case::new("ID and field violations are reported together")
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
    Case::new(format!("ID written as {id}"))
        .given_affiliate("C", "N")
        .put(
            "/affiliates/<1>",
            format!(r#"{{"id":{id},"city":"X"}}"#),
            invalid_one("id", "The id field must be an integer."),
        )
        .only_rest()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn affiliates_are_updated_in_batches() {
    let two = |name: &str| Case::new(name).given_affiliate("C", "N").given_affiliate("D", "M");
    run_table(vec![
        two("all items succeed in request order")
            .put("/affiliates/<1>", r#"{"affiliates":[{"id":<2>,"city":"X"},{"id":<1>,"city":"Y"}]}"#, batch_updated(&[updated_item("<2>"), updated_item("<1>")]))
            .get("/affiliates", list(&[
                affiliate("<1>", &[("client_affiliate_id", r#""C""#.into()), ("affiliate_name", r#""N""#.into()), ("city", r#""Y""#.into())]),
                affiliate("<2>", &[("client_affiliate_id", r#""D""#.into()), ("affiliate_name", r#""M""#.into()), ("city", r#""X""#.into())]),
            ])),
        two("URL ID can be missing from the batch").put("/affiliates/<1>", r#"{"affiliates":[{"id":<2>,"city":"X"}]}"#, batch_updated(&[updated_item("<2>")])),
        two("mixed results keep the item order")
            .put(
                "/affiliates/<1>",
                r#"{"affiliates":[{"id":9007199254740991,"city":"X"},{"id":<1>,"affiliate_name":"M"},{"id":<2>,"country":"ZZ","city":"X"},{"id":<2>,"zip":"7"}]}"#,
                mixed(&[unknown_item("9007199254740991"), taken_item("<1>"), bad_country_update("<2>", "ZZ"), updated_item("<2>")]),
            )
            .get("/affiliates", list(&[
                named("<1>", "C", "N"),
                affiliate("<2>", &[("client_affiliate_id", r#""D""#.into()), ("affiliate_name", r#""M""#.into()), ("zip", r#""7""#.into())]),
            ])),
        two("batch with only failures returns 207").put(
            "/affiliates/<1>",
            r#"{"affiliates":[{"id":9007199254740990},{"id":<1>,"affiliate_name":"M"}]}"#,
            mixed(&[unknown_item("9007199254740990"), taken_item("<1>")]),
        ),
        two("out-of-range IDs are unknown").put(
            "/affiliates/<1>",
            r#"{"affiliates":[{"id":0},{"id":-5,"city":"X"},{"id":9223372036854775807,"affiliate_name":"X"},{"id":<1>}]}"#,
            mixed(&[unknown_item("0"), unknown_item("-5"), unknown_item("9223372036854775807"), updated_item("<1>")]),
        ),
        two("unknown URL ID changes nothing")
            .put("/affiliates/9007199254740991", r#"{"affiliates":[{"id":<1>,"city":"X"}]}"#, affiliate_unknown("9007199254740991"))
            .get("/affiliates", list(&[named("<1>", "C", "N"), named("<2>", "D", "M")])),
        two("unknown URL ID with repeated updates changes nothing")
            .put("/affiliates/9007199254740991", r#"{"affiliates":[{"id":<1>,"affiliate_name":"X"},{"id":<1>,"affiliate_name":"Y"}]}"#, affiliate_unknown("9007199254740991"))
            .get("/affiliates", list(&[named("<1>", "C", "N"), named("<2>", "D", "M")])),
        two("repeated ID is updated twice in order")
            .put("/affiliates/<1>", r#"{"affiliates":[{"id":<1>,"city":"X","zip":"1"},{"id":<2>,"city":"Z"},{"id":<1>,"city":"Y"}]}"#,
                batch_updated(&[updated_item("<1>"), updated_item("<2>"), updated_item("<1>")]))
            .get("/affiliates/<1>", record(&affiliate("<1>", &[
                ("client_affiliate_id", r#""C""#.into()), ("affiliate_name", r#""N""#.into()), ("city", r#""Y""#.into()), ("zip", r#""1""#.into()),
            ]))),
        two("rename chain reuses each freed name")
            .given_affiliate("E", "O")
            .put("/affiliates/<1>", r#"{"affiliates":[{"id":<1>,"affiliate_name":"P"},{"id":<2>,"affiliate_name":"N"},{"id":<3>,"affiliate_name":"M"}]}"#,
                batch_updated(&[updated_item("<1>"), updated_item("<2>"), updated_item("<3>")]))
            .get("/affiliates", list(&[named("<1>", "C", "P"), named("<2>", "D", "N"), named("<3>", "E", "M")])),
        two("name freed by a later item is still taken")
            .put("/affiliates/<1>", r#"{"affiliates":[{"id":<1>,"affiliate_name":"M"},{"id":<2>,"affiliate_name":"X"}]}"#, mixed(&[taken_item("<1>"), updated_item("<2>")]))
            .get("/affiliates", list(&[named("<1>", "C", "N"), named("<2>", "D", "X")])),
        two("names can be swapped through a temporary name")
            .put("/affiliates/<1>", r#"{"affiliates":[{"id":<1>,"affiliate_name":"tmp"},{"id":<2>,"affiliate_name":"N"},{"id":<1>,"affiliate_name":"M"}]}"#,
                batch_updated(&[updated_item("<1>"), updated_item("<2>"), updated_item("<1>")]))
            .get("/affiliates", list(&[named("<1>", "C", "M"), named("<2>", "D", "N")])),
        two("direct swap is rejected")
            .put("/affiliates/<1>", r#"{"affiliates":[{"id":<1>,"affiliate_name":"M"},{"id":<2>,"affiliate_name":"N"}]}"#, mixed(&[taken_item("<1>"), taken_item("<2>")]))
            .get("/affiliates", list(&[named("<1>", "C", "N"), named("<2>", "D", "M")])),
        two("first of two claims to a name wins")
            .put("/affiliates/<1>", r#"{"affiliates":[{"id":<2>,"affiliate_name":"X"},{"id":<1>,"affiliate_name":"X"}]}"#, mixed(&[updated_item("<2>"), taken_item("<1>")]))
            .get("/affiliates", list(&[named("<1>", "C", "N"), named("<2>", "D", "X")])),
        two("renaming back frees the temporary name")
            .put("/affiliates/<1>", r#"{"affiliates":[{"id":<1>,"affiliate_name":"X"},{"id":<1>,"affiliate_name":"N"},{"id":<2>,"affiliate_name":"X"}]}"#,
                batch_updated(&[updated_item("<1>"), updated_item("<1>"), updated_item("<2>")]))
            .get("/affiliates", list(&[named("<1>", "C", "N"), named("<2>", "D", "X")])),
        two("failed item frees no name")
            .put("/affiliates/<1>", r#"{"affiliates":[{"id":<1>,"affiliate_name":"X","country":"ZZ"},{"id":<2>,"affiliate_name":"N"}]}"#,
                mixed(&[bad_country_update("<1>", "ZZ"), taken_item("<2>")]))
            .get("/affiliates", list(&[named("<1>", "C", "N"), named("<2>", "D", "M")])),
        two("failed item reserves no name")
            .put("/affiliates/<1>", r#"{"affiliates":[{"id":<1>,"affiliate_name":"X","country":"ZZ"},{"id":<2>,"affiliate_name":"X"}]}"#,
                mixed(&[bad_country_update("<1>", "ZZ"), updated_item("<2>")]))
            .get("/affiliates", list(&[named("<1>", "C", "N"), named("<2>", "D", "X")])),
        two("empty array counts as missing").put("/affiliates/<1>", r#"{"affiliates":[]}"#, invalid_one("affiliates", "The affiliates field is required.")),
        two("item ID is required").put("/affiliates/<1>", r#"{"affiliates":[{"id":<1>,"city":"X"},{"city":"X"}]}"#, invalid_one("affiliates.1.id", "The affiliates.1.id field is required."))
            .get("/affiliates/<1>", record(&named("<1>", "C", "N"))),
        two("item ID must be an integer").put("/affiliates/<1>", r#"{"affiliates":[{"id":"<1>"},{"id":<1>.0}]}"#, invalid(&[
            ("affiliates.0.id", "The affiliates.0.id field must be an integer."),
            ("affiliates.1.id", "The affiliates.1.id field must be an integer."),
        ])).only_rest(),
        two("items must be objects").put("/affiliates/<1>", r#"{"affiliates":[<1>]}"#, invalid_one("affiliates.0", "The affiliates.0 field must be an object.")).only_rest(),
        two("`affiliates` key takes precedence over single fields").put(
            "/affiliates/<1>", r#"{"id":<2>,"city":"Q","affiliates":[{"id":<2>,"zip":"1"}]}"#, batch_updated(&[updated_item("<2>")]))
            .get("/affiliates/<1>", record(&named("<1>", "C", "N"))),
    ])
    .await;
}

/// Several updates to one affiliate in a batch have the same result as separate requests, for every field.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repeated_updates_match_separate_requests() {
    let optional = || FIELDS.iter().filter(|field| !field.required());
    let samples: Map<String, Value> = optional().map(|field| (field.0.to_owned(), field.sample().0)).collect();
    let cleared = |value: Value| optional().map(|field| (field.0.to_owned(), value.clone())).collect::<Map<_, _>>();
    let (null, empty) = (cleared(Value::Null), cleared(json!("")));
    let names = || [("client_affiliate_id", r#""C""#.to_owned()), ("affiliate_name", r#""N""#.to_owned())];
    let is_full = || {
        affiliate(
            "<1>",
            &names().into_iter().chain(optional().map(|field| (field.0, field.sample().1))).collect::<Vec<_>>(),
        )
    };
    let is_bare = || named("<1>", "C", "N");
    let mut cases = Vec::new();
    for (name, changes, read) in [
        ("set, then cleared by null", vec![&samples, &null], is_bare()),
        ("set, then cleared by empty strings", vec![&samples, &empty], is_bare()),
        ("cleared by null, then set", vec![&null, &samples], is_full()),
        ("cleared by empty strings, then set", vec![&empty, &samples], is_full()),
        ("set, cleared and set", vec![&samples, &null, &samples], is_full()),
        ("cleared, set and cleared", vec![&empty, &samples, &null], is_bare()),
        ("set, then updated with no fields", vec![&samples, &Map::new()], is_full()),
    ] {
        for before in [&null, &samples] {
            let item = |change: &Map<String, Value>| {
                let fields = json!(change).to_string();
                let comma = if change.is_empty() { "" } else { "," };
                format!(r#"{{"id":<1>{comma}{}"#, &fields[1..])
            };
            let items: Vec<String> = changes.iter().map(|change| item(change)).collect();
            let before_name = if before.contains_key("city") && before["city"].is_null() { "empty" } else { "full" };
            let given = || {
                Case::new(format!("{before_name} affiliate: {name}")).given_affiliate("C", "N").put(
                    "/affiliates/<1>",
                    item(before),
                    updated_one("<1>"),
                )
            };
            let results = vec![updated_item("<1>"); items.len()];
            let body = format!(r#"{{"affiliates":[{}]}}"#, items.join(","));
            cases.push(
                given().put("/affiliates/<1>", body, batch_updated(&results)).get("/affiliates/<1>", record(&read)),
            );
            // The same updates, one by one.
            let mut singles = given();
            singles.name.push_str(", one by one");
            for (item, change) in items.into_iter().zip(&changes) {
                let updated = updated_one("<1>");
                let expected = if change.is_empty() { no_known_field(updated) } else { updated };
                singles = singles.put("/affiliates/<1>", item, expected);
            }
            cases.push(singles.get("/affiliates/<1>", record(&read)));
        }
    }
    run_table(cases).await;
}

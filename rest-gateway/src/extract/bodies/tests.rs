use compliance_api::{
    error::{Error, Reason},
    v1::{AffiliateInput, AffiliateSync, AffiliateUpdate, UrlInput},
};

use http::HeaderMap;

use super::{Create, IfMatch, Input, PathId, Update, add_urls, create_affiliates, sync_affiliates, update_affiliates};
use crate::route::Ignored;

const MEMORY: usize = 1 << 20;

fn input<'a>(body: &'a str, ignored: &'a mut Ignored) -> Input<'a> {
    Input { bytes: body.as_bytes(), memory: MEMORY, ignored }
}

fn create(body: &str) -> Result<Create, Error> {
    create_affiliates(input(body, &mut Ignored::default()))
}

fn update(path: &str, body: &str) -> Result<Update, Error> {
    update_affiliates(input(body, &mut Ignored::default()), &PathId::of(path), &IfMatch::of(&HeaderMap::new()))
}

fn violations(error: Error) -> Vec<(String, String)> {
    error.violations.into_iter().map(|violation| (violation.path, violation.message)).collect()
}

fn expected(violations: &[(&str, &str)]) -> Vec<(String, String)> {
    violations.iter().map(|(path, message)| ((*path).to_owned(), (*message).to_owned())).collect()
}

fn one(body: &str) -> AffiliateInput {
    match create(body) {
        Ok(Create::One(request)) => request.affiliate.unwrap(),
        other => panic!("{other:?}"),
    }
}

fn one_update(path: &str, body: &str) -> AffiliateUpdate {
    match update(path, body) {
        Ok(Update::One(request)) => request.update.unwrap(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn unknown_keys_are_ignored_and_last_duplicate_wins() {
    let input =
        one(r#"{"id":[1],"x":{"y":[[]]},"city":5,"city":"A","zip":"1","zip":null,"notes":"","n\u006ftes":"\u00e9"}"#);
    let expected = AffiliateInput { city: Some("A".into()), notes: Some("é".into()), ..Default::default() };
    assert_eq!(input, expected);
}

#[test]
fn misspelled_options_are_rejected() {
    let refused = |body: &str| {
        let body = body
            .replace("{_}", r#"{"client_affiliate_id":"A","affiliate_name":"B","id":7,"url":"https://a.example/"}"#);
        let (mut of_sync, mut of_urls) = (Ignored::default(), Ignored::default());
        let errors = [
            create(&body).err(),
            update("7", &body).err(),
            sync_affiliates(input(&body, &mut of_sync)).err(),
            add_urls(input(&body.replace("affiliates", "urls"), &mut of_urls)).err(),
        ];
        errors.map(|error| error.map(|error| error.message).unwrap_or_default())
    };
    for name in ["validateonly", "validateOnly", "Validate-Only", "valdiate_only", "dry_run", "dryRun", "dry-run"] {
        let message = format!("The option {name} does not exist. Use validate_only.");
        assert_eq!(refused(&format!(r#"{{"{name}":true,"affiliates":[{{_}}]}}"#)), [&*message; 4]);
    }
    let single = refused(r#"{"client_affiliate_id":"A","affiliate_name":"B","dry_run":false,"id":7}"#);
    assert_eq!(single[0], "The option dry_run does not exist. Use validate_only.");
    assert_eq!(single[1], single[0]);
    let [.., sync, urls] = refused(r#"{"affiliates":[{_}],"absentStatus":"terminated"}"#);
    assert_eq!((&*sync, &*urls), ("The option absentStatus does not exist. Use absent_status.", ""));
    assert_eq!(refused(r#"{"affiliates":[{_}],"status":1,"report":1,"valid":1,"dry":1,"map":1,"absent":1}"#), [""; 4]);
}

#[test]
fn every_json_key_sets_its_field() {
    use compliance_api::record::{Access, Record as _, RecordField};
    let value = |field: &RecordField<AffiliateInput>| match field.access {
        Access::Text { .. } => serde_json::json!(format!("value of {}", field.name)),
        Access::Boolean { .. } => serde_json::json!(true),
        _ => serde_json::json!(field.number),
    };
    let fields = AffiliateInput::FIELDS;
    let body: serde_json::Map<_, _> = fields.iter().rev().map(|field| (field.name.to_owned(), value(field))).collect();
    let input = one(&serde_json::to_string(&body).unwrap());
    for field in fields {
        let expected = value(field);
        let expected = expected.as_str().map_or_else(|| expected.to_string().replace("true", "yes"), str::to_owned);
        assert_eq!(field.written(&input).as_deref(), Some(expected.as_str()));
    }
}

#[test]
fn type_and_rule_violations_are_reported_in_order() {
    let error =
        create(r#"{"zip":"12345678901234567","city":5,"affiliate_name":{"a":1},"country":"USA","status":false}"#);
    let error = error.unwrap_err();
    assert_eq!(error.message, "The client affiliate id field is required. (and 5 more errors)");
    let expected = expected(&[
        ("client_affiliate_id", "The client affiliate id field is required."),
        ("affiliate_name", "The affiliate name field must be a string."),
        ("country", "The country field must be 2 characters."),
        ("city", "The city field must be a string."),
        ("zip", "The zip field must not be greater than 16 characters."),
        ("status", "The status field must be a string."),
    ]);
    assert_eq!(violations(error), expected);
}

#[test]
fn batch_reports_all_violations_of_all_items() {
    let good = r#"{"client_affiliate_id":"A","affiliate_name":"B"}"#;
    let body = format!(r#"{{"affiliates":[{good},7,{{"affiliate_name":[],"city":[[]]}},null,{good}],"city":5}}"#);
    let expected = expected(&[
        ("affiliates.1", "The affiliates.1 field must be an object."),
        ("affiliates.2.client_affiliate_id", "The affiliates.2.client_affiliate_id field is required."),
        ("affiliates.2.affiliate_name", "The affiliates.2.affiliate_name field must be a string."),
        ("affiliates.2.city", "The affiliates.2.city field must be a string."),
        ("affiliates.3", "The affiliates.3 field must be an object."),
    ]);
    assert_eq!(violations(create(&body).unwrap_err()), expected);
}

#[test]
fn affiliates_key_selects_batch_form() {
    for body in [r#"{"affiliates":null}"#, r#"{"affiliates":[]}"#, r#"{"affiliates":5,"affiliates":[]}"#] {
        assert!(matches!(create(body), Ok(Create::Batch(request)) if request.affiliates.is_empty()), "{body}");
    }
    let expected = expected(&[("affiliates", "The affiliates field must be an array.")]);
    assert_eq!(violations(create(r#"{"affiliates":{}}"#).unwrap_err()), expected);
}

#[test]
fn update_mask_lists_sent_fields() {
    let update = one_update("7", r#"{"zip":null,"id":7,"city":"","x":1,"city":"A"}"#);
    assert_eq!(update.id, Some(7));
    assert_eq!(update.update_mask.unwrap().paths, ["city", "zip"]);
    assert_eq!(update.affiliate.unwrap(), AffiliateInput { city: Some("A".into()), ..Default::default() });
    assert_eq!(one_update("7", r#"{"id":7}"#).update_mask.unwrap().paths, [""; 0]);
}

#[test]
fn body_id_must_match_path_id() {
    for (body, message) in [
        (r#"{"id":8}"#, "The id field must match the ID in the URL."),
        (r#"{"id":"7"}"#, "The id field must be an integer."),
        (r#"{"id":7.0}"#, "The id field must be an integer."),
        (r#"{"id":7e0}"#, "The id field must be an integer."),
        (r#"{"id":18446744073709551616}"#, "The id field must be an integer."),
    ] {
        assert_eq!(violations(update("7", body).unwrap_err()), expected(&[("id", message)]), "{body}");
    }
    // The core, not the gateway, checks for a missing ID.
    assert_eq!(one_update("7", r#"{"city":"A"}"#).id, None);
}

#[test]
fn invalid_path_ids_return_404_after_body_checks() {
    for (path, body) in
        [("abc", r#"{"id":5}"#), ("0", r#"{"id":0}"#), ("-1", r#"{"id":-1}"#), ("x", r#"{"affiliates":[{"id":1}]}"#)]
    {
        let error = update(path, body).unwrap_err();
        assert_eq!(error.reason, Reason::AffiliateNotFound, "{path}");
        assert!(error.message.contains(path), "{}", error.message);
    }
    let expected = expected(&[("id", "The id field is required.")]);
    assert_eq!(violations(update("abc", "{}").unwrap_err()), expected);
    assert_eq!(update("abc", r#"{"affiliates":[]}"#).unwrap_err().reason, Reason::InvalidFields);
}

#[test]
fn non_object_bodies_are_rejected() {
    for (body, error) in [
        ("", "It is empty."),
        ("{", "The error is at line 1, column 1."),
        ("{\"city\":1e400}", "The error is at line 1, column 1"),
        ("{\"city\":\"\\ud800\"}", "The error is at line 1, column 1"),
        ("{}\n {}", "The error is at line 2, column 2."),
        ("{\n\"city\":\"a\u{1}\"}", "The error is at line 2, column "),
    ] {
        let [(path, message)] = &violations(create(body).unwrap_err())[..] else { panic!("{body}") };
        let expected = format!("The body must be valid JSON. {error}");
        assert!(path == "body" && message.starts_with(&expected), "{body}: {message}");
    }
    for body in ["5", "null", "\"a\"", "true", "1.5"] {
        let expected = expected(&[("body", "The body must be a JSON object.")]);
        assert_eq!(violations(create(body).unwrap_err()), expected, "{body}");
    }
    let of_list = expected(&[("body", "The body must be a JSON object. Send the list in the field affiliates.")]);
    assert_eq!(violations(create("[{}]").unwrap_err()), of_list);
    let deep = "[".repeat(200_000);
    assert_eq!(violations(create(&deep).unwrap_err())[0].0, "body");
    let within = format!(r#"{{"city":{deep}{}}}"#, "]".repeat(200_000));
    assert!(
        violations(create(&within).unwrap_err()).contains(&("city".into(), "The city field must be a string.".into()))
    );
}

#[test]
fn affiliate_batches_exceeding_memory_are_rejected() {
    let body = format!(r#"{{"affiliates":[{}{{}}]}}"#, "{},".repeat(10_000));
    assert_eq!(create(&body).unwrap_err().reason, Reason::BodyTooLarge);
}

#[test]
fn sync_bodies_keep_options_and_sent_fields() {
    let body = r#"{"validate_only":true,"city":"x","absent_status":"terminated","report_absent":null,"affiliates":[
        {"client_affiliate_id":"A","city":null,"zip":"1","validate_only":5},{}]}"#;
    let request = sync_affiliates(input(body, &mut Ignored::default())).unwrap();
    assert!(request.validate_only && !request.report_absent);
    assert_eq!(request.absent_status.as_deref(), Some("terminated"));
    let [first, second] = &request.affiliates[..] else { panic!("{request:?}") };
    assert_eq!(first.update_mask.as_ref().unwrap().paths, ["client_affiliate_id", "city", "zip"]);
    assert_eq!(first.affiliate.as_ref().unwrap().zip.as_deref(), Some("1"));
    assert_eq!(second, &AffiliateSync { affiliate: Some(<_>::default()), update_mask: Some(<_>::default()) });
}

#[test]
fn wrong_types_in_sync_bodies_are_reported() {
    let body = r#"{"validate_only":"yes","absent_status":5,"report_absent":1,"affiliates":[{"city":7},9]}"#;
    let paths: Vec<String> = sync_affiliates(input(body, &mut Ignored::default()))
        .unwrap_err()
        .violations
        .into_iter()
        .map(|each| each.path)
        .collect();
    assert!(paths.contains(&"affiliates.0.city".to_owned()) && paths.contains(&"affiliates.1".to_owned()), "{paths:?}");
    let body = r#"{"validate_only":"yes","absent_status":5,"report_absent":1,"affiliates":[{}]}"#;
    let paths: Vec<String> = sync_affiliates(input(body, &mut Ignored::default()))
        .unwrap_err()
        .violations
        .into_iter()
        .map(|each| each.path)
        .collect();
    assert_eq!(paths, ["report_absent", "absent_status", "validate_only"]);
}

fn url_violations(body: &str) -> Vec<(String, String)> {
    violations(add_urls(input(body, &mut Ignored::default())).unwrap_err())
}

#[test]
fn elements_keep_order_and_null_counts_as_absent() {
    let body = r#"{"a":[[]],"urls":[{"url":"http://a/","x":{}},{"url":null},{},{"url":"","url":"b"}]}"#;
    let urls: Vec<Option<String>> =
        add_urls(input(body, &mut Ignored::default())).unwrap().urls.into_iter().map(|input| input.url).collect();
    assert_eq!(urls, [Some("http://a/".into()), None, None, Some("b".into())]);
}

#[test]
fn gateway_passes_empty_lists_to_the_core() {
    for body in ["{}", r#"{"urls":null}"#, r#"{"urls":[]}"#, r#"{"urls":5,"urls":[]}"#, r#"{"url":5}"#] {
        assert!(add_urls(input(body, &mut Ignored::default())).unwrap().urls.is_empty(), "{body}");
    }
}

#[test]
fn type_and_rule_violations_are_reported_once() {
    assert_eq!(url_violations(r#"{"urls":{}}"#), [("urls".into(), "The urls field must be an array.".into())]);
    let body = r#"{"urls":[5,{"url":7},{},{"url":"ftp://a/"},{"url":"http://a/"}]}"#;
    let expected = [
        ("urls.0", "The urls.0 field must be an object with the field url."),
        ("urls.1.url", "The urls.1.url field must be a string."),
        ("urls.2", "The urls.2 field must contain entries for: url."),
        ("urls.3.url", "The urls.3.url field must be a valid URL."),
    ];
    assert_eq!(url_violations(body), expected.map(|(path, message)| (path.to_owned(), message.to_owned())));
}

#[test]
fn url_lists_exceeding_memory_are_rejected() {
    let body = format!(r#"{{"urls":[{}{{}}]}}"#, "{},".repeat(100));
    let mut ignored = Ignored::default();
    let input = Input { memory: 100 * size_of::<UrlInput>(), ..input(&body, &mut ignored) };
    assert_eq!(add_urls(input).unwrap_err().reason, Reason::BodyTooLarge);
}

#[test]
fn null_counts_as_absent_for_every_type() {
    use super::incidents;
    use compliance_api::v1::{DetachIncidentsRequest, IncidentKey, UrlReview};
    let (path, mut ignored) = (PathId::of("7"), Ignored::default());
    let body = r#"{"id":9,"incidents":[{"incident_id":null,"incident_type":null,"url":null}]}"#;
    let request: DetachIncidentsRequest = incidents(input(body, &mut ignored), &path).unwrap();
    assert_eq!(request, DetachIncidentsRequest { id: 7, incidents: vec![IncidentKey::default()] });
    assert_eq!(ignored.header().unwrap(), "id");
    let body = r#"{"disabled":null,"infractions":null,"note":"x","incident_status":""}"#;
    let if_match = IfMatch::of(&HeaderMap::new());
    let request = super::review_url(input(body, &mut Ignored::default()), &path, &if_match).unwrap().message;
    let review = UrlReview { note: Some("x".into()), incident_status: Some(String::new()), ..Default::default() };
    assert_eq!((request.id, request.review), (7, Some(review)));
    assert_eq!(request.update_mask.unwrap().paths, ["incident_status", "disabled", "note", "infractions"]);
}

#[test]
fn wrong_element_types_are_reported() {
    let body = r#"{"request_id":"r","incidents":["x",5,null,[]],"case":{"tags":["a",5,{}]}}"#;
    let checked = super::open_case(input(body, &mut Ignored::default())).unwrap();
    let must = |path: &str, type_name: &str| (path.to_owned(), format!("The {path} field must be {type_name}."));
    let reported = violations(Error::invalid(checked.violations));
    // The core cannot save the request.
    assert_eq!(checked.message.request_id.as_deref(), Some("\0"));
    for expected in (0..4).map(|index| must(&format!("incidents.{index}"), "an object")) {
        assert!(reported.contains(&expected), "{reported:?}");
    }
    for expected in [must("case.tags.1", "a string"), must("case.tags.2", "a string")] {
        assert!(reported.contains(&expected), "{reported:?}");
    }
    assert_eq!(reported.len(), 6);
}

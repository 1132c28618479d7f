use compliance_api::{
    error::ResultCode,
    rules::{MAX_VIOLATIONS, Violations},
    v1::PageMeta,
};

use super::{Detail, Envelope, InvalidFields};

fn json(body: &impl serde::Serialize) -> String {
    serde_json::to_string(body).unwrap()
}

#[test]
fn envelope_keys_keep_documented_order() {
    let detail = Detail {
        affiliate_id: Some(7),
        client_affiliate_id: Some("A"),
        url_id: Some(9),
        case_id: Some(3),
        incident_id: Some(4),
        fields: Some(&["case.tags"]),
        restored_position: Some(5),
        msg: "Hi",
    };
    assert_eq!(
        json(&Envelope::result(ResultCode::Saved, detail)),
        r#"{"code":"1020","status":"ok","detail":{"affiliate_id":7,"client_affiliate_id":"A","url_id":9,"case_id":3,"incident_id":4,"fields":["case.tags"],"restored_position":5,"msg":"Hi"}}"#
    );
    let meta = PageMeta { total: 1, per_page: 100, current_page: 2, last_page: 1 };
    assert_eq!(
        json(&Envelope::found("URLs found", &[0; 0], Some(meta))),
        r#"{"code":"1026","status":"ok","detail":{"msg":"URLs found"},"data":[],"meta":{"total":1,"per_page":100,"current_page":2,"last_page":1}}"#
    );
    assert_eq!(
        json(&Envelope::result(ResultCode::Duplicate, Detail { msg: "No", ..Detail::default() })),
        r#"{"code":"1023","status":"error","detail":{"msg":"No"}}"#
    );
}

#[test]
fn violations_are_grouped_by_path() {
    let mut violations = Violations::new();
    for (path, message) in [("b", "1"), ("a", "2"), ("b", "3")] {
        violations.push((0, 0), || (path.into(), message.into()));
    }
    let body = json(&InvalidFields::<()>::new(&violations.summary(), violations));
    assert_eq!(body, r#"{"message":"1 (and 2 more errors)","errors":{"b":["1","3"],"a":["2"]}}"#);
}

#[test]
fn ten_thousand_violations_are_serialized() {
    let mut violations = Violations::new();
    for item in 0..MAX_VIOLATIONS as u32 {
        violations.push((item + 1, 1), || (format!("urls.{item}.url"), "It is \"wrong\".".into()));
    }
    let body = json(&InvalidFields::<()>::new(&violations.summary(), violations));
    let body: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["errors"].as_object().unwrap().len(), MAX_VIOLATIONS);
    assert_eq!(body["errors"]["urls.9999.url"][0], "It is \"wrong\".");
}

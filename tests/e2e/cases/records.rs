//! The documented record fields, with their limits and their form in responses.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::expect::text;

/// A field's required format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Any,
    Email,
    Url,
    Country,
    Status,
    StartDate,
    /// A 32-bit integer.
    #[allow(dead_code, reason = "no field is an integer yet")]
    Integer,
    #[allow(dead_code, reason = "no field is a flag yet")]
    YesNo,
}

/// A field: its name in requests, its maximum length in characters, and its format.
pub(super) struct Field(pub(super) &'static str, pub(super) usize, pub(super) Form);

use Form::{Any, Country, Email, Integer, StartDate, Status, Url, YesNo};

/// The specification's field table. A status has no maximum length.
pub(super) const FIELDS: &[Field] = &[
    Field("client_affiliate_id", 64, Any),
    Field("affiliate_name", 128, Any),
    Field("email_one", 50, Email),
    Field("email_two", 50, Email),
    Field("phone_one", 30, Any),
    Field("phone_two", 128, Any),
    Field("facebook", 128, Any),
    Field("instagram", 255, Any),
    Field("youtube", 128, Any),
    Field("twitter", 64, Any),
    Field("tiktok", 64, Any),
    Field("pintrest", 64, Any),
    Field("country", 2, Country),
    Field("first_name", 128, Any),
    Field("last_name", 64, Any),
    Field("notes", 2048, Any),
    Field("address", 512, Any),
    Field("city", 64, Any),
    Field("state", 64, Any),
    Field("zip", 16, Any),
    Field("ranking", 64, Any),
    Field("replicated_website", 256, Url),
    Field("sponsor", 64, Any),
    Field("upline", 255, Any),
    Field("status", 0, Status),
    Field("start_date", 10, StartDate),
    Field("language_used", 64, Any),
    Field("territory", 64, Any),
    Field("entrepreneur_id", 255, Any),
    Field("entrepreneur_spouse_id", 255, Any),
    Field("international_distributor", 255, Any),
    Field("is_territory_director", 255, Any),
    Field("jv_status", 255, Any),
    Field("league", 255, Any),
    Field("territory_master", 255, Any),
    Field("merchant_type", 255, Any),
    Field("company_name", 255, Any),
    Field("sponsor_id", 64, Any),
    Field("sponsor_email", 255, Email),
    Field("pay_rank", 64, Any),
    Field("recognition_rank", 64, Any),
];

impl Field {
    /// Returns whether a create requires the field.
    pub(super) fn required(&self) -> bool {
        matches!(self.0, "client_affiliate_id" | "affiliate_name")
    }

    /// Returns the field's name in responses.
    pub(super) fn read_name(&self) -> &'static str {
        match self.0 {
            "affiliate_name" => "distributor_name",
            "client_affiliate_id" => "client_distributor_id",
            "status" => "distributor_status",
            name => name,
        }
    }

    /// Returns the field's name in error messages.
    pub(super) fn label(&self) -> String {
        self.0.replace('_', " ")
    }

    /// Returns a valid text of exactly `chars` characters, multi-byte if the format allows it.
    pub(super) fn of_length(&self, chars: usize) -> String {
        match self.2 {
            Any => "é".repeat(chars),
            Email => {
                // A local part can have at most 64 characters, and a domain label at most 63.
                let mut email = String::from("a@");
                while email.len() + 60 < chars {
                    email.push_str(&"b".repeat(40));
                    email.push('.');
                }
                let rest = chars - email.len() - ".org".len();
                format!("{email}{}.org", "c".repeat(rest))
            }
            Url => format!("https://example.org/{}", "é".repeat(chars - "https://example.org/".len())),
            _ => panic!("{} has a fixed length", self.0),
        }
    }

    /// Returns a valid request value, and its JSON in a response.
    pub(super) fn sample(&self) -> (Value, String) {
        let (written, read) = match self.2 {
            Any => (json!(format!("{} «x»", self.0)), None),
            Email => (json!(format!("{}@example.org", self.0)), None),
            Url => (json!("https://example.org/~ann?a=b#c"), None),
            Country => (json!("US"), Some("840".to_owned())),
            Status => (json!("probation"), None),
            StartDate => (json!("02/29/2024"), Some(text("2024-02-29"))),
            Integer => (json!(-7), None),
            YesNo => (json!(true), Some(text("yes"))),
        };
        let read = read.unwrap_or_else(|| written.to_string());
        (written, read)
    }

    /// Returns the expected type's name in error messages.
    pub(super) fn expected_type(&self) -> &'static str {
        match self.2 {
            Integer => "a 32-bit integer",
            YesNo => "yes or no",
            _ => "a string",
        }
    }

    /// Returns values of the wrong types.
    pub(super) fn wrong_types(&self) -> [Value; 5] {
        let [integer, flag] = match self.2 {
            Integer => [json!(1_u64 << 31), json!(true)],
            YesNo => [json!(1), json!("perhaps")],
            _ => [json!(5), json!(true)],
        };
        [integer, json!(0.5), flag, json!(["x"]), json!({"x": "y"})]
    }
}

/// Returns an affiliate as it appears in a response. `values` contains the non-null fields, by their request names.
pub(super) fn affiliate(id: &str, values: &[(&str, String)]) -> String {
    let mut record = format!(r#"{{"id":{id},"client_id":<company>"#);
    for field in FIELDS {
        let value = values.iter().find(|(name, _)| *name == field.0).map_or("null", |(_, value)| value);
        let _ = write!(record, r#","{}":{value}"#, field.read_name());
    }
    record.push('}');
    record
}

/// The specified compliance URL fields, in order, with their default values.
const URL: &[(&str, &str)] = &[
    ("id", ""),
    ("url", ""),
    ("domain", "null"),
    ("incident_status", r#""New""#),
    ("disabled", r#""no""#),
    ("false_positive", "null"),
    ("country", "null"),
    ("discovery_date", "null"),
    ("last_review_date", "null"),
    ("last_crawl_date", "null"),
    ("last_seen", "null"),
    ("affiliate_name", "null"),
    ("affiliate_id", "null"),
    ("sub_affiliate_id", "null"),
    ("owner_email", "null"),
    ("social_one", "null"),
    ("social_two", "null"),
    ("social_three", "null"),
    ("phone_one", "null"),
    ("phone_two", "null"),
    ("landing_page", "null"),
    ("case_id", "null"),
    ("note", "null"),
    ("video_path", "null"),
    ("transcription_text", "null"),
    ("transcription_status", "null"),
    ("infractions", "[]"),
];

/// The specified compliance case fields, in order, with their default values.
const CASE: &[(&str, &str)] = &[
    ("case_id", ""),
    ("case_worker", "null"),
    ("tags", "[]"),
    ("case_status", r#""New""#),
    ("sub_status", "null"),
    ("submitter", "null"),
    ("notice_status", "null"),
    ("risk_level", "null"),
    ("case_country", "null"),
    ("sub_affiliate_id", "null"),
    ("created_date", "null"),
    ("reviewed_date", "null"),
    ("resolved_date", "null"),
    ("first_action_date", "null"),
    ("flagged_date", "null"),
    ("follow_up_date", "null"),
    ("closed_date", "null"),
    ("affiliate_name", "null"),
    ("affiliate_id", "null"),
    ("merchant_type", "null"),
    ("first_name", "null"),
    ("last_name", "null"),
    ("status", "null"),
    ("ranking", "null"),
    ("start_date", "null"),
    ("language_used", "null"),
    ("territory", "null"),
    ("notes", "null"),
    ("email_one", "null"),
    ("email_two", "null"),
    ("phone_one", "null"),
    ("phone_two", "null"),
    ("address", "null"),
    ("city", "null"),
    ("state", "null"),
    ("zip", "null"),
    ("affiliate_country", "null"),
    ("facebook", "null"),
    ("youtube", "null"),
    ("twitter", "null"),
    ("tiktok", "null"),
    ("pintrest", "null"),
    ("replicated_website", "null"),
    ("sponsor", "null"),
    ("upline", "null"),
    ("upline_name", "null"),
    ("last_updated_date", "null"),
    ("incidents", "[]"),
    ("distributor_id", "<1>"),
    ("note", "null"),
];

/// Returns a URL as it appears in a response. `values` contains the fields that differ from their defaults, as JSON.
pub(crate) fn url(values: &[(&str, String)]) -> String {
    object(URL, values)
}

/// Returns a case as it appears in a response.
pub(crate) fn case(values: &[(&str, String)]) -> String {
    object(CASE, values)
}

fn object(fields: &[(&str, &str)], values: &[(&str, String)]) -> String {
    for (name, _) in values {
        assert!(fields.iter().any(|(field, _)| field == name), "{name} is not a field");
    }
    let fields = fields.iter().map(|(name, usual)| {
        let value = values.iter().find(|(field, _)| field == name).map_or(*usual, |(_, value)| value);
        format!(r#""{name}":{value}"#)
    });
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

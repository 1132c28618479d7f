//! Turns the names in the demo's records into the numbers that the tables hold.

use anyhow::{Context as _, bail};
use compliance_api::{
    catalogue::Vocabulary::{
        self, CaseStatus, CaseSubStatus, InfractionName, InfractionType, NoticeStatus, RiskLevel, TranscriptionStatus,
        UrlIncidentStatus,
    },
    country,
    v1::IncidentType,
};
use serde_json::Value;

/// Fields that name an entry of a vocabulary. The table's column is the field with `_id` added.
const VOCABULARIES: [(&str, Vocabulary); 8] = [
    ("case_status", CaseStatus),
    ("sub_status", CaseSubStatus),
    ("notice_status", NoticeStatus),
    ("risk_level", RiskLevel),
    ("incident_status", UrlIncidentStatus),
    ("transcription_status", TranscriptionStatus),
    ("infraction_type", InfractionType),
    ("infraction_name", InfractionName),
];

/// Replaces every name at any depth.
pub(super) fn resolve(value: &mut Value) -> anyhow::Result<()> {
    match value {
        Value::Array(items) => items.iter_mut().try_for_each(resolve),
        Value::Object(fields) => {
            for (field, vocabulary) in VOCABULARIES {
                if let Some(name) = fields.remove(field) {
                    let id = name.as_str().and_then(|name| vocabulary.default_id(name));
                    let id = id.with_context(|| format!("{name} is no {field}"))?;
                    fields.insert(format!("{field}_id"), id.into());
                }
            }
            for field in ["country", "case_country"] {
                if let Some(code) = fields.get_mut(field) {
                    let number = code.as_str().and_then(country::numeric);
                    *code = number.with_context(|| format!("{code} is no country"))?.into();
                }
            }
            if let Some(name) = fields.get_mut("incident_type") {
                *name = incident_type(name)?.into();
            }
            fields.values_mut().try_for_each(resolve)
        }
        _ => Ok(()),
    }
}

fn incident_type(name: &Value) -> anyhow::Result<i32> {
    let number = match name.as_str() {
        Some("url") => IncidentType::Url,
        Some("form") => IncidentType::Form,
        Some("display ad") => IncidentType::DisplayAd,
        Some("paid search ad") => IncidentType::PaidSearchAd,
        _ => bail!("{name} is no incident type"),
    };
    Ok(number as i32)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::Value;

    use crate::demo::{AFFILIATES, CASES, URLS, resolved};

    /// Domains that belong to nobody (RFC 2606).
    const RESERVED: [&str; 4] = ["example.com", "example.net", "example.org", "example"];

    fn records(text: &str) -> Vec<Value> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn every_name_is_one() {
        for text in [AFFILIATES, CASES, URLS] {
            resolved(text).unwrap();
        }
        assert!(super::resolve(&mut serde_json::json!([{"case_status": "Never"}])).is_err());
        assert!(super::resolve(&mut serde_json::json!({"country": "XX"})).is_err());
    }

    #[test]
    fn addresses_are_reserved_and_normalised() {
        for record in records(URLS) {
            let text = record["url"].as_str().unwrap();
            let url = url::Url::parse(text).unwrap();
            assert_eq!(url.as_str(), text);
            let host = url.host_str().unwrap();
            assert!(RESERVED.iter().any(|domain| host == *domain || host.ends_with(&format!(".{domain}"))), "{host}");
        }
    }

    #[test]
    fn what_is_referred_to_is_there() {
        let all = |text, field: &str| -> HashSet<String> {
            records(text).iter().filter_map(|record| record[field].as_str().map(str::to_owned)).collect()
        };
        let (affiliates, cases) = (all(AFFILIATES, "client_affiliate_id"), all(CASES, "request_id"));
        assert!(all(AFFILIATES, "upline").is_subset(&affiliates));
        assert!(all(CASES, "affiliate").is_subset(&affiliates) && all(URLS, "affiliate").is_subset(&affiliates));
        assert!(all(URLS, "case").is_subset(&cases));
        let urls = all(URLS, "url");
        let cases = records(CASES);
        let incidents = cases.iter().flat_map(|case| case["incidents"].as_array().unwrap());
        let of_urls: Vec<&str> = incidents.filter_map(|incident| incident["url"].as_str()).collect();
        assert!(!of_urls.is_empty() && of_urls.iter().all(|url| urls.contains(*url)));
    }
}

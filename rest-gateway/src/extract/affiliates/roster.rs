//! The body of `POST /affiliates:sync`.

use compliance_api::{
    error::Error,
    rules::{self, Violations},
    v1::{AffiliateSync, BatchSyncAffiliatesRequest},
};

use super::sent::SentAffiliate;
use crate::extract::{
    accept,
    body::Form,
    document::{At, Document, Object, document},
    json::Value,
};

impl Form for BatchSyncAffiliatesRequest {
    const ELEMENT: usize = size_of::<AffiliateSync>();
    const KEY: usize = size_of::<String>() + 32;

    fn violations(&self) -> Violations {
        rules::check(self)
    }
}

/// Reads the body. Its records may take `memory` bytes.
pub(crate) fn sync(body: &[u8], memory: usize) -> Result<BatchSyncAffiliatesRequest, Error> {
    let Document { top, list, mut violations, .. } = document::<SentRoster, AffiliateSync>(body, memory)?;
    top.report(At::Body, &mut violations);
    let absent_status = if let Value::Text(status) = top.absent_status { Some(status) } else { None };
    let request = BatchSyncAffiliatesRequest {
        affiliates: list.unwrap_or_default(),
        report_absent: top.report_absent == Value::Flag(true),
        absent_status,
        validate_only: top.validate_only == Value::Flag(true),
    };
    accept(violations, request)
}

/// A roster or one of its affiliates as it was sent.
#[derive(Default)]
struct SentRoster {
    affiliate: SentAffiliate<false>,
    report_absent: Value,
    absent_status: Value,
    validate_only: Value,
}

enum Key {
    Field(<SentAffiliate<false> as Object>::Key),
    ReportAbsent,
    AbsentStatus,
    ValidateOnly,
}

impl Object for SentRoster {
    type Key = Key;
    const LIST: &'static str = SentAffiliate::<false>::LIST;

    fn key(&mut self, name: &str) -> Option<Key> {
        match name {
            "report_absent" => Some(Key::ReportAbsent),
            "absent_status" => Some(Key::AbsentStatus),
            "validate_only" => Some(Key::ValidateOnly),
            _ => self.affiliate.key(name).map(Key::Field),
        }
    }

    fn set(&mut self, key: Key, value: Value) {
        match key {
            Key::Field(key) => self.affiliate.set(key, value),
            Key::ReportAbsent => self.report_absent = value,
            Key::AbsentStatus => self.absent_status = value,
            Key::ValidateOnly => self.validate_only = value,
        }
    }

    fn report(&self, at: At, violations: &mut Violations) -> bool {
        // The roster itself has no fields, and its affiliates have no options.
        let At::Body = at else { return self.affiliate.report(at, violations) };
        for (name, number, value) in
            [("report_absent", 2, &self.report_absent), ("validate_only", 4, &self.validate_only)]
        {
            if !matches!(value, Value::Flag(_) | Value::Null) {
                at.must(violations, name, number, "must be true or false");
            }
        }
        if !matches!(self.absent_status, Value::Text(_) | Value::Null) {
            at.must(violations, "absent_status", 3, "must be a string");
        }
        true
    }
}

impl From<SentRoster> for AffiliateSync {
    fn from(item: SentRoster) -> Self {
        let update_mask = Some(item.affiliate.mask());
        Self { affiliate: Some(item.affiliate.into()), update_mask }
    }
}

#[cfg(test)]
mod tests {
    use compliance_api::v1::AffiliateSync;

    use super::sync;

    const MEMORY: usize = 1 << 20;

    #[test]
    fn the_roster_has_options_and_its_affiliates_have_the_fields_that_are_sent() {
        let body =
            br#"{"validate_only":true,"city":"x","absent_status":"terminated","report_absent":null,"affiliates":[
            {"client_affiliate_id":"A","city":null,"zip":"1","validate_only":5},{}]}"#;
        let request = sync(body, MEMORY).unwrap();
        assert!(request.validate_only && !request.report_absent);
        assert_eq!(request.absent_status.as_deref(), Some("terminated"));
        let [first, second] = &request.affiliates[..] else { panic!("{request:?}") };
        assert_eq!(first.update_mask.as_ref().unwrap().paths, ["client_affiliate_id", "city", "zip"]);
        assert_eq!(first.affiliate.as_ref().unwrap().zip.as_deref(), Some("1"));
        assert_eq!(second, &AffiliateSync { affiliate: Some(<_>::default()), update_mask: Some(<_>::default()) });
    }

    #[test]
    fn values_of_the_wrong_type_are_violations() {
        let body = br#"{"validate_only":"yes","absent_status":5,"report_absent":1,"affiliates":[{"city":7},9]}"#;
        let paths: Vec<String> = sync(body, MEMORY).unwrap_err().violations.into_iter().map(|each| each.path).collect();
        assert!(
            paths.contains(&"affiliates.0.city".to_owned()) && paths.contains(&"affiliates.1".to_owned()),
            "{paths:?}"
        );
        let body = br#"{"validate_only":"yes","absent_status":5,"report_absent":1,"affiliates":[{}]}"#;
        let paths: Vec<String> = sync(body, MEMORY).unwrap_err().violations.into_iter().map(|each| each.path).collect();
        assert_eq!(paths, ["report_absent", "absent_status", "validate_only"]);
    }
}

//! Tests per-company limits and usage metrics.

use std::{collections::BTreeMap, net::SocketAddr};

use crate::{
    common::{Service, output},
    observability::metrics,
    programs::{Programs, token_of},
};

/// Returns a program's metrics with a company label, by name and labels.
fn usage(admin: SocketAddr) -> BTreeMap<String, i64> {
    metrics(admin).into_iter().filter(|(name, _)| name.contains("company=")).collect()
}

fn calls(usage: &BTreeMap<String, i64>, company: &str, result: &str) -> Option<i64> {
    let name = format!("compliance_company_calls_total{{company=\"{company}\",result=\"{result}\"}}");
    usage.get(&name).copied()
}

fn written(usage: &BTreeMap<String, i64>, company: &str) -> Option<i64> {
    usage.get(&format!("compliance_company_items_written_total{{company=\"{company}\"}}")).copied()
}

#[test]
fn companies_have_separate_limits_and_metrics() {
    let programs = Programs::new();
    let settings =
        ["--admin-addr", "127.0.0.1:0", "--company-limit", "8:rate-limit=4/m,8:in-flight=2", "--company-metrics", "2"];
    let core = Service::start_as(&mut programs.core(&settings));
    let gateway = Service::start_as(&mut programs.gateway_of(&[core.grpc], &[]));
    // A company with limits has metrics before its first call.
    assert_eq!(calls(&usage(core.admin), "8", "limited"), Some(0));
    assert_eq!(usage(core.admin).keys().filter(|name| name.contains("company=\"7\"")).count(), 0);

    let urls =
        r#"{"urls":[{"url":"https://a.example/1"},{"url":"https://a.example/2"},{"url":"https://a.example/3"}]}"#;
    let mut statuses = Vec::new();
    for company in [7, 8] {
        let token = &token_of(company);
        statuses.push(gateway.request("POST", "/api/urls", token, urls).0);
        statuses.extend(
            ["/api/urls", "/api/affiliates/1", "/api/urls", "/api/urls"]
                .map(|path| gateway.request("GET", path, token, "").0),
        );
    }
    assert_eq!(statuses, [201, 200, 404, 200, 200, 201, 200, 404, 200, 429]);
    // The gateway rejects this request, so no core counts it.
    assert_eq!(gateway.request("POST", "/api/urls", &token_of(7), "{").0, 422);
    // These companies exceed the label limit.
    for company in [9, 10] {
        assert_eq!(gateway.request("GET", "/api/urls", &token_of(company), "").0, 200);
    }

    let seen = usage(core.admin);
    for (company, expected) in [("7", [4, 1, 0, 0]), ("8", [3, 1, 1, 0]), ("other", [2, 0, 0, 0])] {
        let found = ["ok", "rejected", "limited", "failed"].map(|result| calls(&seen, company, result));
        assert_eq!(found, expected.map(Some), "{company} {seen:#?}");
    }
    assert_eq!(["7", "8", "other"].map(|company| written(&seen, company)), [Some(3), Some(3), Some(0)]);
    let duration = |part: &str| seen.get(&format!("compliance_company_call_duration_seconds{part}")).copied();
    assert_eq!(duration("_count{company=\"8\"}"), Some(5), "{seen:#?}");
    assert_eq!(duration("_bucket{company=\"8\",le=\"+Inf\"}"), Some(5));
    assert!(duration("_bucket{company=\"8\",le=\"1\"}").is_some() && duration("_sum{company=\"8\"}").is_some());
    // Three labels with nine series each, no matter how many companies call.
    assert_eq!(seen.len(), 27, "{seen:#?}");
}

#[test]
fn invalid_company_limits_are_rejected() {
    let programs = Programs::new();
    for (value, cause) in [
        ("8:rate-limit=4/h", "rate-limit: must be N/s, N/m or off"),
        ("8:speed=4", "unknown limit \"speed\": use rate-limit or in-flight"),
        ("eight:in-flight=4", "\"eight\" is not a company ID"),
    ] {
        let (status, _, errors) = output(&mut programs.core(&["--company-limit", value]));
        assert!(status.code() == Some(2) && errors.contains("--company-limit") && errors.contains(cause), "{errors}");
    }
    let twice = ["--company-limit", "8:in-flight=4", "--company-limit", "8:in-flight=5"];
    let (status, _, errors) = output(&mut programs.core(&twice));
    assert!(status.code() == Some(2) && errors.contains("8:in-flight is set twice: remove one"), "{errors}");
}

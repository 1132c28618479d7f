//! Checks that every alert rule has a runbook section, a test, and existing metrics.

use std::{collections::BTreeSet, fs};

/// Returns the names that follow `key` in a text.
fn names<'t>(text: &'t str, key: &str) -> BTreeSet<&'t str> {
    let after = text.split(key).skip(1);
    after.map(|rest| rest.split(|char: char| !char.is_ascii_alphanumeric()).next().unwrap()).collect()
}

/// Returns the service's metrics named in a text.
fn metrics(text: &str) -> BTreeSet<&str> {
    let words = text.split(|char: char| !char.is_ascii_alphanumeric() && char != '_');
    words.filter(|word| word.starts_with("compliance_")).collect()
}

#[test]
fn alerts_have_runbook_sections_tests_and_metrics() {
    let file = |path: &str| fs::read_to_string(format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let (rules, tests) = (file("deploy/observability/alerts.yml"), file("deploy/observability/alerts.test.yml"));
    let (runbook, documented) = (file("docs/runbook.md"), file("docs/observability.md"));
    let alerts = names(&rules, "- alert: ");
    assert!(alerts.len() >= 24, "{alerts:?}");
    assert_eq!(alerts, names(&tests, "alertname: "), "every alert needs a test in alerts.test.yml");
    for rule in rules.split("- alert: ").skip(1) {
        let alert = rule.lines().next().unwrap();
        let anchor = format!("docs/runbook.md#{}\"", alert.to_lowercase());
        assert!(rule.contains("runbook_url: \"https://"), "{alert} needs a runbook_url annotation");
        assert!(rule.contains(&anchor), "the runbook_url of {alert} must end in {anchor}");
        assert!(runbook.lines().any(|line| line == format!("## {alert}")), "docs/runbook.md needs a section {alert}");
    }
    for section in runbook.lines().filter_map(|line| line.strip_prefix("## Compliance")) {
        assert!(alerts.contains(&*format!("Compliance{section}")), "runbook section Compliance{section} has no alert");
    }
    let dashboard = file("deploy/observability/dashboard.json");
    for metric in metrics(&rules).into_iter().chain(metrics(&dashboard)) {
        let name = metric.trim_end_matches("_count").trim_end_matches("_bucket").trim_end_matches("_sum");
        assert!(documented.contains(&format!("`{name}`")), "docs/observability.md does not list {name}");
    }
}

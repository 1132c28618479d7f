//! What each company uses, as metrics with a bounded number of labels.
//!
//! A label stays until the process ends, because counters must not disappear. Companies that call first have their own labels, and all
//! others count together. Companies with their own limits have labels from the start, because an operator watches them.

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use metrics::{Counter, Histogram, Unit, counter, describe_counter, describe_histogram, histogram};
use parking_lot::RwLock;
use telemetry::metrics::is_installed;
use tonic::Code;

use crate::CoreSettings;

const CALLS: &str = "compliance_company_calls_total";
const DURATION: &str = "compliance_company_call_duration_seconds";
const WRITTEN: &str = "compliance_company_items_written_total";
/// The label of all companies without one.
const OTHER: &str = "other";

/// Counts what companies use. Clones count together.
#[derive(Clone)]
pub(crate) struct Usage(Arc<SharedUsage>);

struct SharedUsage {
    most: usize,
    companies: RwLock<HashMap<i64, Arc<CompanyUsage>>>,
    other: Arc<CompanyUsage>,
}

struct CompanyUsage {
    ok: Counter,
    rejected: Counter,
    limited: Counter,
    failed: Counter,
    duration: Histogram,
    written: Counter,
}

impl Usage {
    pub(crate) fn new(settings: &CoreSettings) -> Self {
        describe_counter!(
            CALLS,
            "Calls of a company, by result: ok, rejected, limited (by one of the company's limits) or failed."
        );
        describe_histogram!(
            DURATION,
            Unit::Seconds,
            "Duration of a company's calls, from the request head to the end of the response."
        );
        describe_counter!(
            WRITTEN,
            "Items in a company's write requests: records, and parts of records such as infractions."
        );
        let shared = SharedUsage {
            most: settings.company_metrics,
            companies: RwLock::default(),
            other: Arc::new(CompanyUsage::labelled(OTHER.to_owned())),
        };
        let usage = Self(Arc::new(shared));
        for limit in &settings.company_limits {
            usage.of(limit.company);
        }
        usage
    }

    /// Counts a call that has ended, and the items that it wrote.
    pub(crate) fn called(&self, company: i64, code: Code, duration: Duration, written: usize) {
        if !is_installed() {
            return;
        }
        let usage = self.of(company);
        let result = match code {
            Code::Ok => &usage.ok,
            Code::ResourceExhausted => &usage.limited,
            Code::Internal | Code::Unknown | Code::DataLoss | Code::Unavailable | Code::DeadlineExceeded => {
                &usage.failed
            }
            _ => &usage.rejected,
        };
        result.increment(1);
        usage.duration.record(duration);
        if code == Code::Ok {
            usage.written.increment(written as u64);
        }
    }

    /// Counts items that a message of a stream wrote.
    pub(crate) fn wrote(&self, company: i64, items: usize) {
        if is_installed() {
            self.of(company).written.increment(items as u64);
        }
    }

    fn of(&self, company: i64) -> Arc<CompanyUsage> {
        let SharedUsage { most, companies, other } = &*self.0;
        let labelled = companies.read();
        match labelled.get(&company) {
            Some(usage) => return Arc::clone(usage),
            None if labelled.len() >= *most => return Arc::clone(other),
            None => drop(labelled),
        }
        let mut companies = companies.write();
        if companies.len() >= *most && !companies.contains_key(&company) {
            return Arc::clone(other);
        }
        let usage = || Arc::new(CompanyUsage::labelled(company.to_string()));
        Arc::clone(companies.entry(company).or_insert_with(usage))
    }
}

impl CompanyUsage {
    /// Every series is 0 from the start, so that its first increase is seen.
    fn labelled(company: String) -> Self {
        let calls = |result: &'static str| {
            let calls = counter!(CALLS, "company" => company.clone(), "result" => result);
            calls.increment(0);
            calls
        };
        let written = counter!(WRITTEN, "company" => company.clone());
        written.increment(0);
        Self {
            ok: calls("ok"),
            rejected: calls("rejected"),
            limited: calls("limited"),
            failed: calls("failed"),
            duration: histogram!(DURATION, "company" => company.clone()),
            written,
        }
    }
}

impl fmt::Debug for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Usage").field("companies", &self.0.companies.read().len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Usage;
    use crate::CoreSettings;

    #[test]
    fn companies_beyond_the_bound_count_together_and_those_with_limits_come_first() {
        let company_limits = vec!["9:in-flight=4".parse().unwrap(), "9:streams=4".parse().unwrap()];
        let usage = Usage::new(&CoreSettings { company_limits, company_metrics: 2, ..CoreSettings::default() });
        for company in [1, 2, 1, 9, 3] {
            usage.of(company);
        }
        let mut labelled: Vec<i64> = usage.0.companies.read().keys().copied().collect();
        labelled.sort_unstable();
        assert_eq!(labelled, [1, 9]);
        assert!(Arc::ptr_eq(&usage.of(2), &usage.0.other) && !Arc::ptr_eq(&usage.of(1), &usage.0.other));
    }
}

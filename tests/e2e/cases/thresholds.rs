//! Runs cases on both sides of each threshold where an operation changes its strategy. The results do not depend on the strategy.

use std::collections::BTreeMap;

use admission::{LONG_COMPUTATION, SMALL};
use compliance_api::{MAX_VIOLATION_BYTES, rules::MAX_VIOLATIONS};
use core_server::limits::{FEW_URLS, HEAVY_ITEMS, MANY_AFFILIATES, MESSAGE_BYTES, MESSAGE_RECORDS, PAGE_RECORDS, PART};
use rest_gateway::limits::{LARGE_REQUEST, READ_AT_ONCE};
use storage::limits::{COPY_PART, SAMPLE};
use test_support::TestService;

use super::{Case, run::run_table_on, sides};

/// Builds cases for a number of items or bytes.
type Make = fn(usize) -> Vec<Case>;

/// Cases at each threshold, one below it and one above it.
const EACH: &[(usize, Make)] = &[
    // Operations with a separate statement for many items.
    (FEW_URLS, sides::urls),
    (MANY_AFFILIATES, sides::creates),
    // Operations with a different strategy for large numbers of items or bytes.
    (HEAVY_ITEMS, sides::batches),
    (SAMPLE, sides::batches),
    (SMALL, sides::bodies_and_transcripts),
    (READ_AT_ONCE, sides::bodies),
    (LARGE_REQUEST, sides::bodies),
    // Large numbers of records.
    (PAGE_RECORDS as usize, sides::listed),
    (MESSAGE_RECORDS, sides::listed),
    // More violations than fit in a response.
    (MAX_VIOLATIONS, sides::many_violations),
];

/// Cases around thresholds for sizes that the test can only estimate.
const AROUND: &[(usize, Make)] = &[
    (COPY_PART, sides::copied),
    (LONG_COMPUTATION, sides::held),
    (MESSAGE_BYTES, sides::long_records),
    (PART, sides::large_pages),
    // More violations than fit in one status.
    (MAX_VIOLATION_BYTES, sides::violations),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn results_do_not_change_at_thresholds() {
    // Thresholds with the same value share their cases.
    let mut cases = BTreeMap::new();
    for (at, make) in EACH {
        cases.extend((at - 1..=at + 1).flat_map(make).map(|case| (case.name.clone(), case)));
    }
    for (at, make) in AROUND {
        cases.extend(make(*at).into_iter().map(|case| (case.name.clone(), case)));
    }
    // The largest requests need much memory.
    run_table_on(&TestService::start().await, cases.into_values().collect()).await;
}

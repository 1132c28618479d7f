//! The thresholds at which an operation changes its way, each with tests on both sides. A constant of the product that is
//! neither listed here nor among those that change no way fails the suite.

use std::collections::{BTreeMap, BTreeSet};

use test_support::{constant, constants, product_files, source, unnamed_limits};

use super::{Case, run_table, sides};

/// Where operations are carried out.
const PRODUCT: [&str; 5] =
    ["core-server/src", "rest-gateway/src", "proto/src", "crates/admission/src", "crates/batcher/src"];

/// How both sides of a threshold are tested.
enum Sides {
    /// By cases, made for a number of items or bytes: one less than the threshold, the same, and one more.
    Each(fn(usize) -> Vec<Case>),
    /// By cases around the threshold, where what is compared with it is not known exactly.
    Around(fn(usize) -> Vec<Case>),
    /// By tests that name the constant: a file, and functions in it.
    Tests(&'static str, &'static [&'static str]),
}

use Sides::{Around, Each, Tests};

/// A constant, by its file and its name.
struct Threshold(&'static str, &'static str, Sides);

const THRESHOLDS: &[Threshold] = &[
    // Several statements for one operation.
    Threshold(CORE, "FEW_URLS", Each(sides::urls)),
    Threshold(CORE, "MANY_AFFILIATES", Each(sides::creates)),
    Threshold(CORE, "NEAR", Around(sides::late_pages)),
    // Items and bytes that are processed otherwise when they are many.
    Threshold(CORE, "HEAVY_ITEMS", Each(sides::batches)),
    Threshold("core-server/src/table/batch.rs", "SAMPLE", Each(sides::batches)),
    Threshold(CORE, "COPY_PART", Around(sides::copied)),
    Threshold(SHARED, "LONG_COMPUTATION", Around(sides::held)),
    Threshold(SHARED, "SMALL", Each(sides::bodies_and_transcripts)),
    Threshold(GATEWAY, "BODY_IN_HEAP", Each(sides::bodies)),
    Threshold(
        GATEWAY,
        "INFLATED_AT_ONCE",
        Tests(
            "rest-gateway/src/extract/inflate.rs",
            &["a_short_body_waits_for_nobody", "bodies_around_the_size_that_is_inflated_at_once"],
        ),
    ),
    Threshold(GATEWAY, "LARGE_REQUEST", Each(sides::bodies)),
    // Records that are many or large.
    Threshold(CORE, "CHANGED_ROWS", Tests(CHANGED, &["whole_lists_have_all_records_if_very_many_have_changed"])),
    Threshold(CORE, "CHANGED_ENTRIES", Tests(CHANGED, &["whole_lists_have_all_records_if_very_many_have_changed"])),
    Threshold(CORE, "PAGE_RECORDS", Each(sides::listed)),
    Threshold(CORE, "MESSAGE_RECORDS", Each(sides::listed)),
    Threshold(CORE, "MESSAGE_BYTES", Around(sides::long_records)),
    Threshold(CORE, "PART", Around(sides::large_pages)),
    // Violations that do not fit into one status, or a response.
    Threshold("proto/src/error/status.rs", "MAX_VIOLATION_BYTES", Around(sides::violations)),
    Threshold("proto/src/rules/violations.rs", "MAX_VIOLATIONS", Each(sides::many_violations)),
    // Concurrent requests that become one or several batches.
    Threshold("crates/batcher/src/lib.rs", "MAX_BATCH", Tests(COALESCED, &[FULL_BATCHES])),
    Threshold("proto/src/batch_read.rs", "MAX_READS", Tests("tests/e2e/batch_read.rs", &["limits"])),
    Threshold("proto/src/wire.rs", "MAX_ITEMS", Tests("proto/src/wire.rs", &["a_list_that_is_too_long_is_named"])),
    Threshold(
        CORE,
        "MAX_CORES",
        Tests("core-server/src/access/limit.rs", &["a_call_that_names_no_cores_or_too_many_is_one_call"]),
    ),
    Threshold(GATEWAY, "SMALLEST_COMPRESSED", Tests("tests/e2e/encodings.rs", &["short_responses_are_plain"])),
];

/// What the core may use, what both layers limit, and what the gateway may use.
const CORE: &str = "core-server/src/limits.rs";
const SHARED: &str = "crates/admission/src/limits.rs";
const GATEWAY: &str = "rest-gateway/src/limits.rs";
const COALESCED: &str = "core-server/tests/writes/coalesced.rs";
const CHANGED: &str = "core-server/tests/changes/changed.rs";
const FULL_BATCHES: &str = "batches_that_are_full_have_the_same_results";

/// Constants at which no operation changes its way, by file.
const OTHERS: &[(&str, &[&str])] = &[
    // Limits: what is beyond them is refused, closed, forgotten, waits or is cut off, and what is within them is the same.
    (CORE, &["STATEMENT_CACHE", "LATE_ERRORS", "MAX_TRIES", "MAX_INCIDENTS", "MAX_OWN_NAMES", "MAX_LISTED_NAMES"]),
    (CORE, &["MAX_WEBHOOKS", "WEBHOOK_CHECKS", "WEBHOOK_COMPANY_CHECKS", "WEBHOOK_PREVIOUS_SECRETS"]),
    ("rest-gateway/src/extract/webhooks.rs", &["MOST"]),
    ("core-server/src/webhooks/message.rs", &["SECRET", "AROUND_CHANGES"]),
    (CORE, &["MAX_CACHED_COMPANIES", "MAX_QUEUED_COALESCED", "MAX_QUEUED_STATEMENTS", "MAX_QUEUED_LONG_BATCHES"]),
    (CORE, &["WATCHERS", "WATCHERS_OF_A_COMPANY", "FIRST_PAGES", "OPEN_STREAMS", "OPEN_STREAMS_OF_A_PEER"]),
    (CORE, &["MAX_QUEUED_LARGE_PAGES", "LOGGED_REQUESTS", "MAX_HOSTS", "MAX_CONNECT_SECONDS", "POOLER_CHECKS"]),
    (GATEWAY, &["DISCARD_BYTES", "MAX_QUEUED_LARGE_REQUESTS", "MAX_QUEUED_LARGE_REQUESTS_OF_A_COMPANY"]),
    (GATEWAY, &["MAX_QUEUED_READS", "MAX_IGNORED_NAMES", "MAX_IGNORED_CHARS", "MAX_ENTITY_TAGS", "MAX_ETAG_CHARS"]),
    (CORE, &["MIN_ABSENT", "MIN_PRESENT_PER_ABSENT"]),
    ("core-server/src/database/citus/functions.rs", &["MAX_PREPARED"]),
    ("proto/src/lib.rs", &["MAX_ID"]),
    ("proto/src/rules/formats.rs", &["FIRST", "LAST"]),
    ("proto/src/token/demand.rs", &["MAX_WAITING"]),
    ("proto/src/token/keys.rs", &["MAX_KEYS", "MIN_SECRET_BYTES", "MIN_RSA_BITS", "MAX_RSA_BITS"]),
    ("proto/src/token/verifier.rs", &["MAX_BYTES", "MAX_CACHED", "MAX_SHOWN_SUBJECT", "SKEW"]),
    (SHARED, &["MAX_OFF_THREAD", "REMEMBERED_COMPANIES", "REFUSALS_AT_ONCE", "MAX_DELAYED"]),
    // Shares and order of work: they decide when something is done, and not what.
    (CORE, &["NOT_BORROWED", "READS_WHEN_SLOW", "WRITES_WHEN_SLOW", "HEAVY_BYTES", "BYTES_OF_AN_ITEM", "CALL_SHARE"]),
    ("core-server/src/database/roles.rs", &["GRANT_TRIES"]),
    (CORE, &["CALLS_AT_LEAST", "STREAM_COMPANIES", "ITEMS_OF_A_STATEMENT", "RECORDS_OF_A_STATEMENT", "LARGE_PAGES"]),
    (CORE, &["CONNECTIONS_OF_COALESCED", "STATEMENTS_PER_CPU", "LONG_BATCHES_AT_LEAST", "LARGE_PAGE_SHARE"]),
    (CORE, &["QUEUE_SHARE", "SLOT_SHARE", "CPUS_PER_SLOT_WITH_OTHERS", "WEBHOOK_SLOTS"]),
    (CORE, &["WEBHOOK_MESSAGES", "WEBHOOK_TESTS", "WEBHOOK_COMPANY_TESTS", "WEBHOOK_COMPANY_SLOTS"]),
    (CORE, &["WEBHOOK_SLOW_SLOTS", "WEBHOOK_COMPANY_SLOW_SLOTS"]),
    (CORE, &["TOKEN_FAILURES", "TOKEN_FAILURES_OF_A_TURN", "FEW_SIGNATURES", "WRITES_APART", "LOCK_TURNS"]),
    (CORE, &["BATCHES_OF_A_COMPANY", "MONITORING_WRITES", "MAX_LOCKS_REMEMBERED"]),
    (SHARED, &["MEMORY_SHARE", "WITHOUT_COMPANY", "OLDEST_EVERY"]),
    (GATEWAY, &["LARGE_REQUESTS_PER_CPU", "LARGE_REQUESTS_OF_A_COMPANY_PER_CPU", "CPUS_PER_SLOT_WITH_OTHERS"]),
    (GATEWAY, &["READ_BATCHES_WHEN_SLOW", "WATCHES_OF_A_CONNECTION"]),
    // Sizes of buffers and reservations, and how much is read or sent at a time of what has any length.
    (CORE, &["COPIES", "REPAIRED_COUNTS", "READ_AHEAD", "KIB", "TRANSCRIPT_BYTES"]),
    (CORE, &["CHANGE_ROWS", "WATCH_PAGE", "ERASED_RECORDS", "ERASED_ROWS", "ERASED_CHANGES", "ERASURE_TRIES"]),
    (CORE, &["UPKEEP_RETRIES", "UPKEEP_PATIENCE"]),
    (CORE, &["WEBHOOK_CANDIDATES", "WEBHOOK_CHANGES", "WEBHOOK_BYTES", "WEBHOOK_ERROR_CHARS", "WEBHOOK_LOG"]),
    (CORE, &["CHANGED_WINDOW"]),
    (CORE, &["MAX_LOCATED_COMPANIES", "MAX_CONFLICTS", "ROSTER_IDENTIFIER", "ABSENT_PAGE", "REPORTED_ABSENT"]),
    (CORE, &["ABSENT_COUNTED"]),
    (GATEWAY, &["ENCODER_MEMORY", "INFLATE_STEP", "LIST_WINDOW", "RESPONSE_WINDOW", "PAGE_MEMORY", "RECORD_SIZE"]),
    ("rest-gateway/src/envelope.rs", &["VIOLATION"]),
    // The end of time.
    ("core-server/src/changes/search.rs", &["NO_END"]),
    ("rest-gateway/src/extract/body.rs", &["RESULT", "MASKED"]),
    ("rest-gateway/src/extract/query.rs", &["REFUSED"]),
    ("rest-gateway/src/settings.rs", &["MIB"]),
    ("proto/src/wire.rs", &["ALLOCATION", "GROWTH"]),
    // Numbers that mean something else: IDs, codes, formats, defaults.
    (CORE, &["DEFAULT_PER_PAGE", "DEFAULT_SEARCHED", "DEFAULT_CHANGES"]),
    ("core-server/src/lists/layout.rs", &["INDENT", "WIDTH"]),
    ("core-server/src/lists/page.rs", &["FIRST_DAY", "LAST_DAY"]),
    ("core-server/src/lists/statement.rs", &["FIRST_FILTER"]),
    ("core-server/src/monitoring/cases.rs", &["OPEN", "RESOLVED"]),
    ("core-server/src/monitoring/cases/opened_with.rs", &["FIELD", "OF_REQUEST"]),
    ("core-server/src/serve/receive.rs", &["HEADER"]),
    ("core-server/src/serve/services.rs", &["PREFIX"]),
    ("core-server/src/table/copy.rs", &["END"]),
    ("rest-gateway/src/exchange.rs", &["CLIENT_CLOSED_REQUEST"]),
    ("proto/src/catalogue.rs", &["FIRST_OWN_ID"]),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operations_are_the_same_on_both_sides() {
    // Thresholds of one value have the same cases.
    let mut cases = BTreeMap::new();
    for Threshold(file, name, sides) in THRESHOLDS {
        let made = match sides {
            Each(make) => {
                let at = constant(file, name);
                (at - 1..=at + 1).flat_map(make).collect()
            }
            Around(make) => make(constant(file, name)),
            Tests(..) => Vec::new(),
        };
        cases.extend(made.into_iter().map(|case| (case.name.clone(), case)));
    }
    run_table(cases.into_values().collect()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_constant_is_listed() {
    let files: Vec<String> = PRODUCT.iter().flat_map(|folder| product_files(folder)).collect();
    let found: BTreeSet<(String, String)> =
        files.iter().flat_map(|file| constants(file)).map(|constant| (constant.file, constant.name)).collect();
    let mut listed = BTreeSet::new();
    let thresholds = THRESHOLDS.iter().map(|Threshold(file, name, _)| (*file, *name));
    let others = OTHERS.iter().flat_map(|(file, names)| names.iter().map(move |name| (*file, *name)));
    for (file, name) in thresholds.chain(others) {
        assert!(listed.insert((file.to_owned(), name.to_owned())), "{file}: {name} is listed twice");
    }
    let new: Vec<_> = found.difference(&listed).collect();
    assert!(
        new.is_empty(),
        "If an operation changes its way at one of these, add it to THRESHOLDS with cases on both sides, otherwise to \
        OTHERS: {new:#?}"
    );
    let gone: Vec<_> = listed.difference(&found).collect();
    assert!(gone.is_empty(), "these are no constants of the product: {gone:#?}");
    let unnamed: Vec<String> = files.iter().flat_map(|file| unnamed_limits(file)).collect();
    assert!(unnamed.is_empty(), "a number that something is compared with has a name: {unnamed:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_threshold_has_tests() {
    for Threshold(file, name, sides) in THRESHOLDS {
        let Tests(tests, functions) = sides else { continue };
        let text = source(tests);
        assert!(text.contains(name), "{tests} does not name {name} of {file}");
        for function in *functions {
            assert!(text.contains(&format!("fn {function}(")), "{tests} has no test {function}");
        }
    }
}

//! What the core may use, and for how long: every number that is a decision and not a format. What operators may set is in
//! [`crate::CoreSettings`], and what the gateway limits in the same way is in [`admission`].

use std::time::Duration;

/// What one message may take, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageLimits {
    pub(crate) encoded: usize,
    pub(crate) decoded: usize,
}

// Shares of companies, and work that is not coalesced.
/// A company may have one in so many of the calls in flight, and at least `CALLS_AT_LEAST`.
pub const CALL_SHARE: usize = 4;
pub(crate) const CALLS_AT_LEAST: usize = 64;
/// Open streams of all companies: this number of times what one company may have.
pub(crate) const STREAM_COMPANIES: usize = 16;
/// Work with more items is a long batch, which keeps a processor busy here and another one in the database.
pub const HEAVY_ITEMS: usize = 100;
/// A request of one item that takes more bytes than this, encoded and decoded, weighs as a long batch.
pub(crate) const HEAVY_BYTES: usize = 1 << 20;
/// Connections to the database that are left to coalesced reads and writes.
pub(crate) const CONNECTIONS_OF_COALESCED: usize = 4;
/// Pages and short batches that run at the same time, per processor: most of them wait for the database.
pub(crate) const STATEMENTS_PER_CPU: usize = 4;
/// Long batches that run at the same time, if there are fewer processors.
pub(crate) const LONG_BATCHES_AT_LEAST: usize = 2;
/// Large pages that are read at the same time, if one in [`LARGE_PAGE_SHARE`] of the connections is as many.
pub(crate) const LARGE_PAGES: usize = 4;
pub(crate) const LARGE_PAGE_SHARE: usize = 4;
/// Statements, long batches and large pages that wait for a slot. Most statements are short, so more of them have their slot
/// before their deadline.
pub(crate) const MAX_QUEUED_STATEMENTS: usize = 4096;
pub(crate) const MAX_QUEUED_LONG_BATCHES: usize = 1024;
pub(crate) const MAX_QUEUED_LARGE_PAGES: usize = 1024;
/// A company may have one in so many of those that wait.
pub(crate) const QUEUE_SHARE: usize = 4;
/// A company may have one in so many of the slots: the others find one at once, however many of its calls wait.
pub(crate) const SLOT_SHARE: usize = 2;
/// While other companies call, a company may have one slot for so many processors. What its work takes here and in the
/// database, one after the other, counts, so half of the processors stay free.
pub(crate) const CPUS_PER_SLOT_WITH_OTHERS: usize = 2;

// Calls and their messages.
/// How long a client has to read that its deadline has passed.
pub(crate) const DEADLINE_SLACK: Duration = Duration::from_secs(2);
/// What the message of a batch of reads may take, in bytes.
pub(crate) const BATCH_READ: MessageLimits = MessageLimits { encoded: 4 << 20, decoded: 8 << 20 };
/// Tokens of a message that may turn out not to be valid before the others wait for their turn.
pub(crate) const TOKEN_FAILURES: usize = 1;
/// The same of a turn, and the pause after it: at most 800 signatures of invalid tokens are verified a second for messages
/// without a valid token, and as many for the others.
pub(crate) const TOKEN_FAILURES_OF_A_TURN: usize = 16;
pub(crate) const TOKEN_PAUSE: Duration = Duration::from_millis(20);
/// More signatures than these take longer than a thread that serves everybody may be kept.
pub(crate) const FEW_SIGNATURES: usize = 8;
/// How long after a shutdown has begun clients may still read that the service does not serve.
pub(crate) const WATCHERS_TIME: Duration = Duration::from_millis(250);
/// Streams of health and reflection, which need no token: of all peers, and of one.
pub(crate) const OPEN_STREAMS: usize = 1024;
/// The same of one peer.
pub const OPEN_STREAMS_OF_A_PEER: usize = 128;
/// Cores over which a gateway spreads its calls, at most. A call that names more counts as one.
pub(crate) const MAX_CORES: u32 = 256;
/// Companies whose usage has labels of its own in metrics, unless an operator sets another number. Each has nine series.
pub(crate) const COMPANIES_WITH_METRICS: usize = 200;
/// How often the rate limit drops the state of companies that no longer call.
pub(crate) const RATE_LIMIT_SWEEP: Duration = Duration::from_mins(1);
/// How long a stream may be idle: no message from the client, or no acknowledgement read by it.
pub(crate) const STREAM_IDLE_TIMEOUT: Duration = Duration::from_mins(1);

// Reads and writes that are coalesced.
/// A request with more URLs is a statement of its own.
pub const FEW_URLS: usize = 8;

// Syncs.
/// Affiliates with one identifier that a result names.
pub(crate) const MAX_CONFLICTS: i64 = 10;
/// What the identifier of an item takes in memory until its roster is synced, in bytes.
pub(crate) const ROSTER_IDENTIFIER: usize = 56;
/// Affiliates that are read at once to find those that a roster does not have.
pub(crate) const ABSENT_PAGE: i64 = 1000;
/// The same, to count them before they get a status.
pub(crate) const ABSENT_COUNTED: i64 = 10_000;
/// Of so many affiliates, one may get a status because a roster lacks it, unless the caller sets another limit.
pub(crate) const MIN_PRESENT_PER_ABSENT: i64 = 10;
/// So many may in any case: of a few affiliates, a tenth is hardly one.
pub(crate) const MIN_ABSENT: i64 = 10;
/// Affiliates that a roster does not have, in one response.
pub(crate) const REPORTED_ABSENT: usize = 1000;

// Writes.
/// So many affiliates are copied; fewer are created by one statement, which saves round trips.
pub const MANY_AFFILIATES: usize = 500;
/// Incidents that a case can have, so that one response holds it. Concurrent requests may attach a few more.
pub(crate) const MAX_INCIDENTS: i64 = 10_000;
pub(crate) const MAX_OWN_NAMES: i64 = 10_000;
pub(crate) const MAX_CACHED_COMPANIES: usize = 1000;
/// Names that a message about an unknown one lists.
pub(crate) const MAX_LISTED_NAMES: usize = 100;
/// Counts that are repaired in one transaction. Writers of the company wait for it.
pub(crate) const REPAIRED_COUNTS: i64 = 5000;

// Lists.
/// Records before a page that is near the beginning, at most: so many are read faster than their counts.
pub const NEAR: i64 = 500;
/// Records of a page that names no number of them.
pub(crate) const DEFAULT_PER_PAGE: i64 = 100;
/// What it costs to read and sort a match, in index entries that a scan reads in the same time. The first is low because few
/// matches are kept, and because a scan reads more than expected where the range and the sort key depend on each other.
pub(crate) const SORT_NEAR: f64 = 0.25;
pub(crate) const SORT_DEEP: f64 = 4.0;
/// Bytes of records that are read at once for a caller that takes them in parts.
pub const PART: usize = 4 << 20;
/// KiB of records that are read before their reader takes them.
pub(crate) const READ_AHEAD: usize = 16 << 10;
pub(crate) const KIB: usize = 1 << 10;
/// How long a page waits for its reader, and for memory for its next record.
pub(crate) const PAGE_STALLED: Duration = Duration::from_secs(30);
/// The same in all while other companies need its slot. A reader that takes a record a second does not stall.
pub(crate) const STALLS: Duration = Duration::from_secs(10);
pub(crate) const STALL: Duration = Duration::from_secs(1);
/// Records that a statement reads of a list that is streamed.
pub const PAGE_RECORDS: i64 = 72;
/// Records and bytes of a message. So few, because a connection whose client does not read keeps a message.
pub const MESSAGE_RECORDS: usize = 12;
/// The most bytes of them.
pub const MESSAGE_BYTES: usize = 16 << 10;
/// How long a page keeps the company's slot while its reader asks for nothing: encoding takes as long as the statement.
pub(crate) const SLOT_KEPT: Duration = Duration::from_millis(3);
/// When a page that nobody asks for is dropped. It is read again when it is asked for.
pub(crate) const MESSAGE_STALLED: Duration = Duration::from_millis(500);
/// Transcribed text on a page, in bytes: after it, the page has no further record.
pub(crate) const TRANSCRIPT_BYTES: usize = 2 << 20;

// Searches and the overview.
/// Records of a search that names no number of them.
pub(crate) const DEFAULT_SEARCHED: i64 = 20;

// The record of changes.
/// Changes that are returned at once, if the request does not say how many.
pub(crate) const DEFAULT_CHANGES: i64 = 100;
/// Rows of the record that are read for one response, however few of their changes are asked for.
pub(crate) const CHANGE_ROWS: i64 = 2000;
/// Changes of a page that watchers share.
pub(crate) const WATCH_PAGE: i64 = 1000;
/// How often the positions of watched companies are read: each commit waits for half of it, on average, before it is noticed.
pub(crate) const WATCH_INTERVAL: Duration = Duration::from_millis(10);
/// The same, at most: while the database does not respond, or takes long.
pub(crate) const LONGEST_WATCH_INTERVAL: Duration = Duration::from_secs(1);
/// When a message without changes is sent. Proxies often close what is silent for a minute.
pub(crate) const WATCH_HEARTBEAT: Duration = Duration::from_secs(10);
/// How long a watcher may not ask for the next message before it is ended.
pub(crate) const WATCH_STALLED: Duration = Duration::from_secs(10);
/// Watchers of all companies and of one. They hold little, and each has a connection or a stream of one.
pub(crate) const WATCHERS: usize = 10_000;
/// The same of one company.
pub const WATCHERS_OF_A_COMPANY: usize = 2000;
/// Watches of a company that read their first page at the same time. Many clients come together after a restart, and the others wait.
pub(crate) const FIRST_PAGES: usize = 16;
/// Records that have changed, of which a page of a list may have some. So many IDs are sent with its statement.
pub(crate) const CHANGED_WINDOW: usize = 1000;
/// Rows of the record, and entries in them, that are read for such records. If more follow a position, the whole list is read.
pub const CHANGED_ROWS: i64 = 50_000;
/// See [`CHANGED_ROWS`].
pub const CHANGED_ENTRIES: i64 = 200_000;
/// How often months are made and dropped. They are made a month before.
pub(crate) const CHANGE_UPKEEP: Duration = Duration::from_mins(10);
/// How often in that time it is tried while another session has a lock.
pub(crate) const UPKEEP_RETRIES: u32 = 10;
/// So many attempts in a row that find a lock are a failure.
pub(crate) const UPKEEP_PATIENCE: u32 = 3;

// Erasure.
/// URLs, and cases, of an affiliate that one transaction erases, and records of a kind of a company. It takes about a second.
pub const ERASED_RECORDS: i64 = 1000;
/// Rows of the record of changes that one request may erase. Other writers of the company wait meanwhile.
pub const ERASED_ROWS: i64 = 10_000;
/// The same of the erasure of a company, in a statement.
pub(crate) const ERASED_CHANGES: i64 = 256;
/// How long a transaction of `compliance erase` waits for a lock.
pub(crate) const ERASURE_LOCK_TIMEOUT: &str = "5s";
/// How often it is tried while other writers are in its way, and the pause after the first attempt, which grows by as much each time.
pub(crate) const ERASURE_TRIES: u32 = 12;
/// See [`ERASURE_TRIES`].
pub(crate) const ERASURE_PAUSE: Duration = Duration::from_millis(50);

// Webhooks.
/// Webhooks of a company. Each is a reader of its changes.
pub(crate) const MAX_WEBHOOKS: i64 = 20;
/// How long a repeated request to create a webhook gets the response of the first one, with the secret.
pub(crate) const WEBHOOK_REPEATS: Duration = Duration::from_hours(1);
/// How often webhooks with changes to deliver are looked for: the statement reads all webhooks.
pub(crate) const WEBHOOK_INTERVAL: Duration = Duration::from_millis(500);
/// How long the search for them may take.
pub(crate) const WEBHOOK_DUE: Duration = Duration::from_secs(2);
/// Webhooks that are found at once, of which some may have no slot.
pub(crate) const WEBHOOK_CANDIDATES: i64 = 1000;
/// An attempt that takes longer is slow, and gives its slot to others. After this time, a webhook with more messages lets others go first.
pub(crate) const WEBHOOK_SLOW: Duration = Duration::from_millis(500);
/// Deliveries of a core whose attempt has just begun. Each has its slot for twice [`WEBHOOK_SLOW`] at most, so webhooks wait for about a
/// second behind this many that begin to hang.
pub(crate) const WEBHOOK_SLOTS: usize = 256;
/// Those of one company: all its webhooks, so that none waits for another one.
pub(crate) const WEBHOOK_COMPANY_SLOTS: usize = 20;
/// Deliveries of a core that are slow, or whose webhook was slow or failed last.
pub(crate) const WEBHOOK_SLOW_SLOTS: usize = 256;
/// Those of one company.
pub(crate) const WEBHOOK_COMPANY_SLOW_SLOTS: usize = 8;
/// Messages that are sent to one webhook before others have the slot.
pub(crate) const WEBHOOK_MESSAGES: usize = 16;
/// Changes of a message, at most, and what their rows take, in bytes; the first one in any case.
pub(crate) const WEBHOOK_CHANGES: i64 = 100;
/// See [`WEBHOOK_CHANGES`].
pub(crate) const WEBHOOK_BYTES: usize = 1 << 20;
/// How long an endpoint may take to accept a connection, and as a whole until its response begins.
pub(crate) const WEBHOOK_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// See [`WEBHOOK_CONNECT_TIMEOUT`].
pub(crate) const WEBHOOK_TIMEOUT: Duration = Duration::from_secs(15);
/// How long a request that names an endpoint waits for its addresses.
pub(crate) const WEBHOOK_RESOLVE_TIMEOUT: Duration = Duration::from_secs(3);
/// Lookups of names for requests that name an endpoint.
pub(crate) const WEBHOOK_CHECKS: usize = 256;
/// Those of one company.
pub(crate) const WEBHOOK_COMPANY_CHECKS: usize = 4;
/// How long a core has a webhook to itself: longer than an attempt takes with its statements. If a core dies, the next attempt waits
/// as long.
pub(crate) const WEBHOOK_LEASE: Duration = Duration::from_mins(1);
/// The longest wait after the first failure, which doubles with each other one, and at most.
pub(crate) const WEBHOOK_BACKOFF: Duration = Duration::from_secs(10);
/// See [`WEBHOOK_BACKOFF`].
pub(crate) const WEBHOOK_LONGEST_BACKOFF: Duration = Duration::from_hours(4);
/// A webhook is not waited for longer: the clock was ahead when the time of its next attempt was stored.
pub(crate) const WEBHOOK_LONGEST_WAIT: Duration = Duration::from_hours(8);
/// See [`WEBHOOK_LONGEST_WAIT`], of the end of its lease.
pub(crate) const WEBHOOK_LONGEST_LEASE: Duration = Duration::from_mins(2);
/// How long a webhook fails before it is disabled.
pub(crate) const WEBHOOK_GIVE_UP: Duration = Duration::from_hours(72);
/// Entries of a webhook's log.
pub(crate) const WEBHOOK_LOG: i64 = 1000;
/// Characters of a reason that the log keeps.
pub(crate) const WEBHOOK_ERROR_CHARS: usize = 200;
/// How long a secret is used next to the one that replaced it.
pub(crate) const PREVIOUS_SECRET_TIME: Duration = Duration::from_hours(24);
/// How far the clock may have been ahead when a secret was replaced, so that the one before is still used.
pub(crate) const WEBHOOK_CLOCK_ERROR: Duration = Duration::from_hours(1);
/// Secrets that are kept next to the one that replaced them.
pub(crate) const WEBHOOK_PREVIOUS_SECRETS: i32 = 5;
/// Test messages in flight, and those of one company.
pub(crate) const WEBHOOK_TESTS: usize = 32;
/// See [`WEBHOOK_TESTS`].
pub(crate) const WEBHOOK_COMPANY_TESTS: usize = 4;

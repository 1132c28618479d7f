//! Limits that both layers have: every number that is a decision.

use std::time::Duration;

// Memory.
/// Messages, rows and responses of at most so many bytes are not counted: the calls or connections bound their number.
pub const SMALL: usize = 16 << 10;
/// How long a request waits for the memory that others of its company hold.
pub const MEMORY_WAIT: Duration = Duration::from_secs(5);
/// One company alone may hold one in so many bytes of the memory of requests.
pub const MEMORY_SHARE: usize = 2;
/// What belongs to no company may take one in so many bytes of what the companies may.
pub(crate) const WITHOUT_COMPANY: usize = 16;

// Watches.
/// When a watch of changes ends at the latest, so that watchers come to other instances, too.
pub const WATCH_TIME: Duration = Duration::from_hours(24);

// Work.
/// Companies that called within this time of each other call at the same time.
pub(crate) const AT_THE_SAME_TIME: Duration = Duration::from_secs(1);
/// Work that takes longer than this does not keep other companies from theirs.
pub const SLOW_AFTER: Duration = Duration::from_secs(2);
/// How often work that waits looks for work that has become slow, and whether several companies still call.
pub(crate) const CHECK_INTERVAL: Duration = Duration::from_millis(250);
/// Companies without work are looked for when there are so many, and at each doubling.
pub(crate) const REMEMBERED_COMPANIES: usize = 256;

// Computations.
/// A computation on more bytes than this takes long: about a millisecond, in which a thread that serves everybody would
/// not notice what arrives for others.
pub const LONG_COMPUTATION: usize = 64 << 10;
/// Computations that are left to other threads at the same time, since each takes one.
pub(crate) const MAX_OFF_THREAD: usize = 64;

// Refusals.
/// How many refusals of a company are sent at once in a period: a hundred a second, but not a hundred together. Those of
/// callers without a verified company count together.
pub(crate) const REFUSALS_AT_ONCE: u32 = 10;
pub(crate) const REFUSAL_PERIOD: Duration = Duration::from_millis(100);
/// How long the others are delayed: between half and one and a half of it. Callers that were refused together and all
/// try again together would keep every thread from others for milliseconds.
pub(crate) const REFUSAL_DELAY: Duration = Duration::from_millis(100);
/// Refusals of all companies that are delayed at the same time. Further ones are sent at once.
pub(crate) const MAX_DELAYED: usize = 4096;

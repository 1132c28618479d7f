//! Limits that both layers have.

use std::time::Duration;

/// Messages, rows and responses of at most so many bytes are not counted: the calls or connections bound their number.
pub const SMALL: usize = 16 << 10;
/// How long a request waits for the memory that others of its company hold.
pub const MEMORY_WAIT: Duration = Duration::from_secs(5);
/// One company alone may hold one in so many bytes of the memory of requests.
pub const MEMORY_SHARE: usize = 2;
/// Work that takes longer than this does not keep other companies from theirs.
pub const SLOW_AFTER: Duration = Duration::from_secs(2);

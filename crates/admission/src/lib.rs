//! Admission control: limits on what one company, and all companies together, use of the process.
//!
//! [`Memory`] limits bytes, [`Counts`] limits calls and streams, and a [`WorkQueue`] limits concurrent work. [`off_thread`] moves long
//! computations away from the threads that serve everybody. The crate does not know the operations.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tasks of tests end with them"))]

mod body;
mod counts;
mod memory;
mod off_thread;
mod queue;
mod rejections;
mod semaphores;

pub use body::GuardedBody;
pub use counts::{Count, Counts, LimitReached};
pub use memory::{MEMORY_QUOTA_DIVISOR, MEMORY_WAIT, Memory, Reservation, ResponseMemory, SMALL};
pub use off_thread::{LONG_COMPUTATION, compute, is_long, off_thread, run_off_thread};
pub use queue::{WorkPermit, WorkQueue};
pub use rejections::RejectionDelay;
pub use semaphores::CompanySemaphores;

/// The longest time of a watch. Then its reader reconnects, perhaps to another instance.
pub const WATCH_TIME: std::time::Duration = std::time::Duration::from_hours(24);

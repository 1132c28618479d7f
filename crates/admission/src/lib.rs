//! Admission control: limits the process resources that each company, and all companies together, can use.
//!
//! [`Memory`] limits bytes, and a [`WorkQueue`] limits calls, streams and concurrent work. [`off_thread`] keeps long computations from blocking
//! other tasks. The crate is independent of the API operations.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "the test's runtime aborts its tasks"))]

mod body;
mod memory;
mod off_thread;
mod queue;
mod rejections;
mod semaphores;

pub use body::GuardedBody;
pub use memory::{MEMORY_QUOTA_DIVISOR, MEMORY_WAIT, Memory, Reservation, ResponseMemory, SMALL};
pub use off_thread::{LONG_COMPUTATION, compute, is_long, off_thread, run_off_thread};
pub use queue::{LimitReached, WorkPermit, WorkQueue};
pub use rejections::RejectionDelay;
pub use semaphores::CompanySemaphores;

/// Maximum duration of a watch. After that, the client reconnects, perhaps to another instance.
pub const WATCH_TIME: std::time::Duration = std::time::Duration::from_hours(24);

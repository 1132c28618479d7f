//! Admission control: what one company, and all of them together, may use of the process at the same time: [`Memory`],
//! [`Counts`] of calls and streams, and work in a [`WorkQueue`]. [`off_thread`] keeps long computations away from the threads
//! that serve everybody. Nothing here knows what the work is.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tasks of tests end with them"))]

mod body;
mod callers;
mod counts;
mod full;
mod limits;
mod memory;
mod off_thread;
mod queue;
mod refusals;

pub use body::HoldingBody;
pub use callers::Callers;
pub use counts::{Count, Counts};
pub use full::Full;
pub use limits::{LONG_COMPUTATION, MEMORY_SHARE, MEMORY_WAIT, SLOW_AFTER, SMALL, WATCH_TIME};
pub use memory::{Memory, Reservation, ResponseMemory};
pub use off_thread::{compute, is_long, off_thread, run_off_thread};
pub use queue::{QueueLimits, WorkPermit, WorkQueue};
pub use refusals::Refusals;

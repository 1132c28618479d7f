//! Admission control: what one company, and all of them together, may use of the process at the same time.
//!
//! - [`Memory`] counts the bytes that messages take.
//! - [`Counts`] counts what a company has open: calls, streams.
//! - [`FairQueue`] lets a bounded amount of work run; what waits is taken from each company in proportion.
//! - [`HoldingBody`] holds memory until a response was sent.
//! - [`Callers`] notices whether several companies call, so that one that is alone may use more.
//! - [`Refusals`] holds refusals back.
//! - [`compute`], [`off_thread`] and [`OffThread`] keep long computations away from the threads that serve everybody.
//!
//! Nothing here knows what the work is. A refusal says whether the company or the process has no more to give.

mod body;
mod callers;
mod counts;
mod memory;
mod off_thread;
mod queue;
mod refusals;

pub use body::HoldingBody;
pub use callers::Callers;
pub use counts::{Count, Counts};
pub use memory::{Memory, Reservation, ResponseMemory};
pub use off_thread::{OffThread, compute, is_long, off_thread};
pub use queue::{FairQueue, QueueLimits, Slot, Waits, waiting};
pub use refusals::Refusals;

/// Why something is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// The company has used up its share.
    Company,
    /// All companies together have used up what there is.
    Process,
}

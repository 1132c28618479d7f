//! Admission control: what one company, and all of them together, may use of the process at the same time: [`Memory`],
//! [`Counts`] of calls and streams, and work in a [`WorkQueue`]. [`off_thread`] keeps long computations away from the threads
//! that serve everybody. Nothing here knows what the work is.

mod body;
mod callers;
mod counts;
mod limits;
mod memory;
mod off_thread;
mod queue;
mod refusals;

use compliance_api::error::Error;

pub use body::HoldingBody;
pub use callers::Callers;
pub use counts::{Count, Counts};
pub use limits::{LONG_COMPUTATION, MEMORY_SHARE, MEMORY_WAIT, SLOW_AFTER, SMALL, WATCH_TIME};
pub use memory::{Memory, Reservation, ResponseMemory};
pub use off_thread::{compute, is_long, off_thread, run_off_thread};
pub use queue::{QueueLimits, WorkPermit, WorkQueue};
pub use refusals::Refusals;

/// Why something is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// The company has used up its share.
    Company,
    /// All companies together have used up what there is.
    Process,
}

impl From<Full> for Error {
    fn from(full: Full) -> Self {
        match full {
            Full::Company => Self::share_used_up(),
            Full::Process => Self::overloaded(),
        }
    }
}

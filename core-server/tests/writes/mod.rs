//! Tests partner writes: results and costs of concurrent and large writes.

mod abandoned;
mod coalesced;
mod created;
mod etags;
mod large;
mod locks;
mod stopped;
mod synced;
mod updates;

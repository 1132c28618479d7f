//! Writes of partners: what concurrent and large ones come to, and what they take.

mod abandoned;
mod coalesced;
mod created;
mod etags;
mod large;
mod locks;
mod stopped;
mod synced;
mod updates;

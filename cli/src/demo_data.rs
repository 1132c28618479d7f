//! A made programme of any size: affiliates, URLs, infractions, cases and incidents as life leaves them.
//!
//! Every record is a function of the seed and its own number, so the same seed gives the same records, nothing has to
//! be remembered, and records are made as they are sent: [`load()`] holds a few chunks of them at a time.

mod affiliates;
mod breaches;
mod cases;
mod chance;
mod clock;
mod copy;
mod load;
mod pages;
mod people;
mod plan;
mod rows;
mod urls;

pub(crate) use load::{CONNECTIONS, Made, load};

use time::Date;

use clock::Clock;

/// What is to be made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Programme {
    company: i64,
    seed: u64,
    affiliates: u64,
    urls: u64,
    cases: u64,
    clock: Clock,
}

/// How many records there are to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) affiliates: u64,
    pub(crate) urls: u64,
    pub(crate) cases: u64,
}

impl Programme {
    /// The programme of a seed: three years that lead up to the beginning of the day `until`.
    pub(crate) fn new(company: i64, seed: u64, size: Size, until: Date) -> Self {
        let Size { affiliates, urls, cases } = size;
        Self { company, seed, affiliates, urls, cases, clock: Clock::until(until) }
    }
}

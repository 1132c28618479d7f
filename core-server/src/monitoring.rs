//! The operations of internal services: crawlers, case tools and migrations write what partners read.
//!
//! Every operation is one statement for a whole request (for one chunk of a stream). Items are checked and their names
//! resolved first; an invalid item is rejected alone.

mod cases;
mod changes;
mod context;
mod export;
mod incidents;
mod infractions;
mod items;
mod names;
mod observations;
mod service;
mod url_ref;
mod vocabularies;

pub(crate) use service::Monitoring;

use crate::table::Expected;

/// Adds what the statements expect of the database.
pub(crate) fn expect(expected: Expected) -> Expected {
    let expect = [observations::expect, infractions::expect, cases::expect, incidents::expect, vocabularies::expect];
    expect.into_iter().fold(expected, |expected, expect| expect(expected))
}

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

use compliance_api::v1::{CaseInput, UrlObservation};

use crate::table::Expected;

/// Adds what the statements expect of the database.
pub(crate) fn expect(expected: Expected) -> Expected {
    expected
        .record::<UrlObservation>()
        .record::<CaseInput>()
        .composite(&observations::INPUT)
        .composite(&infractions::INPUT)
        .composite(&cases::INPUT)
        .composite(&incidents::INPUT)
        .composite(&incidents::KEY_INPUT)
        .composite(&vocabularies::INPUT)
}

//! Tests operations for internal services, and the records that partners read afterwards.

pub(crate) mod builders;
mod cases;
mod columns;
mod concurrency;
mod dates;
mod etags;
mod export;
mod incidents;
mod infractions;
mod input_types;
mod lost_updates;
mod observations;
mod stream;
mod vocabularies;

//! The internal write side: what crawlers, case tools and migrations tell, written so that partners read it.
//!
//! Every operation is one statement for a whole request (for a chunk, of a stream). Items are checked and their names
//! looked up first; a bad one is told as such and left out.

mod cases;
mod catalogue;
mod export;
mod faults;
mod incidents;
mod infractions;
mod names;
mod observations;
mod service;
mod write;

pub(crate) use service::Monitoring;

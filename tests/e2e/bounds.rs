//! Resource limits per caller, per company and for the whole service.

mod deadlines;
mod documents;
mod encoded;
mod flood;
mod lists;
mod memory;
mod pages;
mod permits;
mod records;
mod unproven;

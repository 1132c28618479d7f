//! Bounds on what a caller, a company and all companies use.

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

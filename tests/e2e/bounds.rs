//! What one caller, one company and all together can take of the service.

mod deadlines;
mod documents;
mod encoded;
mod flood;
mod lists;
mod memory;
mod pages;
mod records;
mod slots;
mod unproven;

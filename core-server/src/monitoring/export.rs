//! Exports of all records of a company, in the form in which another company can write them.

mod cases;
mod urls;

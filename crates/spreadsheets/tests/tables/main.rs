//! Tests files as written by spreadsheets and other programs.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod csv;
mod headings;
mod kinds;
mod limits;
mod support;
mod values;
mod workbooks;

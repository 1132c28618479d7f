//! Files as spreadsheets and programs write them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod csv;
mod headings;
mod kinds;
mod limits;
mod support;
mod values;
mod workbooks;

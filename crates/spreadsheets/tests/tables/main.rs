//! Files as spreadsheets and programs write them.

mod csv;
mod kinds;
mod limits;
mod support;
mod workbooks;

//! Reads tables of records from CSV files and Excel workbooks (`.xlsx`).
//!
//! [`Table::open`] reads a file once to find its kind, encoding, headings and date order, or fails with a [`FileError`]. [`Table::read`] reads the
//! file again and passes each row to a callback: a typed record with the fields that the columns set, or the cells' errors. The reader never guesses
//! silently. If it cannot read a cell with certainty, it rejects the row.
//!
//! [`Limits`] bound memory use, whatever the file claims. Only a workbook's shared strings stay in memory; rows never do.

mod affiliates;
mod book;
mod csv_text;
mod dates;
mod decoded;
mod error;
mod file;
mod headings;
mod number_format;
mod options;
mod record;
mod row;
mod sheet;
mod source;
mod table;
mod traces;
mod urls;
mod workbook;
mod xml;

pub use affiliates::AffiliateRow;
pub use decoded::text;
pub use error::FileError;
pub use file::is_table;
pub use headings::{Headings, field_of, is_unnamed};
pub use options::{Empty, Encoding, Limits, Options, Order};
pub use record::{TableRecord, Target, Values};
pub use row::{Row, RowError};
pub use source::Source;
pub use table::Table;

//! Reads file bodies: tables of records, as CSV or a workbook.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    io::{self, Cursor, Read, Seek, SeekFrom},
    ops::ControlFlow,
    str::FromStr,
    time::Instant,
};

use admission::{Reservation, off_thread};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use compliance_api::{
    csv_cell::Escape,
    error::{Error, Reason},
    rules::{Check, MAX_VIOLATIONS, Violations, not_one_of},
};
use prost::Message;
use serde::Serialize;
use spreadsheets::{Empty, Encoding, FileError, Options, Order, Row, RowError, Table, TableRecord};

use super::{
    body::{FileHead, RequestBody},
    collect::{reserve, wait_to_reserve},
};
use crate::{
    caller::Caller,
    content::{FILE_OPTIONS, is_foreign_option, misspelled_option},
    envelope::{OfFile, Rejection, respond_invalid},
    limits::FILE_TIME,
    route::options_of,
};

/// Step size of memory reservations, in bytes.
const MEMORY_STEP: usize = 1 << 20;
/// Memory for a row's result, in bytes.
const RESULT: usize = 256;

impl FileHead {
    /// Returns the request with its own options, and the options for reading the file.
    fn options<R: Check + Message + Default>(&self, is_workbook: bool) -> Result<(R, Options), Error> {
        let (request, mut violations) = self.query.beside_list::<R>()?;
        let mut options = Options::default();
        let known: Vec<&str> = FILE_OPTIONS.into_iter().chain(options_of(R::MESSAGE)).collect();
        let mut given = HashSet::new();
        for (name, value) in self.query.parameters() {
            if !known.contains(&&*name) {
                // Other parameters have no effect, as in JSON requests.
                if let Some(message) = misspelled_option(&name, &known) {
                    violations.report(name, |_| message);
                } else if is_foreign_option(&name) {
                    let options = known.join(", ");
                    let message =
                        format!("The option {name} does not exist for this operation. Its options are: {options}.");
                    violations.report(name, |_| message);
                }
                continue;
            }
            if value.is_empty() {
                continue;
            }
            let is_second = FILE_OPTIONS.contains(&&*name) && name != "columns" && !given.insert(name.clone());
            let read = match &*name {
                _ if is_second => Err(format!("The {name} field must have only one value. The request has several.")),
                "dates" => named(&name, &value, &Order::NAMES).map(|order| options.dates = Some(order)),
                "encoding" => named(&name, &value, &Encoding::NAMES)
                    .map(|encoding| options.encoding = Some(encoding))
                    .map_err(|message| format!("{message} {}", Encoding::ADVICE)),
                "sheet" => {
                    options.sheet = Some(value.into_owned());
                    Ok(())
                }
                "columns" => column(&value).map(|column| options.columns.push(column)),
                "escape" if value == "none" => {
                    options.escape = Escape::None;
                    Ok(())
                }
                "escape" => Err(not_one_of(&name, &["none"])),
                _ => Ok(()),
            };
            if let Err(message) = read {
                violations.report(name, |_| message);
            }
        }
        match self.charset.as_deref().filter(|_| !is_workbook).map(str::parse::<Encoding>) {
            Some(Ok(charset)) if options.encoding.is_some_and(|encoding| encoding != charset) => {
                violations.report("encoding", |label| {
                    format!(
                        "The {label} field and the charset of the Content-Type header differ. Send only one of them."
                    )
                });
            }
            Some(Ok(charset)) => options.encoding = Some(charset),
            Some(Err(_)) => violations.report("Content-Type", |label| {
                let names = Encoding::NAMES.join(", ");
                format!("The charset of the {label} header must be one of: {names}. {}", Encoding::ADVICE)
            }),
            None => {}
        }
        if violations.is_empty() { Ok((request, options)) } else { Err(Error::invalid(violations)) }
    }
}

/// Returns a heading and its field. A heading can contain an equals sign.
fn column(value: &str) -> Result<(String, String), String> {
    let (heading, field) = value.rsplit_once('=').ok_or("The columns field must have the form heading=field.")?;
    Ok((heading.to_owned(), field.to_owned()))
}

/// Parses the value of an option that must be one of `names`.
fn named<T: FromStr>(option: &str, value: &str, names: &[&str]) -> Result<T, String> {
    let known = names.contains(&value).then(|| value.parse().ok()).flatten();
    known.ok_or_else(|| not_one_of(option, names))
}

/// A file's bytes, until the time to read them has passed. A small file can take long to read.
struct Bounded {
    bytes: Cursor<Bytes>,
    end: Instant,
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if Instant::now() < self.end {
            return self.bytes.read(buffer);
        }
        let message = format!("reading the file takes more than {} s: split the file", FILE_TIME.as_secs());
        Err(io::Error::other(FileError::Limit(message)))
    }
}

impl Seek for Bounded {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.bytes.seek(position)
    }
}

/// The rows of a file, as messages.
#[derive(Default)]
pub(crate) struct Rows<M> {
    /// The records of the rows, in order. For an invalid row, a record with only its ID, if the ID is readable.
    pub(crate) records: Vec<M>,
    /// Each row's line in the file, or row in the sheet.
    pub(crate) lines: Vec<u64>,
    /// Notes about skipped parts of the table.
    pub(crate) notes: Vec<String>,
    /// Errors in invalid rows, by row index.
    refused: BTreeMap<usize, Vec<RowError>>,
    /// Indexes of the invalid rows without a readable ID.
    unidentified: BTreeSet<usize>,
    /// Number of errors kept so far.
    errors: usize,
    is_workbook: bool,
}

/// A violation in a row.
#[derive(Debug, Serialize)]
pub(crate) struct RowViolation {
    path: String,
    row: u64,
    /// The workbook cell.
    cell: Option<String>,
    /// The CSV column's heading.
    column: Option<String>,
    pub(crate) message: String,
}

impl RequestBody {
    pub(crate) fn is_file(&self) -> bool {
        self.file.is_some()
    }

    /// Reads a file whose rows form the list of a request `R`. Returns the request without its list, and the rows.
    pub(crate) async fn rows<R: Check + Message + Default, T: TableRecord, M: Message + Default>(
        &mut self,
        required: &'static [&'static str],
        empty: Empty,
        record: fn(T) -> M,
    ) -> Result<(R, Rows<M>), Rejection> {
        let read = self.read_rows(required, empty, record).await;
        self.caller.accept(read).await
    }

    async fn read_rows<R: Check + Message + Default, T: TableRecord, M: Message + Default>(
        &mut self,
        required: &'static [&'static str],
        empty: Empty,
        record: fn(T) -> M,
    ) -> Result<(R, Rows<M>), Error> {
        let Some(head) = &self.file else { return Err(Error::internal()) };
        let is_workbook = self.bytes.starts_with(b"PK");
        let (request, options) = head.options::<R>(is_workbook)?;
        let options = Options { required, empty, ..options };
        let unpacked = if is_workbook { options.limits.unpacked_bytes as usize } else { 0 };
        wait_to_reserve(&mut self.memory, self.bytes.len() * 2 + unpacked).await?;
        // A small file can unpack to a large one, so every file needs a permit.
        let _permit = self.caller.gateway.enter(self.caller.company_id()).await?;
        let rows = Rows { is_workbook, ..Rows::default() };
        let rows = off_thread(|| rows.read(self.bytes.clone(), options, record, &mut self.memory))?;
        self.memory.shrink_to(self.memory.bytes() - unpacked);
        Ok((request, rows))
    }
}

impl<M: Message> Rows<M> {
    fn read<T: TableRecord>(
        mut self,
        bytes: Bytes,
        options: Options,
        record: fn(T) -> M,
        memory: &mut Reservation,
    ) -> Result<Self, Error> {
        let mut table =
            Table::<T>::open(Bounded { bytes: Cursor::new(bytes), end: Instant::now() + FILE_TIME }, options)
                .map_err(|error| file_error(&error))?;
        self.notes = table.notes().to_vec();
        let (mut used, mut failure) = (memory.bytes(), None);
        let read = table.read(|Row { line, record: read, identity, .. }: Row<T>| {
            used += size_of::<M>() + RESULT;
            let sent = match read {
                Ok(read) => Some(read),
                Err(errors) => {
                    self.refuse(errors);
                    identity
                }
            };
            if let Some(sent) = sent {
                let message = record(sent);
                used += message.encoded_len();
                self.records.push(message);
            } else {
                self.unidentified.insert(self.lines.len());
            }
            self.lines.push(line);
            if used > memory.bytes()
                && let Err(error) = reserve(memory, used.next_multiple_of(MEMORY_STEP))
            {
                failure = Some(error);
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        read.map_err(|error| file_error(&error))?;
        match failure {
            Some(error) => Err(error),
            None if self.lines.is_empty() => Err(Error::invalid(Violations::one(
                "body",
                "The file must contain at least one row below its headings.",
            ))),
            None => Ok(self),
        }
    }

    /// Adds an invalid row. After many errors, keeps only the first error of each row.
    fn refuse(&mut self, mut errors: Vec<RowError>) {
        if self.errors > MAX_VIOLATIONS {
            errors.truncate(1);
        }
        self.errors += errors.len();
        for error in &mut errors {
            error.value = String::new();
        }
        self.refused.insert(self.lines.len(), errors);
    }
}

impl<M> Rows<M> {
    /// Returns the additional data for file responses.
    pub(crate) fn of_file(&self) -> OfFile<'_> {
        OfFile { rows: &self.lines, notes: &self.notes }
    }

    /// Returns the number of invalid rows.
    pub(crate) fn refused(&self) -> usize {
        self.refused.len()
    }

    pub(crate) fn is_refused(&self, index: usize) -> bool {
        self.refused.contains_key(&index)
    }

    /// Returns whether each invalid row has a readable ID.
    pub(crate) fn are_identified(&self) -> bool {
        self.unidentified.is_empty()
    }

    /// Returns the index of each record's row.
    pub(crate) fn indexes(&self) -> impl Iterator<Item = usize> {
        (0..self.lines.len()).filter(|index| !self.unidentified.contains(index))
    }

    /// Returns the violations of the row at `index`, or `None` if the row is valid.
    pub(crate) fn violations_of(&self, index: usize) -> Option<Vec<RowViolation>> {
        let errors = self.refused.get(&index)?;
        Some(errors.iter().map(|error| self.violation(index, error, error.field.clone())).collect())
    }

    fn violation(&self, index: usize, error: &RowError, path: String) -> RowViolation {
        let row = self.lines[index];
        let place = Some(error.cell.clone()).filter(|place| !place.is_empty());
        let (cell, column) = if self.is_workbook { (place, None) } else { (None, place) };
        let of_place = match (&cell, &column) {
            (Some(cell), _) => format!(", cell {cell}"),
            (_, Some(column)) => format!(", column {column}"),
            _ => String::new(),
        };
        RowViolation { path, row, cell, column, message: format!("Row {row}{of_place}: {}", error.reason) }
    }

    /// Returns the rejection for an all-or-nothing request if any row is invalid. `list` is the name of the request's list.
    pub(crate) async fn refusal(&self, caller: &Caller, list: &str) -> Option<Response> {
        if self.refused.is_empty() {
            return None;
        }
        let (mut violations, mut rows) = (Violations::new(), Vec::new());
        for (index, errors) in &self.refused {
            for error in errors {
                let path = format!("{list}.{index}.{}", error.field).trim_end_matches('.').to_owned();
                let violation = self.violation(*index, error, path);
                violations.push((*index as u32 + 1, 0), || (violation.path.clone(), violation.message.clone()));
                rows.push(violation);
            }
        }
        rows.truncate(MAX_VIOLATIONS);
        let Rejection(error) = caller.refuse(Error::invalid(violations)).await;
        Some(if error.reason == Reason::InvalidFields {
            respond_invalid(&error.message, error.violations, &rows, &self.notes)
        } else {
            Rejection(error).into_response()
        })
    }
}

impl RowViolation {
    pub(crate) fn of_result(self) -> ResultViolation {
        let Self { path, row, cell, column, message } = self;
        ResultViolation { field: path, description: message, row, cell, column }
    }
}

/// A violation in the form that sync results use.
#[derive(Debug, Serialize)]
pub(crate) struct ResultViolation {
    field: String,
    description: String,
    row: u64,
    cell: Option<String>,
    column: Option<String>,
}

/// Returns the error for a problem with the file itself, rather than with a row.
fn file_error(error: &FileError) -> Error {
    let text = error.to_string();
    let mut letters = text.chars();
    let first = letters.next().map(char::to_uppercase).into_iter().flatten();
    let mut sentence: String = first.chain(letters).collect();
    if !sentence.ends_with(['.', '?']) {
        sentence.push('.');
    }
    match error {
        FileError::Kind(_) => Error::new(Reason::ContentTypeInvalid, sentence),
        _ => Error::invalid(Violations::one(error.option().unwrap_or("body"), sentence)),
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Cursor, time::Instant};

    use bytes::Bytes;
    use compliance_api::v1::UrlInput;
    use spreadsheets::{Options, Table};

    use super::Bounded;

    #[test]
    fn reading_a_file_times_out() {
        let bytes = Cursor::new(Bytes::from_static(b"url\nhttps://a.example/\n"));
        let error = Table::<UrlInput>::open(Bounded { bytes, end: Instant::now() }, Options::default()).err().unwrap();
        assert_eq!(error.to_string(), "reading the file takes more than 20 s: split the file");
    }
}

//! Parses dates as spreadsheets write them. Never guesses the order of day and month.

use time::{Date, Duration, macros::date};

use crate::{error::FileError, options::Order, row::start_of};

/// First serial number after the last day, 9999-12-31.
const AFTER_LAST_DAY: f64 = 2_958_466.0;

/// Epoch of a workbook's dates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Epoch {
    /// 1900, with a nonexistent 29 February.
    #[default]
    Of1900,
    /// 1904, as on old Macs.
    Of1904,
}

impl Epoch {
    /// Converts a serial number to a day, with the time unless it is midnight. Workbooks do not store time zones.
    pub(crate) fn date(self, serial: f64) -> Option<String> {
        if !(1.0..AFTER_LAST_DAY).contains(&serial) {
            return None;
        }
        // A time is an inexact fraction of a day.
        let seconds = (serial * 86_400.0).round() as i64;
        let (day, time) = (seconds / 86_400, seconds % 86_400);
        let first = match self {
            Self::Of1904 => date!(1904 - 01 - 01),
            Self::Of1900 if day == 60 => return None,
            Self::Of1900 if day < 60 => date!(1899 - 12 - 31),
            Self::Of1900 => date!(1899 - 12 - 30),
        };
        let date: Date = first.checked_add(Duration::days(day))?;
        let (year, month, day) = date.to_calendar_date();
        let date = format!("{year:04}-{:02}-{day:02}", u8::from(month));
        Some(match time {
            0 => date,
            time => format!("{date} {:02}:{:02}:{:02}", time / 3600, time / 60 % 60, time % 60),
        })
    }
}

/// A date with a time, as written.
struct Written<'a> {
    numbers: [u32; 3],
    form: Form,
    separator: char,
    /// Text after the date.
    time: &'a str,
}

/// Order of the numbers in a date.
#[derive(Clone, Copy)]
enum Form {
    /// Year, month, day.
    Iso,
    /// Day and month in either order, then a two-digit year.
    ShortYear,
    /// Day and month, then the year. The date itself may reveal the order.
    LongYear(Option<Order>),
}

impl<'a> Written<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let end = text.find(|next: char| next == 'T' || next.is_whitespace()).unwrap_or(text.len());
        let (date, time) = text.split_at(end);
        let separator = date.chars().find(|next| !next.is_ascii_digit()).filter(|next| "-/.".contains(*next))?;
        let parts: Vec<&str> = date.split(separator).collect();
        let [one, two, three] = parts[..] else { return None };
        let number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok()).flatten();
        let numbers: [u32; 3] = [number(one)?, number(two)?, number(three)?];
        let form = match [one.len(), two.len(), three.len()] {
            [4, 1..=2, 1..=2] => Form::Iso,
            [1..=2, 1..=2, 2] => Form::ShortYear,
            [1..=2, 1..=2, 4] => Form::LongYear(match numbers {
                [13..=31, 1..=12, _] => Some(Order::Dmy),
                [1..=12, 13..=31, _] => Some(Order::Mdy),
                _ => None,
            }),
            _ => return None,
        };
        Some(Self { numbers, form, separator, time: time.strip_prefix('T').unwrap_or(time).trim() })
    }
}

/// Reads a file's dates in this order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dates(pub(crate) Order);

impl Dates {
    /// Returns a calendar day as `YYYY-MM-DD`, and drops a midnight time.
    pub(crate) fn day(self, text: &str) -> Result<String, String> {
        let text = text.trim();
        let unknown = || format!("{} is not a date in a known form; write the date as YYYY-MM-DD.", start_of(text));
        let written = Written::of(text).ok_or_else(unknown)?;
        let day = self.date(&written, text)?;
        match time(written.time) {
            Some(_) if !is_midnight(written.time) => {
                Err(format!("{text} contains a time; enter only the date, such as 2026-01-31."))
            }
            Some(_) => Ok(day),
            None => Err(unknown()),
        }
    }

    /// Returns an instant, in UTC unless it specifies an offset. A date without a time means midnight UTC.
    pub(crate) fn instant(self, text: &str) -> Result<String, String> {
        let text = text.trim();
        let Some(written) = Written::of(text) else { return Ok(text.to_owned()) };
        let day = self.date(&written, text)?;
        Ok(match time(written.time) {
            Some(Time { clock, offset: "" }) => format!("{day} {clock}"),
            Some(Time { clock, offset }) => format!("{day}T{clock}{offset}"),
            None => text.to_owned(),
        })
    }

    fn date(self, written: &Written<'_>, text: &str) -> Result<String, String> {
        let [one, two, three] = written.numbers;
        let [year, month, day] = match (written.form, self.0) {
            (Form::Iso, _) => [one, two, three],
            (Form::ShortYear, _) => {
                return Err(format!("The year in {text} has only two digits; write the date as YYYY-MM-DD."));
            }
            (Form::LongYear(other), order) if order == Order::Ymd || other.is_some_and(|other| other != order) => {
                let first = order.first();
                return Err(format!("{text} is not a date with the {first} first; write the date as YYYY-MM-DD."));
            }
            (Form::LongYear(_), Order::Dmy) => [three, two, one],
            (Form::LongYear(_), _) => [three, one, two],
        };
        Ok(format!("{year:04}-{month:02}-{day:02}"))
    }
}

/// Drops a midnight time after an ISO date. Returns other forms, such as `MM/DD/YYYY`, unchanged.
pub(crate) fn iso_day(text: String) -> String {
    match Written::of(text.trim()) {
        Some(Written { numbers: [year, month, day], form: Form::Iso, time: after, .. }) if is_midnight(after) => {
            format!("{year:04}-{month:02}-{day:02}")
        }
        _ => text,
    }
}

/// Determines the order of day and month from an unambiguous date in the file.
#[derive(Default)]
pub(crate) struct Orders {
    settled: Option<(Order, u64, String)>,
    /// Separator of the date that settled the order.
    separator: Option<char>,
    /// First ambiguous date with each separator.
    open: Vec<(char, u64, String)>,
}

impl Orders {
    /// Reads a cell. Fails if its date contradicts an earlier one.
    pub(crate) fn see(&mut self, line: u64, cell: &str) -> Result<(), FileError> {
        let cell = cell.trim();
        let Some(Written { numbers: [one, two, _], form: Form::LongYear(order), separator, .. }) = Written::of(cell)
        else {
            return Ok(());
        };
        match (order, &self.settled) {
            (Some(order), None) => {
                (self.settled, self.separator) = (Some((order, line, cell.to_owned())), Some(separator));
            }
            (Some(order), Some((other, first_line, first))) if order != *other => {
                return Err(FileError::Dates(format!(
                    "{first} on line {first_line} puts the {} first, but {cell} on line {line} puts the {} first: write all dates in \
                     the file as YYYY-MM-DD",
                    other.first(),
                    order.first()
                )));
            }
            // Swapping day and month would produce a different date.
            (None, _) if one != two && one.max(two) <= 12 && self.open.iter().all(|open| open.0 != separator) => {
                self.open.push((separator, line, cell.to_owned()));
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the order of all dates. Fails if an ambiguous date uses a different separator than the date that settled the order.
    pub(crate) fn order(self) -> Result<Order, FileError> {
        let Self { settled, separator, open } = self;
        match (settled, open.into_iter().find(|open| Some(open.0) != separator)) {
            (Some((order, ..)), None) => Ok(order),
            (Some((_, first_line, first)), Some((_, line, cell))) => Err(FileError::Dates(format!(
                "{cell} on line {line} is ambiguous, and {first} on line {first_line} uses a different separator: choose dmy (day first) or \
                 mdy (month first), or write the date as YYYY-MM-DD"
            ))),
            (None, Some((_, line, cell))) => Err(FileError::Dates(format!(
                "{cell} on line {line} is ambiguous, and no other date in the file shows the order: choose dmy (day first) or mdy (month \
                 first), or write the date as YYYY-MM-DD"
            ))),
            (None, None) => Ok(Order::Mdy),
        }
    }
}

/// A time of day, `HH:MM:SS`, with its UTC offset, which may be empty.
struct Time<'a> {
    clock: String,
    offset: &'a str,
}

/// Returns whether the text after a date is midnight or empty.
fn is_midnight(text: &str) -> bool {
    time(text).is_some_and(|time| time.clock == "00:00:00")
}

/// Parses the time after a date. No text means midnight.
fn time(text: &str) -> Option<Time<'_>> {
    if text.is_empty() {
        return Some(Time { clock: "00:00:00".to_owned(), offset: "" });
    }
    let end = text.find(|next: char| !next.is_ascii_digit() && next != ':' && next != '.').unwrap_or(text.len());
    let (clock, rest) = text.split_at(end);
    let rest = rest.trim();
    let clock = clock.split_once('.').map_or(clock, |(whole, _)| whole);
    let parts: Vec<u32> = clock.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let (mut hour, minute, second) = match parts[..] {
        [hour, minute] => (hour, minute, 0),
        [hour, minute, second] => (hour, minute, second),
        _ => return None,
    };
    let offset = match rest.to_ascii_uppercase().as_str() {
        half @ ("AM" | "PM") if (1..=12).contains(&hour) => {
            hour = hour % 12 + if half == "PM" { 12 } else { 0 };
            ""
        }
        "" => "",
        "Z" | "UTC" => "Z",
        _ if rest.starts_with(['+', '-']) => rest,
        _ => return None,
    };
    Some(Time { clock: format!("{hour:02}:{minute:02}:{second:02}"), offset })
}

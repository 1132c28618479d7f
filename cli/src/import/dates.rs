//! Dates as spreadsheets write them. The import never guesses the order of day and month.

use std::sync::Arc;

use anyhow::bail;
use clap::ValueEnum;

use super::workbook::Workbook;

/// The order of day and month in dates such as 1/5/2026.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    /// Day, month, year.
    Dmy,
    /// Month, day, year.
    Mdy,
}

impl Order {
    fn first(self) -> &'static str {
        if self == Self::Dmy { "day" } else { "month" }
    }
}

/// A date with a time, as it is written.
struct Written<'a> {
    numbers: [u32; 3],
    form: Form,
    /// The text after the date.
    time: &'a str,
}

/// What the numbers of a date are.
#[derive(Clone, Copy)]
enum Form {
    /// Year, month, day.
    Iso,
    /// Day and month in any order, then the year in two digits.
    ShortYear,
    /// Day and month, then the year. The date itself may show the order.
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
        Some(Self { numbers, form, time: time.strip_prefix('T').unwrap_or(time).trim() })
    }
}

/// How the dates of a file are read.
#[derive(Clone, Debug)]
pub(super) struct Dates {
    order: Order,
    workbook: Option<Arc<Workbook>>,
}

impl Dates {
    pub(super) fn new(order: Order, workbook: Option<Arc<Workbook>>) -> Self {
        Self { order, workbook }
    }

    /// Returns a calendar day, `YYYY-MM-DD`, without a midnight after it. Any other text is returned unchanged.
    pub(super) fn day(&self, text: &str) -> Result<String, String> {
        let text = text.trim();
        let Some(written) = Written::of(text) else { return Ok(self.serial(text)) };
        let day = self.date(&written, text)?;
        Ok(if is_midnight(written.time) { day } else { text.to_owned() })
    }

    /// Returns an instant, in UTC unless it has an offset. A date without a time is its first second in UTC.
    pub(super) fn instant(&self, text: &str) -> Result<String, String> {
        let text = self.serial(text.trim());
        let Some(written) = Written::of(&text) else { return Ok(text) };
        let day = self.date(&written, &text)?;
        Ok(match time(written.time) {
            Some(Time { clock, offset: "" }) => format!("{day} {clock}"),
            Some(Time { clock, offset }) => format!("{day}T{clock}{offset}"),
            None => text,
        })
    }

    fn date(&self, written: &Written<'_>, text: &str) -> Result<String, String> {
        let [one, two, three] = written.numbers;
        let [year, month, day] = match (written.form, self.order) {
            (Form::Iso, _) => [one, two, three],
            (Form::ShortYear, _) => {
                return Err(format!("The year of {text} has two digits; write the date as YYYY-MM-DD."));
            }
            (Form::LongYear(Some(other)), order) if other != order => {
                let first = order.first();
                return Err(format!("{text} is not a date with the {first} first; write the date as YYYY-MM-DD."));
            }
            (Form::LongYear(_), Order::Dmy) => [three, two, one],
            (Form::LongYear(_), Order::Mdy) => [three, one, two],
        };
        Ok(format!("{year:04}-{month:02}-{day:02}"))
    }

    /// Returns the date of a number in a workbook.
    fn serial(&self, text: &str) -> String {
        let date = self.workbook.as_ref().and_then(|workbook| workbook.date(text));
        date.unwrap_or_else(|| text.to_owned())
    }
}

/// Returns a day of JSON without a midnight after it. The form `MM/DD/YYYY` is returned unchanged.
pub(super) fn json_day(text: String) -> String {
    match Written::of(text.trim()) {
        Some(Written { numbers: [year, month, day], form: Form::Iso, time: after }) if is_midnight(after) => {
            format!("{year:04}-{month:02}-{day:02}")
        }
        _ => text,
    }
}

/// Finds the order of dates that one date of a file shows.
#[derive(Default)]
pub(super) struct Orders {
    settled: Option<(Order, u64, String)>,
    open: Option<(u64, String)>,
}

impl Orders {
    /// Reads a cell. Fails if its date contradicts an earlier one.
    pub(super) fn see(&mut self, line: u64, cell: &str) -> anyhow::Result<()> {
        let cell = cell.trim();
        let Some(Written { numbers: [one, two, _], form: Form::LongYear(order), .. }) = Written::of(cell) else {
            return Ok(());
        };
        match (order, &self.settled) {
            (Some(order), None) => self.settled = Some((order, line, cell.to_owned())),
            (Some(order), Some((other, first_line, first))) if order != *other => bail!(
                "{first} on line {first_line} has the {} first, and {cell} on line {line} the {}: write the dates of the \
                 file as YYYY-MM-DD",
                other.first(),
                order.first()
            ),
            // Swapping day and month gives another date.
            (None, _) if self.open.is_none() && one != two && one.max(two) <= 12 => {
                self.open = Some((line, cell.to_owned()));
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the order of all dates. Fails if none of them shows it.
    pub(super) fn order(self) -> anyhow::Result<Order> {
        match (self.settled, self.open) {
            (Some((order, ..)), _) => Ok(order),
            (None, Some((line, cell))) => bail!(
                "{cell} on line {line} can be two dates, and no other date of the file says which: import it with --dates \
                 dmy (the day is first) or --dates mdy (the month is first)"
            ),
            (None, None) => Ok(Order::Mdy),
        }
    }
}

/// A time of day, `HH:MM:SS`, with its offset from UTC. The offset may be empty.
struct Time<'a> {
    clock: String,
    offset: &'a str,
}

/// Whether the text after a date is midnight, or empty.
fn is_midnight(text: &str) -> bool {
    time(text).is_some_and(|time| time.clock == "00:00:00")
}

/// Returns the time after a date; midnight without a time.
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

//! Dates as spreadsheets write them. The import never guesses the order of day and month.

use std::{borrow::Cow, sync::Arc};

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
    /// The numbers of the date: the first two in the order of the file, then the year.
    numbers: [u32; 3],
    /// The order, if the date itself shows it.
    order: Option<Order>,
    is_iso: bool,
    has_short_year: bool,
    /// The text after the date.
    time: &'a str,
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
        let time = time.strip_prefix('T').unwrap_or(time).trim();
        let of_order = |numbers, order, is_iso, has_short_year| Self { numbers, order, is_iso, has_short_year, time };
        match [one.len(), two.len(), three.len()] {
            [4, 1..=2, 1..=2] => Some(of_order([numbers[1], numbers[2], numbers[0]], Some(Order::Mdy), true, false)),
            [1..=2, 1..=2, year @ (2 | 4)] => {
                let order = match numbers {
                    [13..=31, 1..=12, _] => Some(Order::Dmy),
                    [1..=12, 13..=31, _] => Some(Order::Mdy),
                    _ => None,
                };
                Some(of_order(numbers, order, false, year == 2))
            }
            _ => None,
        }
    }

    /// Whether swapping day and month gives another date.
    fn is_ambiguous(&self) -> bool {
        let [one, two, _] = self.numbers;
        self.order.is_none() && one != two && one.max(two) <= 12
    }

    fn in_order(&self, order: Order) -> [u32; 3] {
        let [one, two, year] = self.numbers;
        if order == Order::Dmy { [year, two, one] } else { [year, one, two] }
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
    pub(super) fn day<'a>(&self, text: &'a str) -> Result<Cow<'a, str>, String> {
        let text = text.trim();
        let Some(written) = Written::of(text) else { return Ok(self.serial(text)) };
        let day = self.date(&written, text)?;
        Ok(if time(written.time).is_some_and(is_midnight) { Cow::Owned(day) } else { Cow::Borrowed(text) })
    }

    /// Returns an instant, in UTC unless it has an offset. A date without a time is its first second in UTC.
    pub(super) fn instant(&self, text: &str) -> Result<String, String> {
        let text = self.serial(text.trim());
        let Some(written) = Written::of(&text) else { return Ok(text.into_owned()) };
        let day = self.date(&written, &text)?;
        Ok(match time(written.time) {
            Some(Time { clock, offset: "" }) => format!("{day} {clock}"),
            Some(Time { clock, offset }) => format!("{day}T{clock}{offset}"),
            None => text.into_owned(),
        })
    }

    fn date(&self, written: &Written<'_>, text: &str) -> Result<String, String> {
        if written.has_short_year {
            return Err(format!("The year of {text} has two digits; write the date as YYYY-MM-DD."));
        }
        let order = if written.is_iso { Order::Mdy } else { self.order };
        if written.order.is_some_and(|other| other != order) {
            let first = order.first();
            return Err(format!("{text} is not a date with the {first} first; write the date as YYYY-MM-DD."));
        }
        let [year, month, day] = written.in_order(order);
        Ok(format!("{year:04}-{month:02}-{day:02}"))
    }

    /// Returns the date of a number in a workbook.
    fn serial<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let date = self.workbook.as_ref().and_then(|workbook| workbook.date(text));
        date.map_or(Cow::Borrowed(text), Cow::Owned)
    }
}

/// Returns a day of JSON without a midnight after it. The form `MM/DD/YYYY` is returned unchanged.
pub(super) fn json_day(text: String) -> String {
    match Written::of(text.trim()) {
        Some(written) if written.is_iso && time(written.time).is_some_and(is_midnight) => {
            let [year, month, day] = written.in_order(Order::Mdy);
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
        let Some(written) = Written::of(cell).filter(|written| !written.is_iso && !written.has_short_year) else {
            return Ok(());
        };
        match (written.order, &self.settled) {
            (Some(order), None) => self.settled = Some((order, line, cell.to_owned())),
            (Some(order), Some((other, first_line, first))) if order != *other => bail!(
                "{first} on line {first_line} has the {} first, and {cell} on line {line} the {}: write the dates of the \
                 file as YYYY-MM-DD",
                other.first(),
                order.first()
            ),
            (None, _) if self.open.is_none() && written.is_ambiguous() => self.open = Some((line, cell.to_owned())),
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

fn is_midnight(time: Time<'_>) -> bool {
    time.clock == "00:00:00"
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

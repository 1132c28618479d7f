//! Excel workbooks. They are read whole, so their size is limited.

use std::{
    fs::File,
    io::{BufReader, Read as _, Seek as _},
};

use anyhow::{Context as _, bail};
use calamine::{DataRef, ExcelDateTime, ExcelDateTimeType, Reader as _, SheetType, SheetVisible, Xlsx};

/// Maximum size of a workbook, in bytes.
const LARGEST: u64 = 20 << 20;
/// Maximum size of all cell texts together, in bytes. They are compressed in the file.
const LARGEST_TEXT: usize = 512 << 20;
/// Last serial number of a day, 9999-12-31.
const LAST_DAY: f64 = 2_958_466.0;

/// The cells of a sheet as texts.
#[derive(Debug)]
pub(super) struct Workbook {
    /// Rows that have cells, with their numbers in the sheet.
    pub(super) rows: Vec<(u64, Vec<String>)>,
    has_1904_epoch: bool,
}

/// Reads the first visible sheet of a workbook.
pub(super) fn read(file: &File, size: u64) -> anyhow::Result<Workbook> {
    if size > LARGEST {
        bail!("the workbook is larger than {} MiB: save it as CSV in UTF-8", LARGEST >> 20);
    }
    let mut bytes = Vec::new();
    let mut file = file;
    file.read_to_end(&mut bytes)?;
    file.rewind()?;
    let advice = "it is not a workbook that can be read: save it as .xlsx or as CSV in UTF-8";
    let mut workbook: Xlsx<_> = Xlsx::new(BufReader::new(std::io::Cursor::new(bytes))).context(advice)?;
    let has_1904_epoch = workbook.has_1904_epoch();
    let visible =
        |sheet: &&calamine::Sheet| sheet.typ == SheetType::WorkSheet && sheet.visible == SheetVisible::Visible;
    let mut sheets = workbook.sheets_metadata().iter().filter(visible).map(|sheet| sheet.name.clone());
    let Some(name) = sheets.next() else { bail!("the workbook has no visible sheet") };
    let others: Vec<String> = sheets.collect();
    if !others.is_empty() {
        tracing::warn!("only the first sheet {name:?} is read; ignored: {}", others.join(", "));
    }
    let mut cells = workbook.worksheet_cells_reader(&name).context(advice)?;
    let (mut rows, mut length) = (Vec::<(u64, Vec<String>)>::new(), 0);
    while let Some(cell) = cells.next_cell().with_context(|| format!("the sheet {name:?} cannot be read"))? {
        let (row, column) = cell.get_position();
        let text = text(cell.get_value(), has_1904_epoch);
        if text.is_empty() {
            continue;
        }
        length += text.len();
        if length > LARGEST_TEXT {
            bail!("the sheet {name:?} has more than {} MiB of text: save it as CSV in UTF-8", LARGEST_TEXT >> 20);
        }
        let (row, column) = (u64::from(row) + 1, column as usize);
        if rows.last().is_none_or(|(last, _)| *last != row) {
            rows.push((row, Vec::new()));
        }
        if let Some((_, cells)) = rows.last_mut() {
            cells.resize(cells.len().max(column + 1), String::new());
            cells[column] = text;
        }
    }
    Ok(Workbook { rows, has_1904_epoch })
}

impl Workbook {
    /// Returns the date of a number in a column of dates. The cell has lost its format.
    pub(super) fn date(&self, text: &str) -> Option<String> {
        let number = text.parse().ok().filter(|number| (1.0..LAST_DAY).contains(number))?;
        Some(date(number, self.has_1904_epoch))
    }
}

/// Returns the text of a cell, as in CSV.
fn text(value: &DataRef<'_>, has_1904_epoch: bool) -> String {
    match value {
        DataRef::Empty => String::new(),
        DataRef::Int(number) => number.to_string(),
        // 1001, not 1001.0.
        DataRef::Float(number) => number.to_string(),
        DataRef::String(text) | DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => text.clone(),
        DataRef::SharedString(text) => (*text).to_owned(),
        DataRef::Bool(flag) => if *flag { "TRUE" } else { "FALSE" }.to_owned(),
        DataRef::Error(error) => error.to_string(),
        DataRef::DateTime(time) if time.is_duration() => time.as_f64().to_string(),
        DataRef::DateTime(time) => date(time.as_f64(), has_1904_epoch),
    }
}

/// Returns the day of a serial number, with its time unless midnight. Workbooks have no time zones.
fn date(serial: f64, has_1904_epoch: bool) -> String {
    // A time is a fraction of a day, which is inexact.
    let seconds = (serial * 86_400.0).round() as u64;
    let (day, time) = ((seconds / 86_400) as f64, seconds % 86_400);
    let day = ExcelDateTime::new(day, ExcelDateTimeType::DateTime, has_1904_epoch);
    let (year, month, day, ..) = day.to_ymd_hms_milli();
    let day = format!("{year:04}-{month:02}-{day:02}");
    match time {
        0 => day,
        time => format!("{day} {:02}:{:02}:{:02}", time / 3600, time / 60 % 60, time % 60),
    }
}

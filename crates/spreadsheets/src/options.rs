//! Options for reading a file.

use std::str::FromStr;

use compliance_api::csv_cell::Escape;
use encoding_rs::{MACINTOSH, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// Options for reading a file. By default, request limits apply.
#[derive(Clone, Debug)]
pub struct Options {
    /// Order of day and month in dates such as 1/5/2026. By default, unambiguous dates in the file determine it.
    pub dates: Option<Order>,
    /// CSV encoding. By default, UTF-8 or UTF-16.
    pub encoding: Option<Encoding>,
    /// Workbook sheet. By default, the first visible sheet.
    pub sheet: Option<String>,
    /// Headings and their fields. An empty field ignores the column.
    pub columns: Vec<(String, String)>,
    /// Whether an apostrophe before a formula is part of the text.
    pub escape: Escape,
    /// What an empty cell means.
    pub empty: Empty,
    /// Fields required in every row.
    pub required: &'static [&'static str],
    /// Limits for a file.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            dates: None,
            encoding: None,
            sheet: None,
            columns: Vec::new(),
            escape: Escape::Formulas,
            empty: Empty::Clears,
            required: &[],
            limits: Limits { rows: 100_000, columns: 200, unpacked_bytes: 64 << 20 },
        }
    }
}

/// What an empty cell means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Empty {
    /// The row clears the field.
    Clears,
    /// The row does not contain the field.
    Absent,
}

/// Limits for a file.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of rows below the headings.
    pub rows: u64,
    /// Maximum number of columns with a heading.
    pub columns: usize,
    /// Maximum size of a workbook's unpacked parts, in bytes.
    pub unpacked_bytes: u64,
}

/// Order of the numbers in dates such as 1/5/2026.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Day, month, year.
    Dmy,
    /// Month, day, year.
    Mdy,
    /// Year, month, day only.
    Ymd,
}

impl Order {
    /// Order names.
    pub const NAMES: [&str; 3] = ["dmy", "mdy", "ymd"];

    pub(crate) fn first(self) -> &'static str {
        match self {
            Self::Dmy => "day",
            Self::Mdy => "month",
            Self::Ymd => "year",
        }
    }
}

impl FromStr for Order {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let mut orders = [Self::Dmy, Self::Mdy, Self::Ymd].into_iter().zip(Self::NAMES);
        let order = orders.find(|(_, known)| *known == name).map(|(order, _)| order);
        order.ok_or_else(|| format!("expected {}", Self::NAMES.join(", ")))
    }
}

/// CSV encoding. UTF-16 is detected; other encodings are never guessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8 or UTF-16.
    Utf8,
    /// Windows-1252, which Excel on Western Windows uses for CSV. On the web, also called ISO 8859-1.
    Windows1252,
    /// Mac Roman, which Excel on a Mac uses for CSV.
    Macintosh,
}

impl Encoding {
    /// Encoding names.
    pub const NAMES: [&str; 4] = ["utf-8", "windows-1252", "iso-8859-1", "macintosh"];
    /// Advice for files in other encodings.
    pub const ADVICE: &str = "Save files in other encodings as CSV in UTF-8, which Excel calls CSV UTF-8.";
}

impl FromStr for Encoding {
    type Err = String;

    /// Parses any encoding label known on the web, such as `latin1`.
    fn from_str(name: &str) -> Result<Self, String> {
        let is_ascii = name.eq_ignore_ascii_case("us-ascii");
        match encoding_rs::Encoding::for_label(name.as_bytes()) {
            Some(known) if known == UTF_8 || known == UTF_16LE || known == UTF_16BE || is_ascii => Ok(Self::Utf8),
            Some(known) if known == WINDOWS_1252 => Ok(Self::Windows1252),
            Some(known) if known == MACINTOSH => Ok(Self::Macintosh),
            _ => Err(format!("expected {}. {}", Self::NAMES.join(", "), Self::ADVICE)),
        }
    }
}

//! Errors that affect whole files.

use std::io;

use thiserror::Error;

/// Maximum length of a message, in bytes. Messages contain names from the file.
const LONGEST_MESSAGE: usize = 4000;

/// Why a whole file cannot be read.
#[derive(Debug, Error)]
pub enum FileError {
    /// The file's kind is not supported.
    #[error("the file is {0}: save it as .xlsx, or as CSV in UTF-8")]
    Kind(&'static str),
    /// The file is truncated or damaged.
    #[error("{}", short(.0))]
    Damaged(String),
    /// The file exceeds a limit.
    #[error("{}", short(.0))]
    Limit(String),
    /// The file's bytes do not match its encoding.
    #[error("{}", short(.0))]
    Encoding(String),
    /// The workbook does not contain the sheet.
    #[error("{}", short(.0))]
    Sheet(String),
    /// The columns do not match the records.
    #[error("{}", short(.0))]
    Columns(String),
    /// Dates are ambiguous.
    #[error("{}", short(.0))]
    Dates(String),
    /// An option has no effect on this file.
    #[error("the option {0} has no effect on {1}: remove it")]
    Unused(&'static str, &'static str),
    /// The file cannot be read at all.
    #[error("the file cannot be read: {0}")]
    Io(io::Error),
}

impl FileError {
    /// Returns the name of the option that can resolve the error.
    pub fn option(&self) -> Option<&'static str> {
        match self {
            Self::Encoding(_) => Some("encoding"),
            Self::Sheet(_) => Some("sheet"),
            Self::Columns(_) => Some("columns"),
            Self::Dates(_) => Some("dates"),
            Self::Unused(option, _) => Some(option),
            Self::Kind(_) | Self::Damaged(_) | Self::Limit(_) | Self::Io(_) => None,
        }
    }
}

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> Self {
        error.downcast::<Self>().unwrap_or_else(Self::Io)
    }
}

/// Returns the source's own limit, which a library has wrapped in its error.
pub(crate) fn limit_in(error: &io::Error) -> Option<FileError> {
    match error.get_ref()?.downcast_ref()? {
        FileError::Limit(text) => Some(FileError::Limit(text.clone())),
        _ => None,
    }
}

/// Truncates a message to the maximum length.
pub(crate) fn short(message: &str) -> &str {
    &message[..message.floor_char_boundary(LONGEST_MESSAGE)]
}

/// Returns the error for a damaged workbook.
pub(crate) fn damaged(reason: impl std::fmt::Display) -> FileError {
    FileError::Damaged(format!("the workbook is damaged: {reason}"))
}

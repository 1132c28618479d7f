//! Kinds of records that are imported and exported.

use clap::ValueEnum;
use compliance_api::token::SCOPE_MONITOR;

/// A kind of record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecordKind {
    /// Affiliates, with the names of the fields as they are written.
    Affiliates,
    /// URLs with their infractions.
    Urls,
    /// Cases with their incidents.
    Cases,
}

impl RecordKind {
    /// The name in progress messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Affiliates => "affiliates",
            Self::Urls => "URLs",
            Self::Cases => "cases",
        }
    }

    /// The scope that a token needs for these records.
    pub(crate) fn scope(self) -> Option<&'static str> {
        (self != Self::Affiliates).then_some(SCOPE_MONITOR)
    }
}

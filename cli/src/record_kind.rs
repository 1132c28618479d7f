//! Kinds of records that are imported and exported as messages of the monitoring service.

/// A kind of record.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RecordKind {
    /// URLs with their infractions.
    Urls,
    /// Cases with their incidents.
    Cases,
}

impl RecordKind {
    /// The name in progress messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Urls => "URLs",
            Self::Cases => "cases",
        }
    }
}

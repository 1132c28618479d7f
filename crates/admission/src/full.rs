//! Why something is refused.

use compliance_api::error::Error;

/// Why something is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// The company has used up its share.
    Company,
    /// All companies together have used up what there is.
    Process,
}

impl From<Full> for Error {
    fn from(full: Full) -> Self {
        match full {
            Full::Company => Self::too_many_concurrent_requests(),
            Full::Process => Self::overloaded(),
        }
    }
}

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
            Full::Company => Self::share_used_up(),
            Full::Process => Self::overloaded(),
        }
    }
}

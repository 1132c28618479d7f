//! Values that must not show up in debug output.

use std::{convert::Infallible, fmt, str::FromStr};

/// A text that may hold a password or a secret. Its debug output does not show it.
#[derive(Clone)]
pub struct Hidden(String);

impl Hidden {
    /// The text, or `None` if it is empty: `--flag ''` counts as absent, like an empty variable.
    pub fn filled(&self) -> Option<&str> {
        Some(self.0.as_str()).filter(|text| !text.is_empty())
    }
}

impl FromStr for Hidden {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

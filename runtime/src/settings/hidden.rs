//! Values that must not show up in debug output.

use std::fmt;

/// A text that may hold a password or a secret. Its debug output does not show it.
#[derive(Clone)]
pub struct Hidden(String);

impl Hidden {
    /// The text, or `None` if it is empty: `--flag ''` counts as absent, like an empty variable.
    pub fn filled(&self) -> Option<&str> {
        Some(self.0.as_str()).filter(|text| !text.is_empty())
    }
}

impl From<String> for Hidden {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

//! Messages that are records of texts, reached by position: what the gateway fills from JSON and the store binds to
//! columns without naming each of forty fields again.

/// A message with optional texts that can be reached by position as well as by name.
pub trait TextRecord: Default {
    /// Names of the texts, in the order of declaration.
    const FIELDS: &'static [&'static str];

    /// The text at a position of [`Self::FIELDS`]; `None` when it is absent.
    fn text(&self, position: usize) -> Option<&str>;

    /// Sets or clears the text at a position of [`Self::FIELDS`]. A position past the end is ignored.
    fn set_text(&mut self, position: usize, value: Option<String>);

    /// The position of a name; `None` when there is no such text.
    fn position(name: &str) -> Option<usize> {
        Self::FIELDS.iter().position(|field| *field == name)
    }
}

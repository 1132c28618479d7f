//! The violations of a request: paths as the caller wrote them, with the texts that partners know.

use std::{collections::HashSet, ops::Deref};

/// One violation of one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Path of the field: `city`, `affiliates.3.email_one`, `urls.0`, `body`.
    pub path: String,
    /// The violation in a sentence. Nothing depends on its text.
    pub message: String,
    /// Item of a list (from 1, 0 outside lists) and number of the field: violations are reported in this order.
    order: (u32, u32),
}

/// The violations of a request that are reported; the rest is only counted.
pub const MAX_VIOLATIONS: usize = 10_000;

/// Violations in the order of items and fields: the first [`MAX_VIOLATIONS`], and how many there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Violations {
    kept: Vec<Violation>,
    pub(crate) total: usize,
}

impl Violations {
    /// No violations.
    pub fn new() -> Self {
        Self::default()
    }

    /// One violation of a field outside lists.
    pub fn one(path: impl Into<String>, message: impl Into<String>) -> Self {
        let mut violations = Self::new();
        violations.report(path, |_| message.into());
        violations
    }

    /// The list at `path` has more than `most` elements.
    pub fn too_many_items(path: &str, most: usize) -> Self {
        Self::one(path, too_many_items(&label(path), most))
    }

    /// Adds a violation: its path and its message, by the order of item (from 1; 0 outside lists) and number of the field.
    pub fn push(&mut self, order: (u32, u32), violation: impl FnOnce() -> (String, String)) {
        self.total += 1;
        if self.kept.len() < MAX_VIOLATIONS {
            let (path, message) = violation();
            self.kept.push(Violation { path, message, order });
        }
    }

    /// Adds a violation by a field outside lists. `message` takes the label of the path.
    pub fn report(&mut self, path: impl Into<String>, message: impl FnOnce(&str) -> String) {
        let path = path.into();
        let message = message(&label(&path));
        self.push((0, 0), || (path, message));
    }

    /// Adds the violation that a field outside lists is absent.
    pub fn required(&mut self, path: impl Into<String>) {
        self.report(path, |label| format!("The {label} field is required."));
    }

    /// Whether the field of this path has a violation that was kept.
    pub fn names(&self, path: &str) -> bool {
        self.kept.iter().any(|violation| violation.path == path)
    }

    /// Adds the violations that another check of the same object finds. A path that has violations keeps them: to the
    /// rules a value of the wrong type is absent, and must not be reported as missing as well.
    pub fn merge(&mut self, mut other: Self) {
        let known: HashSet<&str> = self.kept.iter().map(|known| known.path.as_str()).collect();
        let kept_before = other.kept.len();
        other.kept.retain(|violation| !known.contains(violation.path.as_str()) && !is_within(&known, &violation.path));
        other.total -= kept_before - other.kept.len();
        self.total += other.total;
        self.kept.append(&mut other.kept);
        self.kept.sort_by_key(|violation| violation.order);
        self.kept.truncate(MAX_VIOLATIONS);
    }

    /// Removes the violations of this path, which were kept.
    pub fn forget(&mut self, path: &str) {
        let kept_before = self.kept.len();
        self.kept.retain(|violation| violation.path != path);
        self.total -= kept_before - self.kept.len();
    }

    /// Adds the violations of items that follow.
    pub fn append(&mut self, mut other: Self) {
        self.total += other.total;
        self.kept.append(&mut other.kept);
        self.kept.truncate(MAX_VIOLATIONS);
    }

    /// The number of all violations.
    pub fn total(&self) -> usize {
        self.total
    }

    /// `<first message> (and N more errors)`; empty when there are none.
    pub fn summary(&self) -> String {
        let first = self.kept.first().map_or("", |first| &first.message);
        match self.total {
            0 | 1 => first.to_owned(),
            2 => format!("{first} (and 1 more error)"),
            total => format!("{first} (and {} more errors)", total - 1),
        }
    }
}

/// The violations that are reported, in order.
impl Deref for Violations {
    type Target = [Violation];

    fn deref(&self) -> &[Violation] {
        &self.kept
    }
}

impl IntoIterator for Violations {
    type Item = Violation;
    type IntoIter = std::vec::IntoIter<Violation>;

    fn into_iter(self) -> Self::IntoIter {
        self.kept.into_iter()
    }
}

/// The name of a path in a sentence: as it is if it is nested, with spaces for underscores if it is not.
pub fn label(path: &str) -> String {
    if path.contains('.') { path.to_owned() } else { path.replace('_', " ") }
}

pub(super) fn too_many_items(label: &str, most: usize) -> String {
    format!("The {label} field must not have more than {most} items.")
}

/// Whether a path is within an element of a list that is reported itself.
fn is_within(reported: &HashSet<&str>, path: &str) -> bool {
    path.match_indices('.').map(|(end, _)| &path[..end]).any(|outer| {
        let is_element = outer.rsplit('.').next().is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()));
        is_element && reported.contains(outer)
    })
}

#[cfg(test)]
mod tests {
    use super::{MAX_VIOLATIONS, Violations};

    #[test]
    fn the_first_are_kept_and_all_are_counted() {
        let mut violations = Violations::new();
        for item in 0..MAX_VIOLATIONS as u32 + 5 {
            violations.push((item + 1, 1), || (format!("a.{item}"), "Wrong.".into()));
        }
        assert_eq!((violations.len(), violations.total()), (MAX_VIOLATIONS, MAX_VIOLATIONS + 5));
        // One that comes first in order drives out the last.
        let mut first = Violations::new();
        first.push((0, 1), || ("top".into(), "First.".into()));
        violations.merge(first);
        assert_eq!((violations.len(), violations.total()), (MAX_VIOLATIONS, MAX_VIOLATIONS + 6));
        assert_eq!(violations.iter().next().unwrap().path, "top");
        assert_eq!(violations.summary(), format!("First. (and {} more errors)", MAX_VIOLATIONS + 5));
    }

    #[test]
    fn the_summary_counts_messages() {
        let mut violations = Violations::one("a", "First.");
        assert_eq!(violations.summary(), "First.");
        violations.push((0, 1), || ("a".into(), "Second.".into()));
        assert_eq!(violations.summary(), "First. (and 1 more error)");
        violations.push((0, 2), || ("b".into(), "Third.".into()));
        assert_eq!(violations.summary(), "First. (and 2 more errors)");
    }
}

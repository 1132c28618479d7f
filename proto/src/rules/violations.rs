//! The violations of a request: paths as the caller wrote them, with the texts that partners know.

use super::rule::{Rule, label};

/// One violation of one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Path of the field: `city`, `affiliates.3.email_one`, `urls.0`, `body`.
    pub path: String,
    /// The rule that is violated.
    pub rule: Rule,
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
    total: usize,
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

    /// Adds a violation of a rule that has a text of its own, by the field `number` of the list's `item` (from 1; 0
    /// outside lists).
    pub fn push(&mut self, path: String, message: String, item: u32, number: u32) {
        self.total += 1;
        if !self.is_full() {
            self.kept.push(Violation { path, rule: Rule::Other, message, order: (item, number) });
        }
    }

    /// Counts a violation that is not kept, because [`is_full`](Self::is_full).
    pub fn count_one(&mut self) {
        self.total += 1;
    }

    /// Whether further violations are only counted.
    pub fn is_full(&self) -> bool {
        self.kept.len() >= MAX_VIOLATIONS
    }

    /// Adds a violation of a rule by a field outside lists.
    pub fn add(&mut self, path: impl Into<String>, rule: Rule) {
        self.violated(path.into(), rule, 0, 0);
    }

    /// Adds a violation of a rule that has a text of its own, by a field outside lists. `message` takes the label of the
    /// path.
    pub fn report(&mut self, path: impl Into<String>, message: impl FnOnce(&str) -> String) {
        let path = path.into();
        let message = message(&label(&path));
        self.push(path, message, 0, 0);
    }

    /// Adds a violation of a rule by the field `number` of the list's `item` (from 1; 0 outside lists).
    pub(super) fn violated(&mut self, path: String, rule: Rule, item: u32, number: u32) {
        self.total += 1;
        if !self.is_full() {
            let message = rule.message(&label(&path));
            self.kept.push(Violation { path, rule, message, order: (item, number) });
        }
    }

    /// Adds the violations that another check of the same object finds. A path that has violations keeps them: to the
    /// rules a value of the wrong type is absent, and must not be reported as missing as well.
    pub fn merge(&mut self, other: Self) {
        let known: std::collections::HashSet<&str> = self.kept.iter().map(|known| known.path.as_str()).collect();
        let (mut added, before) = (other.kept, other.total);
        let kept_before = added.len();
        added.retain(|violation| !known.contains(violation.path.as_str()));
        self.total += before - (kept_before - added.len());
        self.kept.extend(added);
        self.kept.sort_by_key(|violation| violation.order);
        self.kept.truncate(MAX_VIOLATIONS);
    }

    /// Adds the violations of items that follow.
    pub fn append(&mut self, other: Self) {
        self.total += other.total;
        if !self.is_full() {
            self.kept.extend(other.kept);
            self.kept.truncate(MAX_VIOLATIONS);
        }
    }

    /// The number of violations that are reported.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// The number of all violations.
    pub fn total(&self) -> usize {
        self.total
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// The violations, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Violation> {
        self.kept.iter()
    }

    /// `<first message> (and N more errors)`; empty when there are none.
    pub fn summary(&self) -> String {
        summary(self.kept.first().map_or("", |first| &first.message), self.total)
    }
}

impl Violation {
    /// The item of a list that the field is in, from 1; 0 outside lists.
    pub fn item(&self) -> u32 {
        self.order.0
    }
}

impl IntoIterator for Violations {
    type Item = Violation;
    type IntoIter = std::vec::IntoIter<Violation>;

    fn into_iter(self) -> Self::IntoIter {
        self.kept.into_iter()
    }
}

impl<'a> IntoIterator for &'a Violations {
    type Item = &'a Violation;
    type IntoIter = std::slice::Iter<'a, Violation>;

    fn into_iter(self) -> Self::IntoIter {
        self.kept.iter()
    }
}

/// The first message and the number of the others of `total`.
fn summary(first: &str, total: usize) -> String {
    match total {
        0 | 1 => first.to_owned(),
        2 => format!("{first} (and 1 more error)"),
        _ => format!("{first} (and {} more errors)", total - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_VIOLATIONS, Violations};

    #[test]
    fn the_first_are_kept_and_all_are_counted() {
        let mut violations = Violations::new();
        for item in 0..MAX_VIOLATIONS as u32 + 5 {
            violations.push(format!("a.{item}"), "Wrong.".into(), item + 1, 1);
        }
        assert_eq!((violations.len(), violations.total()), (MAX_VIOLATIONS, MAX_VIOLATIONS + 5));
        // One that comes first in order drives out the last.
        let mut first = Violations::new();
        first.push("top".into(), "First.".into(), 0, 1);
        violations.merge(first);
        assert_eq!((violations.len(), violations.total()), (MAX_VIOLATIONS, MAX_VIOLATIONS + 6));
        assert_eq!(violations.iter().next().unwrap().path, "top");
        assert_eq!(violations.summary(), format!("First. (and {} more errors)", MAX_VIOLATIONS + 5));
    }

    #[test]
    fn the_summary_counts_messages() {
        let mut violations = Violations::one("a", "First.");
        assert_eq!(violations.summary(), "First.");
        violations.push("a".into(), "Second.".into(), 0, 1);
        assert_eq!(violations.summary(), "First. (and 1 more error)");
        violations.push("b".into(), "Third.".into(), 0, 2);
        assert_eq!(violations.summary(), "First. (and 2 more errors)");
    }
}

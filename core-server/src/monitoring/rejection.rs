//! The result of an item that is not saved.

use compliance_api::{
    error::Error,
    rules::{Violations, label},
    v1::{FieldViolation, ResultCode},
};

/// Why an item is not saved.
#[derive(Clone, Debug)]
pub(super) struct Rejection {
    /// 1021 or 1025.
    pub(super) code: ResultCode,
    /// What is wrong with the item.
    pub(super) violations: Vec<FieldViolation>,
    /// The first violation, and the number of the others.
    pub(super) msg: String,
}

impl Rejection {
    /// Fields of the item break their rules.
    pub(super) fn invalid(violations: Violations) -> Self {
        Self::new(ResultCode::UpdateFailed, violations)
    }

    /// The item refers to a record that the company does not have.
    pub(super) fn not_found(violations: Violations) -> Self {
        Self::new(ResultCode::NotFound, violations)
    }

    fn new(code: ResultCode, violations: Violations) -> Self {
        let msg = violations.summary();
        let violations = violations
            .into_iter()
            .map(|violation| FieldViolation { field: violation.path, description: violation.message })
            .collect();
        Self { code, violations, msg }
    }
}

/// Adds a violation to those of an item. The message gets the label of the path.
pub(super) fn violate(violations: &mut Violations, path: impl Into<String>, message: impl FnOnce(&str) -> String) {
    let path = path.into();
    let message = message(&label(&path));
    violations.push(path, message, 0, 0);
}

/// Refuses a request that has more than `limit` items.
pub(super) fn check_count(limit: usize, field: &'static str, items: usize) -> Result<(), Error> {
    if items > limit {
        return Err(Error::invalid(Violations::one(field, too_many(limit, field))));
    }
    Ok(())
}

/// Adds a violation if a list within an item has more than `limit` elements.
pub(super) fn check_count_within(violations: &mut Violations, limit: usize, path: &str, elements: usize) {
    if elements > limit {
        violate(violations, path, |label| too_many(limit, label));
    }
}

fn too_many(limit: usize, label: &str) -> String {
    format!("The {label} field must not have more than {limit} items.")
}

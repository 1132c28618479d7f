//! What is said of an item that is not saved.

use compliance_api::{
    error::Error,
    rules::{Violations, label},
    v1::{FieldViolation, ResultCode},
};

/// Why an item is not saved.
#[derive(Clone, Debug)]
pub(super) struct Refused {
    /// 1021 or 1025.
    pub(super) code: ResultCode,
    /// What is wrong with it.
    pub(super) violations: Vec<FieldViolation>,
    /// The first of these, and how many more there are.
    pub(super) msg: String,
}

impl Refused {
    /// Fields of the item do not hold what they must.
    pub(super) fn invalid(violations: Violations) -> Self {
        Self::new(ResultCode::UpdateFailed, violations)
    }

    /// What the item names is none of the company's.
    pub(super) fn not_found(violations: Violations) -> Self {
        Self::new(ResultCode::NotFound, violations)
    }

    fn new(code: ResultCode, violations: Violations) -> Self {
        let msg = violations.summary();
        let told = violations.into_iter();
        let violations = told.map(|fault| FieldViolation { field: fault.path, description: fault.message }).collect();
        Self { code, violations, msg }
    }
}

/// Adds a fault to those of an item.
pub(super) fn fault(faults: &mut Violations, path: impl Into<String>, message: impl FnOnce(&str) -> String) {
    let path = path.into();
    let message = message(&label(&path));
    faults.push(path, message, 0, 0);
}

/// Refuses a request of too many items.
pub(super) fn at_most(most: usize, field: &'static str, items: usize) -> Result<(), Error> {
    if items > most {
        let message = format!("The {field} field must not have more than {most} items.");
        return Err(Error::invalid(Violations::one(field, message)));
    }
    Ok(())
}

/// Tells of a list within an item that has too many elements.
pub(super) fn at_most_within(faults: &mut Violations, most: usize, path: &str, items: usize) {
    if items > most {
        fault(faults, path, |label| format!("The {label} field must not have more than {most} items."));
    }
}

//! Validates each item in a request separately and returns the outcomes in item order.

use compliance_api::{
    error::Error,
    rules::{Check, Violations, check},
    v1::{
        CaseResult, FieldViolation, IncidentResult, InfractionResult, ObservationResult, ResultCode,
        VocabularyEntryResult,
    },
};

/// The outcome of an item. Each operation converts it to its own result message.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    /// 1020, 1021, 1023 or 1025.
    pub(super) code: ResultCode,
    pub(super) id: Option<i64>,
    /// Whether the item changed or created the record.
    pub(super) changed: bool,
    /// The violations of an item that was not saved.
    pub(super) violations: Violations,
    /// What happened. For an invalid item, the first violation and the number of other violations.
    pub(super) msg: String,
}

impl Outcome {
    pub(super) fn saved(id: impl Into<Option<i64>>, changed: bool, msg: &str) -> Self {
        let (id, msg) = (id.into(), msg.to_owned());
        Self { code: ResultCode::Saved, id, changed, violations: Violations::new(), msg }
    }

    /// Returns the outcome of an item with invalid fields.
    pub(super) fn invalid(violations: Violations) -> Self {
        Self { code: ResultCode::UpdateFailed, msg: violations.summary(), violations, ..Self::default() }
    }

    /// Returns the outcome of an item that refers to an unknown record.
    pub(super) fn not_found(violations: Violations) -> Self {
        Self { code: ResultCode::NotFound, ..Self::invalid(violations) }
    }
}

/// Converts an outcome to a message. The messages use different names for the ID and the flag.
macro_rules! message {
    ($($message:ident { $id:ident, $changed:ident })+) => {$(
        impl From<Outcome> for $message {
            fn from(outcome: Outcome) -> Self {
                let Outcome { code, id, changed, violations, msg } = outcome;
                let violations = violations.into_iter();
                let violations =
                    violations.map(|violation| FieldViolation { field: violation.path, description: violation.message });
                Self { code: code.into(), $id: id, $changed: changed, violations: violations.collect(), msg }
            }
        }
    )+};
}

message! {
    CaseResult { case_id, created }
    IncidentResult { incident_id, changed }
    InfractionResult { url_id, changed }
    ObservationResult { url_id, created }
    VocabularyEntryResult { id, created }
}

/// Validates items with their rules and with `read`. Returns the valid items, and the outcomes of the invalid items.
pub(super) fn check_all<I: Check, T>(
    items: Vec<I>,
    mut read: impl FnMut(&mut Violations, I) -> T,
) -> (Vec<T>, Checked) {
    let (mut valid, mut outcomes) = (Vec::with_capacity(items.len()), Vec::with_capacity(items.len()));
    for item in items {
        let mut violations = check(&item);
        let item = read(&mut violations, item);
        if violations.is_empty() {
            valid.push(item);
            outcomes.push(None);
        } else {
            outcomes.push(Some(Outcome::invalid(violations)));
        }
    }
    (valid, Checked(outcomes))
}

/// The outcomes of invalid items, with a gap for each valid item.
pub(super) struct Checked(Vec<Option<Outcome>>);

impl Checked {
    /// Fills the gaps with the outcomes of the valid items and returns all results, in item order.
    pub(super) fn join<R: From<Outcome>>(self, valid: impl IntoIterator<Item = Outcome>) -> Result<Vec<R>, Error> {
        let mut valid = valid.into_iter();
        let outcomes = self.0.into_iter().map(|invalid| invalid.or_else(|| valid.next()));
        outcomes.map(|outcome| outcome.map(R::from).ok_or_else(Error::internal)).collect()
    }
}

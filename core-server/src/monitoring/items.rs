//! The items of a request. Each is checked separately, and has its own outcome. Outcomes are in item order.

use compliance_api::{
    error::Error,
    rules::{Check, Violations, check},
    v1::{
        CaseResult, FieldViolation, IncidentResult, InfractionResult, ObservationResult, ResultCode,
        VocabularyEntryResult,
    },
};

/// The result of an item. Each operation has its own message for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    /// 1020, 1021 or 1025.
    pub(super) code: ResultCode,
    pub(super) id: Option<i64>,
    /// Whether the item changed or created the record.
    pub(super) changed: bool,
    /// The violations of an item that is not saved.
    pub(super) violations: Violations,
    /// What happened. For an item that is not saved, the first violation and how many others there are.
    pub(super) msg: String,
}

impl Outcome {
    pub(super) fn saved(id: impl Into<Option<i64>>, changed: bool, msg: &str) -> Self {
        let (id, msg) = (id.into(), msg.to_owned());
        Self { code: ResultCode::Saved, id, changed, violations: Violations::new(), msg }
    }

    /// Fields of the item break their rules.
    pub(super) fn invalid(violations: Violations) -> Self {
        Self { code: ResultCode::UpdateFailed, msg: violations.summary(), violations, ..Self::default() }
    }

    /// The item refers to a record that the company does not have.
    pub(super) fn not_found(violations: Violations) -> Self {
        Self { code: ResultCode::NotFound, ..Self::invalid(violations) }
    }
}

/// Turns an outcome into a message. Messages have different names for the ID and the flag.
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

/// Checks items by their rules and by `read`. Returns the valid items, and the outcomes of the others.
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

/// The outcomes of invalid items, with a gap for each valid one.
pub(super) struct Checked(Vec<Option<Outcome>>);

impl Checked {
    /// Fills the gaps with the outcomes of the valid items, and returns the results of all items, in order.
    pub(super) fn join<R: From<Outcome>>(self, valid: impl IntoIterator<Item = Outcome>) -> Result<Vec<R>, Error> {
        let mut valid = valid.into_iter();
        let outcomes = self.0.into_iter().map(|invalid| invalid.or_else(|| valid.next()));
        outcomes.map(|outcome| outcome.map(R::from).ok_or_else(Error::internal)).collect()
    }
}

//! The items of a request: each is checked by itself, and has a result of its own.

use compliance_api::{
    error::Error,
    rules::{Check, Violations, check},
    v1::{
        CaseResult, FieldViolation, IncidentResult, InfractionResult, ObservationResult, ResultCode,
        VocabularyEntryResult,
    },
};

/// The result of an item, which each operation reports in a message of its own.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    /// 1020, 1021 or 1025.
    pub(super) code: ResultCode,
    /// The ID of the record.
    pub(super) id: Option<i64>,
    /// Whether the item changed the record, or created it.
    pub(super) changed: bool,
    /// What is wrong with an item that is not saved.
    pub(super) violations: Violations,
    /// What happened; of an item that is not saved, the first violation and the number of the others.
    pub(super) msg: String,
}

impl Outcome {
    /// The item is saved.
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

/// The messages of outcomes.
pub(super) fn messages<M: From<Outcome>>(outcomes: Vec<Outcome>) -> Vec<M> {
    outcomes.into_iter().map(M::from).collect()
}

/// Turns an outcome into a message. Each names the ID and the flag in its own way.
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

/// The items of a request in the order sent.
pub(super) struct Items<T> {
    /// The valid items.
    pub(super) valid: Vec<T>,
    /// The outcome of each item, if it is not valid.
    outcomes: Vec<Option<Outcome>>,
}

impl<T> Items<T> {
    /// Checks items by their rules and by `read`, which adds the violations that it finds.
    pub(super) fn check<I: Check>(items: Vec<I>, mut read: impl FnMut(&mut Violations, I) -> T) -> Self {
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
        Self { valid, outcomes }
    }

    /// The valid items, and what their outcomes are joined with.
    pub(super) fn split(self) -> (Vec<T>, Items<()>) {
        let valid = vec![(); self.valid.len()];
        (self.valid, Items { valid, outcomes: self.outcomes })
    }

    /// One outcome an item, in the order sent. `rows` are what the statement returned for the valid items, in order.
    pub(super) fn outcomes<R>(
        self,
        rows: impl IntoIterator<Item = R>,
        mut outcome: impl FnMut(&T, R) -> Result<Outcome, Error>,
    ) -> Result<Vec<Outcome>, Error> {
        let mut saved = self.valid.iter().zip(rows);
        let outcomes = self.outcomes.into_iter().map(|invalid| match invalid {
            Some(invalid) => Ok(invalid),
            None => saved.next().map_or_else(|| Err(Error::internal()), |(item, row)| outcome(item, row)),
        });
        outcomes.collect()
    }
}

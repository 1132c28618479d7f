//! What a check has found, and what to do about it.

use serde::Serialize;

use crate::program::describe;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    Ok,
    Warning,
    Problem,
}

#[derive(Debug, Serialize)]
pub(super) struct Finding {
    /// The command whose settings were checked, if the configuration file has a table for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) command: Option<String>,
    pub(super) check: &'static str,
    pub(super) state: State,
    pub(super) found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next_step: Option<&'static str>,
}

impl Finding {
    /// `next_step` is for other states than [`State::Ok`].
    pub(super) fn new(check: &'static str, state: State, found: impl Into<String>, next_step: &'static str) -> Self {
        Self { command: None, check, state, found: found.into(), next_step: (state != State::Ok).then_some(next_step) }
    }

    /// What was found, or the error, which has a state and a next step.
    pub(super) fn of(
        check: &'static str,
        found: Result<String, impl Into<anyhow::Error>>,
        state: State,
        next_step: &'static str,
    ) -> Self {
        match found {
            Ok(found) => Self::new(check, State::Ok, found, next_step),
            Err(error) => Self::new(check, state, describe(&error.into()), next_step),
        }
    }
}

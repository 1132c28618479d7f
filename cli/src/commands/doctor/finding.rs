//! What a check has found, and the next step.

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
    pub(super) check: &'static str,
    pub(super) state: State,
    pub(super) found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next_step: Option<&'static str>,
}

/// Returns a finding. A check without a problem needs no next step.
pub(super) fn finding(check: &'static str, state: State, found: impl Into<String>, next_step: &'static str) -> Finding {
    let next_step = (state != State::Ok).then_some(next_step);
    Finding { check, state, found: found.into(), next_step }
}

pub(super) fn ok(check: &'static str, found: impl Into<String>) -> Finding {
    finding(check, State::Ok, found, "")
}

pub(super) fn warning(check: &'static str, found: impl Into<String>, next_step: &'static str) -> Finding {
    finding(check, State::Warning, found, next_step)
}

pub(super) fn problem(check: &'static str, found: impl Into<String>, next_step: &'static str) -> Finding {
    finding(check, State::Problem, found, next_step)
}

/// Returns what was found, or the error as a problem.
pub(super) fn of_result(
    check: &'static str,
    found: Result<String, impl Into<anyhow::Error>>,
    next_step: &'static str,
) -> Finding {
    match found {
        Ok(found) => ok(check, found),
        Err(error) => problem(check, describe(&error.into()), next_step),
    }
}

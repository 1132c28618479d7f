//! Incidents: attached to a case and detached from it. A trigger keeps `case_id` of the URLs.

mod attach;
mod detach;
mod incident;

pub(super) use self::{
    attach::attach,
    detach::{INPUT as KEY_INPUT, detach},
    incident::{INPUT, Incident, are_known},
};

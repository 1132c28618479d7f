//! Cases: opened, updated, resolved, closed and reopened.

mod case_update;
mod open;
mod opened_with;
mod update;

pub(super) use self::{
    case_update::INPUT,
    open::{open, open_one},
    update::{close, reopen, resolve, update},
};

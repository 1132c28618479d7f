//! Cases: opened, updated, resolved, closed and reopened.

mod open;
mod opened_with;
mod update;

pub(super) use self::{
    open::{open, open_one},
    update::{INPUT, close, reopen, resolve, update},
};

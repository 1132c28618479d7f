//! Cases: opened, updated, resolved, closed and reopened.

mod change;
mod open;
mod opened_with;
mod update;

pub(super) use self::{
    change::INPUT,
    open::{open, open_one},
    update::{close, reopen, resolve, update},
};

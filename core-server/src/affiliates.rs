//! Affiliates: the company's own records of its affiliates.

mod create;
mod create_one;
mod in_order;
mod input;
mod read;
mod service;
mod update;
mod update_one;

pub(crate) use input::INPUT;
pub(crate) use read::single;
pub(crate) use service::Affiliates;

//! Affiliates: the company's own records of its affiliates.

mod create;
mod in_order;
mod input;
mod read;
mod service;
mod update;

pub(crate) use input::INPUT;
pub(crate) use read::single;
pub(crate) use service::Affiliates;

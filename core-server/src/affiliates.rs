//! Affiliates: the company's own records of its affiliates.

mod columns;
mod create;
mod read;
mod service;
mod update;

pub(crate) use service::Affiliates;

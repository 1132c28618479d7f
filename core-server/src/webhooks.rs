//! Webhooks: endpoints of companies, and the delivery of changes to them. The record of changes is the queue. Each endpoint has a
//! position in it.

mod addresses;
mod deliver;
mod dispatch;
mod endpoint;
mod message;
mod permits;
mod send;
mod service;

pub(crate) use dispatch::start;
pub(crate) use endpoint::statements;
pub(crate) use send::Sender;
pub(crate) use service::Webhooks;

//! The core of the Affiliate Compliance Service: a tonic service that implements every operation over PostgreSQL.
//!
//! A request passes [`serve`]'s stack (panics, overload, request log, deadline), [`access`] (token, scope, rate
//! limit), its resource's `service` (rules) and `store` (one SQL statement). Whoever wants the service in its own
//! process calls [`Core::service`]; the network is served by [`Core::serve`].

pub mod access;
mod affiliates;
mod cases;
pub mod database;
mod error;
mod gather;
mod health;
mod lists;
mod monitoring;
mod requests;
mod rows;
pub mod serve;
mod settings;
mod urls;
mod vocabulary;

pub use serve::{Core, CoreService};
pub use settings::CoreSettings;

/// Every statement that reads a page of a list, with how many parameters it takes: for whoever wants to look at plans.
pub fn list_statements() -> impl Iterator<Item = (&'static str, usize)> {
    let urls = urls::statements().iter().map(|sql| (*sql, 8));
    urls.chain(cases::statements().iter().map(|sql| (*sql, 7)))
}

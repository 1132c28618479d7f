//! Affiliates: the company's own records of its affiliates.

mod create;
mod in_order;
mod input;
mod read;
mod service;
mod sync;
mod update;
mod update_one;

pub use create::MANY_AFFILIATES;
pub(crate) use input::INPUT;
pub(crate) use read::{query, search_statement, single};
pub(crate) use service::Affiliates;
pub(crate) use sync::Syncs;

/// The statements that write affiliates, with the types of their parameters.
pub(crate) fn write_statements() -> impl Iterator<Item = (&'static str, &'static str)> {
    create::statements().into_iter().chain([update_one::statement()]).chain(update::statements())
}

/// The statements that read affiliates, or compare them, with the types of their parameters.
pub(crate) fn read_statements() -> impl Iterator<Item = (&'static str, &'static str)> {
    let syncs = [(*sync::COMPARE, "bigint, affiliate_input[]"), (sync::PAGE, "bigint, bigint, bigint")];
    read::statements().into_iter().chain(syncs)
}

//! What declares settings: values as people write them, and the defaults of a group.
//!
//! A group of settings is one struct with `#[derive(clap::Args)]`, used by the code that it sets. Each field has its flag, variable,
//! default, bounds and help, so a new setting is one new field.

mod units;

use clap::{Args, Command};

pub use units::{ANY_TIME, MAX_COUNT, count, duration, listen_address, size};

/// The defaults of a group. Neither flags nor the environment are read.
pub fn defaults<G: Args>() -> G {
    let command = G::augment_args(Command::new("defaults").no_binary_name(true));
    let command = command.mut_args(|argument| argument.env(None::<&'static str>));
    let matches = command.get_matches_from(std::iter::empty::<&str>());
    G::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

//! Parsers of settings, and the defaults of a group of settings.
//!
//! A group is one struct with `#[derive(clap::Args)]`, which the code reads. Each field has its flag, variable, default, bounds and help,
//! so a new setting is one new field.

mod units;

use clap::{Args, Command};

pub use units::{ANY_TIME, MAX_COUNT, count, duration, listen_address, size};

/// Returns the defaults of a group, without flags or the environment.
pub fn defaults<G: Args>() -> G {
    let command = G::augment_args(Command::new("defaults").no_binary_name(true));
    let command = command.mut_args(|argument| argument.env(None::<&'static str>));
    let matches = command.get_matches_from(std::iter::empty::<&str>());
    G::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

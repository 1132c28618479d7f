//! Parsers for flag values, and defaults for groups of settings.
//!
//! A group is a struct with `#[derive(clap::Args)]`. Each field declares its flag, environment variable, default, bounds and help text.

mod units;

use clap::{Args, Command};

pub use units::{ANY_TIME, MAX_COUNT, count, duration, listen_address, size};

/// Returns a group's defaults, ignoring flags and environment variables.
pub fn defaults<G: Args>() -> G {
    let command = G::augment_args(Command::new("defaults").no_binary_name(true));
    let command = command.mut_args(|argument| argument.env(None::<&'static str>));
    let matches = command.get_matches_from(std::iter::empty::<&str>());
    G::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

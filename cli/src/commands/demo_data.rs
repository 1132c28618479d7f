//! `compliance demo-data` generates a company's records for trials and benchmarks.

use std::time::Instant;

use anyhow::Context as _;
use clap::Args;
use compliance_api::MAX_ID;
use core_server::{database::migrate, erasure};
use fixtures::{Loaded, Programme, Size, load};
use flags::count;
use serde::Serialize;
use sqlx::PgPool;
use time::{Date, OffsetDateTime, macros::format_description};

use crate::{
    database::{DatabaseArgs, DatabaseServer},
    output::print,
    progress::Progress,
};

/// Create realistic records for a company without records: affiliates, URLs with infractions, cases with incidents. The same numbers,
/// seed and day produce the same records. Works with and without a running service.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  compliance demo-data --company 7
  compliance demo-data --company 7 --replace
  compliance demo-data --company 8 --affiliates 100000 --urls 1000000 --cases 50000 --json")]
pub(crate) struct DemoDataArgs {
    /// Company to create records for. Without --replace, the company must have no records.
    #[arg(long, value_name = "N", value_parser = count(1..=MAX_ID))]
    company: i64,
    /// Erase all records of the company first. Only a backup restores them.
    #[arg(long)]
    replace: bool,
    /// Number of affiliates.
    #[arg(long, value_name = "A", default_value_t = 1000, value_parser = count(1..=10_000_000_u64))]
    affiliates: u64,
    /// Number of URLs.
    #[arg(long, value_name = "U", default_value_t = 10_000, value_parser = count(0..=100_000_000_u64))]
    urls: u64,
    /// Number of cases.
    #[arg(long, value_name = "C", default_value_t = 500, value_parser = count(0..=10_000_000_u64))]
    cases: u64,
    /// Seed for generating the records. A different seed produces different records.
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// All records are dated before this day [default: today, UTC].
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = day)]
    until: Option<Date>,
    /// Print the result as one line of JSON on standard output.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    database: DatabaseArgs,
}

#[derive(Serialize)]
struct Summary {
    #[serde(flatten)]
    loaded: Loaded,
    seed: u64,
    until: String,
    seconds: f64,
}

pub(super) fn run(args: &DemoDataArgs) -> anyhow::Result<()> {
    crate::program::block_on(async {
        let mut signals = crate::program::Signals::listen()?;
        let server = DatabaseServer::find(&args.database, true).await?;
        let pool = server.connect_as_owner(1).await?;
        migrate(&pool).await?;
        let result = tokio::select! {
            result = generate(args, &server, &pool) => result,
            signal = signals.next() => Err(anyhow::anyhow!(
                "stopped by {signal}; the records of company {} may be incomplete", args.company
            )),
        };
        let closed = server.close(&pool).await;
        result?;
        closed
    })
}

async fn generate(args: &DemoDataArgs, server: &DatabaseServer, pool: &PgPool) -> anyhow::Result<()> {
    let started = Instant::now();
    let until = args.until.unwrap_or_else(|| OffsetDateTime::now_utc().date());
    let size = Size { affiliates: args.affiliates, urls: args.urls, cases: args.cases };
    let programme = Programme::new(args.company, args.seed, size, until.midnight().assume_utc());
    if args.replace {
        server.name(true);
        erasure::erase_company(&mut *pool.acquire().await?, args.company).await?;
    }
    let progress = Progress::default();
    let loaded = load(pool, programme, &progress).await?;
    progress.end();
    let summary = Summary {
        loaded,
        seed: args.seed,
        until: until.to_string(),
        seconds: (started.elapsed().as_secs_f64() * 100.0).round() / 100.0,
    };
    let line = if args.json {
        serde_json::to_string(&summary)?
    } else {
        let Loaded { company, affiliates, urls, infractions, cases, incidents } = loaded;
        format!(
            "company {company} has {affiliates} affiliates, {urls} URLs with {infractions} infractions, and {cases} cases \
             with {incidents} incidents, generated in {:.1} s",
            summary.seconds
        )
    };
    print(&line)
}

fn day(text: &str) -> anyhow::Result<Date> {
    let day = Date::parse(text, format_description!("[year]-[month]-[day]")).ok();
    day.filter(|day| (1980..=9000).contains(&day.year())).context("must be YYYY-MM-DD, such as 2026-01-31")
}

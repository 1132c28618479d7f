//! Loads a programme: what is referred to first, chunk by chunk, with no more than a few chunks in memory.

use std::sync::Arc;

use anyhow::{Context as _, bail};
use serde::Serialize;
use sqlx::{AssertSqlSafe, PgPool};
use tokio::task::JoinSet;

use super::{
    Programme, affiliates, cases,
    copy::{begin, copy, failed, ids},
    plan::{Plan, Planner},
    rows::Rows,
    urls::{self, Tables},
};
use crate::progress::Progress;

/// Rows of one COPY: the counts of the lists are kept once a statement, and a statement is one transaction.
const CHUNK: u64 = 50_000;
/// Chunks under way: one is made and sent while the database indexes another.
const AT_ONCE: usize = 3;
/// Connections that loading needs: the chunks', and one for everything else.
pub(crate) const CONNECTIONS: u32 = AT_ONCE as u32 + 2;

/// What was made.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Made {
    /// The company whose records they are.
    pub(crate) company: i64,
    /// Affiliates.
    pub(crate) affiliates: u64,
    /// URLs.
    pub(crate) urls: u64,
    /// Infractions found on the URLs.
    pub(crate) infractions: u64,
    /// Cases.
    pub(crate) cases: u64,
    /// Incidents of the cases.
    pub(crate) incidents: u64,
}

/// Makes a programme in a database with an up-to-date schema, for a company that has no records.
pub(crate) async fn load(pool: &PgPool, programme: Programme, progress: &Progress) -> anyhow::Result<Made> {
    let mut door = pool.acquire().await.context("cannot connect to the database")?;
    // Of two that fill the same company, one does. The lock goes with the connection.
    let alone: bool = sqlx::query_scalar("select pg_try_advisory_lock(hashtext('demo data'), hashint8($1))")
        .bind(programme.company)
        .fetch_one(&mut *door)
        .await?;
    if !alone {
        bail!("demo data is being made for company {} by another process", programme.company);
    }
    let made = in_order(pool, programme, progress).await;
    let _ = door.close().await;
    made
}

async fn in_order(pool: &PgPool, programme: Programme, progress: &Progress) -> anyhow::Result<Made> {
    check_empty(pool, programme.company).await?;
    let mut made = Made { company: programme.company, ..Made::default() };
    let (affiliate_ids, count) = load_affiliates(pool, &programme, progress).await?;
    made.affiliates = count;
    let (case_ids, count) = load_cases(pool, &programme, &affiliate_ids, progress).await?;
    made.cases = count;
    let (affiliate_ids, case_ids) = (Arc::new(affiliate_ids), Arc::new(case_ids));
    let mut planner = Planner::new(&programme);
    let loaded = load_urls(pool, programme, &mut planner, &affiliate_ids, &case_ids, progress).await?;
    (made.urls, made.infractions, made.incidents) = loaded;
    made.incidents += load_incidents(pool, &programme, &planner, &case_ids, progress).await?;
    tidy(pool, progress).await?;
    Ok(made)
}

/// Names are unique within a company, and what is made would be lost among what is there.
async fn check_empty(pool: &PgPool, company: i64) -> anyhow::Result<()> {
    for table in ["affiliates", "compliance_urls", "compliance_cases"] {
        let query = format!("select exists (select from {table} where company_id = $1)");
        let filled: bool = sqlx::query_scalar(AssertSqlSafe(query)).bind(company).fetch_one(pool).await?;
        if filled {
            bail!(
                "company {company} has records already; demo data is made for a company that has none: choose another \
                 number with --company"
            );
        }
    }
    Ok(())
}

/// The numbers of each chunk of `count` records.
fn chunks(count: u64) -> impl Iterator<Item = std::ops::Range<u64>> {
    (0..count.div_ceil(CHUNK)).map(move |chunk| chunk * CHUNK..((chunk + 1) * CHUNK).min(count))
}

async fn load_affiliates(pool: &PgPool, programme: &Programme, progress: &Progress) -> anyhow::Result<(Vec<i64>, u64)> {
    progress.start("affiliates", programme.affiliates);
    let (mut all_ids, mut loaded) = (Vec::new(), 0);
    let mut writer = affiliates::Writer::new();
    for numbers in chunks(programme.affiliates) {
        let ids = ids(pool, "affiliates_id_seq", numbers.end - numbers.start).await?;
        let mut copy = begin(pool, "affiliates", affiliates::COLUMNS).await?;
        let mut rows = Rows::default();
        for (number, id) in numbers.zip(&ids) {
            writer.write(programme, number, *id, &mut rows);
            if let Some(piece) = rows.take_if_full() {
                copy.send(piece).await.map_err(|error| failed("affiliates", error))?;
            }
        }
        copy.send(std::mem::take(&mut rows.text).into_bytes()).await.map_err(|error| failed("affiliates", error))?;
        loaded += copy.finish().await.map_err(|error| failed("affiliates", error))?;
        progress.add(rows.count);
        all_ids.extend(ids);
    }
    Ok((all_ids, loaded))
}

async fn load_cases(
    pool: &PgPool,
    programme: &Programme,
    affiliate_ids: &[i64],
    progress: &Progress,
) -> anyhow::Result<(Vec<i64>, u64)> {
    progress.start("cases", programme.cases);
    let (mut all_ids, mut loaded) = (Vec::new(), 0);
    for numbers in chunks(programme.cases) {
        let ids = ids(pool, "compliance_cases_id_seq", numbers.end - numbers.start).await?;
        let mut rows = Rows::default();
        for (number, id) in numbers.zip(&ids) {
            let affiliate = cases::core(programme, number).affiliate;
            if let Some(affiliate_id) = affiliate_ids.get(affiliate as usize) {
                cases::write(programme, number, *id, *affiliate_id, &mut rows);
            }
        }
        progress.add(rows.count);
        loaded += copy(pool, "compliance_cases", cases::COLUMNS, rows).await?;
        all_ids.extend(ids);
    }
    Ok((all_ids, loaded))
}

/// URLs, infractions and the URLs' incidents: how many of each.
async fn load_urls(
    pool: &PgPool,
    programme: Programme,
    planner: &mut Planner,
    affiliate_ids: &Arc<Vec<i64>>,
    case_ids: &Arc<Vec<i64>>,
    progress: &Progress,
) -> anyhow::Result<(u64, u64, u64)> {
    progress.start("URLs with infractions", programme.urls);
    let mut loaded = (0, 0, 0);
    let mut under_way = JoinSet::new();
    for numbers in chunks(programme.urls) {
        while under_way.len() >= AT_ONCE {
            add(&mut loaded, under_way.join_next().await)?;
        }
        let plans: Vec<Plan> = numbers.map(|number| planner.plan(&programme, number)).collect();
        let breaches = plans.iter().map(|plan| u64::from(plan.breaches)).sum();
        let incidents = plans.iter().filter(|plan| plan.case.is_some()).count() as u64;
        let taken = Taken {
            urls: ids(pool, "compliance_urls_id_seq", plans.len() as u64).await?,
            infractions: ids(pool, "infractions_id_seq", breaches).await?,
            incidents: ids(pool, "incidents_id_seq", incidents).await?,
        };
        let (pool, progress) = (pool.clone(), progress.clone());
        let (affiliate_ids, case_ids) = (Arc::clone(affiliate_ids), Arc::clone(case_ids));
        under_way.spawn(async move {
            load_chunk(&pool, &programme, &plans, taken, &affiliate_ids, &case_ids, &progress).await
        });
    }
    while let Some(ended) = under_way.join_next().await {
        add(&mut loaded, Some(ended))?;
    }
    Ok(loaded)
}

type Ended = Result<anyhow::Result<(u64, u64, u64)>, tokio::task::JoinError>;

fn add(loaded: &mut (u64, u64, u64), ended: Option<Ended>) -> anyhow::Result<()> {
    if let Some(ended) = ended {
        let (urls, infractions, incidents) = ended.context("a chunk was not loaded")??;
        *loaded = (loaded.0 + urls, loaded.1 + infractions, loaded.2 + incidents);
    }
    Ok(())
}

/// The IDs for a chunk of URLs.
struct Taken {
    urls: Vec<i64>,
    infractions: Vec<i64>,
    incidents: Vec<i64>,
}

async fn load_chunk(
    pool: &PgPool,
    programme: &Programme,
    plans: &[Plan],
    taken: Taken,
    affiliate_ids: &[i64],
    case_ids: &[i64],
    progress: &Progress,
) -> anyhow::Result<(u64, u64, u64)> {
    let (mut infractions, mut incidents) = (taken.infractions.into_iter(), taken.incidents.into_iter());
    let mut tables = Tables::default();
    let mut urls = begin(pool, "compliance_urls", urls::COLUMNS).await?;
    for (plan, url) in plans.iter().zip(taken.urls) {
        let of = |ids: &[i64], number: u64| ids.get(number as usize).copied();
        let ids = urls::Ids {
            url,
            affiliate: plan.affiliate.and_then(|number| of(affiliate_ids, number)),
            case: plan.case.and_then(|(number, _)| of(case_ids, number)),
        };
        urls::write(programme, plan, &ids, &mut infractions, &mut incidents, &mut tables);
        if let Some(piece) = tables.urls.take_if_full() {
            urls.send(piece).await.map_err(|error| failed("compliance_urls", error))?;
        }
    }
    let rest = std::mem::take(&mut tables.urls.text).into_bytes();
    urls.send(rest).await.map_err(|error| failed("compliance_urls", error))?;
    let urls = urls.finish().await.map_err(|error| failed("compliance_urls", error))?;
    let infractions = copy(pool, "infractions", urls::INFRACTION_COLUMNS, tables.infractions).await?;
    let incidents = copy(pool, "incidents", cases::INCIDENT_COLUMNS, tables.incidents).await?;
    progress.add(urls);
    Ok((urls, infractions, incidents))
}

/// Incidents other than URLs.
async fn load_incidents(
    pool: &PgPool,
    programme: &Programme,
    planner: &Planner,
    case_ids: &[i64],
    progress: &Progress,
) -> anyhow::Result<u64> {
    progress.start("incidents of cases", programme.cases);
    let mut loaded = 0;
    for numbers in chunks(programme.cases) {
        let counts: Vec<u64> =
            numbers.clone().map(|number| cases::others(programme, number, planner.taken(number))).collect();
        let ids = ids(pool, "incidents_id_seq", counts.iter().sum()).await?;
        let (mut rows, mut ids, cases) = (Rows::default(), ids.as_slice(), numbers.end - numbers.start);
        for (number, count) in numbers.zip(counts) {
            let Some((own, rest)) = ids.split_at_checked(count as usize) else { break };
            ids = rest;
            if let Some(case_id) = case_ids.get(number as usize) {
                cases::write_incidents(programme, number, *case_id, own, &mut rows);
            }
        }
        loaded += copy(pool, "incidents", cases::INCIDENT_COLUMNS, rows).await?;
        progress.add(cases);
    }
    Ok(loaded)
}

/// Lists are read from the indexes alone where the database knows that every row is visible.
async fn tidy(pool: &PgPool, progress: &Progress) -> anyhow::Result<()> {
    const TABLES: [&str; 7] = [
        "affiliates",
        "compliance_cases",
        "compliance_urls",
        "infractions",
        "incidents",
        "compliance_url_counts",
        "compliance_case_counts",
    ];
    progress.start("tables tidied up", TABLES.len() as u64);
    for table in TABLES {
        let statement = sqlx::raw_sql(AssertSqlSafe(format!("vacuum (analyze) {table}")));
        statement.execute(pool).await.with_context(|| format!("cannot tidy up {table}"))?;
        progress.add(1);
    }
    progress.end();
    Ok(())
}

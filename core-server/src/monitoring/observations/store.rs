//! The statement that saves a chunk.

use std::{
    collections::HashMap,
    fmt::Write as _,
    sync::{Arc, LazyLock},
};

use crate::database::Connections;
use compliance_api::error::Error;
use tokio::sync::Semaphore;

use super::row::{AFFILIATE, COLUMNS, Row, TEXT_COUNT};
use crate::monitoring::write::{AffiliateRef, TRIES, affiliate, array, write};

/// The parameter of the first column.
const FIRST: usize = 10;

/// Takes rows in the order of their hashes. Those that the company has are locked before any other is inserted, and
/// both in this order: two chunks that cross never wait for each other. What cannot be inserted because another writer
/// just did so is left out of the answer, and saved by the next run. Each step reaches its rows by key from the one
/// before, so that no plan has a reason to join.
///
/// New URLs are numbered in the order that they were sent in. Answers with the hash of each row, and its ID and whether it is new; without an ID where the affiliate is unknown.
static SAVE: LazyLock<&'static str> = LazyLock::new(|| {
    let (mut arrays, mut names, mut values, mut assignments) =
        (String::new(), String::new(), String::new(), String::new());
    let mut parameter = FIRST;
    for (bit, (column, kind)) in COLUMNS.iter().enumerate() {
        let separator = if bit == 0 { "" } else { ", " };
        let _ = write!(names, "{separator}{column}");
        let _ = match *column {
            "incident_status_id" => write!(values, "{separator}coalesce({column}, 1)"),
            "disabled" => write!(values, "{separator}coalesce({column}, false)"),
            "discovery_date" => write!(values, "{separator}coalesce({column}, date_trunc('second', now()))"),
            _ => write!(values, "{separator}{column}"),
        };
        let new = if bit == AFFILIATE { "l.found_affiliate".to_owned() } else { format!("l.{column}") };
        let _ = write!(
            assignments,
            "{separator}{column} = case when l.mask & {mask} <> 0 then {new} else u.{column} end",
            mask = 1 << bit
        );
        if bit != AFFILIATE {
            let _ = write!(arrays, ", ${parameter}::{kind}[]");
            parameter += 1;
        }
    }
    let columns = names.replace("affiliate_id, sub_", "sub_");
    format!(
        "with input as materialized (
            select i.*, a.id as found_affiliate,
                a.id is not null or (i.wanted_id is null and i.wanted_client is null) as good,
                (select u.id from compliance_urls u where u.company_id = $1 and u.url_hash = i.url_hash limit 1) as known
            from unnest($2::bytea[], $3::text[], $4::text[], $5::integer[], $6::bigint[], $7::text[], $8::text[], $9::bigint[]{arrays})
                as i (url_hash, url, domain, mask, wanted_id, wanted_client, infractions, place, {columns})
            left join lateral {affiliate} a on true
        ), locked as materialized (
            select u.id, i.* from input i
            cross join lateral (
                select u.id from compliance_urls u where u.company_id = $1 and u.id = i.known for no key update
            ) u
            where i.good
        ), fresh as materialized (
            select nextval('compliance_urls_id_seq') as id, i.* from (
                select * from input where good and known is null and (select count(*) from locked) >= 0 order by place
            ) i
        ), inserted as (
            insert into compliance_urls (company_id, id, url, url_hash, domain, {names})
            select $1, id, url, url_hash, domain, {values} from fresh order by url_hash
            on conflict (company_id, url_hash) where url_hash is not null do nothing
            returning id, url_hash
        ), updated as (
            update compliance_urls u set {assignments}
            from locked l where u.company_id = $1 and u.id = l.id and l.mask <> 0
        ), recorded as (
            insert into infractions (company_id, url_id, infraction_type_id, infraction_name_id, created_date)
            select $1, w.id, x.t, x.n, coalesce(to_timestamp(x.d), date_trunc('second', now()))
            from (
                select l.id, l.url_hash, l.infractions from locked l
                union all
                select f.id, f.url_hash, f.infractions from fresh f where (f.id in (select id from inserted)) is true
            ) w
            cross join lateral rows from (
                jsonb_to_recordset(w.infractions::jsonb) as (t integer, n integer, d bigint)
            ) with ordinality as x (t, n, d, place)
            order by w.url_hash, x.place
            on conflict on constraint infractions_name_key do nothing
        )
        select url_hash, id, false from locked
        union all
        select url_hash, id, true from inserted
        union all
        select url_hash, null, false from input where not good",
        affiliate = affiliate("i.wanted_id", "i.wanted_client"),
        // A new row's affiliate is the one that was found.
        values = values.replace(", affiliate_id,", ", found_affiliate,"),
    )
    .leak()
});

/// Saves chunks: a few at a time, so that reads find connections as well.
pub(in crate::monitoring) struct Store {
    pool: Connections,
    writers: Arc<Semaphore>,
}

impl Store {
    pub(in crate::monitoring) fn new(pool: &Connections) -> Self {
        // The writers of one company take turns at its counts; more than a few would only hold connections.
        let most = pool.most() / 4;
        Self { pool: pool.clone(), writers: Arc::new(Semaphore::new(most.clamp(1, 8) as usize)) }
    }

    /// Saves rows of which no two are of the same URL. Answers with each row, and its ID and whether it is new; without
    /// an ID where the company has no such affiliate.
    pub(super) async fn save(
        &self,
        company_id: i64,
        mut rows: Vec<Row>,
    ) -> Result<Vec<(Row, Option<(i64, bool)>)>, Error> {
        let mut saved = Vec::with_capacity(rows.len());
        for _ in 0..TRIES {
            let mut told = self.run(company_id, &rows).await?;
            let mut rest = Vec::new();
            for row in rows {
                match told.remove(&row.hash[..]) {
                    Some(outcome) => saved.push((row, outcome)),
                    None => rest.push(row),
                }
            }
            if rest.is_empty() {
                return Ok(saved);
            }
            tracing::debug!(rest = rest.len(), "another writer added some of these URLs: they are saved again");
            rows = rest;
        }
        tracing::error!("URLs could not be saved in {TRIES} tries");
        Err(Error::internal())
    }

    async fn run(&self, company_id: i64, rows: &[Row]) -> Result<HashMap<Vec<u8>, Option<(i64, bool)>>, Error> {
        let _turn = self.writers.acquire().await.map_err(|_| Error::internal())?;
        let all = || rows.iter();
        let texts = |nth: usize| array(all().map(|row| row.texts[nth].as_deref()));
        let moments = |nth: usize| array(all().map(|row| row.moments[nth]));
        let hashes: Vec<&[u8]> = all().map(|row| &row.hash[..]).collect();
        let urls: Vec<&str> = all().map(|row| row.url.as_str()).collect();
        let domains: Vec<Option<&str>> = all().map(|row| row.domain.as_deref()).collect();
        let places: Vec<i64> = all().map(|row| row.items.first().map_or(0, |item| *item as i64)).collect();
        let masks: Vec<i32> = all().map(|row| row.mask).collect();
        let told = write(|| {
            let mut query = sqlx::query_as::<_, (Vec<u8>, Option<i64>, bool)>(*SAVE)
                .bind(company_id)
                .bind(&hashes)
                .bind(&urls)
                .bind(&domains)
                .bind(&masks)
                .bind(array(all().map(|row| row.affiliate.as_ref().and_then(AffiliateRef::id))))
                .bind(array(all().map(|row| row.affiliate.as_ref().and_then(AffiliateRef::client))))
                .bind(array(all().map(Row::infractions_json)))
                .bind(&places)
                .bind(array(all().map(|row| row.incident_status)))
                .bind(array(all().map(|row| row.disabled)))
                .bind(array(all().map(|row| row.false_positive)))
                .bind(array(all().map(|row| row.country)));
            for nth in 0..4 {
                query = query.bind(moments(nth));
            }
            query = query.bind(array(all().map(|row| row.transcription_status)));
            for nth in 0..TEXT_COUNT {
                query = query.bind(texts(nth));
            }
            query.fetch_all(&self.pool)
        });
        Ok(told.await?.into_iter().map(|(hash, id, created)| (hash, id.map(|id| (id, created)))).collect())
    }
}

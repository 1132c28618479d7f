//! Infractions: recorded on URLs and taken back.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use crate::database::Connections;
use compliance_api::{
    error::Error,
    rules::{Violations, check},
    v1::{InfractionResult, ResultCode, UrlInfraction},
};
use time::OffsetDateTime;

use super::{
    faults::{Refused, fault},
    names::{InfractionIds, Known, Names, of_infraction},
    write::{NO_URL, array, filled, moment, url, write},
};
use crate::urls::identity;

/// Infractions in one message, at most.
pub(super) const MOST: usize = 10_000;

/// What a statement says of an item: its place, its URL, and whether anything changed.
type Told = (i64, Option<i64>, bool);

/// Inserts infractions in the order of their keys. Answers with the place and the URL of each item, and whether it was
/// new: of two items of the same infraction, for both.
static RECORD: LazyLock<&'static str> = LazyLock::new(|| {
    format!(
        "with input as materialized (
            select i.*, u.id from unnest($2::bigint[], $3::bytea[], $4::integer[], $5::integer[], $6::timestamptz[])
                with ordinality as i (url_id, hash, type_id, name_id, found, place)
            left join lateral {url} u on true
        ), recorded as (
            insert into infractions (company_id, url_id, infraction_type_id, infraction_name_id, created_date)
            select $1, id, type_id, name_id, coalesce(found, date_trunc('second', now()))
            from input where id is not null order by id, place
            on conflict on constraint infractions_name_key do nothing
            returning url_id, infraction_type_id, infraction_name_id
        )
        select place, id,
            ((id, type_id, coalesce(name_id, 0)) in (
                select url_id, infraction_type_id, coalesce(infraction_name_id, 0) from recorded
            )) is true
        from input",
        url = url("i.url_id", "i.hash"),
    )
    .leak()
});

/// Locks the infractions that are there, in the order of their keys, and deletes them. Answers like [`RECORD`].
static WITHDRAW: LazyLock<&'static str> = LazyLock::new(|| {
    format!(
        "with input as materialized (
            select i.*, u.id from unnest($2::bigint[], $3::bytea[], $4::integer[], $5::integer[], $6::timestamptz[])
                with ordinality as i (url_id, hash, type_id, name_id, found, place)
            left join lateral {url} u on true
        ), locked as materialized (
            select x.url_id, n.id from (
                select distinct id as url_id, type_id, name_id from input where id is not null order by 1, 2, 3
            ) x
            cross join lateral (
                select n.id from infractions n
                where n.company_id = $1 and n.url_id = x.url_id and n.infraction_type_id = x.type_id
                    and n.infraction_name_id is not distinct from x.name_id
                for update
            ) n
        ), withdrawn as (
            delete from infractions n using locked
            where n.company_id = $1 and n.url_id = locked.url_id and n.id = locked.id
            returning n.url_id, n.infraction_type_id, n.infraction_name_id
        )
        select place, id,
            ((id, type_id, coalesce(name_id, 0)) in (
                select url_id, infraction_type_id, coalesce(infraction_name_id, 0) from withdrawn
            )) is true
        from input",
        url = url("i.url_id", "i.hash"),
    )
    .leak()
});

/// What is done with infractions.
#[derive(Clone, Copy)]
pub(super) enum Deed {
    Record,
    Withdraw,
}

/// An infraction of a URL, checked.
struct Item {
    url_id: Option<i64>,
    hash: Option<[u8; 32]>,
    infraction: InfractionIds,
    found: Option<OffsetDateTime>,
}

/// Records infractions or takes them back; one result each, in their order.
pub(super) async fn apply(
    pool: &Connections,
    names: &Names,
    company_id: i64,
    deed: Deed,
    infractions: Vec<UrlInfraction>,
) -> Result<Vec<InfractionResult>, Error> {
    let wanted = infractions.iter().filter_map(|item| item.infraction.as_ref()).map(of_infraction);
    let known = names.of(names.remembered(company_id, wanted)).await?;
    let items: Vec<Result<Item, Refused>> = infractions.into_iter().map(|item| Item::new(&known, item)).collect();
    let good: Vec<&Item> = items.iter().flatten().collect();
    let told = if good.is_empty() { HashMap::new() } else { run(pool, company_id, deed, &good).await? };
    let (mut place, mut first) = (0, HashSet::new());
    let results = items.into_iter().map(|item| {
        let item = match item {
            Ok(item) => item,
            Err(refused) => return Ok(not_done(refused)),
        };
        place += 1;
        let (url_id, changed) = told.get(&place).copied().ok_or_else(Error::internal)?;
        let Some(url_id) = url_id else {
            let field = if item.url_id.is_some() { "url_id" } else { "url" };
            return Ok(not_done(Refused::not_found(Violations::one(field, NO_URL))));
        };
        // Of two items of the same infraction the first one is told of the change.
        let changed = changed && first.insert((url_id, item.infraction));
        let msg = match (deed, changed) {
            (Deed::Record, true) => "Infraction recorded.",
            (Deed::Record, false) => "The infraction was recorded before.",
            (Deed::Withdraw, true) => "Infraction withdrawn.",
            (Deed::Withdraw, false) => "The infraction was not there.",
        };
        Ok(InfractionResult {
            code: ResultCode::Saved.into(),
            url_id: Some(url_id),
            changed,
            violations: Vec::new(),
            msg: msg.to_owned(),
        })
    });
    results.collect()
}

impl Item {
    fn new(known: &Known, item: UrlInfraction) -> Result<Self, Refused> {
        let mut faults = check(&item);
        let UrlInfraction { url_id, url, infraction } = item;
        let (url, infraction) = (filled(url), infraction.unwrap_or_default());
        match (url_id, &url) {
            (None, None) => fault(&mut faults, "url", |label| format!("The {label} field is required.")),
            (Some(_), Some(_)) => {
                fault(&mut faults, "url_id", |_| "A URL is named by url_id or by url, not by both.".to_owned());
            }
            _ => {}
        }
        let kind = infraction.infraction_type.as_deref();
        // That the type is missing is told already.
        let name = infraction.infraction_name.as_deref().filter(|_| kind.is_some_and(|kind| !kind.is_empty()));
        let ids = known.resolve_infraction(&mut faults, "", kind, name);
        if !faults.is_empty() {
            return Err(Refused::invalid(faults));
        }
        Ok(Self {
            url_id,
            hash: url.as_deref().and_then(identity).map(|(hash, _)| hash),
            infraction: ids,
            found: moment(infraction.created_date.as_ref()),
        })
    }
}

async fn run(
    pool: &Connections,
    company_id: i64,
    deed: Deed,
    items: &[&Item],
) -> Result<HashMap<i64, (Option<i64>, bool)>, Error> {
    let statement = match deed {
        Deed::Record => *RECORD,
        Deed::Withdraw => *WITHDRAW,
    };
    let all = || items.iter();
    let rows: Vec<Told> = write(|| {
        sqlx::query_as(statement)
            .bind(company_id)
            .bind(array(all().map(|item| item.url_id)))
            .bind(array(all().map(|item| item.hash.map(Vec::from))))
            .bind(all().map(|item| item.infraction.0).collect::<Vec<_>>())
            .bind(all().map(|item| item.infraction.1).collect::<Vec<_>>())
            .bind(array(all().map(|item| item.found)))
            .fetch_all(pool)
    })
    .await?;
    Ok(rows.into_iter().map(|(place, url_id, changed)| (place, (url_id, changed))).collect())
}

fn not_done(refused: Refused) -> InfractionResult {
    let Refused { code, violations, msg } = refused;
    InfractionResult { code: code.into(), url_id: None, changed: false, violations, msg }
}

//! Attaching incidents to a case.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use crate::database::Connections;
use compliance_api::{
    error::Error,
    rules::{Violations, check},
    v1::{AttachIncidentsRequest, IncidentResult, IncidentType},
};

use super::{Content, Parameters, content, done, in_order, not_done, wanted};
use crate::monitoring::{
    faults::{Refused, fault},
    names::Names,
    write::{NO_URL, TRIES, url, write},
};

/// Locks the case, then the URLs in the order of their hashes, and attaches what is not attached yet; what is takes the
/// infraction that is given. The case is touched only if that changed anything. Answers with a row of the place 0 if
/// there is such a case; one without a place for each incident that changed; and one for each item, with its URL and the
/// incident that was there before.
static ATTACH: LazyLock<&'static str> = LazyLock::new(|| {
    format!(
        "with held as materialized (
            select c.id from compliance_cases c where c.company_id = $1 and c.id = $2 for no key update
        ), input as materialized (
            select i.*, u.id as found, u.url_hash from held
            cross join unnest($3::smallint[], $4::bigint[], $5::bytea[], $6::text[], $7::integer[], $8::integer[])
                with ordinality as i (kind, url_id, hash, reference, type_id, name_id, place)
            left join lateral {url} u on true
        ), content as materialized (
            select distinct on (kind, found, reference) kind, found, url_hash, reference, type_id, name_id,
                min(place) over (partition by kind, found, reference) as first
            from input where kind <> 1 or found is not null
            order by kind, found, reference, place desc
        ), locked as materialized (
            select u.id from (select found from content where found is not null order by url_hash) x
            cross join lateral (
                select u.id from compliance_urls u where u.company_id = $1 and u.id = x.found for no key update
            ) u
        ), attached as (
            insert into incidents as i
                (company_id, case_id, incident_type, url_id, reference, infraction_type_id, infraction_name_id)
            select $1, $2, kind, found, reference, type_id, name_id from content
            where (select count(*) from locked) >= 0 order by first
            on conflict on constraint incidents_content_key do update set
                infraction_type_id = excluded.infraction_type_id, infraction_name_id = excluded.infraction_name_id
                where excluded.infraction_type_id is not null
                    and (i.infraction_type_id, i.infraction_name_id)
                        is distinct from (excluded.infraction_type_id, excluded.infraction_name_id)
            returning id, incident_type, url_id, reference
        ), touched as (
            update compliance_cases c set
                first_action_date = coalesce(c.first_action_date, date_trunc('second', now())),
                last_updated_date = date_trunc('second', now())
            from (select distinct 1 from attached) a
            where c.company_id = $1 and c.id = $2
        )
        select 0::bigint, held.id, 0::smallint, null::bigint, null::text from held
        union all
        select null::bigint, a.id, a.incident_type, a.url_id, a.reference from attached a
        union all
        select input.place, e.id, input.kind, input.found, input.reference from input
        left join lateral (
            (select i.id from incidents i where input.kind = 1
                and i.company_id = $1 and i.case_id = $2 and i.incident_type = 1 and i.url_id = input.found
                and i.reference is null limit 1)
            union all
            (select i.id from incidents i where input.kind <> 1
                and i.company_id = $1 and i.case_id = $2 and i.incident_type = input.kind and i.url_id is null
                and i.reference = input.reference limit 1)
        ) e on true",
        url = url("i.url_id", "i.hash"),
    )
    .leak()
});

/// A row of the answer: place, incident, type, URL and reference.
type Told = (Option<i64>, Option<i64>, i16, Option<i64>, Option<String>);

/// What the statement says, sorted.
#[derive(Default)]
struct Outcome {
    case_found: bool,
    /// Incidents that changed, by content.
    changed: HashMap<Key, i64>,
    /// Of each item its URL, and the incident that was there before.
    before: HashMap<i64, (Option<i64>, Option<i64>)>,
}

type Key = (i16, Option<i64>, Option<String>);

/// Attaches incidents; one result each, in their order. `None` when the company has no such case.
pub(in crate::monitoring) async fn attach(
    pool: &Connections,
    names: &Names,
    company_id: i64,
    request: AttachIncidentsRequest,
) -> Result<Option<Vec<IncidentResult>>, Error> {
    let known = names.of(names.remembered(company_id, request.incidents.iter().map(wanted))).await?;
    let items: Vec<Result<Content, Refused>> = request
        .incidents
        .into_iter()
        .map(|incident| {
            let mut faults = check(&incident);
            let content = content(&known, &mut faults, "", incident);
            if faults.is_empty() { Ok(content) } else { Err(Refused::invalid(faults)) }
        })
        .collect();
    let good: Vec<&Content> = items.iter().flatten().collect();
    let mut outcome = Outcome::default();
    for _ in 0..TRIES {
        let rows = run(pool, company_id, request.case_id, &good).await?;
        if outcome.add(rows, &good) {
            break;
        }
        // Another writer attached some of it meanwhile: this statement could not see it, the next one can.
    }
    if !outcome.case_found {
        return Ok(None);
    }
    let Outcome { changed, before, .. } = outcome;
    let mut told = HashSet::new();
    let results = in_order(items, |place, content| {
        let (url_id, existing) = before.get(&(place as i64 + 1)).copied().ok_or_else(Error::internal)?;
        if content.kind == IncidentType::Url as i16 && url_id.is_none() {
            let mut faults = Violations::new();
            fault(&mut faults, content.url_field(), |_| NO_URL.to_owned());
            return Ok(not_done(Refused::not_found(faults)));
        }
        Ok(match changed.get(&(content.kind, url_id, content.reference)) {
            // Of two items with the same content the first one is told of the change.
            Some(id) if told.insert(*id) => done(Some(*id), true, "Incident attached."),
            Some(id) => done(Some(*id), false, "The incident is attached."),
            None => done(existing, false, "The incident was attached before."),
        })
    });
    results.map(Some)
}

impl Outcome {
    /// Takes rows in. Answers whether every item is accounted for.
    fn add(&mut self, rows: Vec<Told>, contents: &[&Content]) -> bool {
        for (place, id, kind, url_id, reference) in rows {
            match (place, id) {
                (Some(0), _) => self.case_found = true,
                (Some(place), id) => {
                    self.before.insert(place, (url_id, id));
                }
                (None, Some(id)) => {
                    self.changed.insert((kind, url_id, reference), id);
                }
                (None, None) => {}
            }
        }
        !self.case_found
            || contents.iter().zip(1..).all(|(content, place)| {
                let (url_id, existing) = self.before.get(&place).copied().unwrap_or_default();
                let unknown_url = content.kind == IncidentType::Url as i16 && url_id.is_none();
                let key = (content.kind, url_id, content.reference.clone());
                existing.is_some() || unknown_url || self.changed.contains_key(&key)
            })
    }
}

async fn run(pool: &Connections, company_id: i64, case_id: i64, contents: &[&Content]) -> Result<Vec<Told>, Error> {
    let parameters = Parameters::of(contents.iter().copied());
    let types: Vec<Option<i32>> = contents.iter().map(|content| content.infraction.0).collect();
    let names: Vec<Option<i32>> = contents.iter().map(|content| content.infraction.1).collect();
    let rows: Vec<Told> = write(|| {
        sqlx::query_as(*ATTACH)
            .bind(company_id)
            .bind(case_id)
            .bind(&parameters.kinds)
            .bind(&parameters.url_ids)
            .bind(&parameters.hashes)
            .bind(&parameters.references)
            .bind(&types)
            .bind(&names)
            .fetch_all(pool)
    })
    .await?;
    Ok(rows)
}

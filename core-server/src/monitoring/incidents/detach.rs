//! Detaching incidents from a case.

use std::sync::LazyLock;

use crate::database::Connections;
use compliance_api::{
    error::Error,
    rules::check,
    v1::{DetachIncidentsRequest, IncidentKey, IncidentResult},
};

use super::{Content, Parameters, done, in_order};
use crate::monitoring::{
    faults::{Refused, fault},
    write::{url, write},
};

/// Locks the case, then the URLs in the order of their hashes, and removes the incidents that are found. Answers whether
/// there is such a case, and with the place of each item, the incident's ID and whether it was removed.
static DETACH: LazyLock<&'static str> = LazyLock::new(|| {
    format!(
        "with held as materialized (
            select c.id from compliance_cases c where c.company_id = $1 and c.id = $2 for no key update
        ), found as materialized (
            select i.place, x.id, x.url_id, h.url_hash from held
            cross join unnest($3::bigint[], $4::smallint[], $5::bigint[], $6::bytea[], $7::text[])
                with ordinality as i (id, kind, url_id, hash, reference, place)
            left join lateral {url} u on true
            cross join lateral (
                (select n.id, n.url_id from incidents n
                    where n.company_id = $1 and n.case_id = $2 and n.id = i.id limit 1)
                union all
                (select n.id, n.url_id from incidents n where i.id is null and i.kind = 1
                    and n.company_id = $1 and n.case_id = $2 and n.incident_type = 1 and n.url_id = u.id limit 1)
                union all
                (select n.id, n.url_id from incidents n where i.id is null and i.kind <> 1
                    and n.company_id = $1 and n.case_id = $2 and n.incident_type = i.kind and n.url_id is null
                    and n.reference = i.reference limit 1)
            ) x
            left join lateral (
                select u.url_hash from compliance_urls u where u.company_id = $1 and u.id = x.url_id limit 1
            ) h on true
        ), locked as materialized (
            select u.id from (
                select distinct url_hash, url_id from found where url_id is not null order by url_hash
            ) x
            cross join lateral (
                select u.id from compliance_urls u where u.company_id = $1 and u.id = x.url_id for no key update
            ) u
        ), detached as (
            delete from incidents n using (
                select distinct id from found where (select count(*) from locked) >= 0
            ) f
            where n.company_id = $1 and n.case_id = $2 and n.id = f.id
            returning n.id
        ), touched as (
            update compliance_cases c set
                first_action_date = coalesce(c.first_action_date, date_trunc('second', now())),
                last_updated_date = date_trunc('second', now())
            from (select distinct 1 from detached) d
            where c.company_id = $1 and c.id = $2
        )
        select 0::bigint as place, id, true from held
        union all
        select f.place, f.id, (f.id in (select id from detached)) from found f order by place",
        url = url("i.url_id", "i.hash"),
    )
    .leak()
});

/// Detaches incidents; one result each, in their order.
pub(in crate::monitoring) async fn detach(
    pool: &Connections,
    company_id: i64,
    request: DetachIncidentsRequest,
) -> Result<Option<Vec<IncidentResult>>, Error> {
    let items: Vec<Result<(Option<i64>, Content), Refused>> = request.incidents.into_iter().map(key).collect();
    let good: Vec<&(Option<i64>, Content)> = items.iter().flatten().collect();
    let ids: Vec<Option<i64>> = good.iter().map(|(id, _)| *id).collect();
    let parameters = Parameters::of(good.iter().map(|(_, content)| content));
    let rows: Vec<(i64, i64, bool)> = write(|| {
        sqlx::query_as(*DETACH)
            .bind(company_id)
            .bind(request.case_id)
            .bind(&ids)
            .bind(&parameters.kinds)
            .bind(&parameters.url_ids)
            .bind(&parameters.hashes)
            .bind(&parameters.references)
            .fetch_all(pool)
    })
    .await?;
    if rows.is_empty() {
        return Ok(None);
    }
    let mut told = std::collections::HashSet::new();
    let results = in_order(items, |place, _| {
        let found = rows.iter().skip(1).find(|(at, ..)| *at == place as i64 + 1);
        Ok(match found {
            // Of two items that name the same incident the first one is told of the change.
            Some((_, id, true)) if told.insert(*id) => done(Some(*id), true, "Incident detached."),
            _ => done(None, false, "The incident was not attached."),
        })
    });
    results.map(Some)
}

fn key(key: IncidentKey) -> Result<(Option<i64>, Content), Refused> {
    let mut faults = check(&key);
    let kind = key.incident_type();
    if key.incident_id.is_none() && kind as i32 == 0 {
        fault(&mut faults, "incident_id", |label| format!("The {label} field is required."));
    }
    let content = match key.incident_id {
        // The ID says it all.
        Some(_) => Content { kind: 0, url_id: None, hash: None, reference: None, infraction: (None, None) },
        None => Content::new(&mut faults, "", kind, (key.url_id, key.url), key.reference),
    };
    if faults.is_empty() { Ok((key.incident_id, content)) } else { Err(Refused::invalid(faults)) }
}

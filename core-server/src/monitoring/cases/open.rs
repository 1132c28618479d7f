//! Opening: one statement for one case and for ten thousand.

use std::{
    collections::{HashMap, HashSet},
    fmt::Write as _,
    sync::LazyLock,
};

use crate::database::Connections;
use compliance_api::{
    error::Error,
    rules::{Violations, check},
    v1::{CaseResult, OpenCaseRequest, ResultCode},
};

use super::{
    MOST_INCIDENTS,
    dates::{self, NOW},
    fields::{COLUMNS, Fields, wanted},
};
use crate::monitoring::{
    faults::{Refused, at_most_within, fault},
    incidents::{self, Content},
    names::{Known, Names},
    write::{AffiliateRef, NO_AFFILIATE, NO_URL, TRIES, affiliate, array, url, write},
};

/// The parameter of the first column but the affiliate.
const FIRST: usize = 7;

/// Locks the URLs in the order of their hashes, like everything that writes them, and inserts the cases in the order of
/// their request IDs. One whose request ID another writer just took is left out of the answer, and found by the next
/// run. Answers with the place of each case, its ID, whether it is new, whether its affiliate is known, and the places of
/// its incidents whose URL is not.
static OPEN: LazyLock<&'static str> = LazyLock::new(|| {
    let (mut arrays, mut names, mut values) = (String::new(), String::new(), String::new());
    let dated = dates::rules("n.mask", "true");
    for (nth, (column, kind)) in COLUMNS.iter().skip(1).enumerate() {
        // An array of arrays would be flattened: tags come as JSON.
        let kind = if *column == "tags" { "text" } else { kind };
        let _ = write!(arrays, ", ${}::{kind}[]", FIRST + nth);
        let _ = write!(names, ", {column}");
        let value = match *column {
            "tags" => "array(select jsonb_array_elements_text(coalesce(n.tags, '[]')::jsonb))".to_owned(),
            "created_date" => format!("coalesce(n.created_date, {NOW})"),
            column => match dated.iter().find(|(name, _)| *name == column) {
                Some((_, rule)) => rule.clone(),
                None => format!("n.{column}"),
            },
        };
        let _ = write!(values, ", {value}");
    }
    format!(
        "with input as materialized (
            select i.*, a.id as found_affiliate, (
                select c.id from compliance_cases c
                where c.company_id = $1 and c.request_id = i.request_id limit 1
            ) as existing
            from unnest($2::text[], $3::bigint[], $4::text[], $5::text[], $6::integer[]{arrays}) with ordinality
                as i (request_id, wanted_id, wanted_client, incidents, mask{names}, place)
            left join lateral {affiliate} a on true
        ), resolved as materialized (
            select i.*, c.contents, c.missing from input i
            left join lateral (
                select array_agg(x.place) filter (where x.k = 1 and u.id is null) as missing, jsonb_agg(
                    jsonb_build_object('k', x.k, 'u', u.id, 'h', encode(u.url_hash, 'hex'), 'r', x.r, 't', x.t, 'n', x.n)
                    order by x.place
                ) as contents
                from rows from (
                    jsonb_to_recordset(i.incidents::jsonb)
                    as (k smallint, u bigint, h text, r text, t integer, n integer)
                ) with ordinality as x (k, u, h, r, t, n, place)
                left join lateral {url} u on true
            ) c on true
        ), openable as materialized (
            select * from resolved where existing is null and found_affiliate is not null and missing is null
        ), locked as materialized (
            select u.id from (
                select distinct x.h, x.u from openable o
                cross join lateral jsonb_to_recordset(o.contents) as x (u bigint, h text)
                where x.u is not null order by x.h
            ) x
            cross join lateral (
                select u.id from compliance_urls u where u.company_id = $1 and u.id = x.u for no key update
            ) u
        ), fresh as materialized (
            select nextval('compliance_cases_id_seq') as id, o.* from openable o
            where (select count(*) from locked) >= 0 order by o.place
        ), inserted as (
            insert into compliance_cases (company_id, id, request_id, affiliate_id{names})
            select $1, n.id, n.request_id, n.found_affiliate{values}
            from (
                select id, request_id, found_affiliate, mask{names_defaulted} from fresh order by request_id
            ) n
            cross join (
                select 1 as case_status_id, null::integer as sub_status_id, null::integer as notice_status_id,
                    null::integer as risk_level_id, null::text as case_worker, null::timestamptz as reviewed_date,
                    null::timestamptz as resolved_date, null::timestamptz as first_action_date,
                    null::timestamptz as flagged_date, null::timestamptz as closed_date,
                    null::timestamptz as last_updated_date
            ) o
            on conflict (company_id, request_id) where request_id is not null do nothing
            returning id, request_id
        ), attached as (
            insert into incidents
                (company_id, case_id, incident_type, url_id, reference, infraction_type_id, infraction_name_id)
            select $1, f.id, x.k, x.u, x.r, x.t, x.n
            from fresh f
            cross join lateral rows from (
                jsonb_to_recordset(f.contents) as (k smallint, u bigint, r text, t integer, n integer)
            ) with ordinality as x (k, u, r, t, n, place)
            where (f.id in (select id from inserted)) is true
            order by f.place, x.place
            on conflict on constraint incidents_content_key do nothing
        )
        select request_id, id, true, true, null::bigint[] from inserted
        union all
        select request_id, existing, false, found_affiliate is not null, missing from resolved
        where existing is not null or found_affiliate is null or missing is not null",
        affiliate = affiliate("i.wanted_id", "i.wanted_client"),
        url = url("x.u", "decode(x.h, 'hex')"),
        names_defaulted =
            names.replace(", case_status_id,", ", coalesce(case_status_id, 1) as case_status_id,"),
    )
    .leak()
});

/// A case to be opened, checked.
pub(in crate::monitoring) struct Opening {
    request_id: String,
    fields: Fields,
    contents: Vec<Content>,
}

impl Opening {
    /// Looks up the names that cases need.
    pub(in crate::monitoring) async fn names(
        names: &Names,
        company_id: i64,
        cases: &[OpenCaseRequest],
    ) -> Result<std::sync::Arc<Known>, Error> {
        let wanted = cases.iter().flat_map(|opening| {
            opening.case.iter().flat_map(wanted).chain(opening.incidents.iter().map(incidents::wanted))
        });
        names.of(names.remembered(company_id, wanted)).await
    }

    /// Checks one.
    pub(in crate::monitoring) fn new(known: &Known, request: OpenCaseRequest) -> Result<Self, Refused> {
        let mut faults = check(&request);
        let case = request.case.unwrap_or_default();
        let mut fields = Fields::new(known, &mut faults, "case.", case, None);
        let has_affiliate = fields.affiliate.is_some() || faults.iter().any(|fault| fault.path == "case.affiliate_id");
        if !has_affiliate && !faults.iter().any(|fault| fault.path == "case") {
            fault(&mut faults, "case.client_affiliate_id", |label| format!("The {label} field is required."));
        }
        at_most_within(&mut faults, MOST_INCIDENTS, "incidents", request.incidents.len());
        let contents = incidents::contents(known, &mut faults, "incidents.", request.incidents);
        let request_id = request.request_id.unwrap_or_default();
        if request.dates_as_given == Some(true) {
            // As if every date had been given.
            fields.mask = -1;
        }
        if faults.is_empty() { Ok(Self { request_id, fields, contents }) } else { Err(Refused::invalid(faults)) }
    }

    fn affiliate_field(&self) -> String {
        format!("case.{}", self.fields.affiliate.as_ref().map_or("client_affiliate_id", AffiliateRef::field))
    }
}

/// What the statement says of a case.
type Told = (String, Option<i64>, bool, bool, Option<Vec<i64>>);

/// Opens cases; one result each, in their order.
pub(in crate::monitoring) async fn open(
    pool: &Connections,
    company_id: i64,
    cases: Vec<Result<Opening, Refused>>,
) -> Result<Vec<CaseResult>, Error> {
    // Of two with the same request ID the first counts.
    let mut first = HashSet::new();
    let openings: Vec<&Opening> =
        cases.iter().flatten().filter(|opening| first.insert(opening.request_id.as_str())).collect();
    let mut told: HashMap<String, Told> = HashMap::new();
    for tries in 0.. {
        let rest: Vec<&Opening> =
            openings.iter().filter(|opening| !told.contains_key(&opening.request_id)).copied().collect();
        if rest.is_empty() {
            break;
        }
        if tries == TRIES {
            tracing::error!("cases could not be opened in {TRIES} tries");
            return Err(Error::internal());
        }
        let rows = run(pool, company_id, &rest).await?;
        told.extend(rows.into_iter().map(|row| (row.0.clone(), row)));
    }
    let mut results = Vec::with_capacity(cases.len());
    for case in &cases {
        results.push(match case {
            Ok(opening) => {
                let row = told.get_mut(&opening.request_id).ok_or_else(Error::internal)?;
                let result = result(opening, row);
                // Whoever comes second with the same request ID did not open it.
                row.2 = false;
                result
            }
            Err(refused) => not_opened(refused.clone()),
        });
    }
    Ok(results)
}

fn result(opening: &Opening, told: &Told) -> CaseResult {
    let (_, id, created, affiliate_known, missing) = told;
    if let Some(id) = id {
        let msg = if *created { "Case opened." } else { "The case was opened before." };
        return CaseResult {
            code: ResultCode::Saved.into(),
            case_id: Some(*id),
            created: *created,
            violations: Vec::new(),
            msg: msg.to_owned(),
        };
    }
    let mut faults = Violations::new();
    if !affiliate_known {
        fault(&mut faults, opening.affiliate_field(), |_| NO_AFFILIATE.to_owned());
    }
    for place in missing.iter().flatten() {
        let index = usize::try_from(place - 1).unwrap_or_default();
        let field = opening.contents.get(index).map_or("url", Content::url_field);
        fault(&mut faults, format!("incidents.{index}.{field}"), |_| NO_URL.to_owned());
    }
    not_opened(Refused::not_found(faults))
}

fn not_opened(refused: Refused) -> CaseResult {
    let Refused { code, violations, msg } = refused;
    CaseResult { code: code.into(), case_id: None, created: false, violations, msg }
}

async fn run(pool: &Connections, company_id: i64, openings: &[&Opening]) -> Result<Vec<Told>, Error> {
    let all = || openings.iter().map(|opening| &opening.fields);
    let ids: Vec<&str> = openings.iter().map(|opening| opening.request_id.as_str()).collect();
    let masks: Vec<i32> = all().map(|fields| fields.mask).collect();
    let tags =
        |fields: &Fields| (!fields.tags.is_empty()).then(|| serde_json::Value::from(fields.tags.clone()).to_string());
    write(|| {
        let mut query = sqlx::query_as(*OPEN)
            .bind(company_id)
            .bind(&ids)
            .bind(array(all().map(|fields| fields.affiliate.as_ref().and_then(AffiliateRef::id))))
            .bind(array(all().map(|fields| fields.affiliate.as_ref().and_then(AffiliateRef::client))))
            .bind(array(openings.iter().map(|opening| incidents::json(&opening.contents))))
            .bind(&masks)
            .bind(array(all().map(tags)));
        for nth in 0..4 {
            query = query.bind(array(all().map(|fields| fields.names[nth])));
        }
        query = query.bind(array(all().map(|fields| fields.country)));
        for nth in 0..3 {
            query = query.bind(array(all().map(|fields| fields.texts[nth].as_deref())));
        }
        for nth in 0..8 {
            query = query.bind(array(all().map(|fields| fields.moments[nth])));
        }
        query.fetch_all(pool)
    })
    .await
}

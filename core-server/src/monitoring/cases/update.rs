//! Changes: those that a mask names, and the few that have a verb of their own.

use std::{fmt::Write as _, sync::LazyLock};

use crate::database::Connections;
use compliance_api::{
    catalogue::Vocabulary,
    error::{Error, Reason},
    rules::Violations,
    v1::{CloseCaseRequest, ReopenCaseRequest, ResolveCaseRequest, UpdateCaseRequest, UpdateCaseResponse},
};

use super::{
    CLOSED, OPEN, RESOLVED, dates,
    fields::{COLUMNS, Fields, wanted},
};
use crate::monitoring::{
    faults::fault,
    names::{Names, Wanted},
    write::{AffiliateRef, NO_AFFILIATE, affiliate, write},
};

/// The parameter of the first column but the affiliate.
const FIRST: usize = 8;

/// Locks the case, works out what it becomes, dates included, and writes it unless it is that already. `$6` and `$7`
/// are the statuses that the case must be of, and must not be of, for anything to happen. Answers whether there is such
/// a case, whether there is such an affiliate, and whether anything changed.
static UPDATE: LazyLock<&'static str> = LazyLock::new(|| {
    let (mut asked, mut after, mut set, mut columns) = (String::new(), String::new(), String::new(), String::new());
    let dated = dates::rules("$3::integer", "n.changed");
    for (bit, (column, kind)) in COLUMNS.iter().enumerate() {
        let separator = if bit == 0 { "" } else { ", " };
        let given = match bit {
            0 => "(select id from affiliate)".to_owned(),
            _ => format!("${}::{kind}", FIRST + bit - 1),
        };
        let mask = 1 << bit;
        let _ = write!(
            asked,
            "{separator}case when $3::integer & {mask} <> 0 then {given} else o.{column} end as {column}"
        );
        let rule = dated.iter().find(|(name, _)| name == column);
        let value = rule.map_or_else(|| format!("n.{column}"), |(_, rule)| rule.clone());
        let _ = write!(after, "{separator}{value} as {column}");
        let _ = write!(set, "{separator}{column} = d.{column}");
        let _ = write!(columns, "{separator}o.{column}");
    }
    format!(
        "with affiliate as materialized (
            select a.id from {affiliate} a limit 1
        ), o as materialized (
            select c.* from compliance_cases c where c.company_id = $1 and c.id = $2 for no key update
        ), asked as materialized (
            select o.id, {asked} from o
            where (($4::bigint is null and $5::text is null) or exists (select from affiliate))
                and ($6::integer[] is null or o.case_status_id = any($6))
                and ($7::integer[] is null or o.case_status_id <> all($7))
        ), n as materialized (
            select n.*, ({new}) is distinct from ({columns}) as changed from asked n cross join o
        ), d as materialized (
            select n.id, {after} from n cross join o where n.changed
        ), updated as (
            update compliance_cases c set {set} from d where c.company_id = $1 and c.id = d.id returning c.id
        )
        select exists (select from o), exists (select from affiliate), exists (select from updated)",
        affiliate = affiliate("$4::bigint", "$5::text"),
        new = columns.replace("o.", "n."),
    )
    .leak()
});

/// Changes the fields that are named.
pub(in crate::monitoring) async fn update(
    pool: &Connections,
    names: &Names,
    company_id: i64,
    request: UpdateCaseRequest,
) -> Result<UpdateCaseResponse, Error> {
    let case = request.case.unwrap_or_default();
    let known = names.of(names.remembered(company_id, wanted(&case))).await?;
    let mut faults = Violations::new();
    let mask = request.update_mask.map(|mask| mask.paths);
    let fields = Fields::new(&known, &mut faults, "", case, mask.as_deref());
    if !faults.is_empty() {
        return Err(Error::invalid(faults));
    }
    run(pool, company_id, request.case_id, &fields, Condition::default()).await
}

/// A change that has a verb of its own.
pub(in crate::monitoring) enum Verb {
    Resolve(ResolveCaseRequest),
    Close(CloseCaseRequest),
    Reopen(ReopenCaseRequest),
}

/// Statuses that a case must be of, and must not be of, for anything to happen.
#[derive(Default)]
struct Condition {
    only: Option<Vec<i32>>,
    but: Option<Vec<i32>>,
}

/// Resolves, closes or reopens a case.
pub(in crate::monitoring) async fn with_verb(
    pool: &Connections,
    names: &Names,
    company_id: i64,
    verb: Verb,
) -> Result<UpdateCaseResponse, Error> {
    let [first, last] = CLOSED;
    let (case_id, fields, condition) = match verb {
        Verb::Resolve(request) => (
            request.case_id,
            Fields::status(RESOLVED).date("resolved_date", request.resolved_date.as_ref()),
            Condition { but: Some(vec![RESOLVED]), ..Condition::default() },
        ),
        Verb::Close(request) => {
            let given = request.case_status.as_deref().filter(|name| !name.is_empty());
            let status = given.and_then(|name| Vocabulary::CaseStatus.default_id(name));
            (
                request.case_id,
                Fields::status(status.unwrap_or(first)).date("closed_date", request.closed_date.as_ref()),
                Condition {
                    but: Some(status.map_or_else(|| (first..=last).collect(), |status| vec![status])),
                    ..Condition::default()
                },
            )
        }
        Verb::Reopen(request) => {
            let name = request.case_status.as_deref().filter(|name| !name.is_empty());
            let wanted = name.map(|name| Wanted::Name(Vocabulary::CaseStatus, name));
            let known = names.of(names.remembered(company_id, wanted.into_iter())).await?;
            let mut faults = Violations::new();
            let status = known.resolve(&mut faults, "case_status", Vocabulary::CaseStatus, name);
            if status.is_some_and(|status| (RESOLVED..=last).contains(&status)) {
                fault(&mut faults, "case_status", |label| format!("The selected {label} does not reopen a case."));
            }
            if !faults.is_empty() {
                return Err(Error::invalid(faults));
            }
            (
                request.case_id,
                Fields::status(status.unwrap_or(OPEN)),
                Condition { only: Some((RESOLVED..=last).collect()), ..Condition::default() },
            )
        }
    };
    run(pool, company_id, case_id, &fields, condition).await
}

async fn run(
    pool: &Connections,
    company_id: i64,
    case_id: i64,
    fields: &Fields,
    condition: Condition,
) -> Result<UpdateCaseResponse, Error> {
    let (found, affiliate_found, changed) = write(|| {
        let mut query = sqlx::query_as::<_, (bool, bool, bool)>(*UPDATE)
            .bind(company_id)
            .bind(case_id)
            .bind(fields.mask)
            .bind(fields.affiliate.as_ref().and_then(AffiliateRef::id))
            .bind(fields.affiliate.as_ref().and_then(AffiliateRef::client))
            .bind(&condition.only)
            .bind(&condition.but)
            .bind(&fields.tags);
        for nth in 0..4 {
            query = query.bind(fields.names[nth]);
        }
        query = query.bind(fields.country);
        for text in &fields.texts {
            query = query.bind(text.as_deref());
        }
        for moment in fields.moments {
            query = query.bind(moment);
        }
        query.fetch_one(pool)
    })
    .await?;
    if !found {
        return Err(Error::case_not_found(case_id));
    }
    if let Some(affiliate) = fields.affiliate.as_ref().filter(|_| !affiliate_found) {
        return Err(Error::new(Reason::ReferenceNotFound, NO_AFFILIATE).with("field", affiliate.field()));
    }
    Ok(UpdateCaseResponse { case_id, changed })
}

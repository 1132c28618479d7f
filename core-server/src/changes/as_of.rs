//! Records as they were at an earlier time: as they are now, with all later changes undone, the last one first.

use std::{
    collections::{BTreeMap, HashMap},
    sync::LazyLock,
};

use compliance_api::{
    catalogue::Vocabulary,
    country,
    error::{Error, Reason},
    record::{Record, StoredAs},
    rules::{Violations, timestamp},
    v1::{Affiliate, Change, ComplianceCase, ComplianceUrl, Incident, Infraction},
};
use sqlx::{Row as _, postgres::PgRow};
use tonic::Response;

use super::feed;
use crate::{
    backend::Backend,
    lists::{Source, too_large},
    reads::Reads,
    requests::holding,
};

/// The statement, with the types of its parameters.
pub(crate) static STATEMENT: LazyLock<(&str, &str)> = LazyLock::new(|| {
    let page = include_str!("as_of.sql")
        .replace("{of_record}", &changes_of("$2", "$3"))
        .replace("{of_affiliate}", &changes_of("1", "k.id"));
    let statement = [include_str!("state.sql"), &page, include_str!("entries.sql")].concat();
    (statement.leak(), "bigint, smallint, bigint, bigint")
});

/// A record that can be read as it was.
pub(crate) trait Past: Record {
    /// The number of its table.
    const RESOURCE: i16;

    fn build(past: &State, id: i64, company_id: i64) -> Option<Self>;
}

/// A query for the later changes of a record. The limits are none, which the planner cannot see: it reads along the indexes.
fn changes_of(resource: &str, id: &str) -> String {
    let rows = |of: &str| {
        format!(
            "(
                select c.* from changes c
                where c.company_id = $1 and c.resource = {resource} and c.changed_at >= (select to_timestamp($4::double precision))
                    and {of}
                order by c.position limit (select null::bigint)
            )"
        )
    };
    format!(
        "
        select c.position - cardinality(c.ids) + e.number as position, c.changed_at, c.resource, c.columns, c.operation, e.id, e.record
        from (
            {}
            union all
            {}
        ) c
        cross join lateral unnest(c.ids, c.records) with ordinality e (id, record, number)
        where e.id = {id}",
        rows(&format!("cardinality(c.ids) = 1 and c.ids[1] = {id}")),
        rows(&format!("cardinality(c.ids) > 1 and c.ids @> array[{id}]")),
    )
}

/// The record as it is now, or as it was at the end of a second if that is given as a text.
pub(crate) async fn get<R: Past>(
    backend: &Backend,
    reads: &Reads<R>,
    company_id: i64,
    id: i64,
    as_of: Option<String>,
) -> Result<Response<R>, Error> {
    match as_of.filter(|as_of| !as_of.is_empty()) {
        Some(as_of) => {
            let second = timestamp(&as_of).unwrap_or_default();
            backend.in_slot(company_id, read(backend.source(company_id), id, second, reads.not_found())).await
        }
        None => reads.get(company_id, id).await,
    }
}

async fn read<R: Past>(
    source: Source,
    id: i64,
    second: i64,
    not_found: fn(i64) -> Error,
) -> Result<Response<R>, Error> {
    let query = || sqlx::query(STATEMENT.0).bind(source.company_id).bind(R::RESOURCE).bind(id).bind(second + 1);
    let ((state, refusal, is_complete), memory) = feed::entries(&source, query, |first, changes, is_complete| {
        Ok((State::before(changes), refusal(first, second)?, is_complete))
    })
    .await?;
    if let Some(error) = refusal {
        return Err(error);
    }
    if !is_complete {
        return Err(too_large(source.most));
    }
    let record = R::build(&state, id, source.company_id).ok_or_else(|| not_found(id))?;
    Ok(holding(record, memory))
}

/// Why what was at the end of a second is not known.
fn refusal(first: &PgRow, second: i64) -> Result<Option<Error>, sqlx::Error> {
    if second > first.try_get("this_second")? {
        return Ok(Some(Error::invalid(Violations::one("as_of", "The as of field must not be in the future."))));
    }
    let (dropped, last): (i64, i64) = (first.try_get("dropped_position")?, first.try_get("last_position")?);
    // That of the first change that is kept.
    let first: Option<i64> = first.try_get("first_second")?;
    let is_gone = dropped > 0 && first.is_none_or(|first| second < first);
    let message = "The record cannot be read as it was then: later changes are no longer kept.";
    let error = || Error::new(Reason::PositionGone, message).with("dropped_position", dropped);
    Ok(is_gone.then(|| error().with("last_position", last)))
}

/// The values of a record's fields, as changes have them.
type Fields = HashMap<String, String>;

/// Records of each kind by ID.
#[derive(Default)]
pub(crate) struct State(HashMap<String, BTreeMap<i64, Fields>>);

impl State {
    /// What there was before changes, the last of which is the first.
    fn before(changes: Vec<Change>) -> Self {
        let mut state = Self::default();
        for change in changes {
            let records = state.0.entry(change.resource).or_default();
            if change.operation == "created" {
                records.remove(&change.id);
                continue;
            }
            if change.operation == "deleted" {
                records.insert(change.id, Fields::new());
            }
            // A part of another record may have changed.
            let Some(record) = records.get_mut(&change.id) else { continue };
            for field in change.fields {
                match field.before {
                    Some(before) => record.insert(field.field, before),
                    None => record.remove(&field.field),
                };
            }
        }
        state
    }

    fn of(&self, kind: &str) -> impl Iterator<Item = (i64, &Fields)> {
        self.0.get(kind).into_iter().flatten().map(|(id, fields)| (*id, fields))
    }

    fn get(&self, kind: &str, id: Option<i64>) -> Option<&Fields> {
        self.0.get(kind)?.get(&id?)
    }

    fn name(&self, vocabulary: Vocabulary, id: Option<&String>) -> Option<String> {
        let id: i32 = id?.parse().ok()?;
        let own = || self.get("vocabulary_entry", Some(id.into()))?.get("name").cloned();
        vocabulary.default_name(id).map(str::to_owned).or_else(own)
    }

    /// The type and the name of a part's infraction.
    fn infraction(&self, part: &Fields) -> (Option<String>, Option<String>) {
        (
            self.name(Vocabulary::InfractionType, part.get("infraction_type_id")),
            self.name(Vocabulary::InfractionName, part.get("infraction_name_id")),
        )
    }

    /// A record from its own fields and those of its affiliate.
    fn record<R: Record>(&self, kind: &str, id: i64) -> Option<R> {
        let own = self.get(kind, Some(id))?;
        let affiliate = self.get("affiliate", own.get("affiliate_id").and_then(|id| id.parse().ok()));
        let mut record = R::default();
        for field in R::FIELDS.iter().filter(|field| !field.column.table.is_empty()) {
            let column = field.column;
            let fields = if column.table == R::TABLE { Some(own) } else { affiliate };
            let stored = |name: &str| fields.and_then(|fields| fields.get(name));
            let value = match (column.name, column.form) {
                ("id", _) => Some(id.to_string()),
                ("revision", _) => stored("etag").cloned(),
                (name, StoredAs::Name(vocabulary)) => self.name(vocabulary, stored(name)),
                (name, StoredAs::CountryName) => {
                    stored(name).and_then(|code| country::name(code.parse().ok()?)).map(str::to_owned)
                }
                (name, _) => stored(name).cloned(),
            };
            // Values were written from the same columns.
            let _ = field.set_written(&mut record, value);
        }
        Some(record)
    }
}

impl Past for Affiliate {
    const RESOURCE: i16 = 1;

    fn build(past: &State, id: i64, client_id: i64) -> Option<Self> {
        Some(Self { client_id, ..past.record("affiliate", id)? })
    }
}

impl Past for ComplianceUrl {
    const RESOURCE: i16 = 2;

    fn build(past: &State, id: i64, _: i64) -> Option<Self> {
        let infraction = |(_, part): (i64, &Fields)| {
            let (infraction_type, infraction_name) = past.infraction(part);
            let created_date = part.get("created_date").and_then(|text| timestamp(text));
            let created_date = created_date.map(|seconds| prost_types::Timestamp { seconds, nanos: 0 });
            Infraction { infraction_type, infraction_name, created_date }
        };
        let infractions = past.of("infraction").map(infraction).collect();
        Some(Self { infractions, ..past.record("url", id)? })
    }
}

impl Past for ComplianceCase {
    const RESOURCE: i16 = 4;

    fn build(past: &State, id: i64, _: i64) -> Option<Self> {
        let incident = |(incident_id, part): (i64, &Fields)| {
            let (infraction_type, infraction_name) = past.infraction(part);
            let incident_type = part.get("incident_type").and_then(|text| text.parse().ok()).unwrap_or_default();
            Incident { incident_id, incident_type, infraction_type, infraction_name }
        };
        let incidents = past.of("incident").map(incident).collect();
        Some(Self { incidents, ..past.record("case", id)? })
    }
}

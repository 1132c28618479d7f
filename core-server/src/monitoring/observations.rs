//! Validates URL observations, merges them into one row per URL, and saves each chunk with one statement.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Arc, LazyLock},
};

use compliance_api::{
    error::Error,
    record::{FieldSet, Record as _},
    rules::Violations,
    v1::{ObservationResult, StreamUrlObservationsRequest, StreamUrlObservationsResponse, UrlObservation},
};
use storage::{
    database,
    error::from_database,
    statement_context,
    table::{Attribute, Composite},
};

use super::{
    context::{CompanyWriter, Context, can_retry, write_all},
    field_updates::{AFFILIATE_NOT_FOUND, FieldUpdates, is_affiliate},
    infractions::{self, Infraction},
    items::{Checked, Outcome, check_all},
    names::CompanyNames,
};
use crate::{message_streams::Chunks, urls::identity};

/// The field that identifies the URL.
const URL: &str = "url";

/// The observations of one URL.
#[derive(Debug)]
pub(super) struct Row {
    /// The hash of the normalized URL.
    hash: [u8; 32],
    domain: Option<String>,
    observation: FieldUpdates<UrlObservation>,
    infractions: Vec<Infraction>,
    /// The indexes of the valid items that this row combines.
    items: Vec<usize>,
}

/// The input type of rows: the columns of an observation's fields and derived values.
pub(super) static INPUT: LazyLock<Composite<Row>> = LazyLock::new(|| {
    let own = [
        Attribute::scalar("position", |row: &Row| row.items.first().map(|item| *item as i64)),
        Attribute::scalar("has_values", |row: &Row| Some(!row.observation.written.is_empty())),
        Attribute::borrowed("url_hash", |row: &Row| Some(&row.hash[..])),
        Attribute::borrowed("domain", |row: &Row| row.domain.as_deref()),
        Attribute::composites("infractions", &infractions::INPUT, |row: &Row| &row.infractions),
    ];
    Composite::new("url_observation_input", FieldUpdates::attributes(|row: &Row| &row.observation).chain(own))
});

impl Row {
    /// Converts a validated observation.
    fn new(names: &CompanyNames, violations: &mut Violations, observation: UrlObservation) -> Self {
        // The rules have already reported an invalid URL.
        let (hash, domain) = observation.url.as_deref().and_then(identity).unwrap_or_default();
        let written = written(violations, &observation);
        let observation = FieldUpdates::new(names, violations, "", observation, written);
        let infractions = Infraction::within(names, violations, &observation.record.infractions);
        Self { hash, domain, observation, infractions, items: Vec::new() }
    }

    fn affiliate(&self) -> Option<(&'static str, Cow<'_, str>)> {
        let field = self.observation.affiliate_field()?;
        Some((field, UrlObservation::field(field)?.written(&self.observation.record)?))
    }

    /// Merges a later row of the same URL into this one.
    fn merge(&mut self, later: Self) {
        self.observation.merge(&later.observation);
        self.infractions.extend(later.infractions);
        self.items.extend(later.items);
    }
}

/// Returns the given and the cleared fields of an observation.
fn written(violations: &mut Violations, observation: &UrlObservation) -> FieldSet<UrlObservation> {
    if observation.incident_status.as_deref() == Some("") {
        violations.report("incident_status", |label| format!("The {label} field cannot be cleared."));
    }
    let mut written = FieldSet::given(observation);
    let given = written;
    for name in &observation.clear {
        // The rules have already rejected fields that cannot be cleared.
        let Some(field) = UrlObservation::field(name).filter(|field| field.name != URL) else { continue };
        let both =
            if is_affiliate(name) { given.iter().any(|field| is_affiliate(field.name)) } else { given.contains(field) };
        if both {
            let name = if is_affiliate(name) { "affiliate_id" } else { name };
            violations.report(name, |label| format!("The {label} field must not be both given and cleared."));
        }
        written.insert(field);
    }
    // A URL keeps its original text.
    if let Some(url) = UrlObservation::field(URL) {
        written.remove(url);
    }
    written
}

/// Observations that are ready to save.
struct Chunk {
    checked: Checked,
    /// One row for each URL in the valid items.
    rows: Vec<Row>,
    /// The outcomes of the valid items. Before saving, only items with an unknown affiliate have one.
    outcomes: Vec<Outcome>,
}

/// The result of a row. The ID is missing if the row's affiliate is unknown.
struct Saved {
    url_hash: Vec<u8>,
    url_id: Option<i64>,
    created: bool,
}

/// Affiliates that observations refer to, by field and value.
type Affiliates = HashSet<(&'static str, String)>;

impl Chunk {
    /// Validates observations and merges those of the same URL.
    async fn prepare(company: CompanyWriter<'_>, observations: Vec<UrlObservation>) -> Result<Self, Error> {
        let is_known = |names: &CompanyNames, observation: &UrlObservation| {
            names.knows_record(observation) && infractions::are_known(names, observation.infractions.iter())
        };
        let are_known = |names: &CompanyNames| observations.iter().all(|observation| is_known(names, observation));
        let names = company.names(are_known).await?;
        let (rows, checked) = read(&names, observations);
        // An unknown affiliate fails only the items that name it. If items for one URL name different affiliates, the affiliates are looked
        // up before the items are merged.
        let found = if has_several_affiliates(&rows) { Some(find_affiliates(company, &rows).await?) } else { None };
        Ok(Self::merge(rows, checked, found.as_ref()))
    }

    /// Merges rows of the same URL, except rows whose affiliate is not among `found`.
    fn merge(all: Vec<Row>, checked: Checked, found: Option<&Affiliates>) -> Self {
        let (mut rows, mut outcomes): (Vec<Row>, _) = (Vec::new(), vec![Outcome::default(); all.len()]);
        let mut indexes: HashMap<[u8; 32], usize> = HashMap::new();
        for (item, mut row) in all.into_iter().enumerate() {
            let is_unknown =
                |found: &Affiliates| row.affiliate().is_some_and(|(field, id)| !found.contains(&(field, id.into())));
            if found.is_some_and(is_unknown) {
                outcomes[item] = unknown_affiliate(&row);
                continue;
            }
            row.items.push(item);
            if let Some(index) = indexes.get(&row.hash) {
                rows[*index].merge(row);
            } else {
                indexes.insert(row.hash, rows.len());
                rows.push(row);
            }
        }
        Self { checked, rows, outcomes }
    }

    /// Saves the valid items.
    async fn save(self, company: CompanyWriter<'_>) -> Result<Vec<ObservationResult>, Error> {
        let Self { checked, mut rows, mut outcomes } = self;
        // All statements lock URLs in this order, which prevents deadlocks.
        rows.sort_unstable_by_key(|row| row.hash);
        let saved = write_all(&rows, |rows| save(company, rows)).await?;
        for (row, saved) in rows.iter().zip(saved) {
            for (index, item) in row.items.iter().enumerate() {
                outcomes[*item] = outcome(row, &saved, index == 0);
            }
        }
        checked.join(outcomes)
    }
}

/// The chunks of a company's stream.
pub(super) struct Observations {
    pub(super) context: Arc<Context>,
    pub(super) company_id: i64,
}

impl Chunks for Observations {
    type Request = StreamUrlObservationsRequest;
    type Response = StreamUrlObservationsResponse;

    async fn save(&mut self, request: Self::Request) -> Result<Self::Response, Error> {
        let company = CompanyWriter { id: self.company_id, context: &self.context };
        Ok(StreamUrlObservationsResponse { results: observe(company, request.observations).await? })
    }
}

/// Saves observations. Returns a result for each item, in order.
pub(super) async fn observe(
    company: CompanyWriter<'_>,
    observations: Vec<UrlObservation>,
) -> Result<Vec<ObservationResult>, Error> {
    Chunk::prepare(company, observations).await?.save(company).await
}

fn read(names: &CompanyNames, observations: Vec<UrlObservation>) -> (Vec<Row>, Checked) {
    check_all(observations, |violations, item| Row::new(names, violations, item))
}

/// Returns the company's affiliates that rows refer to.
async fn find_affiliates(company: CompanyWriter<'_>, rows: &[Row]) -> Result<Affiliates, Error> {
    struct Affiliate {
        affiliate_id: Option<i64>,
        client_affiliate_id: Option<String>,
    }
    let records = || rows.iter().map(|row| &row.observation.record);
    let ids: BTreeSet<i64> = records().filter_map(|record| record.affiliate_id).collect();
    let client_ids: BTreeSet<&str> = records().filter_map(|record| record.client_affiliate_id.as_deref()).collect();
    let (ids, client_ids) = (Vec::from_iter(ids), Vec::from_iter(client_ids));
    let found = database::read(&company.context.backend.pool, async |pool| {
        let (ids, client_ids) = (&ids, &client_ids);
        sqlx::query_file_as!(Affiliate, "src/monitoring/observations/affiliates.sql", company.id, ids, client_ids as _)
            .fetch_all(&pool)
            .await
    });
    let found = found.await.map_err(from_database)?.into_iter().flat_map(|found| {
        let id = found.affiliate_id.map(|id| ("affiliate_id", id.to_string()));
        id.into_iter().chain(found.client_affiliate_id.map(|id| ("client_affiliate_id", id)))
    });
    Ok(found.collect())
}

/// Saves rows of different URLs.
async fn save(company: CompanyWriter<'_>, rows: Vec<&Row>) -> Result<Vec<Option<Saved>>, Error> {
    let saved = company.write_in(&company.context.backend.queues.urls, can_retry, |pool, layouts| {
        let batch = INPUT.batch(&layouts, &rows);
        let save = sqlx::query_file_as!(
            Saved,
            "src/monitoring/observations/save.sql",
            company.id,
            batch as _,
            statement_context::writer()
        );
        let new_records = rows.iter().map(|row| row.infractions.len()).sum::<usize>().max(rows.len());
        async move {
            let _permit = company.context.chunk_permits.acquire().await;
            save.fetch_all(&pool.creating(new_records)).await
        }
    });
    let saved = saved.await?.into_iter().map(|saved| (saved.url_hash.clone(), saved));
    let mut saved: HashMap<Vec<u8>, Saved> = saved.collect();
    Ok(rows.iter().map(|row| saved.remove(&row.hash[..])).collect())
}

/// Returns whether rows of one URL refer to different affiliates.
fn has_several_affiliates(rows: &[Row]) -> bool {
    let mut affiliates = HashMap::new();
    rows.iter().any(|row| {
        let affiliate = row.affiliate();
        *affiliates.entry(row.hash).or_insert_with(|| affiliate.clone()) != affiliate
    })
}

fn outcome(row: &Row, saved: &Saved, is_first: bool) -> Outcome {
    match saved.url_id {
        Some(id) if saved.created && is_first => Outcome::saved(id, true, "URL added."),
        Some(id) => Outcome::saved(id, false, "URL updated."),
        None => unknown_affiliate(row),
    }
}

fn unknown_affiliate(row: &Row) -> Outcome {
    let field = row.observation.affiliate_field().unwrap_or("affiliate_id");
    Outcome::not_found(Violations::one(field, AFFILIATE_NOT_FOUND))
}

#[cfg(test)]
mod tests;

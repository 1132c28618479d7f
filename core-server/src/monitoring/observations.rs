//! Observations of URLs. They are checked, merged to one row per URL, and saved by one statement per chunk.

mod row;

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use compliance_api::{
    error::Error,
    rules::Violations,
    v1::{StreamUrlObservationsRequest, StreamUrlObservationsResponse, UrlObservation},
};

pub(super) use self::row::INPUT;
use self::row::Row;
use super::{
    context::{CompanyWriter, Context, write_all},
    field_updates::AFFILIATE_NOT_FOUND,
    infractions,
    items::{Checked, Outcome, check_all, messages},
    names::CompanyNames,
};
use crate::chunks::Chunks;
use storage::{database, error::from_database, statement};

/// Observations that are ready to be saved.
struct Chunk {
    checked: Checked,
    /// One row for each URL of the valid items.
    rows: Vec<Row>,
    /// The outcomes of the valid items. So far only items with an unknown affiliate have one.
    outcomes: Vec<Outcome>,
}

/// The result of a row. Without an ID, the row's affiliate is unknown.
struct Saved {
    url_hash: Vec<u8>,
    url_id: Option<i64>,
    created: bool,
}

/// The affiliates that observations name, by field and value.
type Affiliates = HashSet<(&'static str, String)>;

impl Chunk {
    /// Checks observations, and merges observations of the same URL.
    async fn prepare(company: CompanyWriter<'_>, observations: Vec<UrlObservation>) -> Result<Self, Error> {
        let is_known = |names: &CompanyNames, observation: &UrlObservation| {
            names.knows_record(observation) && infractions::are_known(names, observation.infractions.iter())
        };
        let are_known = |names: &CompanyNames| observations.iter().all(|observation| is_known(names, observation));
        let names = company.names(are_known).await?;
        let (rows, checked) = check(&names, observations);
        // If the affiliate of an item is unknown, only that item fails. Items of one URL with the same affiliate fail together. With
        // different affiliates, these are looked up before the items are merged.
        let found = if has_several_affiliates(&rows) { Some(find_affiliates(company, &rows).await?) } else { None };
        Ok(Self::merge(rows, checked, found.as_ref()))
    }

    /// Merges rows of the same URL, except those whose affiliate is not among `found`.
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
    async fn save(self, company: CompanyWriter<'_>) -> Result<Vec<Outcome>, Error> {
        let Self { checked, mut rows, mut outcomes } = self;
        // All statements lock URLs in this order, so that they do not deadlock.
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
        Ok(StreamUrlObservationsResponse { results: messages(observe(company, request.observations).await?) })
    }
}

/// Saves observations. Returns an outcome for each item, in order.
pub(super) async fn observe(
    company: CompanyWriter<'_>,
    observations: Vec<UrlObservation>,
) -> Result<Vec<Outcome>, Error> {
    Chunk::prepare(company, observations).await?.save(company).await
}

fn check(names: &CompanyNames, observations: Vec<UrlObservation>) -> (Vec<Row>, Checked) {
    check_all(observations, |violations, item| Row::new(names, violations, item))
}

/// Returns the affiliates of the company that rows name.
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
    let saved = company.write_in(&company.context.backend.queues.urls, |pool, layouts| {
        let batch = INPUT.batch(&layouts, &rows);
        let save = sqlx::query_file_as!(
            Saved,
            "src/monitoring/observations/save.sql",
            company.id,
            batch as _,
            statement::writer()
        );
        let new_records = rows.iter().map(|row| row.infractions.len()).sum::<usize>().max(rows.len());
        async move {
            // A chunk that may wait for a lock has a permit for that instead.
            let _permit =
                if pool.waits_for_locks() { None } else { company.context.chunk_permits.acquire().await.ok() };
            save.fetch_all(&pool.creating(new_records)).await
        }
    });
    let saved = saved.await?.into_iter().map(|saved| (saved.url_hash.clone(), saved));
    let mut saved: HashMap<Vec<u8>, Saved> = saved.collect();
    Ok(rows.iter().map(|row| saved.remove(&row.hash[..])).collect())
}

/// Whether rows of one URL name different affiliates.
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
mod tests {
    use compliance_api::v1::ResultCode;

    use super::*;

    fn observation(url: &str) -> UrlObservation {
        UrlObservation { url: Some(url.to_owned()), ..UrlObservation::default() }
    }

    #[test]
    fn observations_of_one_url_are_merged_unless_their_affiliate_is_unknown() {
        let with = |affiliate: Option<i64>, note: Option<&str>| UrlObservation {
            affiliate_id: affiliate,
            note: note.map(str::to_owned),
            ..observation("https://example.org/a")
        };
        let items = vec![
            with(None, Some("1")),
            observation("https://example.org/b"),
            UrlObservation { url: Some("HTTPS://EXAMPLE.org:443/a".into()), ..with(None, Some("2")) },
            with(Some(5), None),
            with(Some(6), Some("3")),
            with(None, Some("4")),
            observation("nothing"),
        ];
        let (rows, checked) = check(&CompanyNames::default(), items);
        assert!(has_several_affiliates(&rows) && !has_several_affiliates(&rows[..3]));
        let found = HashSet::from([("affiliate_id", "5".to_owned())]);
        let chunk = Chunk::merge(rows, checked, Some(&found));
        let merged: Vec<&[usize]> = chunk.rows.iter().map(|row| row.items.as_slice()).collect();
        assert_eq!(merged, [&[0, 2, 3, 5][..], &[1]]);
        let record = &chunk.rows[0].observation.record;
        assert_eq!((record.affiliate_id, record.note.as_deref()), (Some(5), Some("4")));
        assert_eq!(chunk.outcomes[4].code, ResultCode::NotFound);
        let renamed = UrlObservation { client_affiliate_id: Some("C".into()), ..with(None, None) };
        let cleared = UrlObservation { clear: vec!["affiliate_id".to_owned()], ..with(None, None) };
        for (later, affiliate, cleared) in [(renamed, Some("C"), &[][..]), (cleared, None, &["affiliate_id"][..])] {
            let (rows, checked) = check(&CompanyNames::default(), vec![with(Some(5), None), later]);
            let observation = &Chunk::merge(rows, checked, None).rows[0].observation;
            assert_eq!(observation.record.affiliate_id, None);
            assert_eq!(
                (observation.record.client_affiliate_id.as_deref(), &*observation.cleared),
                (affiliate, cleared)
            );
        }
        let outcomes = chunk.checked.join(vec![Outcome::default(); 6]).unwrap();
        assert_eq!(outcomes[6].violations.iter().next().unwrap().path, "url");
    }
}

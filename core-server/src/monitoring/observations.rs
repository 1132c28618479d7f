//! Observations of URLs: checked, folded to one row a URL, and saved by one statement a chunk.

mod row;
mod store;
mod stream;

use std::collections::HashMap;

use compliance_api::{
    error::Error,
    rules::Violations,
    v1::{ObservationResult, ResultCode, UrlObservation},
};

use self::row::Row;
pub(super) use self::{
    store::Store,
    stream::{Answers, Streams},
};
use super::{
    faults::Refused,
    names::{Known, Names, Wanted, of_infraction},
    write::NO_AFFILIATE,
};

use compliance_api::catalogue::Vocabulary::{TranscriptionStatus, UrlIncidentStatus};

/// Observations in one message, at most.
pub(super) const MOST: usize = 10_000;

/// Observations that are ready to be saved.
pub(super) struct Chunk {
    /// One result an item: of those that are saved, yet to be told.
    results: Vec<ObservationResult>,
    /// Rows of which no two are of the same URL, wave after wave.
    waves: Vec<Vec<Row>>,
}

impl Chunk {
    /// Checks observations and folds those of the same URL.
    pub(super) async fn prepare(
        names: &Names,
        company_id: i64,
        observations: Vec<UrlObservation>,
    ) -> Result<Self, Error> {
        let known = names.of(names.remembered(company_id, observations.iter().flat_map(wanted))).await?;
        Ok(Self::fold(&known, observations))
    }

    fn fold(known: &Known, observations: Vec<UrlObservation>) -> Self {
        let mut results = Vec::with_capacity(observations.len());
        let mut waves: Vec<Vec<Row>> = Vec::new();
        // Where the newest row of each URL stands.
        let mut newest: HashMap<[u8; 32], (usize, usize)> = HashMap::new();
        for (item, observation) in observations.into_iter().enumerate() {
            let row = match Row::new(known, item, observation) {
                Ok(row) => row,
                Err(refused) => {
                    results.push(not_saved(refused));
                    continue;
                }
            };
            results.push(ObservationResult::default());
            let wave = match newest.get(&row.hash) {
                Some((wave, place)) if waves[*wave][*place].can_take(&row) => {
                    waves[*wave][*place].take(row);
                    continue;
                }
                Some((wave, _)) => wave + 1,
                None => 0,
            };
            if wave == waves.len() {
                waves.push(Vec::new());
            }
            newest.insert(row.hash, (wave, waves[wave].len()));
            waves[wave].push(row);
        }
        Self { results, waves }
    }

    /// Saves what is good; one result each, in the order sent.
    pub(super) async fn save(self, store: &Store, company_id: i64) -> Result<Vec<ObservationResult>, Error> {
        let Self { mut results, waves } = self;
        for mut rows in waves {
            // Every statement takes URLs in this order, so that two that cross do not wait for each other.
            rows.sort_unstable_by_key(|row| row.hash);
            for (row, saved) in store.save(company_id, rows).await? {
                for (nth, item) in row.items.iter().enumerate() {
                    results[*item] = match saved {
                        Some((id, created)) => told(id, created && nth == 0),
                        None => not_saved(no_affiliate(&row)),
                    };
                }
            }
        }
        Ok(results)
    }
}

fn wanted(observation: &UrlObservation) -> impl Iterator<Item = Wanted<'_>> {
    let status = observation.incident_status.as_deref().map(|name| Wanted::Name(UrlIncidentStatus, name));
    let transcription = observation.transcription_status.as_deref().map(|name| Wanted::Name(TranscriptionStatus, name));
    status.into_iter().chain(transcription).chain(observation.infractions.iter().map(of_infraction))
}

fn told(id: i64, created: bool) -> ObservationResult {
    let msg = if created { "URL added." } else { "URL updated." };
    ObservationResult {
        code: ResultCode::Saved.into(),
        url_id: Some(id),
        created,
        violations: Vec::new(),
        msg: msg.to_owned(),
    }
}

fn not_saved(refused: Refused) -> ObservationResult {
    let Refused { code, violations, msg } = refused;
    ObservationResult { code: code.into(), url_id: None, created: false, violations, msg }
}

fn no_affiliate(row: &Row) -> Refused {
    let field = row.affiliate.as_ref().map_or("affiliate_id", super::write::AffiliateRef::field);
    Refused::not_found(Violations::one(field, NO_AFFILIATE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observation(url: &str) -> UrlObservation {
        UrlObservation { url: Some(url.to_owned()), ..UrlObservation::default() }
    }

    #[test]
    fn observations_of_one_url_are_folded_unless_one_could_fail_alone() {
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
            with(Some(5), Some("3")),
            with(None, Some("4")),
            observation("nothing"),
        ];
        let chunk = Chunk::fold(&Known::default(), items);
        let items: Vec<Vec<&[usize]>> =
            chunk.waves.iter().map(|wave| wave.iter().map(|row| row.items.as_slice()).collect()).collect();
        assert_eq!(items, [vec![&[0, 2][..], &[1]], vec![&[3, 4]], vec![&[5]]]);
        assert_eq!(chunk.results[6].violations[0].field, "url");
    }
}

//! Observations of URLs: checked, merged to one row a URL, and saved by one statement a chunk.

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
    stream::{Acknowledgements, Streams},
};
use super::{
    affiliate_ref::{AFFILIATE_NOT_FOUND, AffiliateRef},
    context::Context,
    names::{self, CompanyNames, NameRef},
    rejection::Rejection,
};
use crate::table::Expected;

/// Observations in one message.
pub(super) const MAX_OBSERVATIONS: usize = 10_000;

/// Adds what the statements expect of the database.
pub(super) fn expect(expected: Expected) -> Expected {
    expected.record::<UrlObservation>().composite(&row::INPUT)
}

/// Observations that are ready to be saved.
pub(super) struct Chunk {
    /// One result an item. Those of items that are saved are set then.
    results: Vec<ObservationResult>,
    /// Rows in rounds that are saved one after the other; no two of a round are of the same URL.
    rounds: Vec<Vec<Row>>,
}

impl Chunk {
    /// Checks observations and merges those of the same URL.
    pub(super) async fn prepare(
        context: &Context,
        company_id: i64,
        observations: Vec<UrlObservation>,
    ) -> Result<Self, Error> {
        let cached = context.names.cached(company_id, observations.iter().flat_map(names_of));
        let names = context.names.or_read(company_id, cached).await?;
        Ok(Self::merge(&names, observations))
    }

    fn merge(names: &CompanyNames, observations: Vec<UrlObservation>) -> Self {
        let mut results = Vec::with_capacity(observations.len());
        let mut rounds: Vec<Vec<Row>> = Vec::new();
        // The round and the index of the newest row of each URL.
        let mut newest: HashMap<[u8; 32], (usize, usize)> = HashMap::new();
        for (item, observation) in observations.into_iter().enumerate() {
            let row = match Row::new(names, item, observation) {
                Ok(row) => row,
                Err(rejection) => {
                    results.push(rejected(rejection));
                    continue;
                }
            };
            results.push(ObservationResult::default());
            let round = match newest.get(&row.hash) {
                Some((round, index)) if rounds[*round][*index].can_merge(&row) => {
                    rounds[*round][*index].merge(row);
                    continue;
                }
                Some((round, _)) => round + 1,
                None => 0,
            };
            if round == rounds.len() {
                rounds.push(Vec::new());
            }
            newest.insert(row.hash, (round, rounds[round].len()));
            rounds[round].push(row);
        }
        Self { results, rounds }
    }

    /// Saves the valid items. Returns one result an item, in the order sent.
    pub(super) async fn save(self, store: &Store, company_id: i64) -> Result<Vec<ObservationResult>, Error> {
        let Self { mut results, rounds } = self;
        for mut rows in rounds {
            // Every statement locks URLs in this order, so that two that cross do not deadlock.
            rows.sort_unstable_by_key(|row| row.hash);
            for (row, result) in store.save(company_id, rows).await? {
                for (index, item) in row.items.iter().enumerate() {
                    results[*item] = match result {
                        Some((id, created)) => saved(id, created && index == 0),
                        None => rejected(affiliate_not_found(&row)),
                    };
                }
            }
        }
        Ok(results)
    }
}

fn names_of(observation: &UrlObservation) -> impl Iterator<Item = NameRef<'_>> {
    names::of_record(observation).chain(observation.infractions.iter().map(names::of_infraction))
}

fn saved(id: i64, created: bool) -> ObservationResult {
    let msg = if created { "URL added." } else { "URL updated." };
    ObservationResult {
        code: ResultCode::Saved.into(),
        url_id: Some(id),
        created,
        violations: Vec::new(),
        msg: msg.to_owned(),
    }
}

fn rejected(rejection: Rejection) -> ObservationResult {
    let Rejection { code, violations, msg } = rejection;
    ObservationResult { code: code.into(), url_id: None, created: false, violations, msg }
}

fn affiliate_not_found(row: &Row) -> Rejection {
    let field = row.affiliate.as_ref().map_or("affiliate_id", AffiliateRef::field);
    Rejection::not_found(Violations::one(field, AFFILIATE_NOT_FOUND))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observation(url: &str) -> UrlObservation {
        UrlObservation { url: Some(url.to_owned()), ..UrlObservation::default() }
    }

    #[test]
    fn observations_of_one_url_are_merged_unless_one_could_fail_alone() {
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
        let chunk = Chunk::merge(&CompanyNames::default(), items);
        let items: Vec<Vec<&[usize]>> =
            chunk.rounds.iter().map(|round| round.iter().map(|row| row.items.as_slice()).collect()).collect();
        assert_eq!(items, [vec![&[0, 2][..], &[1]], vec![&[3, 4]], vec![&[5]]]);
        assert_eq!(chunk.results[6].violations[0].field, "url");
    }
}

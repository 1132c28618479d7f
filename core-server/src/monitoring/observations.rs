//! Observations of URLs: checked, merged to one row a URL, and saved by one statement a chunk.

mod row;
mod store;
mod stream;

use std::collections::HashMap;

use compliance_api::{error::Error, rules::Violations, v1::UrlObservation};

pub(super) use self::{
    row::INPUT,
    stream::{Acknowledgements, Streams},
};
use self::{row::Row, store::Saved};
use super::{
    changes::AFFILIATE_NOT_FOUND,
    context::Context,
    items::{Items, Outcome},
    names::{self, CompanyNames, NameRef},
};

/// Observations that are ready to be saved.
pub(super) struct Chunk {
    items: Items<()>,
    /// The rows of valid items, in rounds that are saved one after the other; no two of a round are of the same URL.
    rounds: Vec<Vec<Row>>,
}

impl Chunk {
    /// Checks observations and merges those of the same URL.
    pub(super) async fn prepare(
        context: &Context,
        company_id: i64,
        observations: Vec<UrlObservation>,
    ) -> Result<Self, Error> {
        let names = context.names.of(company_id, observations.iter().flat_map(names_of)).await?;
        Ok(Self::merge(&names, observations))
    }

    /// How many observations it has.
    fn items(&self) -> usize {
        self.items.valid.len()
    }

    fn merge(names: &CompanyNames, observations: Vec<UrlObservation>) -> Self {
        let items = Items::check(observations, |violations, item| Row::new(names, violations, item));
        let (rows, items) = items.split();
        let mut rounds: Vec<Vec<Row>> = Vec::new();
        // The round and the index of the newest row of each URL.
        let mut newest: HashMap<[u8; 32], (usize, usize)> = HashMap::new();
        for (item, mut row) in rows.into_iter().enumerate() {
            row.items.push(item);
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
        Self { items, rounds }
    }

    /// Saves the valid items. Returns one outcome an item, in the order sent.
    pub(super) async fn save(self, context: &Context, company_id: i64) -> Result<Vec<Outcome>, Error> {
        let mut outcomes = vec![Outcome::default(); self.items.valid.len()];
        for mut rows in self.rounds {
            // Every statement locks URLs in this order, so that two that cross do not deadlock.
            rows.sort_unstable_by_key(|row| row.hash);
            for (row, saved) in store::save(context, company_id, rows).await? {
                for (index, item) in row.items.iter().enumerate() {
                    outcomes[*item] = outcome(&row, &saved, index == 0);
                }
            }
        }
        self.items.outcomes(outcomes, |(), outcome| Ok(outcome))
    }
}

fn names_of(observation: &UrlObservation) -> impl Iterator<Item = NameRef<'_>> {
    names::of_record(observation).chain(observation.infractions.iter().map(names::of_infraction))
}

fn outcome(row: &Row, saved: &Saved, is_first: bool) -> Outcome {
    match saved.url_id {
        Some(id) if saved.created && is_first => Outcome::saved(id, true, "URL added."),
        Some(id) => Outcome::saved(id, false, "URL updated."),
        None => {
            let field = row.observation.affiliate_field().unwrap_or("affiliate_id");
            Outcome::not_found(Violations::one(field, AFFILIATE_NOT_FOUND))
        }
    }
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
        let outcomes = chunk.items.outcomes([(); 6], |(), ()| Ok(Outcome::default())).unwrap();
        assert_eq!(outcomes[6].violations.iter().next().unwrap().path, "url");
    }
}

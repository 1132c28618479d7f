//! Observations of URLs: checked, merged to one row a URL, and saved by one statement a chunk.

mod affiliates;
mod row;
mod store;
mod stream;

use std::collections::HashMap;

use compliance_api::{error::Error, rules::Violations, v1::UrlObservation};

use self::{affiliates::Found, row::Row, store::Saved};
pub(super) use self::{
    row::INPUT,
    stream::{Acknowledgements, Streams},
};
use super::{
    changes::AFFILIATE_NOT_FOUND,
    context::Context,
    items::{Items, Outcome},
    names::{self, CompanyNames, NameRef},
};

/// Observations that are ready to be saved.
pub(super) struct Chunk {
    items: Items<()>,
    /// One row for each URL of the valid items.
    rows: Vec<Row>,
    /// The indexes, among the valid items, of those whose affiliate is known not to exist, with their outcomes.
    rejected: Vec<(usize, Outcome)>,
}

impl Chunk {
    /// Checks observations and merges those of the same URL.
    pub(super) async fn prepare(
        context: &Context,
        company_id: i64,
        observations: Vec<UrlObservation>,
    ) -> Result<Self, Error> {
        let names = context.names.of(company_id, observations.iter().flat_map(names_of)).await?;
        let (rows, items) = Self::check(&names, observations);
        // The affiliate of an item may be unknown, which is the failure of that item alone. Items of one URL with the same
        // affiliate fail together. The affiliates of others are looked up before they are merged.
        let found =
            if has_several_affiliates(&rows) { Some(Found::look_up(context, company_id, &rows).await?) } else { None };
        Ok(Self::merge(rows, items, |row| found.as_ref().is_none_or(|found| found.contains(row))))
    }

    /// How many observations it has.
    fn items(&self) -> usize {
        self.items.valid.len()
    }

    fn check(names: &CompanyNames, observations: Vec<UrlObservation>) -> (Vec<Row>, Items<()>) {
        Items::check(observations, |violations, item| Row::new(names, violations, item)).split()
    }

    fn merge(all: Vec<Row>, items: Items<()>, has_affiliate: impl Fn(&Row) -> bool) -> Self {
        let (mut rows, mut rejected): (Vec<Row>, _) = (Vec::new(), Vec::new());
        let mut indexes: HashMap<[u8; 32], usize> = HashMap::new();
        for (item, mut row) in all.into_iter().enumerate() {
            if !has_affiliate(&row) {
                rejected.push((item, unknown_affiliate(&row)));
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
        Self { items, rows, rejected }
    }

    /// Saves the valid items. Returns one outcome an item, in the order sent.
    pub(super) async fn save(self, context: &Context, company_id: i64) -> Result<Vec<Outcome>, Error> {
        let mut outcomes = vec![Outcome::default(); self.items.valid.len()];
        for (item, outcome) in self.rejected {
            outcomes[item] = outcome;
        }
        let mut rows = self.rows;
        // Every statement locks URLs in this order, so that two that cross do not deadlock.
        rows.sort_unstable_by_key(|row| row.hash);
        for (row, saved) in store::save(context, company_id, rows).await? {
            for (index, item) in row.items.iter().enumerate() {
                outcomes[*item] = outcome(&row, &saved, index == 0);
            }
        }
        self.items.outcomes(outcomes, |(), outcome| Ok(outcome))
    }
}

/// Whether rows of one URL name different affiliates.
fn has_several_affiliates(rows: &[Row]) -> bool {
    let mut affiliates = HashMap::new();
    rows.iter().any(|row| {
        let affiliate = row.affiliate();
        *affiliates.entry(row.hash).or_insert_with(|| affiliate.clone()) != affiliate
    })
}

fn names_of(observation: &UrlObservation) -> impl Iterator<Item = NameRef<'_>> {
    names::of_record(observation).chain(observation.infractions.iter().map(names::of_infraction))
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
        let (rows, items) = Chunk::check(&CompanyNames::default(), items);
        assert!(has_several_affiliates(&rows) && !has_several_affiliates(&rows[..3]));
        let chunk = Chunk::merge(rows, items, |row| row.affiliate().is_none_or(|(_, id)| id == "5"));
        let merged: Vec<&[usize]> = chunk.rows.iter().map(|row| row.items.as_slice()).collect();
        assert_eq!(merged, [&[0, 2, 3, 5][..], &[1]]);
        let record = &chunk.rows[0].observation.record;
        assert_eq!((record.affiliate_id, record.note.as_deref()), (Some(5), Some("4")));
        assert_eq!((chunk.rejected[0].0, chunk.rejected[0].1.code), (4, ResultCode::NotFound));
        let renamed = UrlObservation { client_affiliate_id: Some("C".into()), ..with(None, None) };
        let cleared = UrlObservation { clear: vec!["affiliate_id".to_owned()], ..with(None, None) };
        for (later, affiliate, cleared) in [(renamed, Some("C"), &[][..]), (cleared, None, &["affiliate_id"][..])] {
            let (rows, items) = Chunk::check(&CompanyNames::default(), vec![with(Some(5), None), later]);
            let observation = &Chunk::merge(rows, items, |_| true).rows[0].observation;
            assert_eq!(observation.record.affiliate_id, None);
            assert_eq!(
                (observation.record.client_affiliate_id.as_deref(), &*observation.cleared),
                (affiliate, cleared)
            );
        }
        let outcomes = chunk.items.outcomes([(); 6], |(), ()| Ok(Outcome::default())).unwrap();
        assert_eq!(outcomes[6].violations.iter().next().unwrap().path, "url");
    }
}

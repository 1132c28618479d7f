//! Compares the database with the clients' writes.

use std::{
    collections::HashMap,
    fmt::{self, Display, Formatter},
};

use sqlx::{Connection as _, PgConnection};

use super::client::Model;
use crate::{
    calls::{self, Side},
    programs::token_of,
    witness::until_quiet,
};

/// Result of the audit.
#[derive(Default)]
pub(super) struct Audit {
    /// Number of acknowledged values.
    pub(super) acknowledged: usize,
    /// Number of written values without an acknowledgement.
    unacknowledged: usize,
    lost: usize,
    doubled: usize,
    out_of_order: usize,
    pub(super) violations: Vec<String>,
}

impl Display for Audit {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { acknowledged, unacknowledged, lost, doubled, out_of_order, .. } = self;
        write!(
            f,
            "acknowledged values {acknowledged} (and {unacknowledged} written without an acknowledgement) | lost {lost} | \
             doubled {doubled} | out of order {out_of_order}"
        )
    }
}

/// Selects the current records as witness rows. Records written once have no newer value.
const RECORDS: &str = "
select company_id, 'notes of ' || id as key, notes as value from affiliates where notes is not null
union all select company_id, 'affiliate ' || affiliate_name, client_affiliate_id from affiliates where company_id < 100
union all select company_id, case when note is null then 'url ' else 'note of ' end || url, coalesce(note, '') from compliance_urls";

pub(super) async fn audit(database: &str, sides: &[Side], models: Vec<Model>) -> Audit {
    let mut connection = PgConnection::connect(database).await.unwrap();
    until_quiet(&mut connection).await;
    let noted = "select company_id, key, value from witness where company_id < 100 order by n";
    let noted: Vec<(i64, String, String)> = sqlx::query_as(noted).fetch_all(&mut connection).await.unwrap();
    let mut written: HashMap<(i64, String), Vec<String>> = HashMap::new();
    for (company, key, value) in noted {
        written.entry((company, key)).or_default().push(value);
    }
    let records: Vec<(i64, String, String)> = sqlx::query_as(RECORDS).fetch_all(&mut connection).await.unwrap();
    let mut audit = Audit::default();
    let mut last: HashMap<(i64, String), String> = HashMap::new();
    for (company, key, value) in records {
        if last.insert((company, key.clone()), value).is_some() {
            audit.doubled += 1;
            audit.violations.push(format!("company {company} has two records for {key}"));
        }
    }
    for (key, sent) in models.into_iter().flatten() {
        let values = written.remove(&key).unwrap_or_default();
        audit.key(&key, &sent, &values);
        if last.remove(&key).as_ref() != values.last() {
            audit.lost += 1;
            audit.violations.push(format!("{key:?} does not contain the last written value, {:?}", values.last()));
        }
    }
    for (key, _) in written {
        audit.violations.push(format!("{key:?} was written but never sent"));
    }
    let urls = "select company_id, count(*) from compliance_urls group by 1";
    let urls: Vec<(i64, i64)> = sqlx::query_as(urls).fetch_all(&mut connection).await.unwrap();
    for (side, (company, count)) in sides.iter().flat_map(|side| urls.iter().map(move |of| (side, of))) {
        let total = calls::total_of_urls(side, &token_of(*company)).await.unwrap();
        if total != *count {
            audit
                .violations
                .push(format!("company {company} has {count} URLs, but its list reports a total of {total}"));
        }
    }
    audit
}

impl Audit {
    /// Compares the values sent for a key with the values written for it, in order.
    fn key(&mut self, key: &(i64, String), sent: &[(String, bool)], written: &[String]) {
        let mut wrong = |what: String| self.violations.push(format!("{key:?}: {what}"));
        let positions: Vec<Option<usize>> =
            written.iter().map(|value| sent.iter().position(|(other, _)| other == value)).collect();
        for (value, position) in written.iter().zip(&positions) {
            if position.is_none() {
                wrong(format!("{value} was never sent"));
            }
        }
        for pair in positions.windows(2) {
            // `MonitoringService` writes are idempotent, so the client repeats them after a lost connection.
            let is_repeated = pair[0] == pair[1];
            if is_repeated && !key.1.starts_with("note of ") {
                self.doubled += 1;
                wrong(format!("{pair:?} was written twice"));
            } else if pair[0] > pair[1] {
                self.out_of_order += 1;
                wrong(format!("{:?} was written after {:?}", sent[pair[1].unwrap()], sent[pair[0].unwrap()]));
            }
        }
        for (position, (value, is_acknowledged)) in sent.iter().enumerate() {
            let is_written = positions.contains(&Some(position));
            self.acknowledged += usize::from(*is_acknowledged);
            self.unacknowledged += usize::from(is_written && !is_acknowledged);
            if *is_acknowledged && !is_written {
                self.lost += 1;
                wrong(format!("{value} was acknowledged but not written"));
            }
        }
    }
}

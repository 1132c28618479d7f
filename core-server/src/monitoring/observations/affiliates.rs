//! The affiliates that observations name.

use std::collections::HashSet;

use compliance_api::error::Error;

use super::row::Row;
use crate::{database, error::from_database, monitoring::context::Context};

/// The affiliates that were found, by ID and by the client's own identifier.
pub(super) struct Found {
    ids: HashSet<i64>,
    client_ids: HashSet<String>,
}

/// An affiliate that was found.
struct Affiliate {
    affiliate_id: Option<i64>,
    client_affiliate_id: Option<String>,
}

impl Found {
    /// Looks for the affiliates of rows.
    pub(super) async fn look_up(context: &Context, company_id: i64, rows: &[Row]) -> Result<Self, Error> {
        let ids: HashSet<i64> = rows.iter().filter_map(|row| row.observation.record.affiliate_id).collect();
        let client_ids: HashSet<&str> =
            rows.iter().filter_map(|row| row.observation.record.client_affiliate_id.as_deref()).collect();
        let (ids, client_ids): (Vec<_>, Vec<_>) = (ids.into_iter().collect(), client_ids.into_iter().collect());
        let found = database::read(|| {
            let (ids, client_ids) = (&ids, &client_ids);
            sqlx::query_file_as!(
                Affiliate,
                "src/monitoring/observations/affiliates.sql",
                company_id,
                ids,
                client_ids as _
            )
            .fetch_all(&context.pool)
        });
        let (mut ids, mut client_ids) = (HashSet::new(), HashSet::new());
        for affiliate in found.await.map_err(|error| from_database(&error))? {
            ids.extend(affiliate.affiliate_id);
            client_ids.extend(affiliate.client_affiliate_id);
        }
        Ok(Self { ids, client_ids })
    }

    /// Whether the affiliate of a row was found, or the row names none.
    pub(super) fn contains(&self, row: &Row) -> bool {
        let record = &row.observation.record;
        row.affiliate().is_none()
            || record.affiliate_id.is_some_and(|id| self.ids.contains(&id))
            || record.client_affiliate_id.as_deref().is_some_and(|id| self.client_ids.contains(id))
    }
}

//! Creation of one affiliate: concurrent requests, of all companies together, become one statement.

use std::sync::{Arc, LazyLock};

use compliance_api::v1::AffiliateInput;
use sqlx::PgConnection;

use super::{
    create::Created,
    input::{INPUT, Input},
};
use crate::{
    table::{self, Layouts},
    writes::Write,
};

/// Inserts affiliates in the order in which they come, as the statement for one company does. `$1` are their companies.
static CREATE: LazyLock<&'static str> = LazyLock::new(|| {
    format!(
        "with numbered as materialized (
            select array_agg(nextval('affiliates_id_seq')) as ids
            from generate_series(1, cardinality($2::affiliate_input[]))
        ), inserted as (
            insert into affiliates (company_id, id, {names})
            select ($1::bigint[])[input.ordinality], (select ids from numbered)[input.ordinality], {values}
            from unnest($2) with ordinality as input
            on conflict (company_id, affiliate_name) where affiliate_name is not null do nothing
            returning id
        )
        select ids, array(select id from inserted) as inserted from numbered",
        names = table::names::<AffiliateInput>(),
        values = table::values::<AffiliateInput>("input"),
    )
    .leak()
});

/// The statement, with the types of its parameters.
pub(super) fn statement() -> (&'static str, &'static str) {
    (*CREATE, "bigint[], affiliate_input[]")
}

/// Creates single affiliates.
pub(super) struct CreateOne;

/// An affiliate to be created.
pub(super) struct NewAffiliate {
    pub(super) company_id: i64,
    pub(super) input: Input,
}

impl Write for CreateOne {
    type Item = NewAffiliate;
    /// The ID of the affiliate, if it was created.
    type Written = Option<i64>;
    type Key = ();
    const NAME: &'static str = "writes of new affiliates";

    fn company(item: &NewAffiliate) -> i64 {
        item.company_id
    }

    /// Of two equal names the first is created, in one statement as in two.
    fn keys(_: &NewAffiliate) -> Vec<()> {
        Vec::new()
    }

    async fn write(
        &self,
        connection: &mut PgConnection,
        layouts: Arc<Layouts>,
        items: &[&NewAffiliate],
    ) -> Result<Vec<Option<i64>>, sqlx::Error> {
        // Names are inserted in the order of their bytes, so that two statements that cross do not wait for each other.
        let mut order: Vec<usize> = (0..items.len()).collect();
        order.sort_by_key(|index| (items[*index].company_id, items[*index].input.fields.affiliate_name()));
        let companies: Vec<i64> = order.iter().map(|index| items[*index].company_id).collect();
        let inputs: Vec<&Input> = order.iter().map(|index| &items[*index].input).collect();
        let query = sqlx::query_as(*CREATE).bind(companies).bind(INPUT.batch(&layouts, &inputs));
        let Created { ids, inserted } = query.fetch_one(connection).await?;
        let mut written = vec![None; items.len()];
        for id in inserted {
            // A sequence only grows.
            if let Some(index) = ids.binary_search(&id).ok().and_then(|position| order.get(position)) {
                written[*index] = Some(id);
            }
        }
        Ok(written)
    }
}

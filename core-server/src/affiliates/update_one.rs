//! Updates of one affiliate: concurrent requests, of all companies together, become one statement.

use std::sync::{Arc, LazyLock};

use compliance_api::{
    record::{Field, Record as _},
    v1::AffiliateInput,
};
use sqlx::PgConnection;

use super::{
    in_order::{Applied, NAME},
    input::{INPUT, Input},
};
use crate::{
    table::{self, Layouts},
    writes::Write,
};

/// Locks affiliates in the order of companies and IDs, and changes those whose new name is free, as the statement for one
/// company does. `$1` are their companies.
static UPDATE: LazyLock<&'static str> = LazyLock::new(|| {
    format!(
        "with resolved as materialized (
            select i.ordinality, i.company_id, i.key, i.mask, a.id is not null as found, t.id as holder, {merged}
            from (
                select i.*, ($1::bigint[])[i.ordinality] as company_id
                from unnest($2::affiliate_input[]) with ordinality as i
                order by company_id, i.key
            ) i
            left join lateral (
                select a.* from affiliates a where a.company_id = i.company_id and a.id = i.key for no key update
            ) a on true
            left join lateral (
                select t.id from affiliates t
                where t.company_id = i.company_id and t.affiliate_name = i.affiliate_name and t.id <> i.key
                    and i.mask & {name_bit} <> 0
                limit 1
            ) t on true
        ), written as (
            insert into affiliates (company_id, id, {names})
            select r.company_id, r.key, {names} from resolved r
            where r.found and r.mask <> 0 and r.holder is null
            order by r.company_id, r.key
            on conflict on constraint affiliates_pkey do update set {replacements}
        )
        select found, holder from resolved order by ordinality",
        names = table::names::<AffiliateInput>(),
        merged = table::merged::<AffiliateInput>("i.mask", "i", "a"),
        replacements = table::replacements::<AffiliateInput>(),
        name_bit = AffiliateInput::field(NAME).map_or(0, Field::bit),
    )
    .leak()
});

/// The statement, with the types of its parameters.
pub(super) fn statement() -> (&'static str, &'static str) {
    (*UPDATE, "bigint[], affiliate_input[]")
}

/// Updates single affiliates.
pub(super) struct UpdateOne;

/// A change of an affiliate.
pub(super) struct Change {
    pub(super) company_id: i64,
    pub(super) input: Input,
}

/// What one statement can do only once.
#[derive(PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// Change an affiliate of a company.
    Affiliate(i64, i64),
    /// Give a name to an affiliate of a company.
    Name(i64, String),
}

impl Write for UpdateOne {
    type Item = Change;
    type Written = Applied;
    type Key = Key;
    const NAME: &'static str = "writes of changed affiliates";

    fn company(item: &Change) -> i64 {
        item.company_id
    }

    fn keys(Change { company_id, input }: &Change) -> Vec<Key> {
        let name = input.new_name().map(|name| Key::Name(*company_id, name.to_owned()));
        [Some(Key::Affiliate(*company_id, input.key)), name].into_iter().flatten().collect()
    }

    async fn write(
        &self,
        connection: &mut PgConnection,
        layouts: Arc<Layouts>,
        items: &[&Change],
    ) -> Result<Vec<Applied>, sqlx::Error> {
        let companies: Vec<i64> = items.iter().map(|item| item.company_id).collect();
        let inputs: Vec<&Input> = items.iter().map(|item| &item.input).collect();
        let query = sqlx::query_as(*UPDATE).bind(companies).bind(INPUT.batch(&layouts, &inputs));
        let outcomes: Vec<(bool, Option<i64>)> = query.fetch_all(connection).await?;
        let outcomes = inputs.into_iter().zip(outcomes);
        Ok(outcomes.map(|(input, (found, holder))| Applied::new(input, found, holder)).collect())
    }
}

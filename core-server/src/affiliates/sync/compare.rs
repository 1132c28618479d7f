//! Compares items with the affiliates that have their identifiers.

use std::sync::LazyLock;

use compliance_api::{
    error::Error,
    record::{Record as _, RecordField},
    v1::AffiliateInput,
};
use storage::{
    database::{self, Connections},
    error::from_database,
};

use crate::{
    affiliates::{
        in_order::NAME,
        input::{INPUT, Input},
    },
    limits::MAX_CONFLICTS,
};

/// For each item, the affiliates of the company with its identifier, at most a few, and the fields that differ. Of an item that gets
/// a name, the affiliate that has it. Both are read by a key that the planner cannot replace by a scan.
pub(in crate::affiliates) static COMPARE: LazyLock<&'static str> = LazyLock::new(|| {
    let changed = AffiliateInput::FIELDS.iter().map(|field| {
        let (column, bit) = (field.column.name, field.bit());
        format!("case when i.mask & {bit} <> 0 and i.{column} is distinct from a.{column} then {bit} else 0 end")
    });
    format!(
        "select coalesce(a.ids, '{{}}') as ids, coalesce(a.revision, 0) as revision, coalesce(a.changed, i.mask) as changed,
            case when a.changed & {name_bit} <> 0 then a.name end as old_name, t.id as holder
        from unnest($2::affiliate_input[]) with ordinality as i
        left join lateral (
            select array_agg(a.id) as ids, min(a.revision) as revision, min(a.changed) as changed, min(a.affiliate_name) as name
            from (
                select a.id, a.revision, a.affiliate_name, ({changed})::bigint as changed from affiliates a
                where a.company_id = $1 and a.client_affiliate_id = i.client_affiliate_id
                order by a.id limit {MAX_CONFLICTS}
            ) a
        ) a on true
        left join lateral (
            select t.id from affiliates t
            where t.company_id = $1 and t.affiliate_name = i.affiliate_name
                and coalesce(a.changed, i.mask) & {name_bit} <> 0
            limit 1
        ) t on true
        order by i.ordinality",
        changed = changed.collect::<Vec<_>>().join(" | "),
        name_bit = AffiliateInput::field(NAME).map_or(0, RecordField::bit),
    )
    .leak()
});

/// What was found for an item.
#[derive(sqlx::FromRow)]
pub(super) struct Found {
    /// The affiliates with its identifier.
    pub(super) ids: Vec<i64>,
    /// The revision of the affiliate.
    pub(super) revision: i64,
    /// A bit for each field that differs; of a new affiliate, for each that it has.
    pub(super) changed: i64,
    /// The name of the affiliate, if that differs.
    pub(super) old_name: Option<String>,
    /// The affiliate that has the name that this one gets.
    pub(super) holder: Option<i64>,
}

/// What was found for each item, in their order.
pub(super) async fn compare(pool: &Connections, company_id: i64, inputs: &[&Input]) -> Result<Vec<Found>, Error> {
    let layouts = pool.layouts();
    let read = async |pool: Connections| {
        let query = sqlx::query_as(*COMPARE).bind(company_id).bind(INPUT.batch(&layouts, inputs));
        query.fetch_all(&pool).await
    };
    database::read(pool, read).await.map_err(from_database)
}

//! Compares items with the affiliates that have their identifiers.

use std::sync::LazyLock;

use compliance_api::{
    error::Error,
    record::{FieldSet, Record as _, RecordField},
    v1::AffiliateInput,
};

use crate::{
    affiliates::{
        in_order::NAME,
        input::{INPUT, Input},
    },
    database::{self, Connections},
    error::from_database,
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
        "select i.ordinality, a.id, a.revision, a.changed, t.id as holder,
            case when a.changed & {name_bit} <> 0 then a.affiliate_name end as old_name
        from unnest($2::affiliate_input[]) with ordinality as i
        left join lateral (
            select a.id, a.revision, a.affiliate_name, ({changed})::bigint as changed from affiliates a
            where a.company_id = $1 and a.client_affiliate_id = i.client_affiliate_id
            order by a.id limit {MAX_CONFLICTS}
        ) a on true
        left join lateral (
            select t.id from affiliates t
            where t.company_id = $1 and t.affiliate_name = i.affiliate_name
                and i.mask & {name_bit} <> 0 and (a.changed & {name_bit}) is distinct from 0
            limit 1
        ) t on true",
        changed = changed.collect::<Vec<_>>().join(" | "),
        name_bit = AffiliateInput::field(NAME).map_or(0, RecordField::bit),
    )
    .leak()
});

/// An affiliate that has the identifier of an item.
pub(super) struct Found {
    pub(super) id: i64,
    pub(super) revision: i64,
    /// A bit for each field that differs.
    pub(super) changed: i64,
    /// Its name, if that differs.
    pub(super) old_name: Option<String>,
}

impl Found {
    pub(super) fn changes(&self) -> FieldSet<AffiliateInput> {
        AffiliateInput::FIELDS.iter().filter(|field| self.changed & field.bit() != 0).collect()
    }
}

/// What was found for an item: the affiliates with its identifier, and the one that has the name that it gives.
#[derive(Default)]
pub(super) struct Compared {
    pub(super) found: Vec<Found>,
    pub(super) holder: Option<i64>,
}

#[derive(sqlx::FromRow)]
struct Row {
    ordinality: i64,
    id: Option<i64>,
    revision: Option<i64>,
    changed: Option<i64>,
    holder: Option<i64>,
    old_name: Option<String>,
}

/// What was found for each item, in their order.
pub(super) async fn compare(pool: &Connections, company_id: i64, inputs: &[&Input]) -> Result<Vec<Compared>, Error> {
    let layouts = pool.layouts();
    let read = async |pool: Connections| {
        let query = sqlx::query_as(*COMPARE).bind(company_id).bind(INPUT.batch(&layouts, inputs));
        query.fetch_all(&pool).await
    };
    let rows: Vec<Row> = database::read(pool, read).await.map_err(from_database)?;
    let mut compared: Vec<Compared> = inputs.iter().map(|_| Compared::default()).collect();
    for Row { ordinality, id, revision, changed, holder, old_name } in rows {
        let Some(item) = usize::try_from(ordinality - 1).ok().and_then(|index| compared.get_mut(index)) else {
            continue;
        };
        item.holder = item.holder.or(holder);
        if let (Some(id), Some(revision), Some(changed)) = (id, revision, changed) {
            item.found.push(Found { id, revision, changed, old_name });
        }
    }
    Ok(compared)
}

//! The items of a roster, and the comparison with the affiliates that have their identifiers.

use std::sync::LazyLock;

use compliance_api::{
    error::Error,
    record::{FieldSet, Record as _, RecordField},
    rules::{Violations, check},
    v1::{AffiliateInput, AffiliateSync},
};
use storage::{
    database::{self, Connections},
    error::from_database,
    template::fill,
};

use crate::affiliates::{
    in_order::NAME,
    input::{INPUT, Input},
};

/// Maximum number of affiliates with one identifier that a result names.
const MAX_CONFLICTS: i64 = 10;

pub(super) const IDENTIFIER: &str = "client_affiliate_id";

/// An item of a roster.
pub(super) struct Item {
    /// Has the fields of the roster only.
    pub(super) input: Input,
    pub(super) violations: Violations,
}

impl Item {
    pub(super) fn new(company_id: i64, mut item: AffiliateSync) -> Self {
        let fields = item.affiliate.get_or_insert_default();
        let mask = item.update_mask.get_or_insert_with(|| FieldSet::given(&*fields).to_mask());
        mask.paths.push(IDENTIFIER.to_owned());
        let mask = FieldSet::of_mask(mask);
        let violations = check(&item);
        let mut fields = item.affiliate.unwrap_or_default();
        for field in AffiliateInput::FIELDS.iter().filter(|field| !mask.contains(field)) {
            field.clear(&mut fields);
        }
        Self { input: Input::new(company_id, 0, fields, mask), violations }
    }
}

/// An item to be written, and what was found for it.
pub(super) struct RosterUpdate<'i> {
    /// Its index in the batch, and its position in the roster.
    pub(super) index: usize,
    pub(super) position: i64,
    pub(super) input: &'i Input,
    pub(super) found: Found,
}

impl RosterUpdate<'_> {
    /// The affiliate to change. `None` if one is created.
    pub(super) fn id(&self) -> Option<i64> {
        self.found.ids.first().copied()
    }

    /// Fields that differ, or all given fields of a new affiliate.
    pub(super) fn fields(&self) -> FieldSet<AffiliateInput> {
        AffiliateInput::FIELDS.iter().filter(|field| self.found.changed & field.bit() != 0).collect()
    }

    /// The new name of the affiliate, if it changes.
    pub(super) fn name(&self) -> Option<&str> {
        self.input.fields.affiliate_name.as_deref().filter(|_| self.fields().names(NAME))
    }

    /// The update, at the revision that was found.
    pub(super) fn update(&self) -> Input {
        let Input { company_id, fields, .. } = self.input;
        let update = Input::new(*company_id, self.id().unwrap_or_default(), fields.clone(), self.fields());
        Input { revisions: Some(vec![self.found.revision]), ..update }
    }
}

pub(in crate::affiliates) static COMPARE: LazyLock<&'static str> = LazyLock::new(|| {
    let changed = AffiliateInput::FIELDS.iter().map(|field| {
        let (column, bit) = (field.column.name, field.bit());
        format!("case when i.mask & {bit} <> 0 and i.{column} is distinct from a.{column} then {bit} else 0 end")
    });
    let parts = [
        ("changed", &*changed.collect::<Vec<_>>().join(" | ")),
        ("name_bit", &AffiliateInput::field(NAME).map_or(0, RecordField::bit).to_string()),
        ("most", &MAX_CONFLICTS.to_string()),
    ];
    fill(include_str!("compare.sql"), &parts).leak()
});

/// What was found for an item.
#[derive(sqlx::FromRow)]
pub(super) struct Found {
    /// The affiliates with its identifier.
    pub(super) ids: Vec<i64>,
    /// The revision of the affiliate.
    pub(super) revision: i64,
    /// A bit for each field that differs. For a new affiliate, for each given field.
    pub(super) changed: i64,
    /// The current name of the affiliate, if it differs.
    pub(super) old_name: Option<String>,
    /// The affiliate that has the new name.
    pub(super) holder: Option<i64>,
}

/// Returns what was found for each item, in order.
pub(super) async fn compare(pool: &Connections, company_id: i64, inputs: &[&Input]) -> Result<Vec<Found>, Error> {
    let layouts = pool.layouts();
    let read = async |pool: Connections| {
        let query = sqlx::query_as(*COMPARE).bind(company_id).bind(INPUT.batch(&layouts, inputs));
        query.fetch_all(&pool).await
    };
    database::read(pool, read).await.map_err(from_database)
}

//! Infractions: recorded on URLs and withdrawn.

use std::{
    collections::HashSet,
    sync::{Arc, LazyLock},
};

use compliance_api::{
    error::Error,
    rules::Violations,
    v1::{InfractionInput, UrlInfraction},
};
use futures::FutureExt as _;
use time::OffsetDateTime;

use super::{
    context::Context,
    items::{Items, Outcome},
    names::{self, CompanyNames, InfractionIds},
    url_ref::{URL_NOT_FOUND, read_url},
};
use crate::{
    database::Connections,
    table::{Attribute, Composite, Layouts},
};

/// What is done with infractions.
#[derive(Clone, Copy)]
pub(super) enum Action {
    /// They are recorded.
    Record,
    /// They are withdrawn.
    Withdraw,
}

/// An infraction, checked.
#[derive(Debug)]
pub(super) struct Infraction {
    /// The URL by its ID.
    url_id: Option<i64>,
    /// The URL by its hash. Within an observation there is neither.
    url_hash: Option<[u8; 32]>,
    ids: InfractionIds,
    created_date: Option<OffsetDateTime>,
}

/// The input type of infractions.
pub(super) static INPUT: LazyLock<Composite<Infraction>> = LazyLock::new(|| {
    let attributes = [
        Attribute::scalar("url_id", |infraction: &Infraction| infraction.url_id),
        Attribute::bytes("url_hash", |infraction: &Infraction| infraction.url_hash.as_ref().map(<[u8; 32]>::as_slice)),
        Attribute::scalar("infraction_type_id", |infraction: &Infraction| infraction.ids.type_id),
        Attribute::scalar("infraction_name_id", |infraction: &Infraction| infraction.ids.name_id),
        Attribute::scalar("created_date", |infraction: &Infraction| infraction.created_date),
    ];
    Composite::new("infraction_input", attributes)
});

/// What became of an item: of two items of the same infraction, the same for both.
struct Applied {
    url_id: Option<i64>,
    changed: bool,
}

/// Records infractions or withdraws them. Returns one outcome an item, in the order sent.
pub(super) async fn apply(
    context: &Context,
    company_id: i64,
    action: Action,
    infractions: Vec<UrlInfraction>,
) -> Result<Vec<Outcome>, Error> {
    let used = infractions.iter().filter_map(|item| item.infraction.as_ref()).map(names::of_infraction);
    let names = context.names.of(company_id, used).await?;
    let items = Items::check(infractions, |violations, item| Infraction::new(&names, violations, item));
    let rows = run(context, company_id, action, &items.valid).await?;
    let mut reported = HashSet::new();
    items.outcomes(rows, |infraction, Applied { url_id, changed }| {
        let Some(url_id) = url_id else {
            let field = if infraction.url_id.is_some() { "url_id" } else { "url" };
            return Ok(Outcome::not_found(Violations::one(field, URL_NOT_FOUND)));
        };
        // Of two items of the same infraction the first reports the change.
        let changed = changed && reported.insert((url_id, infraction.ids));
        let msg = match (action, changed) {
            (Action::Record, true) => "Infraction recorded.",
            (Action::Record, false) => "The infraction was already recorded.",
            (Action::Withdraw, true) => "Infraction withdrawn.",
            (Action::Withdraw, false) => "There was no such infraction.",
        };
        Ok(Outcome::saved(url_id, changed, msg))
    })
}

async fn run(
    context: &Context,
    company_id: i64,
    action: Action,
    infractions: &[Infraction],
) -> Result<Vec<Applied>, Error> {
    let run = |pool: Connections, layouts: Arc<Layouts>| {
        let batch = INPUT.batch(&layouts, infractions);
        match action {
            Action::Record => {
                let record =
                    sqlx::query_file_as!(Applied, "src/monitoring/infractions/record.sql", company_id, batch as _);
                async move { record.fetch_all(&pool).await }.boxed()
            }
            Action::Withdraw => {
                let withdraw =
                    sqlx::query_file_as!(Applied, "src/monitoring/infractions/withdraw.sql", company_id, batch as _);
                async move { withdraw.fetch_all(&pool).await }.boxed()
            }
        }
    };
    context.write(company_id, run).await
}

impl Infraction {
    /// Reads an infraction of a URL, whose rules have been checked.
    fn new(names: &CompanyNames, violations: &mut Violations, item: UrlInfraction) -> Self {
        let UrlInfraction { url_id, url, infraction } = item;
        let url_hash = read_url(violations, "", url_id, url.as_deref());
        let resolved = Self::resolve(names, violations, "", &infraction.unwrap_or_default());
        Self { url_id, url_hash, ..resolved }
    }

    /// Reads the infractions within an observation, whose rules have been checked.
    pub(super) fn within(
        names: &CompanyNames,
        violations: &mut Violations,
        infractions: &[InfractionInput],
    ) -> Vec<Self> {
        let infractions = infractions.iter().enumerate();
        infractions
            .map(|(index, infraction)| Self::resolve(names, violations, &format!("infractions.{index}."), infraction))
            .collect()
    }

    /// An infraction without a URL. The paths of its fields begin with `prefix`.
    fn resolve(names: &CompanyNames, violations: &mut Violations, prefix: &str, infraction: &InfractionInput) -> Self {
        let kind = infraction.infraction_type.as_deref();
        // The rules have reported a missing type.
        let name = infraction.infraction_name.as_deref().filter(|_| kind.is_some_and(|kind| !kind.is_empty()));
        let ids = names.resolve_infraction(violations, prefix, kind, name);
        let created_date = infraction.created_date.as_ref();
        let created_date = created_date.and_then(|date| OffsetDateTime::from_unix_timestamp(date.seconds).ok());
        Self { url_id: None, url_hash: None, ids, created_date }
    }
}

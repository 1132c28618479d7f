//! Records infractions on URLs and withdraws them.

use std::{
    collections::HashSet,
    sync::{Arc, LazyLock},
};

use compliance_api::{
    error::Error,
    rules::Violations,
    v1::{InfractionInput, InfractionResult, UrlInfraction},
};
use time::OffsetDateTime;

use super::{
    context::CompanyWriter,
    items::{Outcome, check_all},
    names::{CompanyNames, InfractionIds},
};
use crate::urls::identity;
use storage::{
    database::Connections,
    statement_context,
    table::{Attribute, Composite, Layouts},
};

/// The message for an unknown URL.
pub(super) const URL_NOT_FOUND: &str = "URL not found.";

#[derive(Clone, Copy)]
pub(super) enum Action {
    Record,
    Withdraw,
}

#[derive(Debug)]
pub(super) struct Infraction {
    url_id: Option<i64>,
    /// The URL's hash. Within an observation, both ID and hash are absent.
    url_hash: Option<[u8; 32]>,
    ids: InfractionIds,
    created_date: Option<OffsetDateTime>,
}

pub(super) static INPUT: LazyLock<Composite<Infraction>> = LazyLock::new(|| {
    let attributes = [
        Attribute::scalar("url_id", |infraction: &Infraction| infraction.url_id),
        Attribute::borrowed("url_hash", |infraction: &Infraction| {
            infraction.url_hash.as_ref().map(<[u8; 32]>::as_slice)
        }),
        Attribute::scalar("infraction_type_id", |infraction: &Infraction| infraction.ids.type_id),
        Attribute::scalar("infraction_name_id", |infraction: &Infraction| infraction.ids.name_id),
        Attribute::scalar("created_date", |infraction: &Infraction| infraction.created_date),
    ];
    Composite::new("infraction_input", attributes)
});

/// The result of an item. Items with the same infraction have the same result.
struct Applied {
    url_id: Option<i64>,
    changed: bool,
}

pub(super) async fn apply(
    company: CompanyWriter<'_>,
    action: Action,
    infractions: Vec<UrlInfraction>,
) -> Result<Vec<InfractionResult>, Error> {
    let given = infractions.iter().filter_map(|item| item.infraction.as_ref());
    let names = company.names(|names| are_known(names, given.clone())).await?;
    let (valid, checked) = check_all(infractions, |violations, item| Infraction::new(&names, violations, item));
    let infractions = valid.as_slice();
    let write = |pool: Connections, layouts: Arc<Layouts>| async move {
        let (batch, writer) = (INPUT.batch(&layouts, infractions), statement_context::writer());
        match action {
            Action::Record => {
                let record = sqlx::query_file_as!(
                    Applied,
                    "src/monitoring/infractions/record.sql",
                    company.id,
                    batch as _,
                    writer
                );
                record.fetch_all(&pool.creating(infractions.len())).await
            }
            Action::Withdraw => {
                let withdraw = sqlx::query_file_as!(
                    Applied,
                    "src/monitoring/infractions/withdraw.sql",
                    company.id,
                    batch as _,
                    writer
                );
                withdraw.fetch_all(&pool).await
            }
        }
    };
    let rows = company.write(write).await?;
    let mut reported = HashSet::new();
    let outcome = |(infraction, Applied { url_id, changed }): (&Infraction, Applied)| {
        let Some(url_id) = url_id else {
            let field = if infraction.url_id.is_some() { "url_id" } else { "url" };
            return Outcome::not_found(Violations::one(field, URL_NOT_FOUND));
        };
        // Only the first of several items with the same infraction reports the change.
        let changed = changed && reported.insert((url_id, infraction.ids));
        let msg = match (action, changed) {
            (Action::Record, true) => "Infraction recorded.",
            (Action::Record, false) => "The infraction was already recorded.",
            (Action::Withdraw, true) => "Infraction withdrawn.",
            (Action::Withdraw, false) => "The URL had no such infraction.",
        };
        Outcome::saved(url_id, changed, msg)
    };
    checked.join(infractions.iter().zip(rows).map(outcome))
}

pub(super) fn are_known<'i>(names: &CompanyNames, mut infractions: impl Iterator<Item = &'i InfractionInput>) -> bool {
    infractions.all(|it| names.knows_infraction(it.infraction_type.as_deref(), it.infraction_name.as_deref()))
}

/// Checks that an item refers to its URL either by ID or by text. Returns the text's hash. The field paths in violations begin with
/// `prefix`.
pub(super) fn read_url(
    violations: &mut Violations,
    prefix: &str,
    url_id: Option<i64>,
    url: Option<&str>,
) -> Option<[u8; 32]> {
    let url = url.filter(|url| !url.is_empty());
    match (url_id, url) {
        (None, None) => {
            let message = |label: &str| format!("The {label} field is required, unless you send {prefix}url_id.");
            violations.report(format!("{prefix}url"), message);
        }
        (Some(_), Some(_)) => {
            violations.report(format!("{prefix}url_id"), |_| "Specify either url_id or url, not both.".to_owned());
        }
        _ => {}
    }
    url.and_then(identity).map(|(hash, _)| hash)
}

impl Infraction {
    /// Converts a validated infraction of a URL.
    fn new(names: &CompanyNames, violations: &mut Violations, item: UrlInfraction) -> Self {
        let UrlInfraction { url_id, url, infraction } = item;
        let url_hash = read_url(violations, "", url_id, url.as_deref());
        let resolved = Self::resolve(names, violations, "", &infraction.unwrap_or_default());
        Self { url_id, url_hash, ..resolved }
    }

    /// Converts the validated infractions of an observation.
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

    /// Converts an infraction without a URL. The field paths in violations begin with `prefix`.
    fn resolve(names: &CompanyNames, violations: &mut Violations, prefix: &str, infraction: &InfractionInput) -> Self {
        let kind = infraction.infraction_type.as_deref();
        // The rules have already reported a missing type.
        let name = infraction.infraction_name.as_deref().filter(|_| kind.is_some_and(|kind| !kind.is_empty()));
        let ids = names.resolve_infraction(violations, prefix, kind, name);
        let created_date = infraction.created_date.as_ref();
        let created_date = created_date.and_then(|date| OffsetDateTime::from_unix_timestamp(date.seconds).ok());
        Self { url_id: None, url_hash: None, ids, created_date }
    }
}

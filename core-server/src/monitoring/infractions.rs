//! Infractions: recorded on URLs and withdrawn.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use compliance_api::{
    error::Error,
    rules::{Violations, check},
    v1::{InfractionInput, InfractionResult, ResultCode, UrlInfraction},
};
use time::OffsetDateTime;

use super::{
    context::Context,
    names::{self, CompanyNames, InfractionIds},
    rejection::{Rejection, violate},
    values::{URL_AMBIGUOUS, URL_NOT_FOUND, instant, non_empty},
};
use crate::{
    table::{Attribute, Composite, Expected},
    urls::identity,
};

/// Infractions in one message.
pub(super) const MAX_INFRACTIONS: usize = 10_000;

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

/// Adds what the statements expect of the database.
pub(super) fn expect(expected: Expected) -> Expected {
    expected.composite(&INPUT)
}

/// What became of an item: of two items of the same infraction, the same for both.
struct Applied {
    position: i64,
    url_id: Option<i64>,
    changed: bool,
}

/// Records infractions or withdraws them. Returns one result an item, in the order sent.
pub(super) async fn apply(
    context: &Context,
    company_id: i64,
    action: Action,
    infractions: Vec<UrlInfraction>,
) -> Result<Vec<InfractionResult>, Error> {
    let used = infractions.iter().filter_map(|item| item.infraction.as_ref()).map(names::of_infraction);
    let cached = context.names.cached(company_id, used);
    let names = context.names.or_read(company_id, cached).await?;
    let mut valid = Vec::new();
    let items: Vec<Result<usize, Rejection>> = infractions
        .into_iter()
        .map(|item| {
            valid.push(Infraction::new(&names, item)?);
            Ok(valid.len() - 1)
        })
        .collect();
    let applied = run(context, company_id, action, &valid).await?;
    let applied: HashMap<i64, Applied> = applied.into_iter().map(|row| (row.position, row)).collect();
    let mut reported = HashSet::new();
    let results = items.into_iter().map(|item| {
        let index = match item {
            Ok(index) => index,
            Err(rejection) => return Ok(rejected(rejection)),
        };
        let row = applied.get(&(index as i64 + 1)).ok_or_else(Error::internal)?;
        let infraction = &valid[index];
        let Some(url_id) = row.url_id else {
            let field = if infraction.url_id.is_some() { "url_id" } else { "url" };
            return Ok(rejected(Rejection::not_found(Violations::one(field, URL_NOT_FOUND))));
        };
        // Of two items of the same infraction the first reports the change.
        let changed = row.changed && reported.insert((url_id, infraction.ids));
        Ok(done(action, url_id, changed))
    });
    results.collect()
}

async fn run(
    context: &Context,
    company_id: i64,
    action: Action,
    infractions: &[Infraction],
) -> Result<Vec<Applied>, Error> {
    if infractions.is_empty() {
        return Ok(Vec::new());
    }
    let infractions: Vec<&Infraction> = infractions.iter().collect();
    context
        .write(|layouts| {
            let batch = INPUT.batch(&layouts, &infractions);
            async move {
                match action {
                    Action::Record => {
                        sqlx::query_file_as!(Applied, "src/monitoring/infractions/record.sql", company_id, batch as _)
                            .fetch_all(&context.pool)
                            .await
                    }
                    Action::Withdraw => {
                        sqlx::query_file_as!(Applied, "src/monitoring/infractions/withdraw.sql", company_id, batch as _)
                            .fetch_all(&context.pool)
                            .await
                    }
                }
            }
        })
        .await
}

impl Infraction {
    /// Checks an infraction of a URL.
    fn new(names: &CompanyNames, item: UrlInfraction) -> Result<Self, Rejection> {
        let mut violations = check(&item);
        let UrlInfraction { url_id, url, infraction } = item;
        let url = non_empty(url);
        match (url_id, &url) {
            (None, None) => violate(&mut violations, "url", |label| format!("The {label} field is required.")),
            (Some(_), Some(_)) => violate(&mut violations, "url_id", |_| URL_AMBIGUOUS.to_owned()),
            _ => {}
        }
        let resolved = Self::resolve(names, &mut violations, "", &infraction.unwrap_or_default());
        if !violations.is_empty() {
            return Err(Rejection::invalid(violations));
        }
        Ok(Self { url_id, url_hash: url.as_deref().and_then(identity).map(|(hash, _)| hash), ..resolved })
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
        Self { url_id: None, url_hash: None, ids, created_date: instant(infraction.created_date.as_ref()) }
    }
}

fn done(action: Action, url_id: i64, changed: bool) -> InfractionResult {
    let msg = match (action, changed) {
        (Action::Record, true) => "Infraction recorded.",
        (Action::Record, false) => "The infraction was recorded before.",
        (Action::Withdraw, true) => "Infraction withdrawn.",
        (Action::Withdraw, false) => "The infraction was not there.",
    };
    InfractionResult {
        code: ResultCode::Saved.into(),
        url_id: Some(url_id),
        changed,
        violations: Vec::new(),
        msg: msg.to_owned(),
    }
}

fn rejected(rejection: Rejection) -> InfractionResult {
    let Rejection { code, violations, msg } = rejection;
    InfractionResult { code: code.into(), url_id: None, changed: false, violations, msg }
}

//! Adding names to a company's vocabularies.

use std::{collections::HashSet, sync::LazyLock};

use compliance_api::{
    catalogue::{Vocabulary, default_type_of_name},
    error::Error,
    rules::{Rule, Violations},
    v1::VocabularyEntryInput,
};

use crate::{
    monitoring::{
        context::{Context, ItemRow, until_final},
        items::{Items, Outcome},
        names::MAX_OWN_NAMES,
    },
    table::{Attribute, Composite},
};

/// A name to be added, checked.
#[derive(Debug)]
pub(in crate::monitoring) struct NewName {
    vocabulary: Vocabulary,
    name: String,
    /// Of an infraction name: its type, if every company has that.
    parent_id: Option<i32>,
    /// Of an infraction name: its type.
    parent_name: Option<String>,
}

/// The input type of names.
pub(in crate::monitoring) static INPUT: LazyLock<Composite<NewName>> = LazyLock::new(|| {
    let attributes = [
        Attribute::scalar("vocabulary", |name: &NewName| Some(name.vocabulary as i16)),
        Attribute::text("name", |name: &NewName| Some(&name.name)),
        Attribute::scalar("parent_id", |name: &NewName| name.parent_id),
        Attribute::text("parent_name", |name: &NewName| name.parent_name.as_deref()),
    ];
    Composite::new("vocabulary_entry_input", attributes)
});

/// What became of a name.
struct Added {
    id: Option<i32>,
    created: bool,
    /// Whether the company may have so many names.
    fits: bool,
    type_found: bool,
}

impl ItemRow for Added {
    fn is_final(&self) -> bool {
        self.id.is_some() || !self.fits || !self.type_found
    }

    fn changed_before(&mut self, before: &Self) {
        self.created |= before.created;
    }
}

/// Adds names. Returns one outcome an item, in the order sent.
pub(in crate::monitoring) async fn add(
    context: &Context,
    company_id: i64,
    entries: Vec<VocabularyEntryInput>,
) -> Result<Vec<Outcome>, Error> {
    let items = Items::check(entries, NewName::new);
    let new: Vec<&NewName> = items.valid.iter().filter(|name| name.default_id().is_none()).collect();
    let rows = if new.is_empty() { Vec::new() } else { until_final(|| run(context, company_id, &new)).await? };
    let (mut rows, mut reported) = (rows.into_iter(), HashSet::new());
    items.outcomes(std::iter::repeat(()), |name, ()| match name.default_id() {
        Some(id) => Ok(saved(id, false)),
        None => outcome(rows.next().ok_or_else(Error::internal)?, &mut reported),
    })
}

async fn run(context: &Context, company_id: i64, new: &[&NewName]) -> Result<Vec<Added>, Error> {
    let names = context.write(company_id, |pool, layouts| {
        let add = sqlx::query_file_as!(
            Added,
            "src/monitoring/vocabularies/add.sql",
            company_id,
            INPUT.batch(&layouts, new) as _,
            Vocabulary::InfractionName as i16,
            Vocabulary::InfractionType as i16,
            MAX_OWN_NAMES
        );
        async move { add.fetch_all(&pool).await }
    });
    names.await
}

fn outcome(added: Added, reported: &mut HashSet<i32>) -> Result<Outcome, Error> {
    let (field, message) = match added.id {
        // Of two items of the same name the first reports that it was added.
        Some(id) => return Ok(saved(id, added.created && reported.insert(id))),
        None if !added.type_found => {
            let message = "The selected infraction type is invalid; add it first, or before the name.";
            ("infraction_type", message.to_owned())
        }
        None if !added.fits => ("name", format!("A company can add at most {MAX_OWN_NAMES} names.")),
        None => return Err(Error::internal()),
    };
    Ok(Outcome::invalid(Violations::one(field, message)))
}

fn saved(id: i32, created: bool) -> Outcome {
    Outcome::saved(i64::from(id), created, if created { "Name added." } else { "The name already exists." })
}

impl NewName {
    /// Reads an entry, whose rules have been checked.
    fn new(violations: &mut Violations, entry: VocabularyEntryInput) -> Self {
        let vocabulary = entry.vocabulary();
        let parent_name = entry.infraction_type.filter(|name| !name.is_empty());
        if vocabulary == Vocabulary::IncidentType {
            violations
                .report("vocabulary", |label| format!("Names cannot be added to the vocabulary in the {label} field."));
        }
        match (vocabulary == Vocabulary::InfractionName, &parent_name) {
            (true, None) => violations.add("infraction_type", Rule::Required),
            (false, Some(_)) => {
                let message = |label: &str| format!("The {label} field is allowed for infraction names only.");
                violations.report("infraction_type", message);
            }
            _ => {}
        }
        let parent_id = parent_name.as_deref().and_then(|name| Vocabulary::InfractionType.default_id(name));
        Self { vocabulary, name: entry.name.unwrap_or_default(), parent_id, parent_name }
    }

    /// The ID of a name that every company has.
    fn default_id(&self) -> Option<i32> {
        let id = self.vocabulary.default_id(&self.name)?;
        let has_type = self.vocabulary == Vocabulary::InfractionName;
        (!has_type || default_type_of_name(id) == self.parent_id).then_some(id)
    }
}

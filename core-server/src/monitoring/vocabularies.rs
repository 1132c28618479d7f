//! Lists vocabularies and adds a company's own names.

use std::{collections::HashSet, sync::LazyLock};

use compliance_api::{
    catalogue::{Vocabulary, default_type_of_name},
    error::Error,
    rules::Violations,
    v1::{VocabularyEntry, VocabularyEntryInput, VocabularyEntryResult, VocabularyNames},
};

use super::{
    context::{CompanyWriter, write_all},
    items::{Outcome, check_all},
    names::CompanyNames,
};
use storage::{
    statement_context,
    table::{Attribute, Composite},
};

/// Maximum number of names that a company can add.
const MAX_OWN_NAMES: i64 = 10_000;

#[derive(Debug)]
pub(super) struct NewName {
    vocabulary: Vocabulary,
    name: String,
    /// The ID of an infraction name's type, if it is a default type.
    parent_id: Option<i32>,
    /// The name of an infraction name's type.
    parent_name: Option<String>,
}

pub(super) static INPUT: LazyLock<Composite<NewName>> = LazyLock::new(|| {
    let attributes = [
        Attribute::scalar("vocabulary", |name: &NewName| Some(name.vocabulary as i16)),
        Attribute::borrowed("name", |name: &NewName| Some(name.name.as_str())),
        Attribute::scalar("parent_id", |name: &NewName| name.parent_id),
        Attribute::borrowed("parent_name", |name: &NewName| name.parent_name.as_deref()),
    ];
    Composite::new("vocabulary_entry_input", attributes)
});

struct Added {
    id: Option<i32>,
    created: bool,
    /// Whether the company can add another name.
    fits: bool,
    type_found: bool,
}

pub(super) async fn add(
    company: CompanyWriter<'_>,
    entries: Vec<VocabularyEntryInput>,
) -> Result<Vec<VocabularyEntryResult>, Error> {
    let (valid, checked) = check_all(entries, NewName::new);
    let add = async |names: Vec<&NewName>| {
        let added = company.write(|pool, layouts| {
            let add = sqlx::query_file_as!(
                Added,
                "src/monitoring/vocabularies/add.sql",
                company.id,
                INPUT.batch(&layouts, &names) as _,
                Vocabulary::InfractionName as i16,
                Vocabulary::InfractionType as i16,
                MAX_OWN_NAMES,
                statement_context::writer()
            );
            // A name can also require a new type.
            let pool = pool.creating(2 * names.len());
            async move { add.fetch_all(&pool).await }
        });
        let added = added.await?;
        // Other items may need the type that another writer has just added.
        let are_types_known = !added.iter().any(|row| row.id.is_none() && row.fits && row.type_found);
        let is_known = |row: &Added| row.id.is_some() || !row.fits || !row.type_found && are_types_known;
        Ok(added.into_iter().map(|row| Some(row).filter(is_known)).collect())
    };
    let mut rows = write_all(valid.iter().filter(|name| name.default_id().is_none()), add).await?.into_iter();
    let mut reported = HashSet::new();
    checked.join(valid.iter().map_while(|name| match name.default_id() {
        Some(id) => Some(saved(id, false)),
        None => rows.next().map(|row| outcome(row, &mut reported)),
    }))
}

fn outcome(added: Added, reported: &mut HashSet<i32>) -> Outcome {
    let (field, message) = match added.id {
        // Only the first of several items with the same name reports the addition.
        Some(id) => return saved(id, added.created && reported.insert(id)),
        None if !added.type_found => {
            let message =
                "The selected infraction type is unknown. Add the type first, or before the name in the same request.";
            ("infraction_type", message.to_owned())
        }
        None => ("name", format!("A company can add at most {MAX_OWN_NAMES} names.")),
    };
    Outcome::invalid(Violations::one(field, message))
}

fn saved(id: i32, created: bool) -> Outcome {
    Outcome::saved(i64::from(id), created, if created { "Name added." } else { "The name already exists." })
}

impl NewName {
    fn new(violations: &mut Violations, entry: VocabularyEntryInput) -> Self {
        let vocabulary = entry.vocabulary();
        let parent_name = entry.infraction_type.filter(|name| !name.is_empty());
        if vocabulary == Vocabulary::IncidentType {
            violations
                .report("vocabulary", |label| format!("You cannot add names to the vocabulary in the {label} field."));
        }
        match (vocabulary == Vocabulary::InfractionName, &parent_name) {
            (true, None) => violations.required("infraction_type"),
            (false, Some(_)) => {
                let message = |label: &str| format!("The {label} field is allowed for infraction names only.");
                violations.report("infraction_type", message);
            }
            _ => {}
        }
        let parent_id = parent_name.as_deref().and_then(|name| Vocabulary::InfractionType.default_id(name));
        Self { vocabulary, name: entry.name.unwrap_or_default(), parent_id, parent_name }
    }

    /// Returns the ID, if this is a default name.
    fn default_id(&self) -> Option<i32> {
        let id = self.vocabulary.default_id(&self.name)?;
        let has_type = self.vocabulary == Vocabulary::InfractionName;
        (!has_type || default_type_of_name(id) == self.parent_id).then_some(id)
    }
}

/// Returns every vocabulary, with the names that the company can use.
pub(super) async fn list(company: CompanyWriter<'_>) -> Result<Vec<VocabularyNames>, Error> {
    let names = company.read_names().await?;
    Ok(Vocabulary::all().map(|kind| entries(&names, kind)).collect())
}

fn entries(names: &CompanyNames, kind: Vocabulary) -> VocabularyNames {
    let own = || names.own.iter();
    let type_name = |id: i32| {
        let own = own().find(|own| own.vocabulary == Vocabulary::InfractionType as i16 && own.id == id);
        Vocabulary::InfractionType.default_name(id).or(own.map(|own| own.name.as_str())).map(str::to_owned)
    };
    let defaults = kind.defaults().iter().zip(1..).map(|(name, id)| {
        let parent = default_type_of_name(id).filter(|_| kind == Vocabulary::InfractionName);
        entry(id, name, parent.and_then(type_name), false)
    });
    let own = own().filter(|own| own.vocabulary == kind as i16);
    let own = own.map(|own| entry(own.id, &own.name, own.parent.and_then(type_name), true));
    VocabularyNames { vocabulary: kind as i32, entries: defaults.chain(own).collect() }
}

fn entry(id: i32, name: &str, infraction_type: Option<String>, own: bool) -> VocabularyEntry {
    VocabularyEntry { id: id.into(), name: name.to_owned(), infraction_type, own }
}

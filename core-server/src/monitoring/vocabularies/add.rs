//! Adding names to a company's vocabularies.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use compliance_api::{
    catalogue::{Vocabulary, default_type_of_name},
    error::Error,
    rules::{Violations, check},
    v1::{ResultCode, VocabularyEntryInput, VocabularyEntryResult, VocabularyKind},
};

use crate::{
    monitoring::{
        context::{Context, MAX_TRIES},
        names::{MAX_OWN_NAMES, vocabulary},
        rejection::{Rejection, violate},
    },
    table::{Attribute, Composite},
};

/// A name to be added, checked.
#[derive(Debug)]
pub(super) struct NewName {
    vocabulary: Vocabulary,
    name: String,
    /// Of an infraction name: its type, if every company has that.
    parent_id: Option<i32>,
    /// Of an infraction name: its type.
    parent_name: Option<String>,
}

/// The input type of names.
pub(super) static INPUT: LazyLock<Composite<NewName>> = LazyLock::new(|| {
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
    position: i64,
    id: Option<i32>,
    created: bool,
    /// Whether the company may have so many names.
    fits: bool,
    type_found: bool,
}

impl Added {
    /// Whether another run would not change the result.
    fn is_final(&self) -> bool {
        self.id.is_some() || !self.fits || !self.type_found
    }
}

/// Adds names. Returns one result an item, in the order sent.
pub(in crate::monitoring) async fn add(
    context: &Context,
    company_id: i64,
    entries: Vec<VocabularyEntryInput>,
) -> Result<Vec<VocabularyEntryResult>, Error> {
    /// A valid item: its ID if every company has the name, otherwise its index among those to be added.
    enum Item {
        Default(i32),
        New(usize),
    }
    let mut new = Vec::new();
    let items: Vec<Result<Item, Rejection>> = entries
        .into_iter()
        .map(|entry| {
            let name = NewName::new(entry)?;
            Ok(name.default_id().map_or_else(
                || {
                    new.push(name);
                    Item::New(new.len() - 1)
                },
                Item::Default,
            ))
        })
        .collect();
    let added = add_new(context, company_id, &new).await?;
    let mut reported = HashSet::new();
    let results = items.into_iter().map(|item| match item {
        Ok(Item::Default(id)) => Ok(saved(id, false)),
        Ok(Item::New(index)) => result(added.get(&(index as i64 + 1)).ok_or_else(Error::internal)?, &mut reported),
        Err(rejection) => Ok(rejected(rejection)),
    });
    results.collect()
}

/// Adds names that are none of those every company has. Returns what became of each, by position.
async fn add_new(context: &Context, company_id: i64, new: &[NewName]) -> Result<HashMap<i64, Added>, Error> {
    let mut results: HashMap<i64, Added> = HashMap::new();
    for _ in 0..MAX_TRIES {
        if new.is_empty() {
            break;
        }
        for mut added in run(context, company_id, new).await? {
            added.created |= results.get(&added.position).is_some_and(|before| before.created);
            results.insert(added.position, added);
        }
        if results.values().all(Added::is_final) {
            break;
        }
        // Another writer has just added some of them: this statement could not see that, the next one can.
    }
    Ok(results)
}

async fn run(context: &Context, company_id: i64, new: &[NewName]) -> Result<Vec<Added>, Error> {
    let new: Vec<&NewName> = new.iter().collect();
    context
        .write(|layouts| {
            let batch = INPUT.batch(&layouts, &new);
            sqlx::query_file_as!(
                Added,
                "src/monitoring/vocabularies/add.sql",
                company_id,
                batch as _,
                Vocabulary::InfractionName as i16,
                Vocabulary::InfractionType as i16,
                MAX_OWN_NAMES
            )
            .fetch_all(&context.pool)
        })
        .await
}

fn result(added: &Added, reported: &mut HashSet<i32>) -> Result<VocabularyEntryResult, Error> {
    let violations = match added.id {
        // Of two items of the same name the first reports that it was added.
        Some(id) => return Ok(saved(id, added.created && reported.insert(id))),
        None if !added.type_found => {
            let message = "The selected infraction type is invalid; add it first, or before the name.";
            Violations::one("infraction_type", message)
        }
        None if !added.fits => {
            let message = format!("A company can have {MAX_OWN_NAMES} names of its own; these would be more.");
            Violations::one("name", message)
        }
        None => return Err(Error::internal()),
    };
    Ok(rejected(Rejection::invalid(violations)))
}

impl NewName {
    fn new(entry: VocabularyEntryInput) -> Result<Self, Rejection> {
        let mut violations = check(&entry);
        let kind = entry.vocabulary();
        let VocabularyEntryInput { name, infraction_type, .. } = entry;
        let parent_name = infraction_type.filter(|name| !name.is_empty());
        if kind == VocabularyKind::IncidentType {
            violate(&mut violations, "vocabulary", |label| {
                format!("The {label} field names one that cannot be added to.")
            });
        }
        if kind == VocabularyKind::InfractionName && parent_name.is_none() {
            violate(&mut violations, "infraction_type", |label| format!("The {label} field is required."));
        } else if kind != VocabularyKind::InfractionName && parent_name.is_some() {
            violate(&mut violations, "infraction_type", |label| {
                format!("The {label} field goes with infraction names only.")
            });
        }
        match (vocabulary(kind), name, violations.is_empty()) {
            (Some(vocabulary), Some(name), true) => {
                let parent_id = parent_name.as_deref().and_then(|name| Vocabulary::InfractionType.default_id(name));
                Ok(Self { vocabulary, name, parent_id, parent_name })
            }
            _ => Err(Rejection::invalid(violations)),
        }
    }

    /// The ID of a name that every company has.
    fn default_id(&self) -> Option<i32> {
        let id = self.vocabulary.default_id(&self.name)?;
        let has_type = self.vocabulary == Vocabulary::InfractionName;
        (!has_type || default_type_of_name(id) == self.parent_id).then_some(id)
    }
}

fn saved(id: i32, created: bool) -> VocabularyEntryResult {
    let msg = if created { "Name added." } else { "The name was there before." };
    VocabularyEntryResult {
        code: ResultCode::Saved.into(),
        id: Some(id.into()),
        created,
        violations: Vec::new(),
        msg: msg.to_owned(),
    }
}

fn rejected(rejection: Rejection) -> VocabularyEntryResult {
    let Rejection { code, violations, msg } = rejection;
    VocabularyEntryResult { code: code.into(), id: None, created: false, violations, msg }
}

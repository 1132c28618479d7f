//! Vocabularies: listed and added to.

use std::collections::HashMap;

use crate::database::Connections;
use compliance_api::{
    catalogue::{Vocabulary, default_type_of_name},
    error::Error,
    json::incident_type_text,
    rules::{Violations, check},
    v1::{
        IncidentType, ResultCode, VocabularyEntry, VocabularyEntryInput, VocabularyEntryResult, VocabularyKind,
        VocabularyNames,
    },
};

use super::{
    faults::{Refused, fault},
    names::{Known, MOST_OWN, vocabulary},
    write::write,
};

/// Names in one request, at most.
pub(super) const MOST: usize = 1000;

/// Adds what is not there, types before the names that may belong to them. Answers with the place of each item, its ID,
/// whether it is new, and whether there is room for more: without an ID where its type is unknown, and where another
/// writer just added the name, whom the next run sees.
const ADD: &str = "
    with input as materialized (
        select i.*, (select count(*) from vocabulary_entries where company_id = $1) + (select count(*) from unnest($2))
            <= $7 as room
        from unnest($2::smallint[], $3::text[], $4::integer[], $5::text[]) with ordinality
            as i (vocabulary, name, type_id, type_name, place)
    ), flat as (
        insert into vocabulary_entries (company_id, vocabulary, name)
        select $1, i.vocabulary, i.name from (
            select distinct vocabulary, name from input where vocabulary <> $6 and room
        ) i
        where not exists (
            select from vocabulary_entries v
            where v.company_id = $1 and v.vocabulary = i.vocabulary and v.parent_id is null and v.name = i.name
        )
        order by i.vocabulary, i.name collate \"C\"
        on conflict (company_id, vocabulary, parent_id, name) where name is not null do nothing
        returning id, vocabulary, name
    ), typed as materialized (
        select i.*, coalesce(i.type_id, t.id) as parent_id from input i
        left join lateral (
            select f.id from flat f where f.vocabulary = $6 - 1 and f.name = i.type_name
            union all
            select v.id from vocabulary_entries v
            where v.company_id = $1 and v.vocabulary = $6 - 1 and v.parent_id is null and v.name = i.type_name
            limit 1
        ) t on true
        where i.vocabulary = $6
    ), deep as (
        insert into vocabulary_entries (company_id, vocabulary, name, parent_id)
        select $1, $6, i.name, i.parent_id from (
            select distinct name, parent_id from typed where parent_id is not null and room
        ) i
        where not exists (
            select from vocabulary_entries v
            where v.company_id = $1 and v.vocabulary = $6 and v.parent_id = i.parent_id and v.name = i.name
        )
        order by i.parent_id, i.name collate \"C\"
        on conflict (company_id, vocabulary, parent_id, name) where name is not null do nothing
        returning id, name, parent_id
    )
    select i.place, coalesce(f.id, v.id), f.id is not null, i.room, true from input i
    left join flat f on f.vocabulary = i.vocabulary and f.name = i.name
    left join vocabulary_entries v
        on v.company_id = $1 and v.vocabulary = i.vocabulary and v.parent_id is null and v.name = i.name
    where i.vocabulary <> $6
    union all
    select t.place, coalesce(d.id, v.id), d.id is not null, t.room, t.parent_id is not null from typed t
    left join deep d on d.parent_id = t.parent_id and d.name = t.name
    left join vocabulary_entries v
        on v.company_id = $1 and v.vocabulary = $6 and v.parent_id = t.parent_id and v.name = t.name";

/// What the statement says of an item: place, ID, whether it is new, whether there is room, whether its type is known.
type Told = (i64, Option<i32>, bool, bool, bool);

/// Every vocabulary.
pub(super) fn list(known: &Known) -> Vec<VocabularyNames> {
    let mut vocabularies: Vec<VocabularyNames> = Vocabulary::ALL.into_iter().map(|kind| names(known, kind)).collect();
    let types =
        [IncidentType::Url, IncidentType::Form, IncidentType::DisplayAd, IncidentType::PaidSearchAd].into_iter();
    let entries = types.map(|kind| entry(kind as i32, incident_type_text(kind), None, false)).collect();
    vocabularies.push(VocabularyNames { vocabulary: VocabularyKind::IncidentType.into(), entries });
    vocabularies
}

fn names(known: &Known, kind: Vocabulary) -> VocabularyNames {
    let type_name = |id: i32| {
        let own = known.own().iter().find(|own| own.vocabulary == Vocabulary::InfractionType as i16 && own.id == id);
        Vocabulary::InfractionType.default_name(id).or(own.map(|own| own.name.as_str())).map(str::to_owned)
    };
    let defaults = kind.defaults().iter().zip(1..).map(|(name, id)| {
        let parent = default_type_of_name(id).filter(|_| kind == Vocabulary::InfractionName);
        entry(id, name, parent.and_then(type_name), false)
    });
    let own = known.own().iter().filter(|own| own.vocabulary == kind as i16);
    let own = own.map(|own| entry(own.id, &own.name, own.parent.and_then(type_name), true));
    VocabularyNames { vocabulary: kind as i32, entries: defaults.chain(own).collect() }
}

fn entry(id: i32, name: &str, infraction_type: Option<String>, own: bool) -> VocabularyEntry {
    VocabularyEntry { id: id.into(), name: name.to_owned(), infraction_type, own }
}

/// A name to be added, checked.
struct Item {
    vocabulary: Vocabulary,
    name: String,
    /// Of an infraction name: its type, by ID where every company has it.
    type_id: Option<i32>,
    type_name: Option<String>,
}

impl Item {
    fn new(entry: VocabularyEntryInput) -> Result<Self, Refused> {
        let mut faults = check(&entry);
        let kind = entry.vocabulary();
        let VocabularyEntryInput { name, infraction_type, .. } = entry;
        let type_name = infraction_type.filter(|name| !name.is_empty());
        if kind == VocabularyKind::IncidentType {
            fault(&mut faults, "vocabulary", |label| format!("The {label} field names one that cannot be added to."));
        }
        if kind == VocabularyKind::InfractionName && type_name.is_none() {
            fault(&mut faults, "infraction_type", |label| format!("The {label} field is required."));
        } else if kind != VocabularyKind::InfractionName && type_name.is_some() {
            fault(&mut faults, "infraction_type", |label| {
                format!("The {label} field goes with infraction names only.")
            });
        }
        match (vocabulary(kind), name, faults.is_empty()) {
            (Some(vocabulary), Some(name), true) => {
                let type_id = type_name.as_deref().and_then(|name| Vocabulary::InfractionType.default_id(name));
                Ok(Self { vocabulary, name, type_id, type_name })
            }
            _ => Err(Refused::invalid(faults)),
        }
    }

    /// The ID of a name that every company has.
    fn default_id(&self) -> Option<i32> {
        let id = self.vocabulary.default_id(&self.name)?;
        let is_typed = self.vocabulary == Vocabulary::InfractionName;
        (!is_typed || default_type_of_name(id) == self.type_id).then_some(id)
    }
}

/// Adds names; one result each, in their order.
pub(super) async fn add(
    pool: &Connections,
    company_id: i64,
    entries: Vec<VocabularyEntryInput>,
) -> Result<Vec<VocabularyEntryResult>, Error> {
    let items: Vec<Result<Item, Refused>> = entries.into_iter().map(Item::new).collect();
    let new: Vec<&Item> = items.iter().flatten().filter(|item| item.default_id().is_none()).collect();
    let mut told: HashMap<i64, (Option<i32>, bool, bool, bool)> = HashMap::new();
    for _ in 0..super::write::TRIES {
        if new.is_empty() {
            break;
        }
        for (place, id, created, room, typed) in run(pool, company_id, &new).await? {
            let before = told.get(&place).is_some_and(|(_, created, ..)| *created);
            told.insert(place, (id, created || before, room, typed));
        }
        if told.values().all(|(id, _, room, typed)| id.is_some() || !room || !typed) {
            break;
        }
        // Another writer added some of them meanwhile: this statement could not see it, the next one can.
    }
    let mut place = 0;
    let mut first = std::collections::HashSet::new();
    let results = items.into_iter().map(|item| {
        let item = match item {
            Ok(item) => item,
            Err(refused) => return Ok(not_added(refused)),
        };
        if let Some(id) = item.default_id() {
            return Ok(added(id, false));
        }
        place += 1;
        match told.get(&place).copied().ok_or_else(Error::internal)? {
            (Some(id), created, ..) => Ok(added(id, created && first.insert(id))),
            (None, _, _, false) => {
                let message = "The selected infraction type is invalid; add it first, or before the name.";
                Ok(not_added(Refused::invalid(Violations::one("infraction_type", message))))
            }
            (None, _, false, true) => {
                let message = format!("A company can have {MOST_OWN} names of its own; these would be more.");
                Ok(not_added(Refused::invalid(Violations::one("name", message))))
            }
            (None, _, true, true) => Err(Error::internal()),
        }
    });
    results.collect()
}

async fn run(pool: &Connections, company_id: i64, items: &[&Item]) -> Result<Vec<Told>, Error> {
    let vocabularies: Vec<i16> = items.iter().map(|item| item.vocabulary as i16).collect();
    let names: Vec<&str> = items.iter().map(|item| item.name.as_str()).collect();
    let type_ids: Vec<Option<i32>> = items.iter().map(|item| item.type_id).collect();
    let type_names: Vec<Option<&str>> = items.iter().map(|item| item.type_name.as_deref()).collect();
    write(|| {
        sqlx::query_as(ADD)
            .bind(company_id)
            .bind(&vocabularies)
            .bind(&names)
            .bind(&type_ids)
            .bind(&type_names)
            .bind(Vocabulary::InfractionName as i16)
            .bind(MOST_OWN)
            .fetch_all(pool)
    })
    .await
}

fn added(id: i32, created: bool) -> VocabularyEntryResult {
    let msg = if created { "Name added." } else { "The name was there before." };
    VocabularyEntryResult {
        code: ResultCode::Saved.into(),
        id: Some(id.into()),
        created,
        violations: Vec::new(),
        msg: msg.to_owned(),
    }
}

fn not_added(refused: Refused) -> VocabularyEntryResult {
    let Refused { code, violations, msg } = refused;
    VocabularyEntryResult { code: code.into(), id: None, created: false, violations, msg }
}

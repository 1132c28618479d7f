//! Names of vocabularies as callers write them, looked up: those that every company has, and a company's own.
//!
//! A company's own names are read when a name is met that is not known here, and remembered. None is ever renamed or
//! removed, so what is remembered stays true; it is kept by company and can serve no other.

use std::{collections::HashMap, sync::Arc};

use crate::database::Connections;
use compliance_api::{
    catalogue::{Vocabulary, default_type_of_name},
    error::Error,
    rules::{Violations, label},
    v1::{InfractionInput, VocabularyKind},
};
use quick_cache::sync::Cache;

use super::faults::fault;
use crate::{database, error::from_database};

/// Companies whose own names are remembered.
const MOST_COMPANIES: usize = 1000;
/// Names that a company can have of its own.
pub(super) const MOST_OWN: i64 = 10_000;
/// Names that are told of as known, at most.
const MOST_TOLD: usize = 100;

/// A name that a company added.
#[derive(Clone, Debug)]
pub(super) struct OwnName {
    pub(super) vocabulary: i16,
    pub(super) id: i32,
    pub(super) name: String,
    /// Of an infraction name: its type.
    pub(super) parent: Option<i32>,
}

/// The names that one company can use.
#[derive(Debug, Default)]
pub(super) struct Known {
    own: Vec<OwnName>,
    ids: HashMap<(i16, Option<i32>), HashMap<String, i32>>,
}

/// A name to be looked up.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wanted<'a> {
    /// A name of a vocabulary other than infraction names.
    Name(Vocabulary, &'a str),
    /// An infraction's type and its name.
    Infraction(Option<&'a str>, Option<&'a str>),
}

/// An infraction as it is stored: IDs of its type and its name.
pub(super) type InfractionIds = (Option<i32>, Option<i32>);

impl Known {
    fn new(own: Vec<OwnName>) -> Self {
        let mut ids: HashMap<_, HashMap<_, _>> = HashMap::new();
        for entry in &own {
            ids.entry((entry.vocabulary, entry.parent)).or_default().insert(entry.name.clone(), entry.id);
        }
        Self { own, ids }
    }

    /// The company's own names, by vocabulary and ID.
    pub(super) fn own(&self) -> &[OwnName] {
        &self.own
    }

    /// The ID of a name.
    pub(super) fn id(&self, vocabulary: Vocabulary, name: &str) -> Option<i32> {
        let own = || self.ids.get(&(vocabulary as i16, None))?.get(name).copied();
        vocabulary.default_id(name).or_else(own)
    }

    /// The ID of an infraction name of a type.
    pub(super) fn infraction_name(&self, kind: i32, name: &str) -> Option<i32> {
        let default = Vocabulary::InfractionName.default_id(name).filter(|id| default_type_of_name(*id) == Some(kind));
        let own = || self.ids.get(&(Vocabulary::InfractionName as i16, Some(kind)))?.get(name).copied();
        default.or_else(own)
    }

    fn knows(&self, wanted: Wanted<'_>) -> bool {
        match wanted {
            Wanted::Name(vocabulary, name) => name.is_empty() || self.id(vocabulary, name).is_some(),
            Wanted::Infraction(kind, name) => {
                let Some(kind) = kind.filter(|kind| !kind.is_empty()) else { return true };
                let Some(kind) = self.id(Vocabulary::InfractionType, kind) else { return false };
                name.is_none_or(|name| name.is_empty() || self.infraction_name(kind, name).is_some())
            }
        }
    }

    /// The ID of a field's name; an unknown one is a fault that names the known ones. An empty one is none.
    pub(super) fn resolve(
        &self,
        faults: &mut Violations,
        path: &str,
        vocabulary: Vocabulary,
        name: Option<&str>,
    ) -> Option<i32> {
        let name = name.filter(|name| !name.is_empty())?;
        let id = self.id(vocabulary, name);
        if id.is_none() {
            self.unknown(faults, path, vocabulary, None);
        }
        id
    }

    /// The IDs of an infraction whose fields stand at `prefix`.
    pub(super) fn resolve_infraction(
        &self,
        faults: &mut Violations,
        prefix: &str,
        kind: Option<&str>,
        name: Option<&str>,
    ) -> InfractionIds {
        let name = name.filter(|name| !name.is_empty());
        let Some(kind) = kind.filter(|kind| !kind.is_empty()) else {
            if name.is_some() {
                let message = |label: &str| format!("The {label} field is required with a name.");
                fault(faults, format!("{prefix}infraction_type"), message);
            }
            return (None, None);
        };
        let path = format!("{prefix}infraction_type");
        let Some(kind) = self.resolve(faults, &path, Vocabulary::InfractionType, Some(kind)) else {
            return (None, None);
        };
        let id = name.and_then(|name| self.infraction_name(kind, name));
        if name.is_some() && id.is_none() {
            self.unknown(faults, &format!("{prefix}infraction_name"), Vocabulary::InfractionName, Some(kind));
        }
        (Some(kind), id)
    }

    fn unknown(&self, faults: &mut Violations, path: &str, vocabulary: Vocabulary, kind: Option<i32>) {
        let defaults = vocabulary.defaults().iter().enumerate();
        let defaults = defaults
            .filter(|(index, _)| kind.is_none() || default_type_of_name(*index as i32 + 1) == kind)
            .map(|(_, name)| *name);
        let own = self.own.iter().filter(|entry| entry.vocabulary == vocabulary as i16 && entry.parent == kind);
        let known: Vec<&str> = defaults.chain(own.map(|entry| entry.name.as_str())).collect();
        let more = if known.len() > MOST_TOLD { ", …" } else { "" };
        let known = known[..known.len().min(MOST_TOLD)].join(", ");
        let message = format!("The selected {} is invalid; known: {known}{more}.", label(path));
        faults.push(path.to_owned(), message, 0, 0);
    }
}

/// The names of a company, as far as they are remembered.
pub(super) struct Remembered {
    company_id: i64,
    known: Option<Arc<Known>>,
}

/// Looks names up.
pub(super) struct Names {
    pool: Connections,
    known: Cache<i64, Arc<Known>>,
    defaults: Arc<Known>,
}

impl Names {
    pub(super) fn new(pool: &Connections) -> Self {
        Self { pool: pool.clone(), known: Cache::new(MOST_COMPANIES), defaults: Arc::default() }
    }

    /// What is remembered of a company's names, if that is all of `wanted`.
    pub(super) fn remembered<'a>(&self, company_id: i64, mut wanted: impl Iterator<Item = Wanted<'a>>) -> Remembered {
        let known = self.known.get(&company_id).unwrap_or_else(|| Arc::clone(&self.defaults));
        let known = wanted.all(|wanted| known.knows(wanted)).then_some(known);
        Remembered { company_id, known }
    }

    /// The names of a company: those remembered, or else read anew.
    pub(super) async fn of(&self, remembered: Remembered) -> Result<Arc<Known>, Error> {
        match remembered.known {
            Some(known) => Ok(known),
            None => self.fresh(remembered.company_id).await,
        }
    }

    /// The names of a company, read anew.
    pub(super) async fn fresh(&self, company_id: i64) -> Result<Arc<Known>, Error> {
        let own = database::read(|| {
            sqlx::query_file_as!(OwnName, "src/monitoring/own_names.sql", company_id).fetch_all(&self.pool)
        });
        let own = own.await.map_err(|error| from_database(&error))?;
        let known = Arc::new(Known::new(own));
        if known.own.is_empty() {
            self.known.remove(&company_id);
        } else {
            self.known.insert(company_id, Arc::clone(&known));
        }
        Ok(known)
    }
}

/// The names of an infraction.
pub(super) fn of_infraction(infraction: &InfractionInput) -> Wanted<'_> {
    Wanted::Infraction(infraction.infraction_type.as_deref(), infraction.infraction_name.as_deref())
}

/// The vocabulary of a kind that can be added to.
pub(super) fn vocabulary(kind: VocabularyKind) -> Option<Vocabulary> {
    Vocabulary::ALL.into_iter().find(|vocabulary| *vocabulary as i32 == kind as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_vocabularies_have_the_same_numbers() {
        for vocabulary in Vocabulary::ALL {
            let kind = VocabularyKind::try_from(vocabulary as i32).unwrap();
            let name = kind.as_str_name().trim_start_matches("VOCABULARY_KIND_").replace('_', "").to_lowercase();
            assert_eq!(name, format!("{vocabulary:?}").to_lowercase());
        }
        assert_eq!(vocabulary(VocabularyKind::IncidentType), None);
    }

    #[test]
    fn a_name_belongs_to_its_type() {
        let own = |vocabulary: Vocabulary, id, name: &str, parent| OwnName {
            vocabulary: vocabulary as i16,
            id,
            name: name.to_owned(),
            parent,
        };
        let known = Known::new(vec![
            own(Vocabulary::InfractionType, 1000, "Tax", None),
            own(Vocabulary::InfractionName, 1001, "weight loss", Some(1000)),
        ]);
        assert_eq!(known.infraction_name(2, "weight loss"), Some(8));
        assert_eq!(known.infraction_name(1000, "weight loss"), Some(1001));
        assert_eq!(known.infraction_name(1, "weight loss"), None);
        let mut faults = Violations::new();
        known.resolve_infraction(&mut faults, "", Some("Tax"), Some("evasion"));
        let told = faults.iter().next().unwrap();
        assert_eq!(told.message, "The selected infraction name is invalid; known: weight loss.");
    }
}

//! Names of vocabularies as callers write them, resolved to IDs: those that every company has, and a company's own.
//!
//! A company's own names are read when a name is not known here, and cached. Names are never renamed or removed, so the
//! cache stays correct; it is keyed by company, so the names of one company never serve another.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::context::{Company, Context};
use crate::limits::MAX_LISTED_NAMES;
use compliance_api::{
    catalogue::{Vocabulary, default_type_of_name},
    error::Error,
    record::{Record, RecordField, StoredAs},
    rules::Violations,
};
use storage::{database, error::from_database};

#[derive(Clone, Debug)]
pub(super) struct OwnName {
    pub(super) vocabulary: i16,
    pub(super) id: i32,
    pub(super) name: String,
    /// Of an infraction name: its type.
    pub(super) parent: Option<i32>,
}

#[derive(Debug, Default)]
pub(super) struct CompanyNames {
    /// The company's own names, by vocabulary and ID.
    pub(super) own: Vec<OwnName>,
    ids: HashMap<(i16, Option<i32>), HashMap<String, i32>>,
}

/// An infraction as it is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct InfractionIds {
    pub(super) type_id: Option<i32>,
    pub(super) name_id: Option<i32>,
}

/// The IDs of the names in the fields of a record, by the columns that hold them.
pub(super) type NameIds = BTreeMap<&'static str, i32>;

/// The fields of a record that are names, with their vocabularies and values.
fn fields<R: Record>(record: &R) -> impl Iterator<Item = (&'static RecordField<R>, Vocabulary, &str)> {
    R::FIELDS.iter().filter_map(|field| match field.column.form {
        StoredAs::Name(vocabulary) => Some((field, vocabulary, field.text(record)?)),
        _ => None,
    })
}

impl CompanyNames {
    fn new(own: Vec<OwnName>) -> Self {
        let mut ids: HashMap<_, HashMap<_, _>> = HashMap::new();
        for entry in &own {
            ids.entry((entry.vocabulary, entry.parent)).or_default().insert(entry.name.clone(), entry.id);
        }
        Self { own, ids }
    }

    /// The ID of a name; of an infraction name, one that belongs to the type `parent`.
    fn id(&self, vocabulary: Vocabulary, parent: Option<i32>, name: &str) -> Option<i32> {
        let default = vocabulary.default_id(name).filter(|id| parent.is_none() || default_type_of_name(*id) == parent);
        default.or_else(|| self.ids.get(&(vocabulary as i16, parent))?.get(name).copied())
    }

    /// Whether a name of a vocabulary other than infraction names is known, or empty.
    pub(super) fn knows(&self, vocabulary: Vocabulary, name: &str) -> bool {
        name.is_empty() || self.id(vocabulary, None, name).is_some()
    }

    pub(super) fn knows_record<R: Record>(&self, record: &R) -> bool {
        fields(record).all(|(_, vocabulary, name)| self.knows(vocabulary, name))
    }

    pub(super) fn knows_infraction(&self, kind: Option<&str>, name: Option<&str>) -> bool {
        let mut violations = Violations::new();
        self.resolve_infraction(&mut violations, "", kind, name);
        violations.is_empty()
    }

    /// The ID of a field's name; of an infraction name, one that belongs to the type `parent`. An unknown name is a
    /// violation that lists the known ones; an empty one is absent.
    pub(super) fn resolve(
        &self,
        violations: &mut Violations,
        path: &str,
        vocabulary: Vocabulary,
        parent: Option<i32>,
        name: Option<&str>,
    ) -> Option<i32> {
        let id = self.id(vocabulary, parent, name.filter(|name| !name.is_empty())?);
        if id.is_none() {
            self.report_unknown(violations, path, vocabulary, parent);
        }
        id
    }

    /// The IDs of the names in the fields of a record. The paths of the fields begin with `prefix`.
    pub(super) fn resolve_record<R: Record>(&self, violations: &mut Violations, prefix: &str, record: &R) -> NameIds {
        let id = |(field, vocabulary, name): (&RecordField<R>, _, _)| {
            let path = format!("{prefix}{}", field.name);
            Some((field.column.name, self.resolve(violations, &path, vocabulary, None, Some(name))?))
        };
        fields(record).filter_map(id).collect()
    }

    /// The IDs of an infraction. The paths of its fields begin with `prefix`.
    pub(super) fn resolve_infraction(
        &self,
        violations: &mut Violations,
        prefix: &str,
        kind: Option<&str>,
        name: Option<&str>,
    ) -> InfractionIds {
        let path = format!("{prefix}infraction_type");
        if kind.is_none_or(str::is_empty) && name.is_some_and(|name| !name.is_empty()) {
            violations.report(path, |label| format!("The {label} field is required with a name."));
            return InfractionIds::default();
        }
        let type_id = self.resolve(violations, &path, Vocabulary::InfractionType, None, kind);
        let path = format!("{prefix}infraction_name");
        // A name says nothing without a known type.
        let name = name.filter(|_| type_id.is_some());
        InfractionIds { type_id, name_id: self.resolve(violations, &path, Vocabulary::InfractionName, type_id, name) }
    }

    fn report_unknown(&self, violations: &mut Violations, path: &str, vocabulary: Vocabulary, parent: Option<i32>) {
        let defaults = vocabulary.defaults().iter().zip(1..);
        let defaults =
            defaults.filter(|(_, id)| parent.is_none() || default_type_of_name(*id) == parent).map(|(name, _)| *name);
        let own = self.own.iter().filter(|entry| entry.vocabulary == vocabulary as i16 && entry.parent == parent);
        let known: Vec<&str> = defaults.chain(own.map(|entry| entry.name.as_str())).collect();
        let more = if known.len() > MAX_LISTED_NAMES { ", …" } else { "" };
        let known = known[..known.len().min(MAX_LISTED_NAMES)].join(", ");
        violations.report(path, |label| format!("The selected {label} is invalid; known: {known}{more}."));
    }
}

impl Company<'_> {
    /// The company's names: the cached ones, if they are `enough`, otherwise read now.
    pub(super) async fn names(self, enough: impl Fn(&CompanyNames) -> bool) -> Result<Arc<CompanyNames>, Error> {
        let cached = self.context.names.get(&self.id).unwrap_or_default();
        if enough(&cached) { Ok(cached) } else { self.read_names().await }
    }

    /// The company's names, read now.
    pub(super) async fn read_names(self) -> Result<Arc<CompanyNames>, Error> {
        let Context { backend, names: cache, .. } = self.context;
        let own = database::read(&backend.pool, async |pool| {
            sqlx::query_file_as!(OwnName, "src/monitoring/names.sql", self.id).fetch_all(&pool).await
        });
        let own = own.await.map_err(from_database)?;
        let names = Arc::new(CompanyNames::new(own));
        if names.own.is_empty() {
            cache.remove(&self.id);
        } else {
            cache.insert(self.id, Arc::clone(&names));
        }
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_belongs_to_its_type() {
        let own = |vocabulary: Vocabulary, id, name: &str, parent| OwnName {
            vocabulary: vocabulary as i16,
            id,
            name: name.to_owned(),
            parent,
        };
        let names = CompanyNames::new(vec![
            own(Vocabulary::InfractionType, 1000, "Tax", None),
            own(Vocabulary::InfractionName, 1001, "weight loss", Some(1000)),
        ]);
        assert_eq!(names.id(Vocabulary::InfractionName, Some(2), "weight loss"), Some(8));
        assert_eq!(names.id(Vocabulary::InfractionName, Some(1000), "weight loss"), Some(1001));
        assert_eq!(names.id(Vocabulary::InfractionName, Some(1), "weight loss"), None);
        let mut violations = Violations::new();
        names.resolve_infraction(&mut violations, "", Some("Tax"), Some("evasion"));
        let violation = violations.iter().next().unwrap();
        assert_eq!(violation.message, "The selected infraction name is invalid; known: weight loss.");
    }
}

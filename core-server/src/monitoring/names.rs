//! Names of vocabularies as callers write them, resolved to IDs: those that every company has, and a company's own.
//!
//! A company's own names are read when a name is not known here, and cached. Names are never renamed or removed, so the
//! cache stays correct; it is keyed by company, so the names of one company never serve another.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use compliance_api::{
    catalogue::{Vocabulary, default_type_of_name},
    error::Error,
    record::{Record, StoredAs},
    rules::Violations,
    v1::InfractionInput,
};
use futures::{
    FutureExt as _,
    future::{BoxFuture, ready},
};
use quick_cache::sync::Cache;

use crate::{
    database::{self, Connections},
    error::from_database,
};

/// Companies whose own names are cached.
const MAX_CACHED_COMPANIES: usize = 1000;
/// Names that a company can have of its own.
pub(super) const MAX_OWN_NAMES: i64 = 10_000;
/// Names that a message about an unknown one lists.
const MAX_LISTED: usize = 100;

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
pub(super) struct CompanyNames {
    own: Vec<OwnName>,
    ids: HashMap<(i16, Option<i32>), HashMap<String, i32>>,
}

/// A name in a request.
#[derive(Clone, Copy, Debug)]
pub(super) enum NameRef<'a> {
    /// A name of a vocabulary other than infraction names.
    Name(Vocabulary, &'a str),
    /// An infraction's type and its name.
    Infraction(Option<&'a str>, Option<&'a str>),
}

/// An infraction as it is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct InfractionIds {
    pub(super) type_id: Option<i32>,
    pub(super) name_id: Option<i32>,
}

/// The IDs of the names in the fields of a record, by the columns that hold them.
pub(super) type NameIds = BTreeMap<&'static str, i32>;

/// The names in the fields of a record.
pub(super) fn of_record<R: Record>(record: &R) -> impl Iterator<Item = NameRef<'_>> {
    R::FIELDS.iter().filter_map(|field| match field.column.form {
        StoredAs::Name(vocabulary) => Some(NameRef::Name(vocabulary, field.text(record)?)),
        _ => None,
    })
}

/// The names of an infraction.
pub(super) fn of_infraction(infraction: &InfractionInput) -> NameRef<'_> {
    NameRef::Infraction(infraction.infraction_type.as_deref(), infraction.infraction_name.as_deref())
}

impl CompanyNames {
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

    /// The ID of a name; of an infraction name, one that belongs to the type `parent`.
    fn id(&self, vocabulary: Vocabulary, parent: Option<i32>, name: &str) -> Option<i32> {
        let default = vocabulary.default_id(name).filter(|id| parent.is_none() || default_type_of_name(*id) == parent);
        default.or_else(|| self.ids.get(&(vocabulary as i16, parent))?.get(name).copied())
    }

    fn contains(&self, name: NameRef<'_>) -> bool {
        let mut violations = Violations::new();
        match name {
            NameRef::Name(vocabulary, name) => {
                self.resolve(&mut violations, "", vocabulary, None, Some(name));
            }
            NameRef::Infraction(kind, name) => {
                self.resolve_infraction(&mut violations, "", kind, name);
            }
        }
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
        let mut ids = NameIds::default();
        for field in R::FIELDS {
            if let (StoredAs::Name(vocabulary), Some(name)) = (field.column.form, field.text(record)) {
                let id = self.resolve(violations, &format!("{prefix}{}", field.name), vocabulary, None, Some(name));
                ids.extend(id.map(|id| (field.column.name, id)));
            }
        }
        ids
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
        let more = if known.len() > MAX_LISTED { ", …" } else { "" };
        let known = known[..known.len().min(MAX_LISTED)].join(", ");
        violations.report(path, |label| format!("The selected {label} is invalid; known: {known}{more}."));
    }
}

/// The names of companies.
pub(super) struct NameCache {
    pool: Connections,
    companies: Cache<i64, Arc<CompanyNames>>,
    defaults: Arc<CompanyNames>,
}

impl NameCache {
    pub(super) fn new(pool: &Connections) -> Self {
        Self { pool: pool.clone(), companies: Cache::new(MAX_CACHED_COMPANIES), defaults: Arc::default() }
    }

    /// The names of a company: the cached ones, if they contain all of `names`, otherwise read now.
    pub(super) fn of<'s, 'a>(
        &'s self,
        company_id: i64,
        mut names: impl Iterator<Item = NameRef<'a>>,
    ) -> BoxFuture<'s, Result<Arc<CompanyNames>, Error>> {
        let cached = self.companies.get(&company_id).unwrap_or_else(|| Arc::clone(&self.defaults));
        if names.all(|name| cached.contains(name)) { ready(Ok(cached)).boxed() } else { self.read(company_id).boxed() }
    }

    /// The names of a company, read now.
    pub(super) async fn read(&self, company_id: i64) -> Result<Arc<CompanyNames>, Error> {
        let own = database::read(|| {
            sqlx::query_file_as!(OwnName, "src/monitoring/names.sql", company_id).fetch_all(&self.pool)
        });
        let own = own.await.map_err(|error| from_database(&error))?;
        let names = Arc::new(CompanyNames::new(own));
        if names.own.is_empty() {
            self.companies.remove(&company_id);
        } else {
            self.companies.insert(company_id, Arc::clone(&names));
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

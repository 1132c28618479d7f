//! Resolves vocabulary names to IDs: the default names, and a company's own names.

use std::collections::{BTreeMap, HashMap};

use compliance_api::{
    catalogue::{Vocabulary, default_type_of_name},
    record::{Record, RecordField, StoredAs},
    rules::Violations,
};

/// Maximum number of known names listed in an error message.
const MAX_LISTED_NAMES: usize = 100;

#[derive(Clone, Debug)]
pub(super) struct OwnName {
    pub(super) vocabulary: i16,
    pub(super) id: i32,
    pub(super) name: String,
    /// The type's ID, for an infraction name.
    pub(super) parent: Option<i32>,
}

#[derive(Debug, Default)]
pub(super) struct CompanyNames {
    /// The company's own names, by vocabulary and ID.
    pub(super) own: Vec<OwnName>,
    ids: HashMap<(i16, Option<i32>), HashMap<String, i32>>,
}

/// The stored form of an infraction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct InfractionIds {
    pub(super) type_id: Option<i32>,
    pub(super) name_id: Option<i32>,
}

/// The IDs of a record's names, by column.
pub(super) type NameIds = BTreeMap<&'static str, i32>;

/// Returns a record's name fields, with their vocabularies and values.
fn fields<R: Record>(record: &R) -> impl Iterator<Item = (&'static RecordField<R>, Vocabulary, &str)> {
    R::FIELDS.iter().filter_map(|field| match field.column.form {
        StoredAs::Name(vocabulary) => Some((field, vocabulary, field.text(record)?)),
        _ => None,
    })
}

impl CompanyNames {
    pub(super) fn new(own: Vec<OwnName>) -> Self {
        let mut ids: HashMap<_, HashMap<_, _>> = HashMap::new();
        for entry in &own {
            ids.entry((entry.vocabulary, entry.parent)).or_default().insert(entry.name.clone(), entry.id);
        }
        Self { own, ids }
    }

    /// Returns the ID of a name. An infraction name must belong to the type `parent`.
    fn id(&self, vocabulary: Vocabulary, parent: Option<i32>, name: &str) -> Option<i32> {
        let default = vocabulary.default_id(name).filter(|id| parent.is_none() || default_type_of_name(*id) == parent);
        default.or_else(|| self.ids.get(&(vocabulary as i16, parent))?.get(name).copied())
    }

    /// Returns whether a name is known or empty. Does not support infraction names.
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

    /// Returns the ID of a field's name. An infraction name must belong to the type `parent`.
    ///
    /// Reports an unknown name as a violation that lists the known names. An empty name counts as absent.
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

    /// Returns the IDs of a record's names. The field paths in violations begin with `prefix`.
    pub(super) fn resolve_record<R: Record>(&self, violations: &mut Violations, prefix: &str, record: &R) -> NameIds {
        let id = |(field, vocabulary, name): (&RecordField<R>, _, _)| {
            let path = format!("{prefix}{}", field.name);
            Some((field.column.name, self.resolve(violations, &path, vocabulary, None, Some(name))?))
        };
        fields(record).filter_map(id).collect()
    }

    /// Returns the IDs of an infraction. The field paths in violations begin with `prefix`.
    pub(super) fn resolve_infraction(
        &self,
        violations: &mut Violations,
        prefix: &str,
        kind: Option<&str>,
        name: Option<&str>,
    ) -> InfractionIds {
        let path = format!("{prefix}infraction_type");
        if kind.is_none_or(str::is_empty) && name.is_some_and(|name| !name.is_empty()) {
            violations.report(path, |label| format!("The {label} field is required with an infraction name."));
            return InfractionIds::default();
        }
        let type_id = self.resolve(violations, &path, Vocabulary::InfractionType, None, kind);
        let path = format!("{prefix}infraction_name");
        // If the type is unknown, the name is not checked.
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
        violations.report(path, |label| format!("The selected {label} is invalid. It must be one of: {known}{more}."));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infraction_names_resolve_within_their_type() {
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
        assert_eq!(violation.message, "The selected infraction name is invalid. It must be one of: weight loss.");
    }
}

//! Vocabularies: listed, and extended with names of the company.

mod add;

use compliance_api::{
    catalogue::{Vocabulary, default_type_of_name},
    v1::{VocabularyEntry, VocabularyNames},
};

pub(super) use self::add::{INPUT, add};
use super::names::CompanyNames;

/// Every vocabulary, with the names that the company can use.
pub(super) fn list(names: &CompanyNames) -> Vec<VocabularyNames> {
    Vocabulary::all().map(|kind| entries(names, kind)).collect()
}

fn entries(names: &CompanyNames, kind: Vocabulary) -> VocabularyNames {
    let own = || names.own().iter();
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

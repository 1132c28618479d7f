//! Who affiliates are: names, places and languages, in many scripts.

use std::sync::LazyLock;

use serde::Deserialize;

use super::chance::Chance;

/// A country's share of the affiliates, and how people there are called.
#[derive(Debug, Deserialize)]
pub(super) struct Place {
    /// ISO 3166-1 alpha-2.
    pub(super) country: String,
    weight: u32,
    /// What is spoken there, in English.
    pub(super) language: String,
    /// What that is written in.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test makes sure that there are many"))]
    script: String,
    dial: String,
    zip: String,
    family_first: bool,
    given: Vec<String>,
    family: Vec<String>,
    cities: Vec<(String, String)>,
}

/// The places, checked by a test.
static PLACES: LazyLock<Vec<Place>> =
    LazyLock::new(|| serde_json::from_str(include_str!("places.json")).unwrap_or_default());

/// A person's name, and how it looks in an address.
#[derive(Clone, Debug)]
pub(super) struct Person {
    pub(super) full: String,
    pub(super) given: String,
    pub(super) family: String,
    /// `given.family` in ASCII.
    pub(super) slug: String,
}

/// A place by its weight.
pub(super) fn place(chance: &mut Chance) -> &'static Place {
    static WEIGHTS: LazyLock<Vec<u32>> = LazyLock::new(|| PLACES.iter().map(|place| place.weight).collect());
    &PLACES[chance.weighted(&WEIGHTS)]
}

impl Place {
    /// Somebody who lives there.
    pub(super) fn person(&self, chance: &mut Chance) -> Person {
        let (given, given_slug) = spelled(chance.pick::<String>(&self.given));
        let (family, family_slug) = spelled(chance.pick::<String>(&self.family));
        let gap = if matches!(self.country.as_str(), "CN" | "JP" | "KR") { "" } else { " " };
        let full = if self.family_first { format!("{family}{gap}{given}") } else { format!("{given} {family}") };
        let slug = format!("{given_slug}.{family_slug}").to_lowercase().replace(' ', "");
        Person { full, given: given.to_owned(), family: family.to_owned(), slug }
    }

    /// A city and its state.
    pub(super) fn city(&self, chance: &mut Chance) -> (&str, &str) {
        let (city, state) = chance.pick(&self.cities);
        (city, state)
    }

    /// A postal code of its form.
    pub(super) fn zip(&self, chance: &mut Chance) -> String {
        chance.filled(&self.zip)
    }

    /// A telephone number.
    pub(super) fn phone(&self, chance: &mut Chance) -> String {
        // 555 01xx is set aside for stories where a country sets numbers aside.
        chance.filled(&format!("{} ### 555 01##", self.dial))
    }
}

/// A name, and how it is spelled in ASCII.
fn spelled(entry: &str) -> (&str, &str) {
    entry.split_once('|').unwrap_or((entry, entry))
}

/// Longer and longer variants of a name that somebody has already.
pub(super) fn variant(person: &Person, place: &Place, tries: u32, number: u64, chance: &mut Chance) -> String {
    let second = place.person(chance);
    match tries {
        0 => person.full.clone(),
        1 | 2 if place.family_first => format!("{}{}", person.full, second.given),
        1 | 2 => format!("{} {} {}", person.given, second.given, person.family),
        3 | 4 => format!("{} {} {}-{}", person.given, second.given, person.family, second.family),
        5 => format!("{} ({})", person.full, place.city(chance).0),
        _ => format!("{} #{number}", person.full),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::PLACES;
    use crate::demo_data::chance::{Chance, Stream};

    #[test]
    fn places_are_whole_and_write_in_many_scripts() {
        let scripts: HashSet<&str> = PLACES.iter().map(|place| place.script.as_str()).collect();
        assert!(scripts.len() >= 10, "{scripts:?}");
        for place in PLACES.iter() {
            assert!(compliance_api::country::numeric(&place.country).is_some(), "{}", place.country);
            assert!(!place.given.is_empty() && !place.family.is_empty() && !place.cities.is_empty());
            for number in 0..200 {
                let person = place.person(&mut Chance::of(1, Stream::AffiliateCore, number));
                assert!(person.slug.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'.'), "{}", person.slug);
            }
        }
    }
}

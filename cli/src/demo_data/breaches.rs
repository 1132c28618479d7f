//! What is found in breach of policy, and where it fits.

use compliance_api::{catalogue::default_type_of_name, v1::IncidentType};

use super::chance::Chance;

/// An infraction: the IDs of its type and name in the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Breach {
    pub(super) type_id: i32,
    pub(super) name_id: i32,
}

/// How often each name of the catalogue is found on web pages, from the first on.
const ON_PAGES: [u32; 21] = [6, 8, 7, 12, 10, 4, 3, 8, 8, 3, 1, 3, 2, 5, 5, 2, 22, 1, 2, 3, 2];
/// … behind forms: promises and missing disclosures.
const IN_FORMS: [u32; 21] = [4, 6, 4, 8, 9, 0, 0, 3, 3, 0, 0, 0, 0, 0, 4, 6, 14, 0, 0, 0, 6];
/// … in display ads.
const IN_ADS: [u32; 21] = [6, 3, 5, 8, 3, 4, 2, 10, 6, 5, 0, 0, 6, 5, 10, 2, 5, 0, 0, 9, 0];
/// … in paid search ads: the brand's name, mostly.
const IN_SEARCH: [u32; 21] = [0, 0, 1, 1, 0, 0, 0, 1, 0, 1, 46, 4, 28, 10, 6, 0, 0, 2, 0, 0, 0];

/// Some different infractions of a page, at most three.
pub(super) fn of_page(count: u8, chance: &mut Chance) -> Vec<Breach> {
    let mut found: Vec<Breach> = Vec::with_capacity(3);
    while found.len() < usize::from(count.min(3)) {
        let breach = drawn(&ON_PAGES, chance);
        if !found.contains(&breach) {
            found.push(breach);
        }
    }
    found
}

/// One that fits what an incident was found in.
pub(super) fn of_incident(kind: IncidentType, chance: &mut Chance) -> Breach {
    let weights = match kind {
        IncidentType::Form => &IN_FORMS,
        IncidentType::DisplayAd => &IN_ADS,
        IncidentType::PaidSearchAd => &IN_SEARCH,
        IncidentType::Url | IncidentType::Unspecified => &ON_PAGES,
    };
    drawn(weights, chance)
}

fn drawn(weights: &[u32; 21], chance: &mut Chance) -> Breach {
    let name_id = chance.weighted(weights) as i32 + 1;
    Breach { type_id: default_type_of_name(name_id).unwrap_or(1), name_id }
}

/// What somebody says who does it, for transcriptions.
pub(super) fn spoken(name_id: i32) -> &'static str {
    match name_id {
        1 => "There is simply no ceiling on what you can earn with this.",
        2 => "Within six months it replaced my whole salary.",
        3 => "I handed in my notice last week, and so can you.",
        4 => "Freiheit heißt, nie wieder auf den Kontostand zu schauen.",
        5 => "Last month alone I made nine thousand two hundred.",
        6 => "After three weeks my doctor could not find it any more.",
        7 => "It took my anxiety away completely.",
        8 => "Bajé once kilos sin cambiar nada más.",
        9 => "It works ten times better than anything in the shops.",
        10 => "Nothing else on the market even comes close.",
        14 => "The code should still work, try it.",
        15 => "Everything is free today, you only pay for shipping.",
        16 => "Click it three times and you get a voucher from me.",
        17 => "I just love this company, nobody asked me to say so.",
        21 => "If you are with the other team already, come over to us.",
        _ => "The link is right below the video.",
    }
}

#[cfg(test)]
mod tests {
    use compliance_api::{
        catalogue::{Vocabulary, default_type_of_name},
        v1::IncidentType,
    };

    use super::{of_incident, of_page};
    use crate::demo_data::chance::{Chance, Stream};

    #[test]
    fn infractions_are_of_the_catalogue_and_differ() {
        for number in 0..2000 {
            let chance = &mut Chance::of(3, Stream::UrlRest, number);
            let found = of_page(3, chance);
            assert!(found[0] != found[1] && found[1] != found[2] && found[0] != found[2]);
            let other = of_incident(IncidentType::PaidSearchAd, chance);
            for breach in found.into_iter().chain([other]) {
                assert!(Vocabulary::InfractionName.default_name(breach.name_id).is_some());
                assert_eq!(default_type_of_name(breach.name_id), Some(breach.type_id));
            }
        }
    }
}

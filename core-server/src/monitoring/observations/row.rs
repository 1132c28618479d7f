//! One URL's observations as a row.

use compliance_api::{
    catalogue::Vocabulary,
    country,
    rules::{Violations, check},
    v1::UrlObservation,
};
use time::OffsetDateTime;

use crate::{
    monitoring::{
        faults::{Refused, at_most_within, fault},
        names::{InfractionIds, Known},
        write::{AffiliateRef, NAMED_TWICE, filled, moment},
    },
    urls::identity,
};

/// Infractions within one observation, at most.
const MOST_INFRACTIONS: usize = 100;

/// Columns that observations write, by their bit in a row's mask, each with its type.
pub(super) const COLUMNS: [(&str, &str); 21] = [
    ("incident_status_id", "integer"),
    ("disabled", "boolean"),
    ("false_positive", "boolean"),
    ("country", "smallint"),
    ("discovery_date", "timestamptz"),
    ("last_review_date", "timestamptz"),
    ("last_crawl_date", "timestamptz"),
    ("last_seen", "timestamptz"),
    ("transcription_status_id", "integer"),
    ("affiliate_id", "bigint"),
    ("sub_affiliate_id", "text"),
    ("owner_email", "text"),
    ("social_one", "text"),
    ("social_two", "text"),
    ("social_three", "text"),
    ("phone_one", "text"),
    ("phone_two", "text"),
    ("landing_page", "text"),
    ("note", "text"),
    ("video_path", "text"),
    ("transcription_text", "text"),
];
/// The bit of the affiliate.
pub(super) const AFFILIATE: usize = 9;
/// The bit of the first text.
const TEXTS: usize = 10;
/// How many texts there are.
pub(super) const TEXT_COUNT: usize = COLUMNS.len() - TEXTS;

/// What is to be written of one URL.
#[derive(Debug)]
pub(in crate::monitoring) struct Row {
    /// What the URL is known by.
    pub(super) hash: [u8; 32],
    pub(super) url: String,
    pub(super) domain: Option<String>,
    /// Which columns are written: a bit each.
    pub(super) mask: i32,
    pub(super) incident_status: Option<i32>,
    pub(super) disabled: Option<bool>,
    pub(super) false_positive: Option<bool>,
    pub(super) country: Option<i16>,
    pub(super) moments: [Option<OffsetDateTime>; 4],
    pub(super) transcription_status: Option<i32>,
    pub(super) affiliate: Option<AffiliateRef>,
    pub(super) texts: [Option<String>; TEXT_COUNT],
    /// Infractions to be added, with the seconds since 1970 that they were found at.
    pub(super) infractions: Vec<(InfractionIds, Option<i64>)>,
    /// The items that the row is made of.
    pub(super) items: Vec<usize>,
}

impl Row {
    /// Checks an observation.
    pub(super) fn new(known: &Known, item: usize, observation: UrlObservation) -> Result<Self, Refused> {
        let mut faults = check(&observation);
        let identity = observation.url.as_deref().and_then(identity);
        let mask = mask(&mut faults, &observation);
        at_most_within(&mut faults, MOST_INFRACTIONS, "infractions", observation.infractions.len());
        let status = observation.incident_status.as_deref();
        let status = known.resolve(&mut faults, "incident_status", Vocabulary::UrlIncidentStatus, status);
        let transcription = observation.transcription_status.as_deref();
        let transcription_status =
            known.resolve(&mut faults, "transcription_status", Vocabulary::TranscriptionStatus, transcription);
        let infractions = infractions(known, &mut faults, &observation);
        let affiliate = AffiliateRef::of(observation.affiliate_id, observation.client_affiliate_id);
        if affiliate.is_err() {
            fault(&mut faults, "affiliate_id", |_| NAMED_TWICE.to_owned());
        }
        let (Some((hash, domain)), Some(url), Ok(affiliate), true) =
            (identity, observation.url, affiliate, faults.is_empty())
        else {
            return Err(Refused::invalid(faults));
        };
        Ok(Self {
            hash,
            url,
            domain,
            mask,
            incident_status: status,
            disabled: observation.disabled,
            false_positive: observation.false_positive,
            country: observation.country.as_deref().and_then(country::numeric),
            moments: [
                moment(observation.discovery_date.as_ref()),
                moment(observation.last_review_date.as_ref()),
                moment(observation.last_crawl_date.as_ref()),
                moment(observation.last_seen.as_ref()),
            ],
            transcription_status,
            affiliate,
            texts: [
                filled(observation.sub_affiliate_id),
                filled(observation.owner_email),
                filled(observation.social_one),
                filled(observation.social_two),
                filled(observation.social_three),
                filled(observation.phone_one),
                filled(observation.phone_two),
                filled(observation.landing_page),
                filled(observation.note),
                filled(observation.video_path),
                filled(observation.transcription_text),
            ],
            infractions,
            items: vec![item],
        })
    }

    /// Whether a later row of the same URL can become part of this one: none of the two can fail without the other.
    pub(super) fn can_take(&self, later: &Self) -> bool {
        self.affiliate == later.affiliate
    }

    /// Lets a later row of the same URL win, column by column.
    pub(super) fn take(&mut self, later: Self) {
        fn win<T>(mask: i32, bit: usize, mine: &mut Option<T>, later: Option<T>) {
            if mask >> bit & 1 == 1 {
                *mine = later;
            }
        }
        let mask = later.mask;
        win(mask, 0, &mut self.incident_status, later.incident_status);
        win(mask, 1, &mut self.disabled, later.disabled);
        win(mask, 2, &mut self.false_positive, later.false_positive);
        win(mask, 3, &mut self.country, later.country);
        for (nth, (mine, later)) in self.moments.iter_mut().zip(later.moments).enumerate() {
            win(mask, 4 + nth, mine, later);
        }
        win(mask, 8, &mut self.transcription_status, later.transcription_status);
        for (nth, (mine, later)) in self.texts.iter_mut().zip(later.texts).enumerate() {
            win(mask, TEXTS + nth, mine, later);
        }
        self.mask |= mask;
        self.infractions.extend(later.infractions);
        self.items.extend(later.items);
    }

    /// The infractions as JSON, for the statement; `None` when there are none.
    pub(super) fn infractions_json(&self) -> Option<String> {
        use std::fmt::Write as _;

        let number = |value: Option<i64>| value.map_or_else(|| "null".to_owned(), |value| value.to_string());
        let mut json = String::new();
        for ((kind, name), found) in &self.infractions {
            let separator = if json.is_empty() { '[' } else { ',' };
            let (kind, name) = (number(kind.map(i64::from)), number(name.map(i64::from)));
            let _ = write!(json, "{separator}{{\"t\":{kind},\"n\":{name},\"d\":{}}}", number(*found));
        }
        (!json.is_empty()).then(|| json + "]")
    }
}

/// The columns that an observation writes: those given and those cleared.
fn mask(faults: &mut Violations, observation: &UrlObservation) -> i32 {
    let given = [
        ("incident_status", observation.incident_status.is_some()),
        ("disabled", observation.disabled.is_some()),
        ("false_positive", observation.false_positive.is_some()),
        ("country", observation.country.is_some()),
        ("discovery_date", observation.discovery_date.is_some()),
        ("last_review_date", observation.last_review_date.is_some()),
        ("last_crawl_date", observation.last_crawl_date.is_some()),
        ("last_seen", observation.last_seen.is_some()),
        ("transcription_status", observation.transcription_status.is_some()),
        ("affiliate_id", observation.affiliate_id.is_some() || observation.client_affiliate_id.is_some()),
        ("sub_affiliate_id", observation.sub_affiliate_id.is_some()),
        ("owner_email", observation.owner_email.is_some()),
        ("social_one", observation.social_one.is_some()),
        ("social_two", observation.social_two.is_some()),
        ("social_three", observation.social_three.is_some()),
        ("phone_one", observation.phone_one.is_some()),
        ("phone_two", observation.phone_two.is_some()),
        ("landing_page", observation.landing_page.is_some()),
        ("note", observation.note.is_some()),
        ("video_path", observation.video_path.is_some()),
        ("transcription_text", observation.transcription_text.is_some()),
    ];
    if observation.incident_status.as_deref() == Some("") {
        fault(faults, "incident_status", |label| format!("The {label} field cannot be cleared."));
    }
    let mut mask = given.iter().enumerate().fold(0, |mask, (bit, (_, given))| mask | i32::from(*given) << bit);
    for name in &observation.clear {
        let name = if name == "client_affiliate_id" { "affiliate_id" } else { name.as_str() };
        let Some(bit) = given.iter().position(|(field, _)| *field == name) else { continue };
        if given[bit].1 {
            fault(faults, name, |label| format!("The {label} field is given and cleared."));
        }
        mask |= 1 << bit;
    }
    mask
}

fn infractions(
    known: &Known,
    faults: &mut Violations,
    observation: &UrlObservation,
) -> Vec<(InfractionIds, Option<i64>)> {
    let found = observation.infractions.iter().enumerate();
    found
        .map(|(index, infraction)| {
            let prefix = format!("infractions.{index}.");
            let (kind, name) = (infraction.infraction_type.as_deref(), infraction.infraction_name.as_deref());
            // That the type is missing is told already.
            let name = name.filter(|_| kind.is_some_and(|kind| !kind.is_empty()));
            let ids = known.resolve_infraction(faults, &prefix, kind, name);
            (ids, infraction.created_date.as_ref().map(|date| date.seconds))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_is_a_column_of_its_field() {
        let mut faults = Violations::new();
        for (bit, (column, _)) in COLUMNS.iter().enumerate() {
            let field = column.replace("status_id", "status");
            let clear = vec![field.clone()];
            let cleared = mask(&mut faults, &UrlObservation { clear, ..UrlObservation::default() });
            assert_eq!(cleared, 1 << bit, "{field}");
        }
        assert!(faults.is_empty());
        assert_eq!(COLUMNS[AFFILIATE].0, "affiliate_id");
        assert_eq!(TEXT_COUNT, 11);
    }
}

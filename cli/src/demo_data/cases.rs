//! Cases: about whom, since when, how they went; and their incidents other than URLs.

use compliance_api::v1::IncidentType;

use super::{
    Programme, affiliates,
    breaches::of_incident,
    chance::{Chance, Stream},
    clock::DAY,
    people,
    rows::Rows,
};

/// The columns that [`write()`] fills, in its order.
pub(super) const COLUMNS: &str = "company_id, id, affiliate_id, case_worker, tags, case_status_id, sub_status_id, \
    submitter, notice_status_id, risk_level_id, case_country, sub_affiliate_id, created_date, reviewed_date, \
    resolved_date, first_action_date, flagged_date, follow_up_date, closed_date, last_updated_date";
/// The columns that [`write_incidents`] fills, and those of a URL's incident.
pub(super) const INCIDENT_COLUMNS: &str =
    "company_id, id, case_id, incident_type, url_id, reference, infraction_type_id, infraction_name_id";

/// Case statuses, by their IDs in the catalogue.
const NEW: i32 = 1;
const OPEN: i32 = 2;
const IN_PROGRESS: i32 = 3;
const BLOCKED: i32 = 4;
const RESOLVED: i32 = 5;
const CLOSED: i32 = 6;
/// Weights of the statuses from `New` to `Duplicate`: of cases of the last days, of the last weeks, and before.
const FRESH: [u32; 9] = [44, 32, 18, 1, 2, 1, 1, 1, 0];
const RECENT: [u32; 9] = [5, 20, 34, 9, 17, 9, 3, 2, 1];
const OLD: [u32; 9] = [0, 2, 4, 2, 19, 59, 6, 5, 3];

const WORKERS: [&str; 10] = [
    "Dana Whitfield",
    "Jörg Ammann",
    "Priya Raman",
    "Олеся Гнатюк",
    "Tomás Echeverría",
    "佐々木 恵",
    "Νίκη Αλεξίου",
    "Marguerite Côté",
    "Samuel Adeyemi",
    "Ewa Żak",
];
const SUBMITTERS: [&str; 7] = [
    "Automatic discovery",
    "Brand monitoring",
    "Customer report",
    "Field compliance",
    "Legal",
    "Partner hotline",
    "Regulator enquiry",
];
const TAGS: [&str; 10] = [
    "repeat offender",
    "paid social",
    "video",
    "launch week",
    "top earner",
    "price comparison",
    "regulator",
    "translated",
    "holiday",
    "takedown",
];

/// How a case ended, as far as its URLs show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// Not yet.
    Open,
    /// What was found is gone or has been put right.
    Remedied,
    /// There was nothing to it.
    Dropped,
}

/// What records of other kinds need to know of a case.
#[derive(Clone, Copy, Debug)]
pub(super) struct Core {
    pub(super) affiliate: u64,
    pub(super) created: i64,
    /// How many URLs it would take.
    pub(super) room: u8,
    status: i32,
}

impl Core {
    pub(super) fn ending(&self) -> Ending {
        match self.status {
            RESOLVED | CLOSED => Ending::Remedied,
            NEW..=BLOCKED => Ending::Open,
            _ => Ending::Dropped,
        }
    }
}

/// The case `number`; the same whenever it is asked for.
pub(super) fn core(programme: &Programme, number: u64) -> Core {
    let mut chance = Chance::of(programme.seed, Stream::CaseCore, number);
    let created = programme.clock.nth(number, programme.cases, chance.unit());
    let affiliate = affiliates::active_at(programme, created, &mut chance);
    let room = [0, 1, 2, 3, 5][chance.weighted(&[22, 40, 22, 11, 5])];
    let weights = match (programme.clock.end - created) / DAY {
        ..10 => &FRESH,
        10..60 => &RECENT,
        _ => &OLD,
    };
    Core { affiliate, created, room, status: chance.weighted(weights) as i32 + 1 }
}

/// When what was done about a case.
struct Dates {
    first_action: Option<i64>,
    reviewed: Option<i64>,
    resolved: Option<i64>,
    closed: Option<i64>,
    flagged: Option<i64>,
    follow_up: Option<i64>,
}

fn dates(programme: &Programme, core: &Core, risk: i32, chance: &mut Chance) -> Dates {
    let clock = programme.clock;
    let mut after = |moment: i64, days: f64| clock.later(moment, 600 + chance.wait(days * DAY as f64));
    let Core { created, status, .. } = *core;
    let first_action = (status != NEW).then(|| after(created, 1.2));
    let reviewed = first_action.filter(|_| status != OPEN).map(|moment| after(moment, 3.0));
    let resolved = reviewed.filter(|_| matches!(status, RESOLVED | CLOSED)).map(|moment| after(moment, 11.0));
    let closed = resolved.or(reviewed).filter(|_| status >= CLOSED).map(|moment| after(moment, 4.0));
    let flag = after(created, 0.4);
    let flagged = chance.percent(if risk > 2 { 75.0 } else { 6.0 }).then_some(flag);
    let follow_up = match closed {
        // Plans lie ahead.
        None if status != RESOLVED && chance.percent(70.0) => Some(clock.end + chance.between(1, 30) * DAY),
        Some(closed) if chance.percent(25.0) => Some(closed + chance.between(14, 120) * DAY),
        _ => None,
    };
    Dates { first_action, reviewed, resolved, closed, flagged, follow_up }
}

/// A sub-status and a notice status that fit the status.
fn stages(status: i32, chance: &mut Chance) -> (Option<i32>, Option<i32>) {
    let (sub, notice): (&[i32], &[i32]) = match status {
        NEW => (&[0, 0, 1], &[0, 1]),
        OPEN => (&[1, 1, 3], &[1, 1, 3]),
        IN_PROGRESS => (&[1, 2, 4, 7, 8], &[3, 3, 4, 5, 6]),
        BLOCKED => (&[3, 4, 8], &[3, 4, 5]),
        RESOLVED | CLOSED => (&[5, 5, 5, 6, 6, 9], &[6, 7, 7, 8, 2]),
        _ => (&[0, 2, 9], &[2, 2, 0]),
    };
    let mut one = |ids: &[i32]| Some(*chance.pick(ids)).filter(|id| *id > 0);
    (one(sub), one(notice))
}

/// Writes the case `number`.
pub(super) fn write(programme: &Programme, number: u64, id: i64, affiliate_id: i64, rows: &mut Rows) {
    let core = core(programme, number);
    let chance = &mut Chance::of(programme.seed, Stream::CaseRest, number);
    let risk = chance.weighted(&[40, 36, 18, 6]) as i32 + 1;
    let Dates { first_action, reviewed, resolved, closed, flagged, follow_up } = dates(programme, &core, risk, chance);
    let touched = [first_action, reviewed, resolved, closed, flagged].into_iter().flatten().max();
    let (sub_status, notice) = stages(core.status, chance);
    let mut tags: Vec<&str> = Vec::new();
    for _ in 0..chance.weighted(&[45, 30, 18, 7]) {
        let tag = chance.one_of(&TAGS);
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    let at_home = affiliates::core(programme.seed, core.affiliate).country;
    let country = if chance.percent(92.0) {
        at_home
    } else {
        compliance_api::country::numeric(&people::place(chance).country).unwrap_or(at_home)
    };
    let worker = chance.one_of(&WORKERS);
    let idle = core.status == NEW && chance.percent(60.0);
    let submitter = chance.one_of(&SUBMITTERS);
    let sub_affiliate = chance.filled("SUB-####");
    rows.number(programme.company)
        .number(id)
        .number(affiliate_id)
        .text((!idle).then_some(worker))
        .words(&tags)
        .number(core.status)
        .maybe(sub_status)
        .text((!chance.percent(3.0)).then_some(submitter))
        .maybe(notice)
        .maybe((!chance.percent(4.0)).then_some(risk))
        .maybe((!chance.percent(3.0)).then_some(country))
        .text(chance.percent(7.0).then_some(&sub_affiliate))
        .moment(Some(core.created))
        .moment(reviewed)
        .moment(resolved)
        .moment(first_action)
        .moment(flagged)
        .moment(follow_up)
        .moment(closed)
        .moment(Some(touched.unwrap_or(core.created)))
        .end();
}

/// How many incidents other than URLs the case `number` has when it has so many URLs. A case is about something.
pub(super) fn others(programme: &Programme, number: u64, urls: u8) -> u64 {
    let chance = &mut Chance::of(programme.seed, Stream::CaseOthers, number);
    if urls == 0 { 1 + chance.weighted(&[70, 22, 8]) as u64 } else { chance.weighted(&[82, 14, 4]) as u64 }
}

/// Writes the incidents other than URLs of the case `number`.
pub(super) fn write_incidents(programme: &Programme, number: u64, case_id: i64, ids: &[i64], rows: &mut Rows) {
    let chance = &mut Chance::of(programme.seed, Stream::CaseIncidents, number);
    for (place, id) in ids.iter().enumerate() {
        let kinds = [IncidentType::Form, IncidentType::DisplayAd, IncidentType::PaidSearchAd];
        let kind = kinds[chance.weighted(&[25, 40, 35])];
        let prefix = match kind {
            IncidentType::Form => "form",
            IncidentType::DisplayAd => "display-ad",
            _ => "search-ad",
        };
        let breach = of_incident(kind, chance);
        rows.number(programme.company)
            .number(id)
            .number(case_id)
            .number(kind as i32)
            .null()
            .text(Some(&format!("{prefix}-{:07}-{}", number + 1, place + 1)))
            .number(breach.type_id)
            .number(breach.name_id)
            .end();
    }
}

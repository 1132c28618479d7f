//! URLs with their infractions and, where they are part of a case, their incidents.

use compliance_api::{country, rules::normalised_url, v1::IncidentType};
use sha2::{Digest as _, Sha256};

use super::{
    Programme, affiliates,
    breaches::{self, Breach},
    chance::{Chance, Stream},
    clock::{DAY, day_of, within},
    pages::{Kind, page},
    people,
    plan::{APPROVED, ARCHIVED, IN_VIOLATION, NEW, Plan, REMEDIATED},
    rows::Rows,
};

/// The columns that [`write()`] fills, in its order.
pub(super) const COLUMNS: &str = "company_id, id, url, url_hash, domain, incident_status_id, disabled, false_positive, \
    country, discovery_date, last_review_date, last_crawl_date, last_seen, affiliate_id, sub_affiliate_id, owner_email, \
    social_one, social_two, social_three, phone_one, phone_two, landing_page, case_id, note, video_path, \
    transcription_text, transcription_status_id";
/// The columns of an infraction.
pub(super) const INFRACTION_COLUMNS: &str =
    "company_id, id, url_id, infraction_type_id, infraction_name_id, created_date";

/// The IDs that a URL's row refers to.
pub(super) struct Ids {
    pub(super) url: i64,
    pub(super) affiliate: Option<i64>,
    pub(super) case: Option<i64>,
}

/// Where the rows of one URL go.
#[derive(Default)]
pub(super) struct Tables {
    pub(super) urls: Rows,
    pub(super) infractions: Rows,
    pub(super) incidents: Rows,
}

/// When a URL was looked at.
struct Times {
    review: Option<i64>,
    crawl: Option<i64>,
    seen: Option<i64>,
}

/// Writes one URL and what belongs to it. `infraction_ids` and `incident_id` are drawn from as needed.
pub(super) fn write(
    programme: &Programme,
    plan: &Plan,
    ids: &Ids,
    infraction_ids: &mut impl Iterator<Item = i64>,
    incident_ids: &mut impl Iterator<Item = i64>,
    tables: &mut Tables,
) {
    let chance = &mut Chance::of(programme.seed, Stream::UrlRest, plan.number);
    let found = breaches::of_page(plan.breaches, chance);
    let dates = found_at(programme, plan, found.len(), chance);
    for (breach, date) in found.iter().zip(&dates) {
        let Some(id) = infraction_ids.next() else { break };
        let row = tables.infractions.number(programme.company).number(id).number(ids.url);
        row.number(breach.type_id).number(breach.name_id).moment(Some(*date)).end();
    }
    if let (Some(case), Some(first), Some(id)) = (ids.case, found.first(), ids.case.and_then(|_| incident_ids.next())) {
        let row = tables.incidents.number(programme.company).number(id).number(case);
        row.number(IncidentType::Url as i32).number(ids.url).null().number(first.type_id).number(first.name_id).end();
    }
    write_url(programme, plan, ids, &found, dates.last().copied(), chance, &mut tables.urls);
}

/// When the infractions were found: after the URL, and before its case was opened.
fn found_at(programme: &Programme, plan: &Plan, count: usize, chance: &mut Chance) -> Vec<i64> {
    let latest = plan.case.map_or(programme.clock.end - 1, |(_, opened)| opened);
    let mut moment = plan.discovered;
    let mut next = || {
        moment = within(moment, 60 + chance.wait(1.5 * DAY as f64), latest);
        moment
    };
    (0..count).map(|_| next()).collect()
}

fn write_url(
    programme: &Programme,
    plan: &Plan,
    ids: &Ids,
    found: &[Breach],
    last_found: Option<i64>,
    chance: &mut Chance,
    rows: &mut Rows,
) {
    let owner = affiliates::core(programme.seed, plan.affiliate.unwrap_or(plan.number));
    let day = day_of(plan.discovered);
    let slug = &owner.person.slug;
    let page = page(plan.number, (day.year(), u8::from(day.month())), slug, chance);
    // What is made here is tested to be URLs.
    let normalised = normalised_url(&page.url);
    let hash = Sha256::digest(normalised.as_ref().map_or(page.url.as_str(), |url| url.as_str()));
    let disabled = chance.percent(match plan.status {
        ARCHIVED => 20.0,
        REMEDIATED => 6.0,
        _ => 0.7,
    });
    let Times { review, crawl, seen } = times(programme, plan, disabled, last_found, chance);
    let false_positive = match plan.status {
        NEW => None,
        APPROVED => (!chance.percent(20.0)).then(|| chance.percent(18.0)),
        _ => (!chance.percent(30.0)).then_some(false),
    };
    let country = match chance.weighted(&[if plan.affiliate.is_some() { 86 } else { 30 }, 7, 7]) {
        0 => Some(owner.country),
        1 => country::numeric(&people::place(chance).country),
        _ => None,
    };
    let maybe = |happens: bool, text: String| happens.then_some(text);
    let name = slug.replace('.', "");
    let site = affiliates::site(slug, plan.affiliate.unwrap_or(plan.number));
    rows.number(programme.company)
        .number(ids.url)
        .text(Some(&page.url))
        .bytes(&hash)
        .text(normalised.as_ref().and_then(|url| url.host_str()))
        .number(plan.status)
        .flag(Some(disabled))
        .flag(false_positive)
        .maybe(country)
        .moment(Some(plan.discovered))
        .moment(review)
        .moment(crawl)
        .moment(seen)
        .maybe(ids.affiliate)
        .text(maybe(chance.percent(6.0), chance.filled("SUB-####")).as_deref())
        .text(maybe(chance.percent(28.0), format!("{slug}@inbox.example")).as_deref())
        .text(maybe(chance.percent(26.0), format!("https://friendface.example/{name}")).as_deref())
        .text(maybe(chance.percent(11.0), format!("https://pictogram.example/{name}")).as_deref())
        .text(maybe(chance.percent(4.0), format!("https://chirp.example/{name}")).as_deref())
        .text(maybe(chance.percent(12.0), owner.place.phone(chance)).as_deref())
        .text(maybe(chance.percent(3.0), owner.place.phone(chance)).as_deref())
        .text(maybe(plan.affiliate.is_some() && chance.percent(35.0), format!("{site}join")).as_deref())
        .maybe(ids.case)
        .text(note(plan.status, chance));
    write_video(programme, plan, page.kind, found, chance, rows);
    rows.end();
}

/// Reviews follow discovery; what is gone was seen for the last time before, and what lives was seen just now.
fn times(programme: &Programme, plan: &Plan, disabled: bool, last_found: Option<i64>, chance: &mut Chance) -> Times {
    let (clock, discovered) = (programme.clock, plan.discovered);
    let unreviewed = plan.status == NEW && !chance.percent(6.0);
    let review = (!unreviewed).then(|| {
        let first = clock.later(discovered, 300 + chance.wait(5.0 * DAY as f64)).max(last_found.unwrap_or(0));
        if chance.percent(30.0) { chance.between(first, clock.end - 1) } else { first }
    });
    if chance.percent(if clock.end - discovered < DAY { 30.0 } else { 0.6 }) {
        return Times { review, crawl: None, seen: None };
    }
    let gone = disabled
        || chance.percent(match plan.status {
            REMEDIATED => 70.0,
            ARCHIVED => 60.0,
            _ => 5.0,
        });
    let latest = (clock.end - 1 - chance.wait(1.2 * DAY as f64)).max(discovered);
    let seen = if gone { chance.between(discovered, latest) } else { latest };
    let crawl = if disabled { clock.later(seen, chance.wait(3.0 * DAY as f64)) } else { latest };
    // Some were gone before anybody came to look.
    Times { review, crawl: Some(crawl), seen: (!chance.percent(2.5)).then_some(seen) }
}

fn write_video(programme: &Programme, plan: &Plan, kind: Kind, found: &[Breach], chance: &mut Chance, rows: &mut Rows) {
    if kind != Kind::Video || chance.percent(8.0) {
        rows.null().null().null();
        return;
    }
    let fresh = programme.clock.end - plan.discovered < 3 * DAY;
    // Queued, In Progress, Completed, Failed.
    let status = chance.weighted(if fresh { &[40, 25, 33, 2] } else { &[1, 1, 92, 6] }) + 1;
    let day = day_of(plan.discovered);
    let path = format!("videos/{}/{:02}/{:08x}.mp4", day.year(), u8::from(day.month()), chance.below(1 << 32));
    let text = (status == 3).then(|| {
        const HELLO: [&str; 5] = [
            "Hi everyone and welcome back.",
            "Hallo ihr Lieben, schön dass ihr da seid.",
            "Hola a todos, gracias por estar aquí.",
            "Всем привет, я снова с вами.",
            "皆さん、こんにちは。",
        ];
        let mut text = chance.one_of(&HELLO).to_owned();
        for breach in found {
            text.push(' ');
            text.push_str(breaches::spoken(breach.name_id));
        }
        text.push_str(" Thanks for watching, and see you next week.");
        text
    });
    rows.text(Some(&path)).text(text.as_deref()).number(status);
}

fn note(status: i32, chance: &mut Chance) -> Option<&'static str> {
    const VIOLATION: [&str; 4] = [
        "Screenshot kept with the case.",
        "Claim repeated in the comments.",
        "Same text as on the sister page.",
        "Заявление проверено юристом.",
    ];
    const REMEDIED: [&str; 3] =
        ["Post edited after notice.", "Removed by the platform.", "Seite nicht mehr erreichbar."];
    const OTHER: [&str; 3] = ["Old page, no longer promoted.", "Checked twice, fine.", "Uses the approved wording."];
    let happens = chance.percent(11.0);
    let note = match status {
        IN_VIOLATION => chance.one_of(&VIOLATION),
        REMEDIATED => chance.one_of(&REMEDIED),
        _ => chance.one_of(&OTHER),
    };
    (happens && status != NEW).then_some(note)
}

//! Affiliates: who they are, since when, under whom.

use std::collections::{HashSet, hash_map::RandomState};
use std::hash::BuildHasher as _;

use compliance_api::country;

use super::{
    Programme,
    chance::{Chance, Stream},
    clock::{DAY, day_of},
    people::{self, Person, Place},
    rows::Rows,
};

/// The columns that [`Writer::write`] fills, in its order.
pub(super) const COLUMNS: &str = "company_id, id, client_affiliate_id, affiliate_name, email_one, email_two, phone_one, \
    phone_two, facebook, instagram, youtube, twitter, tiktok, pintrest, country, first_name, last_name, notes, address, \
    city, state, zip, ranking, replicated_website, sponsor, upline, status, start_date, language_used, territory, \
    entrepreneur_id, international_distributor, is_territory_director, jv_status, league, merchant_type, company_name, \
    sponsor_id, sponsor_email, pay_rank, recognition_rank";

/// How long before the records begin the first affiliate started, and how long before their end the last one did.
const FIRST_START: i64 = 6 * 365 * DAY;
const LAST_START: i64 = 5 * DAY;
/// Whoever has others below is one of the first so many: only their names need be kept.
const LEADERS: u64 = 20_000;

const RANKS: [&str; 8] = ["Associate", "Bronze", "Silver", "Gold", "Ruby", "Emerald", "Diamond", "Crown Diamond"];
const RANK_WEIGHTS: [u32; 8] = [420, 240, 150, 90, 55, 28, 12, 5];
const STATUSES: [&str; 6] = ["active", "inactive", "probation", "suspended", "terminated", "forgotten"];
const STATUS_WEIGHTS: [u32; 6] = [720, 125, 40, 35, 60, 20];
const MERCHANTS: [&str; 6] =
    ["Individual", "Sole proprietor", "Agency", "Content creator", "Retail partner", "Coaching"];
const TERRITORIES: [&str; 5] = ["Americas", "EMEA", "APAC", "DACH", "Nordics"];
const MAIL: [&str; 5] = ["mail.example", "inbox.example", "post.example.com", "web.example.net", "briefe.example.org"];
const TRADES: [&str; 6] = ["Wellness", "Media", "Consulting", "Trading", "Studio", "Partners"];

/// What records of other kinds need to know of an affiliate.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) place: &'static Place,
    pub(super) person: Person,
    /// The numeric code of its country.
    pub(super) country: i16,
}

/// The affiliate `number`; the same whenever it is asked for.
pub(super) fn core(seed: u64, number: u64) -> Core {
    let mut chance = Chance::of(seed, Stream::AffiliateCore, number);
    let place = people::place(&mut chance);
    let person = place.person(&mut chance);
    Core { place, person, country: country::numeric(&place.country).unwrap_or(840) }
}

/// The client's own identifier of the affiliate `number`.
pub(super) fn client_id(number: u64) -> String {
    format!("AF{:07}", 1_000_001 + number)
}

/// When the affiliate `number` started; later for each.
fn started(programme: &Programme, number: u64) -> i64 {
    let clock = programme.clock;
    let (first, last) = (clock.end - 3 * 365 * DAY - FIRST_START, clock.end - LAST_START);
    let share = (number as f64 / programme.affiliates as f64).powf(0.8);
    first + (share * (last - first) as f64) as i64
}

/// An affiliate that had started by a moment; a few of them are meant far more often than the rest.
pub(super) fn active_at(programme: &Programme, moment: i64, chance: &mut Chance) -> u64 {
    let (mut known, mut unknown) = (1, programme.affiliates);
    while known < unknown {
        let middle = known + (unknown - known) / 2;
        if started(programme, middle) < moment {
            known = middle + 1;
        } else {
            unknown = middle;
        }
    }
    chance.skewed(known)
}

/// Writes affiliates one after another and makes sure that no two share a name.
pub(super) struct Writer {
    /// Digests of all names, as the names themselves would be large.
    taken: HashSet<u64>,
    hasher: RandomState,
    leaders: Vec<(Box<str>, Box<str>)>,
}

impl Writer {
    pub(super) fn new() -> Self {
        Self { taken: HashSet::new(), hasher: RandomState::new(), leaders: Vec::new() }
    }

    fn name(&mut self, core: &Core, number: u64, chance: &mut Chance) -> String {
        let mut tries = 0;
        loop {
            let name = people::variant(&core.person, core.place, tries, number, chance);
            if self.taken.insert(self.hasher.hash_one(&name)) {
                return name;
            }
            tries += 1;
        }
    }

    /// Writes the affiliate `number`, which is the next one.
    pub(super) fn write(&mut self, programme: &Programme, number: u64, id: i64, rows: &mut Rows) {
        let core = core(programme.seed, number);
        let chance = &mut Chance::of(programme.seed, Stream::AffiliateRest, number);
        let name = self.name(&core, number, chance);
        let Core { place, person, country } = &core;
        let slug = &person.slug;
        let handle = format!("{}{}", slug.replace('.', ""), number % 1000);
        let email = format!("{slug}{number}@{}", chance.one_of(&MAIL));
        let maybe = |happens: bool, text: String| happens.then_some(text);
        let (city, state) = place.city(chance);
        let rank = chance.weighted(&RANK_WEIGHTS);
        let recognition = (rank + chance.weighted(&[6, 3, 1])).min(RANKS.len() - 1);
        let upline = (number > 0 && !chance.percent(3.0)).then(|| chance.skewed(number.min(LEADERS)));
        let sponsor = upline.map(|up| if chance.percent(12.0) { chance.skewed(number.min(LEADERS)) } else { up });
        let (sponsor_name, sponsor_email) = sponsor.and_then(|place| self.leaders.get(place as usize)).cloned().unzip();
        rows.number(programme.company)
            .number(id)
            .text(Some(&client_id(number)))
            .text(Some(&name))
            .text(maybe(!chance.percent(3.0), email.clone()).as_deref())
            .text(maybe(chance.percent(18.0), format!("{handle}@{}", chance.one_of(&MAIL))).as_deref())
            .text(maybe(!chance.percent(12.0), place.phone(chance)).as_deref())
            .text(maybe(chance.percent(15.0), place.phone(chance)).as_deref())
            .text(maybe(chance.percent(45.0), format!("https://friendface.example/{handle}")).as_deref())
            .text(maybe(chance.percent(52.0), format!("@{handle}")).as_deref())
            .text(maybe(chance.percent(20.0), format!("https://vidtube.example/@{handle}")).as_deref())
            .text(maybe(chance.percent(16.0), format!("@{}", handle.get(..14).unwrap_or(&handle))).as_deref())
            .text(maybe(chance.percent(34.0), format!("@{handle}")).as_deref())
            .text(maybe(chance.percent(8.0), handle.clone()).as_deref())
            .number(country)
            .text(Some(&person.given))
            .text(Some(&person.family))
            .text(note(chance))
            .text(maybe(!chance.percent(8.0), format!("{} {city} {}", chance.between(1, 240), number % 97)).as_deref())
            .text(Some(city))
            .text(Some(state))
            .text(Some(&place.zip(chance)))
            .text(Some(RANKS[rank]))
            .text(maybe(!chance.percent(25.0), site(slug, number)).as_deref())
            .text(sponsor_name.as_deref().filter(|name| name.chars().count() <= 64))
            .text(upline.map(client_id).as_deref())
            .text(Some(STATUSES[chance.weighted(&STATUS_WEIGHTS)]))
            .number(day_of(started(programme, number)))
            .text(Some(&place.language))
            .text(maybe(chance.percent(70.0), chance.one_of(&TERRITORIES).to_owned()).as_deref())
            .text(maybe(chance.percent(40.0), format!("E-{}", chance.filled("######"))).as_deref())
            .text(maybe(chance.percent(60.0), (if chance.percent(10.0) { "yes" } else { "no" }).to_owned()).as_deref())
            .text(maybe(rank > 4, "yes".to_owned()).as_deref())
            .text(maybe(chance.percent(5.0), "joint venture".to_owned()).as_deref())
            .text(maybe(rank > 2, format!("League {}", 1 + rank / 3)).as_deref())
            .text(Some(chance.one_of(&MERCHANTS)))
            .text(maybe(chance.percent(16.0), format!("{} {}", person.family, chance.one_of(&TRADES))).as_deref())
            .text(sponsor.map(client_id).as_deref())
            .text(sponsor_email.as_deref())
            .text(Some(RANKS[rank]))
            .text(Some(RANKS[recognition]))
            .end();
        if number < LEADERS {
            self.leaders.push((name.into(), email.into()));
        }
    }
}

/// The affiliate's copy of the company's site.
pub(super) fn site(slug: &str, number: u64) -> String {
    format!("https://{}{}.shop.example/", slug.replace('.', "-"), number % 1000)
}

fn note(chance: &mut Chance) -> Option<&'static str> {
    const NOTES: [&str; 6] = [
        "Completed the compliance training.",
        "Prefers to be written to, not called.",
        "Second warning sent; next breach goes to the board.",
        "Runs several pages under one brand.",
        "Bitte nur auf Deutsch anschreiben.",
        "Перевірено вручну.",
    ];
    let happens = chance.percent(14.0);
    let note = chance.one_of(&NOTES);
    happens.then_some(note)
}

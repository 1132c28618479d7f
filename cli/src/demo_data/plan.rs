//! Which URL is whose, how it ended, and which case it is part of: decided in order of discovery, as a case takes in
//! what was found before it was opened.

use super::{
    Programme, affiliates,
    cases::{self, Ending},
    chance::{Chance, Stream},
    clock::DAY,
};

/// Incident statuses, by their IDs in the catalogue.
pub(super) const NEW: i32 = 1;
pub(super) const OPEN: i32 = 2;
pub(super) const IN_VIOLATION: i32 = 3;
pub(super) const APPROVED: i32 = 4;
pub(super) const REMEDIATED: i32 = 5;
pub(super) const ARCHIVED: i32 = 6;
/// Weights of the statuses of what was discovered in the last days, and before.
const FRESH: [u32; 6] = [58, 18, 11, 11, 1, 1];
const OLD: [u32; 6] = [12, 10, 12, 40, 13, 13];

/// How long before a case is opened its URLs have been found.
const CASE_LAG: i64 = 150 * DAY;

/// What is decided of a URL.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) number: u64,
    pub(super) affiliate: Option<u64>,
    pub(super) discovered: i64,
    /// ID of its incident status.
    pub(super) status: i32,
    /// How many infractions were found on it.
    pub(super) breaches: u8,
    /// The case it is part of, and when that was opened.
    pub(super) case: Option<(u64, i64)>,
}

/// The cases that still take in URLs. Holds some bytes a case.
pub(super) struct Planner {
    /// Cases by affiliate, those of one in the order they were opened.
    by_affiliate: Vec<(u32, u32)>,
    /// URLs taken in, by case.
    taken: Vec<u8>,
    /// Where in `by_affiliate` an affiliate's cases begin that are still to come.
    next: std::collections::HashMap<u32, u32>,
}

impl Planner {
    pub(super) fn new(programme: &Programme) -> Self {
        let mut by_affiliate: Vec<(u32, u32)> = (0..programme.cases)
            .map(|number| (cases::core(programme, number).affiliate as u32, number as u32))
            .collect();
        by_affiliate.sort_unstable();
        let mut next = std::collections::HashMap::new();
        for (place, (affiliate, _)) in by_affiliate.iter().enumerate() {
            next.entry(*affiliate).or_insert(place as u32);
        }
        Self { by_affiliate, taken: vec![0; programme.cases as usize], next }
    }

    /// Decides the URL `number`, which is the next one.
    pub(super) fn plan(&mut self, programme: &Programme, number: u64) -> Plan {
        let chance = &mut Chance::of(programme.seed, Stream::UrlCore, number);
        let discovered = programme.clock.nth(number, programme.urls, chance.unit());
        let affiliate = (!chance.percent(5.0)).then(|| affiliates::active_at(programme, discovered, chance));
        let fresh = programme.clock.end - discovered < 14 * DAY;
        let status = chance.weighted(if fresh { &FRESH } else { &OLD }) as i32 + 1;
        let found = match status {
            IN_VIOLATION | REMEDIATED => true,
            OPEN => chance.percent(35.0),
            ARCHIVED => chance.percent(20.0),
            _ => false,
        };
        let breaches = if found { 1 + chance.weighted(&[66, 25, 9]) as u8 } else { 0 };
        let mut plan = Plan { number, affiliate, discovered, status, breaches, case: None };
        if let Some(affiliate) = affiliate.filter(|_| found) {
            self.take_in(programme, affiliate, &mut plan);
        }
        plan
    }

    /// How many URLs each case has got.
    pub(super) fn taken(&self, case: u64) -> u8 {
        self.taken.get(case as usize).copied().unwrap_or(0)
    }

    fn take_in(&mut self, programme: &Programme, affiliate: u64, plan: &mut Plan) {
        let Some(next) = self.next.get_mut(&(affiliate as u32)) else { return };
        while let Some((of, number)) = self.by_affiliate.get(*next as usize).copied()
            && u64::from(of) == affiliate
        {
            let case = cases::core(programme, u64::from(number));
            let taken = &mut self.taken[number as usize];
            if case.created < plan.discovered || *taken >= case.room {
                *next += 1;
                continue;
            }
            if case.created - plan.discovered <= CASE_LAG {
                *taken += 1;
                plan.case = Some((u64::from(number), case.created));
                plan.status = match case.ending() {
                    Ending::Open => IN_VIOLATION,
                    Ending::Remedied => REMEDIATED,
                    Ending::Dropped => ARCHIVED,
                };
            }
            return;
        }
    }
}

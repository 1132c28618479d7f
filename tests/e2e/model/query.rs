//! A query: as a path, and as the model answers it.

use std::cmp::Ordering;

use test_support::Layer;

use super::{
    Dice,
    data::{Case, Company, DAY, Url, World, moment, random_moment},
};

/// A query of one company over one layer.
pub(super) struct Query {
    pub(super) company: usize,
    pub(super) layer: Layer,
    pub(super) path: String,
    of_urls: bool,
    status: Option<usize>,
    affiliate: Option<i64>,
    disabled: Option<bool>,
    /// First and last day, as seconds since 1970.
    after: Option<i64>,
    before: Option<i64>,
    sort: Sort,
    ascending: bool,
    per_page: usize,
    page: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Id,
    /// Of discovery, or of creation.
    Date,
    Review,
    Seen,
}

impl Query {
    pub(super) fn random(dice: &mut Dice, world: &World) -> Self {
        let company = *dice.pick(&[0, 0, 0, 0, 0, 1, 1, 2, 3]);
        let of_urls = !dice.once_in(3);
        let records = &world.companies[company];
        let sorts: &[Sort] =
            if of_urls { &[Sort::Id, Sort::Date, Sort::Review, Sort::Seen] } else { &[Sort::Id, Sort::Date] };
        // Rarely one of another company.
        let affiliates = &world.companies[if dice.once_in(10) { 0 } else { company }].affiliates;
        let mut query = Self {
            company,
            layer: *dice.pick(&[Layer::Rest, Layer::RestRemote, Layer::Grpc]),
            path: String::new(),
            of_urls,
            // One more than there are names for.
            status: (dice.once_in(3)).then(|| 1 + dice.below(if of_urls { 7 } else { 10 })),
            affiliate: dice.once_in(5).then(|| *dice.pick(affiliates)),
            disabled: (of_urls && dice.once_in(4)).then(|| dice.once_in(2)),
            after: dice.once_in(3).then(|| random_day(dice, records, of_urls)),
            before: dice.once_in(3).then(|| random_day(dice, records, of_urls)),
            sort: *dice.pick(sorts),
            ascending: dice.once_in(2),
            per_page: if dice.once_in(12) { *dice.pick(&[100, 200]) } else { 1 + dice.below(12) },
            page: 1,
        };
        if !dice.once_in(3) {
            let pages = query.matching(world).len().div_ceil(query.per_page);
            query.page = 1 + dice.below(pages + 2);
        }
        query.path = query.written(dice);
        query
    }

    /// The records before the page.
    pub(super) fn offset(&self) -> usize {
        (self.page - 1) * self.per_page
    }

    /// The path; what is the default is sometimes said and sometimes not.
    fn written(&self, dice: &mut Dice) -> String {
        let (path, status, date, sort) = if self.of_urls {
            ("/urls", "incident_status_id", "discovery", "discovery_dt")
        } else {
            ("/cases", "case_status_id", "created", "created_dt")
        };
        let mut parameters = Vec::new();
        parameters.extend(self.status.map(|id| format!("{status}={id}")));
        parameters.extend(self.affiliate.map(|id| format!("distributor_id={id}")));
        parameters.extend(self.disabled.map(|disabled| format!("disabled={}", if disabled { "yes" } else { "no" })));
        parameters.extend(self.after.map(|day| format!("{date}_after={}", &moment(day)[..10])));
        parameters.extend(self.before.map(|day| format!("{date}_before={}", &moment(day)[..10])));
        let sort = match self.sort {
            Sort::Id => "id",
            Sort::Date => sort,
            Sort::Review => "last_review_dt",
            Sort::Seen => "last_seen",
        };
        if self.sort != Sort::Id || dice.once_in(2) {
            parameters.push(format!("sort_by={sort}"));
        }
        if self.ascending || dice.once_in(2) {
            parameters.push(format!("sort_dir={}", if self.ascending { "asc" } else { "desc" }));
        }
        if self.per_page != 100 || dice.once_in(2) {
            parameters.push(format!("per_page={}", self.per_page));
        }
        if self.page != 1 || dice.once_in(2) {
            parameters.push(format!("page={}", self.page));
        }
        format!("{path}?{}", parameters.join("&"))
    }

    /// The records that match, in order, as they are read.
    fn matching<'w>(&self, world: &'w World) -> Vec<&'w str> {
        let company = &world.companies[self.company];
        if self.of_urls {
            let mut urls: Vec<&Url> = company.urls.iter().filter(|url| self.takes_url(url)).collect();
            urls.sort_by(|one, other| {
                let key = |url: &Url| match self.sort {
                    Sort::Id => None,
                    Sort::Date => Some(url.discovery),
                    Sort::Review => url.review,
                    Sort::Seen => url.seen,
                };
                self.order((key(one), one.id), (key(other), other.id))
            });
            urls.into_iter().map(|url| url.json.as_str()).collect()
        } else {
            let mut cases: Vec<&Case> = company.cases.iter().filter(|case| self.takes_case(case)).collect();
            cases.sort_by(|one, other| {
                let key = |case: &Case| (self.sort == Sort::Date).then_some(case.created);
                self.order((key(one), one.id), (key(other), other.id))
            });
            cases.into_iter().map(|case| case.json.as_str()).collect()
        }
    }

    fn takes_url(&self, url: &Url) -> bool {
        self.status.is_none_or(|status| status == url.status)
            && self.affiliate.is_none_or(|affiliate| url.affiliate == Some(affiliate))
            && self.disabled.is_none_or(|disabled| disabled == url.disabled)
            && self.within(url.discovery)
    }

    fn takes_case(&self, case: &Case) -> bool {
        self.status.is_none_or(|status| status == case.status)
            && self.affiliate.is_none_or(|affiliate| affiliate == case.affiliate)
            && self.within(case.created)
    }

    /// From the first second of one day to the last of another.
    fn within(&self, moment: i64) -> bool {
        self.after.is_none_or(|day| moment >= day) && self.before.is_none_or(|day| moment < day + DAY)
    }

    /// Nulls last both ways; ties by ID the same way.
    fn order(&self, one: (Option<i64>, i64), other: (Option<i64>, i64)) -> Ordering {
        let directed = |ordering: Ordering| if self.ascending { ordering } else { ordering.reverse() };
        match (one.0, other.0) {
            (Some(one_key), Some(other_key)) => directed(one_key.cmp(&other_key).then(one.1.cmp(&other.1))),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => directed(one.1.cmp(&other.1)),
        }
    }

    /// The whole answer.
    pub(super) fn expected(&self, world: &World) -> String {
        let matching = self.matching(world);
        let (total, per_page, page) = (matching.len(), self.per_page, self.page);
        let last = total.div_ceil(per_page).max(1);
        let data: Vec<&str> = matching.into_iter().skip((page - 1) * per_page).take(per_page).collect();
        let msg = if self.of_urls { "URLs found" } else { "Cases found" };
        format!(
            r#"{{"code":"1026","status":"ok","detail":{{"msg":"{msg}"}},"data":[{}],"meta":{{"total":{total},"per_page":{per_page},"current_page":{page},"last_page":{last}}}}}"#,
            data.join(",")
        )
    }
}

/// The day of a record, or the day before or after it, or any.
fn random_day(dice: &mut Dice, company: &Company, of_urls: bool) -> i64 {
    let moment = if of_urls && !company.urls.is_empty() {
        dice.pick(&company.urls).discovery
    } else if !of_urls && !company.cases.is_empty() {
        dice.pick(&company.cases).created
    } else {
        random_moment(dice)
    };
    let day = moment.div_euclid(DAY) * DAY + *dice.pick(&[0, 0, -DAY, DAY]);
    day.clamp(-62_135_596_800, 253_402_214_400)
}

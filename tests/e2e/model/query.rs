//! Builds random queries as paths, and computes their results in the model.

use std::cmp::Ordering;

use serde_json::{Value, json};
use test_support::Layer;

use super::{
    Dice,
    data::{Case, Company, DAY, Url, World, moment, random_moment},
};

/// Draws a value for a query.
type Draw = fn(&mut Dice) -> Value;

/// Filters on one column: the list, the column and its values. The parameter is named after the column. ID columns also draw an unknown ID.
pub(super) const FILTERS: &[(&str, &str, Draw)] = &[
    ("/urls", "incident_status_id", |dice| json!(1 + dice.below(7))),
    ("/urls", "disabled", |dice| json!(dice.once_in(2))),
    ("/cases", "case_status_id", |dice| json!(1 + dice.below(10))),
];

/// One company's query over one layer.
pub(super) struct Query {
    pub(super) company: usize,
    pub(super) layer: Layer,
    pub(super) path: String,
    of_urls: bool,
    filters: Vec<(&'static str, Value)>,
    affiliate: Option<i64>,
    /// The first and last day, in seconds since 1970.
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
    /// The discovery or creation date.
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
        // Occasionally, the ID belongs to another company.
        let affiliates = &world.companies[if dice.once_in(10) { 0 } else { company }].affiliates;
        let mut query = Self {
            company,
            layer: *dice.pick(&[Layer::Rest, Layer::RestRemote, Layer::Grpc]),
            path: String::new(),
            of_urls,
            filters: random_filters(dice, if of_urls { "/urls" } else { "/cases" }),
            affiliate: dice.once_in(5).then(|| *dice.pick(affiliates)),
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

    /// Returns the path, sometimes with default values.
    fn written(&self, dice: &mut Dice) -> String {
        let (path, date, sort) =
            if self.of_urls { ("/urls", "discovery", "discovery_dt") } else { ("/cases", "created", "created_dt") };
        let mut parameters = Vec::new();
        parameters.extend(self.filters.iter().map(|(name, value)| match value {
            Value::Bool(value) => format!("{name}={}", if *value { "yes" } else { "no" }),
            value => format!("{name}={value}"),
        }));
        parameters.extend(self.affiliate.map(|id| format!("distributor_id={id}")));
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

    /// Returns the matching records in order, as expected in the response.
    fn matching<'w>(&self, world: &'w World) -> Vec<&'w str> {
        let company = &world.companies[self.company];
        if self.of_urls {
            let mut urls: Vec<&Url> = company.urls.iter().filter(|url| self.takes(&url.row, url.discovery)).collect();
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
            let mut cases: Vec<&Case> =
                company.cases.iter().filter(|case| self.takes(&case.row, case.created)).collect();
            cases.sort_by(|one, other| {
                let key = |case: &Case| (self.sort == Sort::Date).then_some(case.created);
                self.order((key(one), one.id), (key(other), other.id))
            });
            cases.into_iter().map(|case| case.json.as_str()).collect()
        }
    }

    fn takes(&self, row: &Value, date: i64) -> bool {
        self.filters.iter().all(|(column, value)| row[*column] == *value)
            && self.affiliate.is_none_or(|affiliate| row["affiliate_id"] == affiliate)
            && self.within(date)
    }

    /// Returns whether a time is between the first and last day, inclusive.
    fn within(&self, moment: i64) -> bool {
        self.after.is_none_or(|day| moment >= day) && self.before.is_none_or(|day| moment < day + DAY)
    }

    /// Compares two sort keys. Nulls come last in both directions, and ties are sorted by ID in the same direction.
    fn order(&self, one: (Option<i64>, i64), other: (Option<i64>, i64)) -> Ordering {
        let directed = |ordering: Ordering| if self.ascending { ordering } else { ordering.reverse() };
        match (one.0, other.0) {
            (Some(one_key), Some(other_key)) => directed(one_key.cmp(&other_key).then(one.1.cmp(&other.1))),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => directed(one.1.cmp(&other.1)),
        }
    }

    /// Returns the expected response.
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

fn random_filters(dice: &mut Dice, path: &str) -> Vec<(&'static str, Value)> {
    let mut filters = Vec::new();
    for (_, column, draw) in FILTERS.iter().filter(|(list, ..)| *list == path) {
        if dice.once_in(4) {
            filters.push((*column, draw(dice)));
        }
    }
    filters
}

/// Returns a record's day, the day before or after it, or any day.
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

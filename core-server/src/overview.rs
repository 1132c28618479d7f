//! Computes figures about all of a company's records, with one statement.

use std::{collections::BTreeMap, sync::Arc, time::SystemTime};

use compliance_api::{
    catalogue::Vocabulary::{CaseStatus, RiskLevel},
    error::Error,
    v1::{
        CaseOverview, GetOverviewRequest, InfractionOverview, OpenCasesByAge, OpenCasesByRisk, OverdueCase, Overview,
        OverviewWeek, UrlOverview, overview_service_server::OverviewService,
    },
};
use storage::{
    database::{self, Connections},
    error::from_database,
    table::{ValidTimestamp, timestamp},
    vocabulary::name,
};
use time::{Date, Duration, OffsetDateTime};
use tonic::{Request, Response};

use crate::{
    access::{Served, accept},
    backend::Backend,
};

/// The statement, with its parameter types.
pub(crate) const STATEMENT: (&str, &str) = (include_str!("overview/overview.sql"), "bigint, timestamptz");

pub(crate) struct Overviews(pub(crate) Arc<Backend>);

#[tonic::async_trait]
impl OverviewService for Overviews {
    async fn get_overview(&self, request: Request<GetOverviewRequest>) -> Served<Overview> {
        let (company_id, _) = accept(request)?;
        let figures = Figures::read(&self.0.pool, company_id, SystemTime::now().into()).await?;
        Ok(Response::new(figures.into_overview()))
    }
}

/// The statement's row. Lists about the same subject have the same length and order.
struct Figures {
    open: i64,
    up_to_7_days: i64,
    up_to_30_days: i64,
    up_to_90_days: i64,
    risk_level_ids: Vec<Option<i32>>,
    own_risk_levels: Vec<Option<String>>,
    open_by_risk: Vec<i64>,
    overdue: i64,
    overdue_ids: Vec<i64>,
    follow_up_dates: Vec<ValidTimestamp>,
    overdue_risk_level_ids: Vec<Option<i32>>,
    overdue_own_risk_levels: Vec<Option<String>>,
    overdue_status_ids: Vec<i32>,
    overdue_own_statuses: Vec<Option<String>>,
    affiliate_names: Vec<Option<String>>,
    client_affiliate_ids: Vec<Option<String>>,
    urls: i64,
    /// First day of the first week, as days since 1970-01-01.
    first_day: i32,
    new_urls: Vec<i64>,
    new_infractions: Vec<i64>,
    new_cases: Vec<i64>,
    closed_cases: Vec<i64>,
    infraction_urls: Vec<i64>,
}

impl Figures {
    async fn read(pool: &Connections, company_id: i64, now: OffsetDateTime) -> Result<Self, Error> {
        let read = async |pool: Connections| {
            sqlx::query_file_as!(Self, "src/overview/overview.sql", company_id, now).fetch_one(&pool).await
        };
        database::read(pool, read).await.map_err(from_database)
    }

    fn into_overview(self) -> Overview {
        let weeks = self.weeks();
        let last = weeks.last().cloned().unwrap_or_default();
        Overview {
            urls: Some(UrlOverview { total: self.urls, new: last.new_urls }),
            infractions: Some(InfractionOverview { new: last.new_infractions, urls: last.infraction_urls }),
            cases: Some(CaseOverview {
                open: self.open,
                by_risk: self.by_risk(),
                by_age: self.by_age(),
                overdue: self.overdue,
                overdue_cases: self.overdue_cases(),
            }),
            weeks,
        }
    }

    /// Returns the open cases by risk level: all default levels, highest first, then the company's own levels with cases, by name.
    fn by_risk(&self) -> Vec<OpenCasesByRisk> {
        let defaults = RiskLevel.defaults().iter().rev().map(|level| Some((*level).to_owned()));
        let mut by_risk: Vec<OpenCasesByRisk> =
            defaults.chain([None]).map(|risk_level| OpenCasesByRisk { risk_level, open: 0 }).collect();
        let mut own = BTreeMap::new();
        for ((id, own_name), open) in self.risk_level_ids.iter().zip(&self.own_risk_levels).zip(&self.open_by_risk) {
            let risk_level = name(RiskLevel, *id, own_name.clone());
            match by_risk.iter_mut().find(|known| known.risk_level == risk_level) {
                Some(known) => known.open += open,
                None => *own.entry(risk_level).or_default() += open,
            }
        }
        by_risk.extend(own.into_iter().map(|(risk_level, open)| OpenCasesByRisk { risk_level, open }));
        by_risk
    }

    fn by_age(&self) -> Vec<OpenCasesByAge> {
        let older = self.open - self.up_to_7_days - self.up_to_30_days - self.up_to_90_days;
        [
            (0, Some(7), self.up_to_7_days),
            (8, Some(30), self.up_to_30_days),
            (31, Some(90), self.up_to_90_days),
            (91, None, older),
        ]
        .map(|(from_days, to_days, open)| OpenCasesByAge { from_days, to_days, open })
        .into()
    }

    fn overdue_cases(&self) -> Vec<OverdueCase> {
        let case = |index: usize| OverdueCase {
            case_id: self.overdue_ids[index],
            follow_up_date: self.follow_up_dates[index].0.map(timestamp),
            risk_level: name(
                RiskLevel,
                self.overdue_risk_level_ids[index],
                self.overdue_own_risk_levels[index].clone(),
            ),
            case_status: name(
                CaseStatus,
                Some(self.overdue_status_ids[index]),
                self.overdue_own_statuses[index].clone(),
            ),
            affiliate_name: self.affiliate_names[index].clone(),
            affiliate_id: self.client_affiliate_ids[index].clone(),
        };
        (0..self.overdue_ids.len()).map(case).collect()
    }

    fn weeks(&self) -> Vec<OverviewWeek> {
        let first = OffsetDateTime::UNIX_EPOCH.date();
        let week = |(index, days): (usize, i64)| OverviewWeek {
            from: first.checked_add(Duration::days(days)).unwrap_or(Date::MAX).to_string(),
            new_urls: self.new_urls[index],
            new_infractions: self.new_infractions[index],
            infraction_urls: self.infraction_urls[index],
            new_cases: self.new_cases[index],
            closed_cases: self.closed_cases[index],
        };
        (0..self.new_urls.len()).zip((i64::from(self.first_day)..).step_by(7)).map(week).collect()
    }
}

//! Tests concurrent writers.

use compliance_api::v1::{
    AttachIncidentsRequest, BatchOpenCasesRequest, CaseInput, DetachIncidentsRequest, IncidentKey, IncidentType,
    ObserveUrlsRequest, OpenCaseRequest, UpdateCaseRequest, UrlObservation,
};
use futures::future::join_all;
use rand::{Rng, RngExt as _, SeedableRng as _, rngs::StdRng, seq::SliceRandom as _};
use sqlx::PgPool;

use test_support::{GrpcClients, TestCore};

use super::builders::{at, infraction, observation, opening, some, url_incident};

fn address(nth: usize) -> String {
    format!("https://example.org/{nth}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn overlapping_chunks_do_not_deadlock() {
    let service = TestCore::start().await;
    let writers = (0..8_u64).map(|seed| {
        let mut company = service.company(1);
        let mut random = StdRng::seed_from_u64(seed);
        async move {
            for _ in 0..10 {
                let mut order: Vec<usize> = (0..300).collect();
                order.shuffle(&mut random);
                let observations: Vec<UrlObservation> = order[..200]
                    .iter()
                    .map(|nth| UrlObservation {
                        note: some(&seed.to_string()),
                        infractions: vec![infraction("Promotion", "misleading offer")],
                        ..observation(&address(*nth))
                    })
                    .collect();
                let results = company.observe(observations).await;
                assert!(results.iter().all(|result| result.code == 1020));
                company.add_urls(order[200..].iter().map(|nth| address(*nth))).await;
            }
        }
    });
    join_all(writers).await;
    assert_eq!(count(&service.pool, "select count(*) from compliance_urls").await, 300);
    assert_eq!(deadlocks(&service.pool).await, 0);
    hold(&service.pool).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn duplicate_concurrent_opens_create_one_case() {
    let service = TestCore::start().await;
    let mut company = service.company(1);
    company.affiliate("A").await;
    company.observe((0..20).map(|nth| observation(&address(nth))).collect()).await;
    let writers = (0..8_usize).map(|writer| {
        let mut company = service.company(1);
        async move {
            let mut cases: Vec<OpenCaseRequest> = (0..20)
                .map(|nth| OpenCaseRequest {
                    incidents: vec![url_incident(&address(nth)), url_incident(&address((nth + writer) % 20))],
                    ..opening(&format!("r-{nth}"))
                })
                .collect();
            cases.rotate_left(writer * 2);
            let request = BatchOpenCasesRequest { cases };
            let mut results = company.monitoring.batch_open_cases(request).await.unwrap().into_inner().results;
            results.rotate_right(writer * 2);
            results
        }
    });
    let all = join_all(writers).await;
    for nth in 0..20 {
        assert!(
            all.iter().all(|results| results[nth].case_id.is_some() && results[nth].case_id == all[0][nth].case_id)
        );
        assert_eq!(all.iter().filter(|results| results[nth].created).count(), 1);
    }
    assert_eq!(count(&service.pool, "select count(*) from compliance_cases").await, 20);
    assert_eq!(deadlocks(&service.pool).await, 0);
    hold(&service.pool).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_writes_keep_counts_correct() {
    let service = TestCore::start().await;
    let mut cases = Vec::new();
    for company in 1..=2 {
        let mut company = service.company(company);
        company.affiliate("A").await;
        company.observe((0..100).map(|nth| observation(&address(nth))).collect()).await;
        let mut own = Vec::new();
        for nth in 0..10 {
            own.push(company.open(opening(&format!("first-{nth}"))).await);
        }
        cases.push(own);
    }
    let writers = (0..8_u64).map(|seed| {
        let company = service.company(1 + (seed % 2) as i64);
        let cases = &cases[(seed % 2) as usize];
        async move {
            let mut random = StdRng::seed_from_u64(seed);
            let mut company = company;
            for round in 0..30 {
                write(&mut company, cases, &mut random, &format!("{seed}-{round}")).await;
            }
        }
    });
    join_all(writers).await;
    assert_eq!(deadlocks(&service.pool).await, 0);
    hold(&service.pool).await;
}

/// Performs a random kind of write.
async fn write(company: &mut GrpcClients, cases: &[i64], random: &mut StdRng, name: &str) {
    let m = &mut company.monitoring;
    let case_id = cases[random.random_range(0..cases.len())];
    let addresses = |random: &mut StdRng| -> Vec<String> {
        (0..random.random_range(1..20)).map(|_| address(random.random_range(0..150))).collect()
    };
    match random.random_range(0..5) {
        0 => {
            let observations = addresses(random).iter().map(|url| observed(url, random)).collect();
            m.observe_urls(ObserveUrlsRequest { observations }).await.unwrap();
        }
        1 => {
            let request = OpenCaseRequest {
                case: Some(CaseInput {
                    client_affiliate_id: some("A"),
                    created_date: Some(day(random)),
                    case_status: some("Blocked"),
                    ..CaseInput::default()
                }),
                incidents: vec![url_incident(&address(random.random_range(0..100)))],
                ..opening(name)
            };
            m.open_case(request).await.unwrap();
        }
        2 => {
            let status = ["New", "Open", "Resolved", "Closed"][random.random_range(0..4)];
            let created_date = random.random_bool(0.5).then(|| day(random));
            let case = CaseInput { case_status: some(status), created_date, ..CaseInput::default() };
            m.update_case(UpdateCaseRequest { id: case_id, case: Some(case), update_mask: None, etag: String::new() })
                .await
                .unwrap();
        }
        3 => {
            let incidents = addresses(random).iter().map(|url| url_incident(url)).collect();
            m.attach_incidents(AttachIncidentsRequest { id: case_id, incidents }).await.unwrap();
        }
        _ => {
            let key = |url: String| IncidentKey {
                incident_type: Some(IncidentType::Url.into()),
                url: Some(url),
                ..IncidentKey::default()
            };
            let incidents = addresses(random).into_iter().map(key).collect();
            m.detach_incidents(DetachIncidentsRequest { id: case_id, incidents }).await.unwrap();
        }
    }
}

fn day(random: &mut impl Rng) -> prost_types::Timestamp {
    let mut timestamp = at("2024-01-01 00:00:00");
    timestamp.seconds += random.random_range(0..500) * 86_400;
    timestamp
}

fn observed(url: &str, random: &mut StdRng) -> UrlObservation {
    let mut clear = Vec::new();
    let mut date = |random: &mut StdRng, name: &str| match random.random_range(0..3) {
        0 => Some(day(random)),
        1 => {
            clear.push(name.to_owned());
            None
        }
        _ => None,
    };
    let (last_review_date, last_seen) = (date(random, "last_review_date"), date(random, "last_seen"));
    UrlObservation {
        incident_status: some(["New", "Open", "Approved"][random.random_range(0..3)]),
        disabled: random.random_bool(0.5).then(|| random.random_bool(0.5)),
        discovery_date: random.random_bool(0.3).then(|| day(random)),
        last_review_date,
        last_seen,
        clear,
        ..observation(url)
    }
}

async fn count(pool: &PgPool, sql: &'static str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(pool).await.unwrap()
}

async fn deadlocks(pool: &PgPool) -> i64 {
    // PostgreSQL delays statistics, so the connection flushes its own first.
    sqlx::query("select pg_stat_force_next_flush()").execute(pool).await.unwrap();
    count(pool, "select deadlocks from pg_stat_database where datname = current_database()").await
}

/// Asserts that the counts match the records, and that every URL has its newest incident's case.
async fn hold(pool: &PgPool) {
    counts_hold(pool).await;
    let wrong = "
        select count(*) from compliance_urls u where u.case_id is distinct from (
            select i.case_id from incidents i
            where i.company_id = u.company_id and i.url_id = u.id order by i.id desc limit 1
        )";
    assert_eq!(count(pool, wrong).await, 0);
}

/// Asserts that the counts match the records.
pub(super) async fn counts_hold(pool: &PgPool) {
    let wrong = "
        with real as (
            select u.company_id, p.dimension, p.bucket, u.incident_status_id, u.disabled, count(*) as n,
                count(*) filter (where p.by_id and u.last_review_date is null) as unreviewed,
                count(*) filter (where p.by_id and u.last_seen is null) as unseen,
                min(utc_day(u.discovery_date)) as first, max(utc_day(u.discovery_date)) as last
            from compliance_urls u
            cross join lateral compliance_url_buckets(
                u.id >> 10, utc_day(u.discovery_date), utc_day(u.last_review_date), utc_day(u.last_seen)) p
            group by 1, 2, 3, 4, 5
        )
        select count(*) from real r
        full join (
            select * from compliance_url_counts
            where (n, n_without_last_review_date, n_without_last_seen) <> (0, 0, 0)
        ) c
            using (company_id, dimension, bucket, incident_status_id, disabled)
        where (r.n, r.unreviewed, r.unseen)
                is distinct from (c.n, c.n_without_last_review_date, c.n_without_last_seen)
            or c.first_day > r.first or c.last_day < r.last";
    assert_eq!(count(pool, wrong).await, 0);
    let wrong = "
        with real as (
            select u.company_id, p.dimension, p.bucket, u.case_status_id, count(*) as n,
                min(utc_day(u.created_date)) as first, max(utc_day(u.created_date)) as last
            from compliance_cases u cross join lateral compliance_case_buckets(u.id, u.created_date) p
            group by 1, 2, 3, 4
        )
        select count(*) from real r
        full join (select * from compliance_case_counts where n <> 0) c
            using (company_id, dimension, bucket, case_status_id)
        where r.n is distinct from c.n or c.first_day > r.first or c.last_day < r.last";
    assert_eq!(count(pool, wrong).await, 0);
}

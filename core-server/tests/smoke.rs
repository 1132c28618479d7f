//! throwaway
#![allow(clippy::unwrap_used, missing_docs)]
use clap::Parser;
use compliance_api::{token::*, v1::*};
use std::sync::Arc;
#[derive(Parser)]
struct A {
    #[command(flatten)]
    core: core_server::config::CoreArgs,
}
#[tokio::test]
async fn smoke() {
    let options = core_server::database::options("postgres://postgres@localhost:5499/t?host=/tmp/pg").unwrap();
    let pool = core_server::database::connect(options, 8).await.unwrap();
    let secret = Secret::new(vec![7; 32]).unwrap();
    let verifier =
        Arc::new(Verifier::new(KeySource { secret: Some(secret.clone()), ..Default::default() }, None).await.unwrap());
    let core = core_server::Core::new(&pool, verifier, &A::parse_from(["x", "--rate-limit", "off"]).core).unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() as i64;
    let token: tonic::metadata::MetadataValue<_> =
        format!("Bearer {}", issue(&secret, &Claims::new(1, now, 3600)).unwrap()).parse().unwrap();
    let mut urls = compliance_url_service_client::ComplianceUrlServiceClient::with_interceptor(
        core.service(),
        move |mut r: tonic::Request<()>| {
            r.metadata_mut().insert("authorization", token.clone());
            Ok(r)
        },
    );
    for sort in 1..=4 {
        for dir in 1..=2 {
            for (after, status, disabled, aff) in [
                (None, None, None, None),
                (Some("2024-05-05"), None, None, None),
                (None, Some(3), Some(false), None),
                (Some("2025-01-01"), Some(2), None, None),
                (None, None, None, Some(5)),
                (None, Some(5), Some(true), None),
            ] {
                let mut line = format!("sort {sort} dir {dir} {after:?} {status:?} {disabled:?} {aff:?}:");
                let mut last = 1;
                for page in [1, 2500, 0] {
                    let page = if page == 0 { last } else { page };
                    let mut best = f64::MAX;
                    let mut meta = None;
                    let mut n = 0;
                    for _ in 0..6 {
                        let t = std::time::Instant::now();
                        let r = urls
                            .list_compliance_urls(ListComplianceUrlsRequest {
                                sort_by: sort,
                                sort_dir: dir,
                                discovery_after: after.map(Into::into),
                                incident_status_id: status,
                                disabled,
                                distributor_id: aff,
                                per_page: Some(200),
                                page: Some(page),
                                ..Default::default()
                            })
                            .await
                            .unwrap()
                            .into_inner();
                        best = best.min(t.elapsed().as_secs_f64() * 1000.0);
                        n = r.urls.len();
                        meta = r.meta;
                    }
                    last = meta.as_ref().unwrap().last_page;
                    line += &format!(" p{page}: n={n} total={} {best:.1}ms;", meta.unwrap().total);
                }
                println!("{line}");
            }
        }
    }
}

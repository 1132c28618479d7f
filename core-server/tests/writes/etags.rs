//! Tests affiliate etags: a change with an outdated etag is rejected, even if it waited for an earlier change.

use std::collections::BTreeSet;

use compliance_api::{
    error::RECORD_CHANGED,
    v1::{Affiliate, AffiliateInput, AffiliateUpdate, ResultCode, UpdateAffiliateRequest},
};
use futures::future::join_all;
use test_support::{GrpcClients, TestCore, reason_of};
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

fn city(id: i64, city: &str, etag: &str) -> AffiliateUpdate {
    let affiliate = Some(AffiliateInput { city: Some(city.to_owned()), ..AffiliateInput::default() });
    AffiliateUpdate { id: Some(id), affiliate, update_mask: None, etag: etag.to_owned() }
}

fn name(id: i64, name: &str, etag: &str) -> AffiliateUpdate {
    let affiliate = Some(AffiliateInput { affiliate_name: Some(name.to_owned()), ..AffiliateInput::default() });
    AffiliateUpdate { affiliate, ..city(id, "", etag) }
}

async fn read(company: &mut GrpcClients, id: i64) -> Affiliate {
    company.read_affiliate(id).await
}

/// Changes an affiliate and returns its new etag.
async fn change(company: &mut GrpcClients, update: AffiliateUpdate) -> Result<String, Status> {
    let request = UpdateAffiliateRequest { update: Some(update) };
    Ok(company.affiliates.update_affiliate(request).await?.into_inner().etag)
}

async fn batch(company: &mut GrpcClients, affiliates: Vec<AffiliateUpdate>) -> Vec<ResultCode> {
    let results = company.update_affiliates(affiliates).await;
    for result in &results {
        assert_eq!(result.code() == ResultCode::UpdateFailed, result.msg == RECORD_CHANGED, "{result:?}");
    }
    results.iter().map(compliance_api::v1::AffiliateResult::code).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_require_the_current_etag() {
    let core = TestCore::start().await;
    let mut company = core.company(1);
    let id = company.affiliate("A").await;
    let first = read(&mut company, id).await.etag;
    let second = change(&mut company, city(id, "Bern", &first)).await.unwrap();
    assert_eq!(read(&mut company, id).await.etag, second);
    assert_ne!(first, second);

    let refused = change(&mut company, city(id, "Bonn", &first)).await.unwrap_err();
    assert_eq!((refused.code(), reason_of(&refused).as_str()), (Code::Aborted, "ETAG_MISMATCH"));
    let details = refused.get_error_details();
    let metadata = &details.error_info().unwrap().metadata;
    assert_eq!((&metadata["affiliate_id"], &metadata["etag"]), (&id.to_string(), &second));
    for other in ["0", "x", "W/1", ",", "-1", "99999999999999999999"] {
        assert_eq!(change(&mut company, city(id, "Bonn", other)).await.unwrap_err().code(), Code::Aborted, "{other}");
    }
    assert_eq!(read(&mut company, id).await.city.as_deref(), Some("Bern"));

    // An empty change creates no new version, but also needs the current etag.
    let nothing = |etag: &str| AffiliateUpdate { affiliate: None, ..city(id, "", etag) };
    assert_eq!(change(&mut company, nothing(&second)).await.unwrap(), second);
    assert_eq!(change(&mut company, nothing(&first)).await.unwrap_err().code(), Code::Aborted);
    // One matching etag is enough, and an empty etag matches any version.
    let several = format!("7000, {second}");
    let third = change(&mut company, city(id, "Bonn", &several)).await.unwrap();
    assert_ne!(change(&mut company, city(id, "Basel", "")).await.unwrap(), third);

    // The core checks the ID first, then the etag, and then the name.
    assert_eq!(change(&mut company, city(id + 1000, "Bonn", &first)).await.unwrap_err().code(), Code::NotFound);
    company.affiliate("B").await;
    assert_eq!(change(&mut company, name(id, "B", &first)).await.unwrap_err().code(), Code::Aborted);
    assert_eq!(change(&mut company, name(id, "B", "")).await.unwrap_err().code(), Code::InvalidArgument);
    // A different company's affiliate is unknown, whatever the etag.
    let mut other = core.company(2);
    assert_eq!(change(&mut other, city(id, "Bonn", &third)).await.unwrap_err().code(), Code::NotFound);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_one_concurrent_change_per_etag_succeeds() {
    let core = TestCore::start().await;
    let mut company = core.company(1);
    let id = company.affiliate("A").await;
    for round in 0..20 {
        let etag = read(&mut company, id).await.etag;
        let writers = (0..2).map(|writer| {
            let (mut company, etag) = (core.company(1), etag.clone());
            async move {
                let text = format!("{round} {writer}");
                // In odd rounds, one of the updates is in a batch, which uses a different statement.
                if writer == 1 && round % 2 == 1 {
                    batch(&mut company, vec![city(id, &text, &etag)]).await == [ResultCode::Saved]
                } else {
                    change(&mut company, city(id, &text, &etag)).await.is_ok()
                }
            }
        });
        let won = join_all(writers).await;
        let winner = won.iter().position(|won| *won).unwrap();
        assert_eq!(won.iter().filter(|won| **won).count(), 1, "round {round}");
        assert_eq!(read(&mut company, id).await.city, Some(format!("{round} {winner}")));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batch_items_require_current_etags() {
    let core = TestCore::start().await;
    let mut company = core.company(1);
    let (a, b) = (company.affiliate("A").await, company.affiliate("B").await);
    let [old_a, old_b] = [read(&mut company, a).await.etag, read(&mut company, b).await.etag];
    change(&mut company, city(b, "Basel", "")).await.unwrap();
    let updates = vec![city(a, "Bern", &old_a), city(b, "Bern", &old_b), city(b + 1000, "Bern", &old_b)];
    let codes = batch(&mut company, updates).await;
    assert_eq!(codes, [ResultCode::Saved, ResultCode::UpdateFailed, ResultCode::NotFound]);
    let cities = [read(&mut company, a).await.city, read(&mut company, b).await.city];
    assert_eq!(cities.map(Option::unwrap), ["Bern", "Basel"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dependent_items_require_current_etags() {
    let core = TestCore::start().await;
    let mut company = core.company(1);
    let (a, b) = (company.affiliate("A").await, company.affiliate("B").await);
    let etag = read(&mut company, a).await.etag;
    // Two affiliates swap names. The caller cannot know the etag for an affiliate's second change.
    let updates = vec![name(a, "C", &etag), name(b, "A", &etag), name(a, "B", ""), city(b, "Bern", &etag)];
    let codes = batch(&mut company, updates).await;
    assert_eq!(codes, [ResultCode::Saved, ResultCode::Saved, ResultCode::Saved, ResultCode::UpdateFailed]);
    let names = [read(&mut company, a).await.distributor_name, read(&mut company, b).await.distributor_name];
    assert_eq!(names.map(Option::unwrap), ["B", "A"]);
    // An item with an outdated etag leaves the name unchanged.
    let updates = vec![name(a, "C", &etag), name(b, "B", "")];
    let results = company.update_affiliates(updates).await;
    assert!(results.iter().all(|result| result.code() == ResultCode::UpdateFailed), "{results:?}");
    assert_eq!(read(&mut company, a).await.distributor_name.as_deref(), Some("B"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_affiliate_change_updates_its_etag() {
    let core = TestCore::start().await;
    let mut company = core.company(1);
    let id = company.affiliate("A").await;
    let mut seen = BTreeSet::from([read(&mut company, id).await.etag]);
    // A manual change, and one by an earlier release without etags.
    for statement in [
        "update affiliates set city = 'Bern'",
        "insert into affiliates (company_id, id, client_affiliate_id, affiliate_name)
            select company_id, id, client_affiliate_id, affiliate_name from affiliates
            on conflict on constraint affiliates_pkey do update set affiliate_name = 'B'",
    ] {
        sqlx::raw_sql(statement).execute(&core.pool).await.unwrap();
        assert!(seen.insert(read(&mut company, id).await.etag), "{statement}");
    }
    batch(&mut company, vec![city(id, "Bonn", "")]).await;
    assert!(seen.insert(read(&mut company, id).await.etag));
}

/// Returns the company's last position.
async fn position(core: &TestCore) -> i64 {
    let position = "select position from change_positions where company_id = 1";
    sqlx::query_scalar(position).fetch_one(&core.pool).await.unwrap()
}

/// Covers single updates, batches, dependent items, different forms of the same value, and fields that are already clear.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn updates_with_equal_values_change_nothing() {
    let core = TestCore::start().await;
    let mut company = core.company(1);
    let (a, b) = (company.affiliate("A").await, company.affiliate("B").await);
    let text = |text: &str| Some(text.to_owned());
    let fields = AffiliateInput {
        affiliate_name: text("A"),
        country: text("DE"),
        start_date: text("2024-01-31"),
        city: text("Bern"),
        ..AffiliateInput::default()
    };
    let update = |affiliate: AffiliateInput, paths: &[&str], etag: &str| {
        let paths = paths.iter().map(ToString::to_string).collect();
        let update_mask = Some(prost_types::FieldMask { paths });
        AffiliateUpdate { id: Some(a), affiliate: Some(affiliate), update_mask, etag: etag.to_owned() }
    };
    let all = ["affiliate_name", "country", "start_date", "city", "zip"];
    let etag = change(&mut company, update(fields.clone(), &all, "")).await.unwrap();
    let (before, rows) = (position(&core).await, read(&mut company, a).await);
    let other_form =
        AffiliateInput { country: text("de"), start_date: text("01/31/2024"), zip: text(""), ..fields.clone() };
    for (affiliate, paths) in [
        (fields.clone(), &all[..]),
        (other_form, &all),
        (fields.clone(), &["city"]),
        (AffiliateInput::default(), &["zip", "notes"]),
    ] {
        for condition in ["", &etag] {
            assert_eq!(change(&mut company, update(affiliate.clone(), paths, condition)).await.unwrap(), etag);
            let updates = vec![update(affiliate.clone(), paths, condition)];
            assert_eq!(batch(&mut company, updates).await, [ResultCode::Saved]);
        }
        // An update with a different etag fails, even if it would change nothing.
        let refused = change(&mut company, update(affiliate.clone(), paths, "0")).await.unwrap_err();
        assert_eq!(refused.code(), Code::Aborted);
    }
    // A statement that several callers share, and a batch with dependent items.
    let writers = (0..20).map(|_| {
        let (mut company, update) = (core.company(1), update(fields.clone(), &all, ""));
        async move { change(&mut company, update).await.unwrap() }
    });
    assert!(join_all(writers).await.iter().all(|after| *after == etag));
    let updates = vec![name(b, "C", ""), name(b, "B", ""), name(a, "A", ""), city(a, "Bern", "")];
    assert_eq!(batch(&mut company, updates).await, [ResultCode::Saved; 4]);
    assert_eq!((position(&core).await, read(&mut company, a).await), (before, rows));
    // Only the item with a new value causes a change.
    let updates = vec![city(a, "Bern", ""), city(b, "Bern", "")];
    assert_eq!(batch(&mut company, updates).await, [ResultCode::Saved; 2]);
    assert_eq!((position(&core).await, read(&mut company, a).await.etag), (before + 1, etag));
}

//! Tests affiliates that take each other's names. Only committed names are recorded, not a transaction's temporary names.

use std::collections::{BTreeMap, BTreeSet};

use compliance_api::v1::{
    AffiliateInput, AffiliateSync, AffiliateUpdate, BatchSyncAffiliatesRequest, GetAffiliateRequest,
    ListChangesRequest, ResultCode,
};
use test_support::{GrpcClients, TestCore, new_company};

use super::{
    all, list,
    past::{second, spread},
};

type Names = BTreeMap<i64, String>;

async fn names(clients: &mut GrpcClients, ids: &[i64], as_of: Option<String>) -> Names {
    let mut names = Names::new();
    for &id in ids {
        let request = GetAffiliateRequest { id, as_of: as_of.clone() };
        let affiliate = clients.affiliates.get_affiliate(request).await.unwrap().into_inner();
        names.insert(id, affiliate.distributor_name.unwrap());
    }
    names
}

fn named(name: &str) -> AffiliateInput {
    AffiliateInput { affiliate_name: Some(name.to_owned()), ..AffiliateInput::default() }
}

/// Renames the affiliates with these identifiers.
async fn sync(clients: &mut GrpcClients, items: &[(&str, &str)]) {
    let item = |(identifier, name): &(&str, &str)| AffiliateSync {
        affiliate: Some(AffiliateInput { client_affiliate_id: Some((*identifier).to_owned()), ..named(name) }),
        update_mask: None,
    };
    let request = BatchSyncAffiliatesRequest {
        affiliates: items.iter().map(item).collect(),
        ..BatchSyncAffiliatesRequest::default()
    };
    let results = clients.syncs.batch_sync_affiliates(request).await.unwrap().into_inner().results;
    assert!(results.iter().all(|result| result.code() == ResultCode::Saved), "{results:?}");
}

async fn batch(clients: &mut GrpcClients, items: &[(i64, &str)], expected: &[ResultCode]) {
    let update = |(id, name): &(i64, &str)| AffiliateUpdate {
        id: Some(*id),
        affiliate: Some(named(name)),
        ..AffiliateUpdate::default()
    };
    let affiliates = items.iter().map(update).collect();
    let results = clients.update_affiliates(affiliates).await;
    let codes: Vec<ResultCode> = results.iter().map(compliance_api::v1::AffiliateResult::code).collect();
    assert_eq!(codes, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reassigned_names_are_recorded_once() {
    use ResultCode::{Saved, UpdateFailed};
    let core = TestCore::start().await;
    let company = new_company();
    let mut clients = core.company(company);
    let clients = &mut clients;
    let mut ids = Vec::new();
    for name in ["A", "B", "C", "D", "E", "F"] {
        ids.push(clients.affiliate(name).await);
    }
    let [a, b, ..] = ids[..] else { unreachable!() };
    let mut snapshots = vec![(ids.len() as i64, names(clients, &ids, None).await)];
    let etag = async |clients: &mut GrpcClients| -> i64 {
        let read = clients.affiliates.get_affiliate(GetAffiliateRequest { id: a, as_of: None }).await.unwrap();
        read.into_inner().etag.parse().unwrap()
    };
    let first_etag = etag(clients).await;
    for step in 0..6 {
        match step {
            0 => sync(clients, &[("A", "B"), ("B", "A")]).await,
            // A cycle, and a chain that ends in a new name.
            1 => sync(clients, &[("C", "D"), ("D", "E"), ("E", "C"), ("F", "G"), ("A", "F")]).await,
            2 => batch(clients, &[(a, "H"), (b, "F")], &[Saved; 2]).await,
            // Items are applied in order, so two items cannot swap names.
            3 => batch(clients, &[(a, "F"), (b, "H")], &[UpdateFailed; 2]).await,
            4 => batch(clients, &[(a, "I"), (b, "H"), (a, "F")], &[Saved; 3]).await,
            // Swaps the names back.
            _ => sync(clients, &[("A", "H"), ("B", "F")]).await,
        }
        let position = list(clients, ListChangesRequest::default()).await.unwrap().last_position;
        snapshots.push((position, names(clients, &ids, None).await));
    }
    // Each step that renames the affiliate adds one version.
    assert_eq!(etag(clients).await - first_etag, 5);

    let known: BTreeSet<&str> = ["A", "B", "C", "D", "E", "F", "G", "H", "I"].into();
    let mut copy = Names::new();
    let mut expected = snapshots.iter();
    let mut next = expected.next();
    for change in all(clients, 0, 7).await {
        let field = change.fields.iter().find(|field| ["affiliate_name", "distributor_name"].contains(&&*field.field));
        let field = field.unwrap_or_else(|| panic!("no field contains the new name: {change:?}"));
        let (before, after) = (field.before.as_deref(), field.after.clone().unwrap());
        assert!(known.contains(&*after), "{change:?}");
        assert_eq!(before, copy.get(&change.id).map(String::as_str), "{change:?}");
        copy.insert(change.id, after);
        while let Some((position, names)) = next.filter(|(position, _)| *position == change.position) {
            assert_eq!(copy, *names, "{position}");
            next = expected.next();
        }
    }
    assert!(next.is_none(), "{next:?}");
    for pair in snapshots.windows(2) {
        let changed = ids.iter().filter(|id| pair[0].1[id] != pair[1].1[id]).count() as i64;
        assert_eq!(pair[1].0 - pair[0].0, changed, "each renamed affiliate must produce one change: {pair:?}");
    }
    // Webhooks and watchers read the same rows.
    let released = "select count(*) from changes where company_id = $1 and records::text like '%....%'";
    let released: i64 = sqlx::query_scalar(released).bind(company).fetch_one(&core.pool).await.unwrap();
    assert_eq!(released, 0);

    spread(&core, company).await;
    for (position, expected) in &snapshots {
        assert_eq!(names(clients, &ids, second(*position)).await, *expected, "{position}");
    }
    for position in ids.len() as i64..=snapshots.last().unwrap().0 {
        let names = names(clients, &ids, second(position)).await;
        assert!(names.values().all(|name| known.contains(&**name)), "{position}: {names:?}");
    }
}

use std::sync::Arc;

use compliance_api::wire::Operation;

use super::{Cores, RemoteCore, has_long_responses, resolve};
use crate::{remote::address::Address, settings::Settings};

fn cores(urls: &str) -> Cores {
    let settings = Settings::default();
    Cores::new(&Address::parse_all(urls, &settings).unwrap(), &settings)
}

fn names(picked: impl IntoIterator<Item = Option<Arc<RemoteCore>>>) -> Vec<String> {
    let mut names: Vec<_> = picked.into_iter().map(|core| core.unwrap().name.clone()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn calls_go_to_least_busy_core() {
    let cores = cores("http://10.0.0.1:1, http://10.0.0.2:2");
    assert_eq!(names([cores.pick(&[]), cores.pick(&[])]), ["http://10.0.0.1:1/", "http://10.0.0.2:2/"]);
    let _calls = [(); 3].map(|()| Arc::clone(&cores.all()[0].in_flight));
    assert_eq!(names([cores.pick(&[]), cores.pick(&[])]), ["http://10.0.0.2:2/"; 2]);
}

#[tokio::test]
async fn failed_cores_are_picked_last() {
    let cores = cores("http://10.0.0.1:1,http://10.0.0.2:2");
    let [first, second] = [0, 1].map(|index| Arc::clone(&cores.all()[index]));
    assert_eq!(cores.in_use(), 2);
    cores.failed(&first);
    assert_eq!(cores.in_use(), 1);
    assert_eq!(names([cores.pick(&[]), cores.pick(&[])]), ["http://10.0.0.2:2/"; 2]);
    cores.failed(&second);
    assert_eq!(cores.in_use(), 2);
    assert_eq!(names([cores.pick(&[]), cores.pick(&[])]), ["http://10.0.0.1:1/", "http://10.0.0.2:2/"]);
    assert_eq!(names([cores.pick(std::slice::from_ref(&first))]), ["http://10.0.0.2:2/"]);
    assert!(cores.pick(&[first, second]).is_none());
}

/// On a shared connection, unread lists and watches would block other calls.
#[test]
fn streamed_responses_are_long() {
    let long = Operation::ALL.iter().map(|operation| operation.path).filter(|path| has_long_responses(path));
    let long: Vec<_> = long.filter_map(|path| path.rsplit('/').next()).collect();
    let expected = [
        "SyncAffiliates",
        "ListAffiliates",
        "WatchChanges",
        "ListAllComplianceCases",
        "ListAllComplianceUrls",
        "ExportCases",
        "ExportUrls",
        "StreamUrlObservations",
    ];
    assert_eq!(long, expected);
}

#[tokio::test]
async fn known_cores_keep_their_connections() {
    let cores = cores("http://10.0.0.1:1,http://10.0.0.2:2");
    let known = cores.all();
    let address = || Address::parse_all("http://10.0.0.3:3", &Settings::default()).unwrap().remove(0);
    cores.replace(vec![(known[1].name.clone(), address()), ("new".to_owned(), address())]);
    assert_eq!((cores.all().len(), cores.all()[1].name.as_str()), (2, "new"));
    assert!(Arc::ptr_eq(&cores.all()[0], &known[1]));
}

#[tokio::test]
async fn addresses_with_several_names_are_one_core() {
    let (urls, settings) =
        ("http://127.0.0.1:1,http://localhost:1,http://127.1:1,http://127.0.0.1:2", Settings::default());
    let addresses = Address::parse_all(urls, &settings).unwrap();
    let cores = Cores::new(&addresses, &settings);
    resolve(&cores, &addresses).await;
    let ports: Vec<_> =
        cores.all().iter().filter(|core| !core.name.contains("[::1]")).map(|core| core.name.clone()).collect();
    assert_eq!(ports, ["http://127.0.0.1:1/", "http://127.0.0.1:2/"]);
}

use super::*;

#[test]
fn batches_over_100_items_count_as_long() {
    let work = |items| Called::Operation(&Operation::ADD_COMPLIANCE_URLS).work(items);
    assert_eq!([0, 1].map(work), [DatabaseWork::Coalesced; 2]);
    assert_eq!([2, 100, 101].map(|items| work(items).is_long()), [false, false, true]);
}

#[test]
fn only_write_calls_count_written_items() {
    let written = |operation, items| Called::Operation(operation).written(items);
    assert_eq!([0, 1, 7].map(|items| written(&Operation::ADD_COMPLIANCE_URLS, items)), [1, 1, 7]);
    assert_eq!([&Operation::CHECK_ACCESS, &Operation::BATCH_GET_AFFILIATES].map(|read| written(read, 7)), [0, 0]);
    assert_eq!(written(&Operation::STREAM_URL_OBSERVATIONS, 7), 0);
    assert_eq!(Called::at(HEALTH_CHECK).written(7), 0);
}

#[test]
fn single_reads_are_coalesced_but_pages_are_not() {
    let work = |operation, items| Called::Operation(operation).work(items);
    assert_eq!(work(&Operation::LIST_COMPLIANCE_URLS, 0), DatabaseWork::Statement);
    assert_eq!(work(&Operation::BATCH_GET_AFFILIATES, 1_000), DatabaseWork::Statement);
    assert_eq!(work(&Operation::GET_AFFILIATE, 0), DatabaseWork::Coalesced);
}

#[test]
fn unknown_operations_require_a_token() {
    let authorization = |path| Called::at(path).authorization();
    assert_eq!(authorization("/compliance.v1.Unknown/Call"), Authorization::Token);
    assert_eq!(authorization(HEALTH_CHECK), Authorization::Open);
    assert_eq!(authorization(Operation::GET_AFFILIATE.path), Authorization::Token);
}

#[test]
fn unknown_paths_share_one_name() {
    let name = |path| Called::at(path).name();
    assert_eq!(name(Operation::GET_AFFILIATE.path), "compliance.v1.AffiliateService/GetAffiliate");
    assert_eq!(name(HEALTH_CHECK), "grpc.health.v1.Health/Check");
    assert_eq!(name("/compliance.v1.AffiliateService/Get"), "unknown");
}

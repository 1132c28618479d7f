use super::*;

#[tokio::test]
async fn a_company_with_limits_of_its_own_has_no_others() {
    let limits = ["1:in-flight=1", "1:streams=2", "1:watches=3", "1:memory=4KiB"];
    let company_limits = limits.iter().map(|limit| limit.parse().unwrap()).collect();
    let quotas = Quotas::new(&CoreSettings { company_limits, ..CoreSettings::default() }, 20);
    let _call = quotas.call(1).unwrap();
    assert_eq!(quotas.call(1).unwrap_err(), LimitReached::Company);
    let _streams = [1, 1].map(|company| quotas.open_stream(company).unwrap());
    assert!(quotas.open_stream(1).is_err());
    let _watches = [1, 1, 1].map(|company| (quotas.open_watch(company).unwrap(), quotas.watch(company).unwrap()));
    for error in [quotas.open_watch(1).unwrap_err(), quotas.watch(1).unwrap_err()] {
        assert_eq!(error.message, "The company has reached its limit for open watches: 3.");
    }
    let mut memory = quotas.memory.reservation(Some(1));
    assert_eq!((memory.grow(4097), memory.grow(4096)), (Err(LimitReached::Company), Ok(())));
    // Another company has the limits of all companies.
    let calls: Vec<_> = (0..).map_while(|_| quotas.call(2).ok()).collect();
    let streams: Vec<_> = (0..).map_while(|_| quotas.open_stream(2).ok()).collect();
    let watches: Vec<_> = (0..).map_while(|_| quotas.watch(2).ok()).collect();
    assert_eq!((calls.len(), streams.len(), watches.len()), (1024, 64, WATCHERS_OF_A_COMPANY));
    assert_eq!(quotas.memory.reservation(Some(2)).grow(1 << 20), Ok(()));
}

#[test]
fn companies_beyond_the_bound_count_together_and_those_with_limits_come_first() {
    let company_limits = vec!["9:in-flight=4".parse().unwrap(), "9:streams=4".parse().unwrap()];
    let usage = Usage::new(&CoreSettings { company_limits, company_metrics: 2, ..CoreSettings::default() });
    for company in [1, 2, 1, 9, 3] {
        usage.of(company);
    }
    let mut labelled: Vec<i64> = usage.companies.read().keys().copied().collect();
    labelled.sort_unstable();
    assert_eq!(labelled, [1, 9]);
    assert!(Arc::ptr_eq(&usage.of(2), &usage.other) && !Arc::ptr_eq(&usage.of(1), &usage.other));
}

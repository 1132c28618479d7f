use super::*;

#[tokio::test]
async fn company_call_limits_override_the_default() {
    let company_limits = vec!["1:in-flight=1".parse().unwrap()];
    let quotas = Quotas::new(&CoreSettings { company_limits, ..CoreSettings::default() }, 20);
    let _call = quotas.call(1).unwrap();
    assert_eq!(quotas.call(1).unwrap_err(), LimitReached::Company);
    // Other companies have the default limits.
    let calls: Vec<_> = (0..).map_while(|_| quotas.call(2).ok()).collect();
    let streams: Vec<_> = (0..).map_while(|_| quotas.open_stream(2).ok()).collect();
    let watches: Vec<_> = (0..).map_while(|_| quotas.watch(2).ok()).collect();
    assert_eq!((calls.len(), streams.len(), watches.len()), (1024, 64, 2000));
    let openings: Vec<_> = (0..).map_while(|_| quotas.open_watch(2).ok()).collect();
    assert_eq!(openings.len(), 2000);
    for error in [quotas.open_watch(2).unwrap_err(), quotas.watch(2).unwrap_err()] {
        assert_eq!(error.message, "The company has reached its limit for open watches: 2000.");
    }
}

#[test]
fn unlabelled_companies_count_as_other() {
    let company_limits = vec!["9:in-flight=4".parse().unwrap(), "9:rate-limit=4/s".parse().unwrap()];
    let usage = Usage::new(&CoreSettings { company_limits, company_metrics: 2, ..CoreSettings::default() });
    for company in [1, 2, 1, 9, 3] {
        usage.of(company);
    }
    let mut labelled: Vec<i64> = usage.companies.read().keys().copied().collect();
    labelled.sort_unstable();
    assert_eq!(labelled, [1, 9]);
    assert!(Arc::ptr_eq(&usage.of(2), &usage.other) && !Arc::ptr_eq(&usage.of(1), &usage.other));
}

//! Tests a company's rate limit when a gateway distributes its calls across several cores.

use std::io::Read as _;

use crate::{
    common::{Service, wait_until},
    programs::{Programs, token_of},
};
use nix::sys::signal::Signal;

/// Makes a request. Returns the status, and the limit and remaining requests from the headers.
fn request(gateway: &Service, path: &str, company: i64) -> (u16, [u64; 2]) {
    let mut response = String::new();
    gateway.send("GET", path, &token_of(company), "").read_to_string(&mut response).unwrap();
    let response = response.to_ascii_lowercase();
    let number = |name: &str| {
        let line = response.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("{name:?} is missing in {response}")).parse().unwrap()
    };
    let status = response.split(' ').nth(1).unwrap().parse().unwrap();
    (status, ["x-ratelimit-limit: ", "x-ratelimit-remaining: "].map(number))
}

#[test]
fn cores_share_the_rate_limit() {
    let programs = Programs::new();
    let [first, mut second] = [0, 1].map(|_| Service::start_as(&mut programs.core(&["--rate-limit", "20/m"])));
    let gateway = Service::start_as(&mut programs.gateway_of(&[first.grpc, second.grpc], &[]));
    assert_eq!(request(&gateway, "/api/affiliates/1", 7), (404, [20, 18]));
    // Send batched reads and single calls. Two cores with separate counts would accept all of them.
    let paths = ["/api/affiliates/1", "/api/urls", "/api/cases/1"].iter().cycle().take(39);
    let through = 1 + paths.filter(|path| request(&gateway, path, 7).0 != 429).count();
    // The limit refills during the test, by one request every three seconds.
    assert!((20..30).contains(&through), "{through}");

    // The last remaining core receives the whole limit.
    second.signal(Signal::SIGTERM);
    second.wait_for_end();
    let mut companies = 8..;
    wait_until("the gateway knows of one core", || {
        request(&gateway, "/api/affiliates/1", companies.next().unwrap()).1 == [20, 19]
    });
}

//! Kills a service while it delivers a webhook, with verbose logging.

use std::sync::Arc;

use nix::sys::signal::Signal;
use serde_json::json;
use test_support::{Reaction, RestClient, WebhookReceiver};
use tokio::{runtime::Runtime, sync::Notify};

use crate::{
    common::{Service, wait_until},
    programs::{Programs, token_with},
};

const COMPANY: i64 = 7;

#[test]
fn killed_delivery_is_retried_and_logs_no_secret() {
    let (programs, threads) = (Programs::new(), Runtime::new().unwrap());
    let receiver = threads.block_on(WebhookReceiver::start());
    let ca = receiver.ca();
    let arguments = ["--webhook-networks", "127.0.0.0/8", "--webhook-ca", ca.to_str().unwrap(), "--log", "trace"];
    let start = || Service::start_as(&mut programs.serve(&arguments));
    let rest = |service: &Service| RestClient::new(service.rest, Some(token_with(COMPANY, "webhooks")));
    let create = |service: &Service, names: &[&str]| {
        let affiliates: Vec<_> =
            names.iter().map(|name| json!({"client_affiliate_id": name, "affiliate_name": name})).collect();
        let body = json!({"affiliates": affiliates}).to_string();
        threads.block_on(rest(service).post("/affiliates", body)).with_status(201);
    };

    let first = start();
    let body = json!({"url": receiver.url()}).to_string();
    let created = threads.block_on(rest(&first).post("/webhooks", body)).with_status(201);
    let secret = created["data"]["secret"].as_str().unwrap();
    receiver.react(Reaction::Hang(Arc::new(Notify::new())));
    create(&first, &["A", "B"]);
    threads.block_on(receiver.wait_for(1));
    first.signal(Signal::SIGKILL);
    let (_, log_of_first) = first.end_with_log();

    let second = start();
    create(&second, &["C"]);
    receiver.react(Reaction::OK);
    // End the first service's lease.
    programs.run("update webhooks set leased_until = now()");
    wait_until("all changes are delivered", || programs.number("select position from webhooks") == 4);
    second.signal(Signal::SIGTERM);
    let (_, log_of_second) = second.end_with_log();

    let [attempt, again, rest] = &receiver.received()[..] else { panic!("unexpected number of messages") };
    assert_eq!((attempt.header("webhook-id"), &attempt.body), (again.header("webhook-id"), &again.body));
    assert_eq!((again.positions(), rest.positions()), (vec![2, 3], vec![4]));
    for log in [log_of_first, log_of_second] {
        assert!(log.contains("\"TRACE\"") && !log.contains(secret.trim_start_matches("whsec_")));
    }
}

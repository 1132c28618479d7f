//! Webhooks whose core is killed while it delivers, with everything logged, and name servers that do not respond.

use std::{fs, net::UdpSocket, process::Command, sync::Arc};

use nix::{sys::signal::Signal, unistd::Uid};
use serde_json::json;
use test_support::{Reaction, RestClient, WebhookReceiver};
use tokio::{runtime::Runtime, sync::Notify, task::JoinHandle};

use crate::{
    common::{DataDir, Service, wait_until},
    programs::{Programs, token_with},
};

const COMPANY: i64 = 7;

#[test]
fn a_core_that_is_killed_while_it_delivers_loses_nothing_and_no_log_has_the_secret() {
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
    // After the lease of the first core has ended.
    programs.run("update webhooks set leased_until = now()");
    wait_until("everything is delivered", || programs.number("select position from webhooks") == 4);
    second.signal(Signal::SIGTERM);
    let (_, log_of_second) = second.end_with_log();

    let [attempt, again, rest] = &receiver.received()[..] else { panic!("there are other messages") };
    assert_eq!((attempt.header("webhook-id"), &attempt.body), (again.header("webhook-id"), &again.body));
    assert_eq!((again.positions(), rest.positions()), (vec![2, 3], vec![4]));
    for log in [log_of_first, log_of_second] {
        assert!(log.contains("\"TRACE\"") && !log.contains(secret.trim_start_matches("whsec_")));
    }
}

/// A name server that never responds, on the only port that name servers use.
fn silent_name_server() -> Option<(UdpSocket, DataDir)> {
    const ADDRESS: &str = "127.77.77.77";
    let socket = match UdpSocket::bind((ADDRESS, 53)) {
        Ok(socket) => socket,
        Err(error) => {
            println!("port 53 cannot be used, so nothing is tested: {error}");
            return None;
        }
    };
    let folder = DataDir::new();
    fs::create_dir_all(folder.path()).unwrap();
    fs::write(folder.path().join("resolv.conf"), format!("nameserver {ADDRESS}\n")).unwrap();
    Some((socket, folder))
}

/// The same program with another `/etc/resolv.conf`, which no other program sees.
fn resolving_by(folder: &DataDir, program: &Command) -> Command {
    let mut command = Command::new("unshare");
    if !Uid::effective().is_root() {
        command.arg("--map-root-user");
    }
    command.args(["--mount", "sh", "-c"]);
    command.arg(r#"mount --bind "$0" /etc/resolv.conf && exec "$@""#).arg(folder.path().join("resolv.conf"));
    command.arg(program.get_program()).args(program.get_args());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

#[test]
fn silent_name_servers_delay_no_other_endpoint() {
    let Some((_socket, folder)) = silent_name_server() else { return };
    let (programs, threads) = (Programs::new(), Runtime::new().unwrap());
    let receiver = threads.block_on(WebhookReceiver::start());
    let ca = receiver.ca();
    let arguments = ["--webhook-networks", "127.0.0.0/8", "--webhook-ca", ca.to_str().unwrap()];
    let service = Service::start_as(&mut resolving_by(&folder, &programs.serve(&arguments)));
    let rest = |company| RestClient::new(service.rest, Some(token_with(company, "webhooks")));

    // A request with an endpoint waits for its name servers. Requests of other companies continue.
    let waiting: Vec<_> = (100..140)
        .map(|number| {
            let body = json!({"url": format!("https://{number}.silent.example/")}).to_string();
            let rest = rest(number / 4);
            threads.spawn(async move { rest.post("/webhooks", body).await.status })
        })
        .collect();
    let body = json!({"url": receiver.url()}).to_string();
    threads.block_on(rest(COMPANY).post("/webhooks", body)).with_status(201);
    assert!(!waiting.iter().any(JoinHandle::is_finished), "requests do not wait for silent name servers");
    for status in waiting {
        assert_eq!(threads.block_on(status).unwrap(), 201);
    }

    // More than the maximum number of concurrent attempts.
    programs.run(
        "insert into webhooks (company_id, url, types, secret, position, next_attempt_at)
         select company, format('https://%s-%s.silent.example/', company, number), '{}', 'whsec_', 0, now() - interval '1 hour'
         from generate_series(1001, 1015) company, generate_series(1, 20) number",
    );
    programs.run(
        "insert into affiliates (company_id, client_affiliate_id, affiliate_name)
         select company, 'A', 'A' from generate_series(1001, 1015) company union all select 7, 'A', 'A'",
    );
    threads.block_on(receiver.wait_for(1));
    let ended = "select count(*) from webhook_deliveries where company_id > 1000 and duration_ms > 4000";
    assert_eq!(programs.number(ended), 0, "a message has waited until lookups of names ended");
    let failed = "select count(*) from webhook_deliveries where company_id = 7 and error is not null";
    assert_eq!(programs.number(failed), 0);
    let silent = "select count(*) from webhook_deliveries where company_id > 1000 and error like 'no connection%'";
    wait_until("an attempt ends for its name server", || programs.number(silent) > 0);
}

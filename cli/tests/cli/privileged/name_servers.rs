//! Tests webhooks while name servers do not respond.

use std::{fs, net::UdpSocket, process::Command};

use serde_json::json;
use test_support::{RestClient, WebhookReceiver};
use tokio::{runtime::Runtime, task::JoinHandle};

use crate::{
    common::{DataDir, Service, wait_until},
    programs::{Programs, token_with},
};

const COMPANY: i64 = 7;

/// Starts a name server that never responds, on port 53. Returns a folder with its `resolv.conf`.
fn silent_name_server() -> (UdpSocket, DataDir) {
    const ADDRESS: &str = "127.77.77.77";
    let socket = UdpSocket::bind((ADDRESS, 53)).unwrap();
    let folder = DataDir::new();
    fs::create_dir_all(folder.path()).unwrap();
    fs::write(folder.path().join("resolv.conf"), format!("nameserver {ADDRESS}\n")).unwrap();
    (socket, folder)
}

/// Returns the same command with a private `/etc/resolv.conf`.
fn resolving_by(folder: &DataDir, program: &Command) -> Command {
    let mut command = Command::new("unshare");
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
#[ignore = "mounts a file: tools/scripts/check-deploy runs it as root"]
fn silent_name_servers_do_not_delay_other_webhooks() {
    let (_socket, folder) = silent_name_server();
    let (programs, threads) = (Programs::new(), Runtime::new().unwrap());
    let receiver = threads.block_on(WebhookReceiver::start());
    let ca = receiver.ca();
    let arguments = ["--webhook-networks", "127.0.0.0/8", "--webhook-ca", ca.to_str().unwrap()];
    let service = Service::start_as(&mut resolving_by(&folder, &programs.serve(&arguments)));
    let rest = |company| RestClient::new(service.rest, Some(token_with(company, "webhooks")));

    // A request that creates a webhook waits for its name servers. Requests from other companies continue.
    let waiting: Vec<_> = (100..140)
        .map(|number| {
            let body = json!({"url": format!("https://{number}.silent.example/")}).to_string();
            let rest = rest(number / 4);
            threads.spawn(async move { rest.post("/webhooks", body).await.status })
        })
        .collect();
    let body = json!({"url": receiver.url()}).to_string();
    threads.block_on(rest(COMPANY).post("/webhooks", body)).with_status(201);
    assert!(!waiting.iter().any(JoinHandle::is_finished), "a request did not wait for the silent name server");
    for status in waiting {
        assert_eq!(threads.block_on(status).unwrap(), 201);
    }

    // Exceed the maximum number of concurrent attempts.
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
    assert_eq!(programs.number(ended), 0, "the delivery waited for name lookups");
    let failed = "select count(*) from webhook_deliveries where company_id = 7 and error is not null";
    assert_eq!(programs.number(failed), 0);
    let silent = "select count(*) from webhook_deliveries where company_id > 1000 and error like 'no connection%'";
    wait_until("an attempt fails because of its name server", || programs.number(silent) > 0);
}

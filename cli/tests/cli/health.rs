//! Checks that `compliance health` promptly reports whether a service is healthy.

use std::{net::TcpListener, time::Instant};

use nix::sys::signal::Signal;

use crate::{
    common::{DataDir, Service, compliance, output, wait_until},
    programs::Programs,
};

/// Runs `health`. Returns the exit status and the combined output.
fn health(arguments: &[&str]) -> (Option<i32>, String) {
    let (status, printed, log) = output(compliance(&DataDir::new()).arg("health").args(arguments));
    (status.code(), format!("{printed}{log}"))
}

#[test]
fn health_command_checks_both_tiers() {
    let programs = Programs::new();
    let core = Service::start_as(&mut programs.core(&[]));
    let core_address = core.grpc;
    let gateway = Service::start_as(&mut programs.gateway_of(&[core_address], &["--admin-addr", "127.0.0.1:0"]));
    let (of_core, of_gateway) = (format!("grpc://{core_address}"), format!("http://{}", gateway.rest));

    assert_eq!(health(&[&of_core]), (Some(0), format!("{of_core}/ is healthy\n")));
    wait_until("the gateway reaches its core", || health(&[&of_gateway]).0 == Some(0));
    assert_eq!(health(&[&of_gateway]), (Some(0), format!("{of_gateway}/ is healthy\n")));

    let (status, said) = health(&[&format!("grpc://{}", gateway.rest)]);
    assert!(status == Some(1) && said.contains("does not respond like a core"), "{said}");
    let (status, said) = health(&[&format!("http://{core_address}")]);
    assert!(status == Some(1) && said.contains("if this is a core, use grpc://"), "{said}");
    let (status, said) = health(&[&format!("https://{}", gateway.rest)]);
    assert!(status == Some(1) && said.contains("use http://"), "{said}");
    let (status, said) = health(&[&format!("http://{}", gateway.admin)]);
    assert!(status == Some(1) && said.contains("use the address of a gateway's REST port"), "{said}");

    core.signal(Signal::SIGTERM);
    assert!(core.end().success());
    let (status, said) = health(&[&of_core]);
    assert!(status == Some(1) && said.contains("cannot be reached"), "{status:?} {said}");
    wait_until("the gateway loses its core", || health(&[&of_gateway]).0 == Some(1));
    let (_, said) = health(&[&of_gateway]);
    assert!(said.contains("the gateway is not ready: 503") && said.contains("check its log, and the cores"), "{said}");
}

#[test]
fn health_check_times_out_on_silent_services() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    for scheme in ["http", "grpc"] {
        let address = format!("{scheme}://{}", silent.local_addr().unwrap());
        let start = Instant::now();
        let (status, said) = health(&[&address, "--timeout", "200ms"]);
        assert!(status == Some(1) && said.contains("did not respond within 200ms"), "{status:?} {said}");
        assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
    }
}

#[test]
fn health_command_rejects_invalid_arguments() {
    let (status, said) = health(&["ftp://127.0.0.1:1"]);
    assert!(status == Some(2) && said.contains("must begin with http://, https://, grpc:// or grpcs://"), "{said}");
    for wrong in ["/readyz", "http://127.0.0.1:1/readyz"] {
        let (status, said) = health(&[wrong]);
        assert!(status == Some(2) && said.contains("/readyz: must"), "{said}");
    }
    let (status, said) = health(&["http://127.0.0.1:1", "--timeout", "soon"]);
    assert!(status == Some(2) && said.contains("--timeout"), "{said}");
}

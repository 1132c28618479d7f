//! Attacks the service. During each attack, the service serves other clients, and its memory use stays within a limit.

mod bodies;
mod frames;
mod http1;
mod http2;
mod world;

use world::World;

#[test]
#[ignore = "a long test: tools/scripts/test-long runs it"]
fn http1_attacks_do_not_affect_other_clients() {
    http1::attack_all(&World::start());
}

#[test]
#[ignore = "a long test: tools/scripts/test-long runs it"]
fn http2_attacks_do_not_affect_rest_clients() {
    let world = World::start();
    http2::attack_all(&world, world.service.rest, ("GET", "/api/affiliates"));
}

#[test]
#[ignore = "a long test: tools/scripts/test-long runs it"]
fn http2_attacks_do_not_affect_grpc_clients() {
    let world = World::start();
    http2::attack_all(&world, world.service.grpc, ("POST", "/compliance.v1.AffiliateService/ListAffiliates"));
}

#[test]
#[ignore = "a long test: tools/scripts/test-long runs it"]
fn large_bodies_do_not_affect_other_clients() {
    bodies::large();
}

#[test]
#[ignore = "a long test: tools/scripts/test-long runs it"]
fn decompression_bombs_do_not_affect_other_clients() {
    bodies::decompression_bombs();
}

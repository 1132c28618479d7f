//! Malicious clients. During the attacks, the service serves others, and its memory stays within a limit.

mod bodies;
mod frames;
mod http1;
mod http2;
mod world;

use world::World;

#[test]
#[ignore = "a long test: tools/scripts/test-long runs it"]
fn hostile_http1_does_not_harm_others() {
    http1::attack_all(&World::start());
}

#[test]
#[ignore = "a long test: tools/scripts/test-long runs it"]
fn hostile_http2_does_not_harm_rest_callers() {
    let world = World::start();
    http2::attack_all(&world, world.service.rest, ("GET", "/api/affiliates"));
}

#[test]
#[ignore = "a long test: tools/scripts/test-long runs it"]
fn hostile_http2_does_not_harm_grpc_callers() {
    let world = World::start();
    http2::attack_all(&world, world.service.grpc, ("POST", "/compliance.v1.AffiliateService/ListAffiliates"));
}

#[test]
#[ignore = "a long test: tools/scripts/test-long runs it"]
fn large_bodies_do_not_harm_others() {
    bodies::large();
}

#[test]
#[ignore = "a long test: tools/scripts/test-long runs it"]
fn decompression_bombs_do_not_harm_others() {
    bodies::that_decompress_to_large_ones();
}

//! Clients that mean harm. Meanwhile others are served, and the memory of the service stays bounded.

mod bodies;
mod frames;
mod http1;
mod http2;
mod world;

use world::World;

#[test]
fn http1() {
    http1::attack_all(&World::start());
}

#[test]
fn http2_to_rest() {
    let world = World::start();
    http2::attack_all(&world, world.service.rest, ("GET", "/api/affiliates"));
}

#[test]
fn http2_to_grpc() {
    let world = World::start();
    http2::attack_all(&world, world.service.grpc, ("POST", "/compliance.v1.AffiliateService/ListAffiliates"));
}

#[test]
fn large_bodies() {
    bodies::large();
}

#[test]
fn bodies_that_stand_for_much() {
    bodies::that_stand_for_much();
}

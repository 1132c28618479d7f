//! The `compliance` program as a process. These tests are one program, so that it is linked once.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod audit;
mod calls;
mod cancelled;
mod certificates;
mod common;
mod configuration;
mod data;
mod doctor;
mod durability;
mod erase;
mod failover;
mod files;
mod given_database;
mod health;
mod hostile;
mod interleavings;
mod keys;
mod observability;
mod partners;
mod personal_data;
mod programs;
mod rate_limit;
mod readme;
mod replicas;
mod restarts;
mod secrets;
mod serve;
mod signals;
mod soak;
mod sockets;
mod starts;
mod stopped;
mod token;
mod watch;
mod witness;

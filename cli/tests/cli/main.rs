//! The `compliance` program as a process. These tests are one program, so that it is linked once.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::disallowed_methods, reason = "tasks of tests end with them")]

mod alerts;
mod audit;
mod backups;
mod calls;
mod cancelled;
mod certificates;
mod common;
mod configuration;
mod cut_files;
mod data;
mod doctor;
mod durability;
mod erase;
mod failover;
mod files;
mod full_disk;
mod given_database;
mod health;
mod hostile;
mod interleavings;
mod keys;
mod killed_sync;
mod observability;
mod outage_log;
mod partners;
mod personal_data;
mod programs;
mod rate_limit;
mod readme;
mod replicas;
mod restarts;
mod retention;
mod round_trips;
mod secrets;
mod serve;
mod signals;
mod soak;
mod sockets;
mod starts;
mod stopped;
mod token;
mod watch;
mod webhooks;
mod witness;

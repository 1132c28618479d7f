//! What every test stands on: the database, the service, and clients of both layers.

mod database;
mod grpc;
mod rest;
mod runner;
mod server_process;
mod service;
mod tokens;

pub(crate) use database::fresh_database;
pub(crate) use grpc::{Grpc, reason_of};
pub(crate) use rest::{Answer, Rest};
pub(crate) use runner::{OwnCluster, Test, main, tests};
pub(crate) use server_process::ServerProcess;
pub(crate) use service::{Layer, Options, Service};
pub(crate) use tokens::{new_company, now, secret, token, token_of};

//! Every route on one screen.

use std::sync::Arc;

use axum::{Router, routing::get};
use compliance_api::{client::Clients, token::Verifier};

use crate::{
    Settings,
    gateway::Gateway,
    observe::observe,
    routes::{affiliates, cases, health, unknown_path, urls, wrong_method},
};

/// The documented JSON interface in front of a core.
pub fn router(clients: Clients, verifier: Arc<Verifier>, settings: &Settings) -> Router {
    let gateway = Arc::new(Gateway::new(clients, verifier, settings.clone()));
    let routes = Router::new()
        .route("/api/affiliates", get(affiliates::list).post(affiliates::create))
        .route("/api/affiliates/{id}", get(affiliates::get).put(affiliates::update))
        .route("/api/urls", get(urls::list).post(urls::add))
        .route("/api/urls/{id}", get(urls::get))
        .route("/api/cases", get(cases::list))
        .route("/api/cases/{id}", get(cases::get))
        .route("/livez", get(health::live))
        .route("/readyz", get(health::ready))
        .fallback(unknown_path)
        .method_not_allowed_fallback(wrong_method);
    observe(routes).with_state(gateway)
}

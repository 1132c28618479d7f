//! Every route on one screen, each with its handler and its documentation.

use std::sync::Arc;

use axum::{Router, middleware::from_fn_with_state};
use compliance_api::{client::Clients, token::Verifier};

use crate::{
    Settings,
    compression::compress,
    cors::cross_origin,
    gateway::Gateway,
    json::Json,
    observe::observe,
    openapi::{self, Routes, partners as documents, service},
    routes::{about, affiliates, cases, console, docs, health, unknown_path, urls, wrong_method},
};

/// The documented JSON interface in front of a core.
pub fn router(clients: Clients, verifier: Arc<Verifier>, settings: &Settings) -> Router {
    docs::set_document(document);
    let gateway = Arc::new(Gateway::new(clients, verifier, settings.clone()));
    let routes = routes().into_router().fallback(unknown_path).method_not_allowed_fallback(wrong_method);
    let routes = routes.layer(from_fn_with_state(Arc::clone(&gateway), compress));
    let routes = match cross_origin(&settings.cors_origins) {
        Some(layer) => routes.layer(layer),
        None => routes,
    };
    observe(routes).with_state(gateway)
}

/// The OpenAPI document of the routes.
pub(crate) fn document() -> Json {
    openapi::document(&routes().into_documented())
}

/// The routes, in the order in which the document has them.
pub(crate) fn routes() -> Routes<Arc<Gateway>> {
    Routes::new()
        .get("/api/affiliates", affiliates::list, documents::list_affiliates)
        .post("/api/affiliates", affiliates::create, documents::create_affiliates)
        .get("/api/affiliates/{id}", affiliates::get, documents::get_affiliate)
        .put("/api/affiliates/{id}", affiliates::update, documents::update_affiliates)
        .get("/api/urls", urls::list, documents::list_urls)
        .post("/api/urls", urls::add, documents::add_urls)
        .get("/api/urls/{id}", urls::get, documents::get_url)
        .get("/api/cases", cases::list, documents::list_cases)
        .get("/api/cases/{id}", cases::get, documents::get_case)
        .get("/livez", health::live, service::live)
        .get("/readyz", health::ready, service::ready)
        .get("/", about::get, service::describe)
        .get("/openapi.json", docs::document, service::document)
        .get("/docs", docs::page, service::page)
        .get("/docs/{file}", docs::file, service::page_file)
        .get("/console", console::page, service::console)
        .get("/console/{file}", console::file, service::console_file)
}

//! Every route on one screen, each with its handler and its documentation.

use std::sync::Arc;

use axum::{
    Router,
    middleware::from_fn_with_state,
    routing::{get, post, put},
};
use compliance_api::{client::Clients, token::Verifier};

#[cfg(test)]
use crate::openapi::{Documented, partners, service};
use crate::{
    Settings,
    compression::compress,
    cors::cross_origin,
    gateway::Gateway,
    observe::observe,
    routes::{about, affiliates, cases, console, docs, health, unknown_path, urls, wrong_method},
};

/// The documented JSON interface in front of a core.
pub fn router(clients: Clients, verifier: Arc<Verifier>, settings: &Settings) -> Router {
    let gateway = Arc::new(Gateway::new(clients, verifier, settings.clone()));
    let routes = routes().fallback(unknown_path).method_not_allowed_fallback(wrong_method);
    let routes = routes.layer(from_fn_with_state(Arc::clone(&gateway), compress));
    let routes = match cross_origin(&settings.cors_origins) {
        Some(layer) => routes.layer(layer),
        None => routes,
    };
    observe(routes).with_state(gateway)
}

/// The routes, each with its path, its handler and its documentation: one cannot be added without the other.
macro_rules! routes {
    ($($method:ident $path:literal => $handler:path, $document:path;)*) => {
        /// The paths of all routes.
        pub(crate) const PATHS: &[&str] = &[$($path),*];

        fn routes() -> Router<Arc<Gateway>> {
            Router::new()$(.route($path, $method($handler)))*
        }

        /// The documentation of the routes, in the order in which the document has them.
        #[cfg(test)]
        pub(crate) fn documented() -> Vec<Documented> {
            vec![$(Documented { path: $path, method: stringify!($method), document: $document }),*]
        }
    };
}

routes! {
    get "/api/affiliates" => affiliates::list, partners::list_affiliates;
    post "/api/affiliates" => affiliates::create, partners::create_affiliates;
    get "/api/affiliates/{id}" => affiliates::get, partners::get_affiliate;
    put "/api/affiliates/{id}" => affiliates::update, partners::update_affiliates;
    get "/api/urls" => urls::list, partners::list_urls;
    post "/api/urls" => urls::add, partners::add_urls;
    get "/api/urls/{id}" => urls::get, partners::get_url;
    get "/api/cases" => cases::list, partners::list_cases;
    get "/api/cases/{id}" => cases::get, partners::get_case;
    get "/livez" => health::live, service::live;
    get "/readyz" => health::ready, service::ready;
    get "/" => about::get, service::describe;
    get "/openapi.json" => docs::document, service::document;
    get "/docs" => docs::page, service::page;
    get "/docs/{file}" => docs::file, service::page_file;
    get "/console" => console::page, service::console;
    get "/console/{file}" => console::file, service::console_file;
}

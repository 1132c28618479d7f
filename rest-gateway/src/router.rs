//! Every route on one screen, each with its handler. The comment above a handler is the documentation of its route.

use std::sync::Arc;

use admission::Memory;
use axum::{
    Router,
    response::IntoResponse as _,
    routing::{delete, get, patch, post, put},
};
use compliance_api::{
    batch_read::RATE_LIMIT,
    client::Clients,
    error::Error,
    rules::Check,
    token::Verifier,
    v1::{
        GetAffiliateRequest, GetComplianceCaseRequest, GetComplianceUrlRequest, ListAffiliatesRequest,
        ListAllComplianceCasesRequest, ListAllComplianceUrlsRequest, ListChangesRequest, ListComplianceCasesRequest,
        ListComplianceUrlsRequest, ListWebhookDeliveriesRequest, SearchAffiliatesRequest, SearchChangesRequest,
        SearchComplianceUrlsRequest,
    },
};
use http::{
    HeaderValue, Method,
    header::{
        AUTHORIZATION, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderName, IF_MATCH, IF_NONE_MATCH,
        LOCATION, RETRY_AFTER,
    },
};
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::{
    error::Refusal,
    gateway::Gateway,
    ignored::{IGNORED_FIELDS, IGNORED_PARAMETERS},
    limits::PREFLIGHT_MAX_AGE,
    observe::observe,
    request_record::REQUEST_ID,
    route::Route,
    routes::{
        about, affiliates, cases, changes, changes::LAST_EVENT_ID, health, overview, pages, unknown_path, urls,
        vocabularies, webhooks, wrong_method,
    },
    settings::Settings,
};

/// The documented JSON interface in front of a core. A core in the same process shares its `memory` of requests; without it,
/// the gateway has that of its settings.
pub fn router(clients: Clients, memory: Option<Memory>, verifier: Arc<Verifier>, settings: &Settings) -> Router {
    let gateway = Arc::new(Gateway::new(clients, memory, verifier, settings.clone()));
    let routes = routes().fallback(unknown_path).method_not_allowed_fallback(wrong_method);
    let routes = match cross_origin(&settings.cors_origins) {
        Some(layer) => routes.layer(layer),
        None => routes,
    };
    observe(routes, ROUTES, gateway.memory.clone()).with_state(gateway)
}

/// What is served until the service can serve: it runs, and everything else gets 503.
pub fn unready() -> Router {
    let unavailable = || async { Refusal::from(Error::core_unavailable()).into_response() };
    Router::new()
        .route("/livez", get(health::live))
        .route("/readyz", get(health::unavailable))
        .fallback(unavailable)
        .method_not_allowed_fallback(unavailable)
}

/// The headers that pages of other origins may send. Event clients send `Cache-Control`, and tracing clients send the last three.
const ALLOWED_HEADERS: [HeaderName; 11] = [
    AUTHORIZATION,
    CONTENT_TYPE,
    CONTENT_ENCODING,
    IF_MATCH,
    IF_NONE_MATCH,
    CACHE_CONTROL,
    REQUEST_ID,
    LAST_EVENT_ID,
    HeaderName::from_static("traceparent"),
    HeaderName::from_static("tracestate"),
    HeaderName::from_static("baggage"),
];

/// Lets pages of these origins call the interface, `*` being any. `None` if there are none. Tokens are sent by the page, never
/// by the browser itself, so no credentials are allowed.
fn cross_origin(origins: &[HeaderValue]) -> Option<CorsLayer> {
    if origins.is_empty() {
        return None;
    }
    let is_any = origins.iter().any(|origin| origin == "*");
    let origins = if is_any { AllowOrigin::any() } else { AllowOrigin::list(origins.iter().cloned()) };
    let layer = CorsLayer::new()
        .allow_origin(origins)
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE])
        .allow_headers(ALLOWED_HEADERS)
        .expose_headers(
            [REQUEST_ID, IGNORED_PARAMETERS, IGNORED_FIELDS, ETAG, LOCATION, RETRY_AFTER]
                .into_iter()
                .chain(RATE_LIMIT)
                .collect::<Vec<_>>(),
        )
        .max_age(PREFLIGHT_MAX_AGE);
    Some(layer)
}

macro_rules! routes {
    ($($method:ident $path:literal => $handler:path $(, $query:ident)*;)*) => {
        /// All routes, in the order of their documentation.
        pub const ROUTES: &[Route] = &[$(Route {
            method: stringify!($method),
            path: $path,
            handler: stringify!($handler),
            query: &[$($query::MESSAGE),*],
        }),*];

        fn routes() -> Router<Arc<Gateway>> {
            Router::new()$(.route($path, $method($handler)))*
        }
    };
}

// Behind its handler, a route has the requests whose fields are the parameters of its query.
routes! {
    get "/api/affiliates" => affiliates::list, ListAffiliatesRequest;
    post "/api/affiliates" => affiliates::create;
    get "/api/affiliates:search" => affiliates::search, SearchAffiliatesRequest;
    post "/api/affiliates:sync" => affiliates::sync;
    get "/api/affiliates/{id}" => affiliates::get, GetAffiliateRequest;
    put "/api/affiliates/{id}" => affiliates::update;
    delete "/api/affiliates/{id}" => affiliates::erase;
    get "/api/urls" => urls::list, ListComplianceUrlsRequest, ListAllComplianceUrlsRequest;
    post "/api/urls" => urls::add;
    get "/api/urls:search" => urls::search, SearchComplianceUrlsRequest;
    get "/api/urls/{id}" => urls::get, GetComplianceUrlRequest;
    patch "/api/urls/{id}" => urls::review;
    get "/api/cases" => cases::list, ListComplianceCasesRequest, ListAllComplianceCasesRequest;
    get "/api/cases/{id}" => cases::get, GetComplianceCaseRequest;
    post "/api/cases" => cases::work::open;
    patch "/api/cases/{id}" => cases::work::update;
    post "/api/cases/{id}/resolve" => cases::work::resolve;
    post "/api/cases/{id}/close" => cases::work::close;
    post "/api/cases/{id}/reopen" => cases::work::reopen;
    post "/api/cases/{id}/incidents" => cases::work::attach;
    post "/api/cases/{id}/incidents:detach" => cases::work::detach;
    get "/api/overview" => overview::get;
    get "/api/vocabularies" => vocabularies::get;
    get "/api/changes" => changes::list, ListChangesRequest;
    get "/api/webhooks" => webhooks::list;
    post "/api/webhooks" => webhooks::create;
    get "/api/webhooks/{id}" => webhooks::get;
    put "/api/webhooks/{id}" => webhooks::update;
    delete "/api/webhooks/{id}" => webhooks::delete;
    post "/api/webhooks/{id}/secret" => webhooks::rotate_secret;
    post "/api/webhooks/{id}/test" => webhooks::test;
    get "/api/webhooks/{id}/deliveries" => webhooks::deliveries, ListWebhookDeliveriesRequest;
    get "/api/audit" => changes::audit, SearchChangesRequest;
    get "/livez" => health::live;
    get "/readyz" => health::ready;
    get "/" => about::get;
    get "/openapi.json" => pages::openapi;
    get "/docs" => pages::docs;
    get "/docs/{file}" => pages::docs_file;
    get "/console" => pages::console;
    get "/console/sign-in.json" => pages::console_sign_in;
    get "/console/{file}" => pages::console_file;
}

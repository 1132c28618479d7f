//! All routes and their handlers. The comment above a handler is its route's API documentation.

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
        GetAffiliateRequest, GetComplianceCaseRequest, GetComplianceUrlRequest, ListAffiliatePageRequest,
        ListAffiliatesRequest, ListAllComplianceCasesRequest, ListAllComplianceUrlsRequest, ListChangesRequest,
        ListComplianceCasesRequest, ListComplianceUrlsRequest, ListWebhookDeliveriesRequest, SearchAffiliatesRequest,
        SearchChangesRequest, SearchComplianceUrlsRequest,
    },
    wire::Operation,
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
    envelope::Rejection,
    gateway::Gateway,
    limits::PREFLIGHT_MAX_AGE,
    observe::{REQUEST_ID, observe},
    route::{IGNORED_FIELDS, IGNORED_PARAMETERS, Route},
    routes::{
        affiliates, cases, changes, changes::LAST_EVENT_ID, overview, service, urls, vocabularies, webhooks,
        wrong_method,
    },
    settings::Settings,
};

/// Returns the router for the documented JSON interface.
///
/// An in-process core shares its request `memory`. Otherwise, the gateway uses the memory in its settings.
pub fn router(clients: Clients, memory: Option<Memory>, verifier: Arc<Verifier>, settings: &Settings) -> Router {
    let gateway = Arc::new(Gateway::new(clients, memory, verifier, settings.clone()));
    let routes = routes().fallback(service::unknown_path).method_not_allowed_fallback(wrong_method);
    let routes = match cross_origin(&settings.cors_origins) {
        Some(layer) => routes.layer(layer),
        None => routes,
    };
    observe(routes, ROUTES, gateway.memory.clone()).with_state(gateway)
}

/// Returns the router for a service that is not ready. `/livez` responds normally, and all other paths with 503.
pub fn unready() -> Router {
    let unavailable = || async { Rejection::from(Error::core_unavailable()).into_response() };
    Router::new()
        .route("/livez", get(service::live))
        .route("/readyz", get(service::unavailable))
        .fallback(unavailable)
        .method_not_allowed_fallback(unavailable)
}

/// Headers that pages from other origins can send. Event clients send `Cache-Control`; tracing clients send the last three.
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

/// Allows pages from these origins to call the interface. `*` means any origin.
///
/// Pages send tokens themselves, so the browser does not need to send credentials.
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
    ($($method:ident $path:literal => $handler:path $(, [$($query:ident),*])? $(, $option:ident($($value:ident)?))*;)*) => {
        /// All routes, in documentation order.
        pub const ROUTES: &[Route] = &[$(
            Route::new(stringify!($method), $path, stringify!($handler), &[$($($query::MESSAGE),*)?])
                $(.$option($(&Operation::$value)?))*
        ),*];

        fn routes() -> Router<Arc<Gateway>> {
            Router::new()$(.route($path, $method($handler)))*
        }
    };
}

// A route's query parameters are the fields of the request types in brackets. `scope` names the core operation whose scope a route needs.
routes! {
    get "/api/affiliates" => affiliates::list, [ListAffiliatePageRequest, ListAffiliatesRequest];
    post "/api/affiliates" => affiliates::create, file(BATCH_CREATE_AFFILIATES);
    get "/api/affiliates:search" => affiliates::search, [SearchAffiliatesRequest];
    post "/api/affiliates:sync" => affiliates::sync, file(BATCH_SYNC_AFFILIATES);
    get "/api/affiliates/{id}" => affiliates::get, [GetAffiliateRequest];
    put "/api/affiliates/{id}" => affiliates::update, if_match(), dry_run();
    delete "/api/affiliates/{id}" => affiliates::erase, if_match(), scope(ERASE_AFFILIATE);
    get "/api/urls" => urls::list, [ListComplianceUrlsRequest, ListAllComplianceUrlsRequest];
    post "/api/urls" => urls::add, file(ADD_COMPLIANCE_URLS);
    get "/api/urls:search" => urls::search, [SearchComplianceUrlsRequest];
    get "/api/urls/{id}" => urls::get, [GetComplianceUrlRequest];
    patch "/api/urls/{id}" => urls::review, if_match(), scope(REVIEW_URL);
    get "/api/cases" => cases::list, [ListComplianceCasesRequest, ListAllComplianceCasesRequest];
    get "/api/cases/{id}" => cases::get, [GetComplianceCaseRequest];
    post "/api/cases" => cases::open, scope(OPEN_CASE);
    patch "/api/cases/{id}" => cases::update, if_match(), scope(UPDATE_CASE);
    post "/api/cases/{id}/resolve" => cases::resolve, if_match(), scope(RESOLVE_CASE);
    post "/api/cases/{id}/close" => cases::close, if_match(), scope(CLOSE_CASE);
    post "/api/cases/{id}/reopen" => cases::reopen, if_match(), scope(REOPEN_CASE);
    post "/api/cases/{id}/incidents" => cases::attach, scope(ATTACH_INCIDENTS);
    post "/api/cases/{id}/incidents:detach" => cases::detach, scope(DETACH_INCIDENTS);
    get "/api/overview" => overview::get;
    get "/api/vocabularies" => vocabularies::get;
    get "/api/changes" => changes::list, [ListChangesRequest];
    get "/api/webhooks" => webhooks::list, scope(LIST_WEBHOOKS);
    post "/api/webhooks" => webhooks::create, scope(CREATE_WEBHOOK);
    get "/api/webhooks/{id}" => webhooks::get, scope(GET_WEBHOOK);
    put "/api/webhooks/{id}" => webhooks::update, scope(UPDATE_WEBHOOK);
    delete "/api/webhooks/{id}" => webhooks::delete, scope(DELETE_WEBHOOK);
    post "/api/webhooks/{id}/secret" => webhooks::rotate_secret, scope(ROTATE_WEBHOOK_SECRET);
    post "/api/webhooks/{id}/test" => webhooks::test, scope(TEST_WEBHOOK);
    get "/api/webhooks/{id}/deliveries" => webhooks::deliveries, [ListWebhookDeliveriesRequest], scope(LIST_WEBHOOK_DELIVERIES);
    get "/api/audit" => changes::audit, [SearchChangesRequest], scope(SEARCH_CHANGES);
    get "/livez" => service::live;
    get "/readyz" => service::ready;
    get "/" => service::about;
    get "/openapi.json" => service::openapi;
    get "/docs" => service::docs;
    get "/docs/{file}" => service::docs_file;
    get "/console" => service::console;
    get "/console/sign-in.json" => service::console_sign_in;
    get "/console/{file}" => service::console_file;
}

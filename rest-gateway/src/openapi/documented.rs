//! Routes that have their documentation beside their handler: one cannot be added without the other.

use axum::routing::MethodFilter;
use axum::{Router, handler::Handler, routing::on};

use super::operation::Operation;

/// A function that documents a route.
pub(crate) type Document = fn() -> Operation;

/// Routes and their documentation.
pub(crate) struct Routes<S> {
    router: Router<S>,
    documented: Vec<Documented>,
}

/// A documented route.
#[derive(Clone, Copy)]
pub(crate) struct Documented {
    pub(super) path: &'static str,
    pub(super) method: &'static str,
    pub(super) document: Document,
}

impl<S: Clone + Send + Sync + 'static> Routes<S> {
    /// No routes.
    pub(crate) fn new() -> Self {
        Self { router: Router::new(), documented: Vec::new() }
    }

    /// Adds a route for `GET`, and so for `HEAD`.
    pub(crate) fn get<T: 'static>(self, path: &'static str, handler: impl Handler<T, S>, document: Document) -> Self {
        self.add(MethodFilter::GET, "get", path, handler, document)
    }

    /// Adds a route for `POST`.
    pub(crate) fn post<T: 'static>(self, path: &'static str, handler: impl Handler<T, S>, document: Document) -> Self {
        self.add(MethodFilter::POST, "post", path, handler, document)
    }

    /// Adds a route for `PUT`.
    pub(crate) fn put<T: 'static>(self, path: &'static str, handler: impl Handler<T, S>, document: Document) -> Self {
        self.add(MethodFilter::PUT, "put", path, handler, document)
    }

    fn add<T: 'static>(
        mut self,
        filter: MethodFilter,
        method: &'static str,
        path: &'static str,
        handler: impl Handler<T, S>,
        document: Document,
    ) -> Self {
        self.documented.push(Documented { path, method, document });
        Self { router: self.router.route(path, on(filter, handler)), ..self }
    }

    /// The router.
    pub(crate) fn into_router(self) -> Router<S> {
        self.router
    }

    /// The paths.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &'static str> {
        self.documented.iter().map(|route| route.path)
    }

    /// The documentation.
    pub(crate) fn into_documented(self) -> Vec<Documented> {
        self.documented
    }
}

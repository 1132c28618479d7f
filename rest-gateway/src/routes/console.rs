//! `/console`: a page to read and edit records, made of the operations under `/api` alone. All of it is in the program; the
//! page loads nothing from elsewhere.

use std::sync::LazyLock;

use axum::{extract::Path, response::Response};
use http::HeaderMap;

use super::asset::{self, Asset, HTML, SCRIPT, STYLE};

static PAGE: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("console", HTML, false, &include_bytes!("console/page.html")[..]));

/// The files that the page loads.
pub(crate) static FILES: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    macro_rules! scripts {
        ($($name:literal)*) => {
            [$(Asset::new($name, SCRIPT, false, &include_bytes!(concat!("console/", $name))[..])),*]
        };
    }
    let mut files = vec![
        Asset::new("style.css", STYLE, false, &include_bytes!("console/style.css")[..]),
        Asset::new("icon.svg", "image/svg+xml", false, &include_bytes!("console/icon.svg")[..]),
    ];
    files.extend(scripts!(
        "main.js" "session.js" "requests.js" "refusals.js" "record-stream.js" "description.js" "elements.js" "fields.js"
        "pager.js" "countries.js" "affiliate-list.js" "affiliate-form.js" "affiliate-batch.js" "lists.js" "records.js" "charts.js"
    ));
    files
});

/// What the page may do: load its own files, and call this service. Records hold what strangers wrote, so no text may become
/// markup or a script, whatever the page's code does (`require-trusted-types-for` without any policy).
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

pub(crate) async fn page(headers: HeaderMap) -> Response {
    PAGE.respond_as_page(&headers, POLICY)
}

pub(crate) async fn file(Path(name): Path<String>, headers: HeaderMap) -> Response {
    asset::respond_with(&FILES, &name, &headers).await
}

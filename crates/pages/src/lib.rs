//! Serves the console and the API documentation, with all their files. The pages call only the operations under
//! `/api`, and load nothing from other servers.

mod asset;

use std::sync::LazyLock;

use axum::{
    http::{
        HeaderMap, HeaderValue,
        header::{CONTENT_SECURITY_POLICY, REFERRER_POLICY},
    },
    response::Response,
};

use asset::Asset;

/// A page and the files that it loads.
#[derive(Debug)]
pub struct Page {
    html: Asset,
    /// The `Content-Security-Policy`: the page can load its own files and call this service.
    policy: HeaderValue,
    files: Vec<Asset>,
}

impl Page {
    /// Responds with the page, or with 304 if the client's copy is current.
    pub fn respond(&self, request: &HeaderMap) -> Response {
        self.respond_with(&self.html, request)
    }

    /// Responds with the file or subpage of this name, if there is one.
    pub fn file(&self, name: &str, request: &HeaderMap) -> Option<Response> {
        let file = self.files.iter().find(|file| file.name == name)?;
        Some(if file.is_page() { self.respond_with(file, request) } else { file.respond(request) })
    }

    fn respond_with(&self, page: &Asset, request: &HeaderMap) -> Response {
        let mut response = page.respond(request);
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, self.policy.clone());
        response.headers_mut().insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        response
    }

    /// Returns the names and media types of the files.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.files.iter().map(|file| (file.name, file.content_type.split(';').next().unwrap_or_default()))
    }
}

/// Pages can load their own files and call this service, and cannot parse strings as markup.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

/// The names and contents of a folder's files, as the build script lists them.
type Files = [(&'static str, &'static [u8])];

const CONSOLE_FILES: &Files = include!(concat!(env!("OUT_DIR"), "/console.rs"));
const DOCS_FILES: &Files = include!(concat!(env!("OUT_DIR"), "/docs.rs"));

fn assets(files: &Files) -> Vec<Asset> {
    files.iter().map(|&(name, bytes)| Asset::new(name, bytes)).collect()
}

static OPENAPI: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("openapi.json", include_bytes!("../../../docs/openapi.json").as_slice()));

/// Responds with the OpenAPI 3.1 document.
pub fn openapi(request: &HeaderMap) -> Response {
    OPENAPI.respond(request)
}

/// The API documentation, with forms to try it. `crates/docs-pages` builds its pages from the repository's documents.
///
/// Responses can contain untrusted text, so the policy keeps text from becoming markup or scripts.
pub static DOCS: LazyLock<Page> = LazyLock::new(|| {
    let mut files = assets(DOCS_FILES);
    let index = include_bytes!(concat!(env!("OUT_DIR"), "/search-index.js"));
    files.push(Asset::new("search-index.js", index.as_slice()));
    let pages: &Files = include!(concat!(env!("OUT_DIR"), "/pages.rs"));
    files.extend(pages.iter().map(|(name, html)| Asset::page(name, html, POLICY)));
    let html = Asset::page("", include_bytes!(concat!(env!("OUT_DIR"), "/start.html")), POLICY);
    Page { html, policy: HeaderValue::from_static(POLICY), files }
});

/// Creates the console, where officers find and edit records.
///
/// The console reads `sign_in` as `sign-in.json`, and can call the sign-in provider at `origins`.
///
/// Records contain untrusted text. `require-trusted-types-for` without any allowed policy keeps this text from
/// becoming markup or scripts, whatever the page's code does.
pub fn console(sign_in: Vec<u8>, origins: &[String]) -> Page {
    let own = "connect-src 'self'";
    let policy =
        POLICY.replace(own, &[own].into_iter().chain(origins.iter().map(String::as_str)).collect::<Vec<_>>().join(" "));
    let html = Asset::page("", include_bytes!("console/page.html"), &policy);
    let policy = HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static(POLICY));
    let mut files = assets(CONSOLE_FILES);
    files.push(Asset::new("sign-in.json", sign_in));
    Page { html, policy, files }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use axum::http::{
        HeaderMap, HeaderValue, StatusCode,
        header::{
            ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName, IF_NONE_MATCH,
        },
    };

    use super::{DOCS, Page, console};

    /// Media types of generated content: pages and settings.
    const MADE: [&str; 2] = ["text/html", "application/json"];

    /// A generated file, which the search loads with a dynamic import.
    const INDEX: &str = "search-index.js";

    /// Returns the names between each `before` and the next quotation mark.
    fn named(text: &str, before: &str) -> Vec<String> {
        text.split(before).skip(1).filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())).collect()
    }

    /// Compares a page's files with the files in its folder, and with the files that its HTML and modules load.
    fn check(page: &Page, folder: &str, html: &str, before: &[&str]) {
        let served: BTreeSet<String> = page
            .files()
            .filter(|(name, kind)| !MADE.contains(kind) && *name != INDEX)
            .map(|(name, _)| name.to_owned())
            .collect();
        let mut files = BTreeSet::new();
        let mut loaded: BTreeSet<String> = before.iter().flat_map(|before| named(html, before)).collect();
        for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            files.insert(path.file_name().unwrap().to_str().unwrap().to_owned());
            loaded.extend(named(&text, "from \"./"));
            for forbidden in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "localStorage"]
            {
                // The browser stores no tokens and no record data.
                let is_allowed = forbidden == "localStorage" && path.ends_with("storage.js");
                assert!(is_allowed || !text.contains(forbidden), "{} uses {forbidden}", path.display());
            }
        }
        files.remove("page.html");
        assert_eq!(files, served);
        assert_eq!(loaded, served);
    }

    #[test]
    fn pages_load_exactly_their_own_files() {
        check(&console(b"{}".to_vec(), &[]), "src/console", include_str!("console/page.html"), &["=\"console/"]);
        let start = include_str!(concat!(env!("OUT_DIR"), "/start.html"));
        check(
            &DOCS,
            "src/docs",
            start,
            &["rel=\"icon\" href=\"docs/", "rel=\"stylesheet\" href=\"docs/", "src=\"docs/"],
        );
    }

    fn headers(entries: &[(HeaderName, &HeaderValue)]) -> HeaderMap {
        entries.iter().map(|(name, value)| (name.clone(), (*value).clone())).collect()
    }

    #[test]
    fn docs_pages_have_csp_gzip_and_etags() {
        let mut pages = 0;
        for (name, kind) in DOCS.files() {
            let in_gzip = headers(&[(ACCEPT_ENCODING, &HeaderValue::from_static("gzip"))]);
            let response = DOCS.file(name, &in_gzip).unwrap();
            assert_eq!(response.status(), StatusCode::OK);
            assert!(response.headers()[CONTENT_TYPE].to_str().unwrap().starts_with(kind), "{name}");
            let is_page = kind == "text/html";
            assert_eq!(response.headers().contains_key(CONTENT_SECURITY_POLICY), is_page, "{name}");
            if is_page {
                pages += 1;
                assert_eq!(response.headers()[CONTENT_ENCODING], "gzip", "{name}");
            }
            let known = headers(&[(IF_NONE_MATCH, &response.headers()[ETAG])]);
            assert_eq!(DOCS.file(name, &known).unwrap().status(), StatusCode::NOT_MODIFIED, "{name}");
        }
        assert!(pages > 20, "{pages} pages");
        assert!(DOCS.file("page.html", &HeaderMap::new()).is_none());
        assert!(DOCS.file("", &HeaderMap::new()).is_none());
    }
}

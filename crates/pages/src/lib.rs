//! The pages of the service, with all of their files: the console and the documentation of the interface. They use only
//! the operations under `/api`, and load nothing from other servers.

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

/// A page, and the files that it loads.
#[derive(Debug)]
pub struct Page {
    html: Asset,
    /// What the page may do: load its own files, and call this service.
    policy: HeaderValue,
    files: Vec<Asset>,
}

impl Page {
    /// Responds with the page, or with 304 if the client has it.
    pub fn respond(&self, request: &HeaderMap) -> Response {
        self.respond_with(&self.html, request)
    }

    /// Responds with a file or a subpage of this name, if any.
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

    /// The names of the files, with their media types.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.files.iter().map(|file| (file.name, file.content_type.split(';').next().unwrap_or_default()))
    }
}

/// Pages load their own files and call this service, and make no markup from texts.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

/// Files of a folder: names and contents. The build script lists them.
type Files = [(&'static str, &'static [u8])];

const CONSOLE_FILES: &Files = include!(concat!(env!("OUT_DIR"), "/console.rs"));
const DOCS_FILES: &Files = include!(concat!(env!("OUT_DIR"), "/docs.rs"));

fn assets(files: &Files) -> Vec<Asset> {
    files.iter().map(|&(name, bytes)| Asset::new(name, bytes)).collect()
}

static OPENAPI: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("openapi.json", include_bytes!("../../../docs/openapi.json").as_slice()));

/// Responds with the description of the interface, OpenAPI 3.1.
pub fn openapi(request: &HeaderMap) -> Response {
    OPENAPI.respond(request)
}

/// The documentation of the interface, with forms to try it. `crates/docs-pages` makes its pages from the documents of
/// the repository. A page shows responses with texts that strangers wrote, so no text may become markup or a script.
pub static DOCS: LazyLock<Page> = LazyLock::new(|| {
    let mut files = assets(DOCS_FILES);
    let index = include_bytes!(concat!(env!("OUT_DIR"), "/search-index.js"));
    files.push(Asset::new("search-index.js", index.as_slice()));
    let pages: &Files = include!(concat!(env!("OUT_DIR"), "/pages.rs"));
    files.extend(pages.iter().map(|(name, html)| Asset::page(name, html, POLICY)));
    let html = Asset::page("", include_bytes!(concat!(env!("OUT_DIR"), "/start.html")), POLICY);
    Page { html, policy: HeaderValue::from_static(POLICY), files }
});

/// The console, to find records and to work on them. Records have texts that strangers wrote, so no text may become
/// markup or a script, whatever the page's code does (`require-trusted-types-for` without any policy).
///
/// The console reads `sign_in` as `sign-in.json`. Besides the service, it may call these `origins` of the sign-in provider.
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

    /// The media types that are not files of a folder: pages, and the settings.
    const MADE: [&str; 2] = ["text/html", "application/json"];

    /// Made with the pages; the search loads it.
    const INDEX: &str = "search-index.js";

    /// What the files of the folder name with `before` in front of it, up to a quotation mark.
    fn named(text: &str, before: &str) -> Vec<String> {
        text.split(before).skip(1).filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())).collect()
    }

    /// Compares a page's files with those of its folder, and with what its HTML and its modules load.
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
                // Which columns are shown, and filters that were saved, are all that stays in the browser.
                let is_allowed = forbidden == "localStorage"
                    && ["columns.js", "saved-filters.js"].iter().any(|name| path.ends_with(name));
                assert!(is_allowed || !text.contains(forbidden), "{} has {forbidden}", path.display());
            }
        }
        files.remove("page.html");
        assert_eq!(files, served);
        assert_eq!(loaded, served);
    }

    #[test]
    fn page_files_load_only_each_other() {
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
    fn pages_are_served_with_policy_and_gzip() {
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

//! The pages of the service, with all of their files: the console and the documentation of the interface. They use the
//! operations under `/api` alone, and load nothing from elsewhere.

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
    policy: &'static str,
    files: Vec<Asset>,
}

impl Page {
    /// Responds with the page, unless the client has it.
    pub fn respond(&self, request: &HeaderMap) -> Response {
        let mut response = self.html.respond(request);
        for (name, value) in [(CONTENT_SECURITY_POLICY, self.policy), (REFERRER_POLICY, "no-referrer")] {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }

    /// Responds with the file of this name. `None` if the page has none.
    pub fn file(&self, name: &str, request: &HeaderMap) -> Option<Response> {
        self.files.iter().find(|file| file.name == name).map(|file| file.respond(request))
    }

    /// The names of the files, with their media types.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.files.iter().map(|file| (file.name, file.content_type.split(';').next().unwrap_or_default()))
    }
}

/// Files of a folder. Those with the ending `.gz` are in the program in gzip alone; every browser takes them so.
macro_rules! files {
    ($folder:literal: $($name:literal)*) => {
        vec![$(Asset::new($name, include_bytes!(concat!($folder, "/", $name)))),*]
    };
}

static OPENAPI: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("openapi.json", include_bytes!("../../../docs/openapi.json")));

/// Responds with the description of the interface, OpenAPI 3.1.
pub fn openapi(request: &HeaderMap) -> Response {
    OPENAPI.respond(request)
}

/// The documentation of the interface, to read and to try.
pub static DOCS: LazyLock<Page> = LazyLock::new(|| Page {
    html: Asset::new("page.html", include_bytes!("docs/page.html")),
    policy: "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
             connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    files: files!("docs": "swagger-ui.css.gz" "swagger-ui-bundle.js.gz" "page.js"),
});

/// The console, to read records and to edit affiliates. Records hold what strangers wrote, so no text may become markup or a
/// script, whatever the page's code does (`require-trusted-types-for` without any policy).
pub static CONSOLE: LazyLock<Page> = LazyLock::new(|| Page {
    html: Asset::new("page.html", include_bytes!("console/page.html")),
    policy: "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
             require-trusted-types-for 'script'; trusted-types 'none'",
    files: files!("console":
        "style.css" "icon.svg" "main.js" "session.js" "requests.js" "refusals.js" "record-stream.js" "description.js"
        "elements.js" "fields.js" "pager.js" "countries.js" "affiliate-list.js" "affiliate-form.js" "affiliate-batch.js"
        "lists.js" "records.js" "charts.js"
    ),
});

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::CONSOLE;

    /// What the files of the folder name with `before` in front of it, up to a quotation mark.
    fn named(text: &str, before: &str) -> Vec<String> {
        text.split(before).skip(1).filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())).collect()
    }

    #[test]
    fn the_files_of_the_folder_are_served_and_load_each_other_only() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/console");
        let served: BTreeSet<String> = CONSOLE.files().map(|(name, _)| name.to_owned()).collect();
        let mut files = BTreeSet::new();
        let mut loaded = BTreeSet::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            files.insert(path.file_name().unwrap().to_str().unwrap().to_owned());
            loaded.extend(named(&text, "from \"./"));
            loaded.extend(named(&text, "=\"console/"));
            for forbidden in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "localStorage"]
            {
                assert!(!text.contains(forbidden), "{} has {forbidden}", path.display());
            }
        }
        assert!(files.remove("page.html"));
        assert_eq!(files, served);
        assert_eq!(loaded, served);
    }
}

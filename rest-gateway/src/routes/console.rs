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

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::FILES;

    /// What the files of the folder name with `before` in front of it, up to a quotation mark.
    fn named(text: &str, before: &str) -> Vec<String> {
        text.split(before).skip(1).filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())).collect()
    }

    #[test]
    fn the_files_of_the_folder_are_served_and_load_each_other_only() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/routes/console");
        let served: BTreeSet<String> = FILES.iter().map(|file| file.name().to_owned()).collect();
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

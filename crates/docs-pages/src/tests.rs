use std::{fs, path::Path};

use super::{
    Texts, files, for_partners,
    sections::{anchor, sections},
    site,
    site::PAGES,
};

const DOCUMENT: &str = "docs/openapi.json";

fn texts() -> Texts {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    files().map(|file| (file, fs::read_to_string(root.join(file)).unwrap())).collect()
}

fn page(name: &str) -> String {
    site(&texts()).unwrap().pages.into_iter().find(|(known, _)| *known == name).unwrap().1
}

#[test]
fn reference_covers_every_operation_and_schema() {
    let html = page("reference");
    let document: serde_json::Value = serde_json::from_str(&texts()[DOCUMENT]).unwrap();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let id = operation["operationId"].as_str().unwrap();
            assert!(html.contains(&format!(r#"<section class="operation" id="{id}""#)), "{id}");
            let form = format!(r#"data-method="{}" data-path="{path}""#, method.to_uppercase());
            assert!(html.contains(&form), "{form}");
        }
    }
    for name in document["components"]["schemas"].as_object().unwrap().keys() {
        assert!(html.contains(&format!(r#" id="schema-{name}""#)), "{name}");
    }
}

/// Other tests run the samples in the guide.
#[test]
fn reference_shows_guide_samples() {
    let html = page("reference");
    for anchor in [
        "affiliates#create-one-post-apiaffiliates",
        "affiliates#list-get-apiaffiliates",
        "cases#list-get-apicases",
        "values#read-get-apivocabularies",
    ] {
        assert!(html.contains(anchor), "{anchor}");
    }
    assert!(html.contains("?case_status_id=2&amp;created_after=2026-01-01&amp;per_page=50"));
}

#[test]
fn pages_contain_every_section_of_their_source() {
    let texts = texts();
    for ((name, html), page) in site(&texts).unwrap().pages.iter().zip(PAGES) {
        assert_eq!(*name, page.name);
        if page.file.starts_with("docs/partners") || page.file.starts_with("docs/reference") {
            for section in sections(&texts[page.file]).iter().skip(2) {
                let id = format!(" id=\"{}\"", anchor(&section.heading));
                assert!(html.contains(&id), "{name}: {id}");
            }
        }
    }
}

#[test]
fn search_entries_link_to_existing_anchors() {
    let site = site(&texts()).unwrap();
    let json = site.index.strip_prefix(super::MODULE).and_then(|json| json.strip_suffix(";\n")).unwrap();
    let entries: serde_json::Value = serde_json::from_str(json).unwrap();
    let entries = entries.as_array().unwrap();
    assert!(entries.len() > 150, "{}", entries.len());
    for entry in entries {
        let [page, anchor] = ["page", "anchor"].map(|key| entry[key].as_str().unwrap());
        let html = &site.pages.iter().find(|(name, _)| *name == page).unwrap().1;
        assert!(anchor.is_empty() || html.contains(&format!(" id=\"{anchor}\"")), "{page}#{anchor}");
    }
}

#[test]
fn every_partner_and_reference_file_has_a_page() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    for folder in ["partners", "reference"] {
        for file in fs::read_dir(docs.join(folder)).unwrap() {
            let path = format!("docs/{folder}/{}", file.unwrap().file_name().to_str().unwrap());
            assert!(files().any(|known| known == path), "{path} is missing from PAGES");
        }
    }
}

#[test]
fn changelog_page_shows_only_partner_sections() {
    let changelog = "# Changelog\n\n## [2.0.0]\n\n### For partners\n\n- New field.\n\n### Added\n\n- A metric.\n\n\
                     ## [1.0.0]\n\n### Added\n\n- Another.\n";
    assert_eq!(for_partners(changelog).trim(), "## 2.0.0\n\n\n- New field.");
}

#[test]
fn unusual_openapi_documents_render_with_escaped_text() {
    let document = r##"{
        "tags": [{"name": "<b>", "description": ""}],
        "paths": {
            "/a/{b}": {
                "delete": {
                    "operationId": "deleteA",
                    "tags": ["<b>"],
                    "summary": "<i>x</i>",
                    "responses": {"204": {"description": "Gone."}}
                },
                "patch": {
                    "operationId": "patchA",
                    "tags": ["<b>"],
                    "parameters": [{"name": "b", "in": "path", "required": true, "schema": {"type": "string"}, "example": "c d/<e>"}],
                    "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/A"}}}},
                    "responses": {"default": {"$ref": "#/components/responses/None"}, "200": {"description": "", "content": {"text/plain": {}}}}
                }
            }
        },
        "components": {"schemas": {
            "A": {"properties": {"own": true}},
            "B": {"properties": {"of_b": {"$ref": "#/components/schemas/A"}, "n": {"maximum": 1.5}}}
        }}
    }"##;
    let mut texts = texts();
    texts.insert(DOCUMENT, document.to_owned());
    let html = site(&texts).unwrap().pages.into_iter().map(|(_, html)| html).collect::<String>();
    for expected in [
        "id=\"patchA\"",
        "id=\"deleteA\"",
        "&lt;i&gt;x&lt;/i&gt;",
        "$BASE/a/c%20d%2F%3Ce%3E",
        "<code class=\"name\">own</code>",
        "<code class=\"name\">of_b</code>",
        "at most 1.5",
    ] {
        assert!(html.contains(expected), "{expected}");
    }
    assert!(!html.contains("<i>") && !html.contains("<b>"));
}

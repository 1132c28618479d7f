//! What every page has: the header with the token, the navigation, and the content.

use std::fmt::Write as _;

use crate::{code::escape, markdown::Heading, site::Kind};

/// A list of the contents of a page, under its name in the navigation.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// Groups with their title, and HTML of each link with its anchor.
    pub(crate) groups: Vec<(String, Vec<(String, String)>)>,
    /// The links can be filtered.
    pub(crate) has_filter: bool,
}

impl Contents {
    /// The headings of the second level.
    pub(crate) fn of(headings: &[Heading]) -> Self {
        let links = headings.iter().filter(|heading| heading.level == 2);
        let links = links.map(|heading| (heading.anchor.clone(), heading.html.clone())).collect();
        Self { groups: vec![(String::new(), links)], has_filter: false }
    }

    fn html(&self) -> String {
        let mut html = String::new();
        if self.has_filter {
            html.push_str(
                "<p class=\"filter\" hidden><label for=\"filter\">Filter operations</label>\
                 <input id=\"filter\" type=\"search\" autocomplete=\"off\" aria-describedby=\"filtered\">\
                 <span id=\"filtered\" class=\"hint\" role=\"status\"></span></p>",
            );
        }
        for (title, links) in &self.groups {
            if links.is_empty() {
                continue;
            }
            html.push_str("<div class=\"group\">");
            if !title.is_empty() {
                let _ = write!(html, "<p class=\"group-title\">{}</p>", escape(title));
            }
            html.push_str("<ul>");
            for (anchor, text) in links {
                let _ = write!(html, "<li><a href=\"#{anchor}\">{text}</a></li>");
            }
            html.push_str("</ul></div>");
        }
        html
    }
}

/// A page with its content.
pub(crate) fn page(kind: Kind, version: &str, contents: &Contents, content: &str) -> String {
    let mut links = String::new();
    for other in Kind::ALL {
        let is_here = other == kind;
        let current = if is_here { " aria-current=\"page\"" } else { "" };
        let _ = write!(links, "<li><a href=\"{}\"{current}>{}</a>", kind.link(other), other.title());
        if is_here {
            let _ = write!(links, "<div class=\"contents\">{}</div>", contents.html());
        }
        links.push_str("</li>");
    }
    let title = if kind == Kind::Start { String::new() } else { format!("{} · ", kind.title()) };
    let (root, files, start) = (kind.root(), kind.files(), kind.link(Kind::Start));
    let version = escape(version);
    format!(
        r##"<!doctype html>
<html lang="en" data-root="{root}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}Affiliate Compliance Service</title>
<link rel="icon" href="{files}icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="{files}style.css">
<script type="module" src="{files}main.js"></script>
</head>
<body class="page-{class}">
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="brand" href="{start}">Affiliate Compliance <span>{version}</span></a>
<button id="menu" type="button" aria-expanded="false" aria-controls="side" hidden>Menu</button>
<div class="tools">
<a class="to-console" href="{root}console">Console</a>
<details id="token" hidden><summary>Token</summary>
<form aria-label="Token">
<label for="token-text">Token</label>
<input id="token-text" type="password" autocomplete="off" spellcheck="false" aria-describedby="token-about">
<p id="token-about" class="hint">It is kept in this tab until you close it, and is used by the console in this tab, too.</p>
<p class="actions"><button class="primary">Use</button><button type="button" id="token-forget">Forget</button></p>
<p id="token-state" role="status"></p>
</form></details>
</div>
</header>
<div class="frame">
<nav id="side" aria-label="Documentation"><ul class="pages">{links}<li><a href="{root}openapi.json">OpenAPI 3.1 document</a></li><li><a href="{root}console">Console</a></li></ul></nav>
<main id="content" tabindex="-1">
{content}
</main>
</div>
</body>
</html>
"##,
        class = if kind == Kind::Start { "start" } else { kind.name() },
    )
}

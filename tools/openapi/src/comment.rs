//! Reads the routes' documentation: the comments above the handlers in `rest-gateway/src/routes/`.

use std::{fs, path::Path};

/// The comment above a handler: a summary, a description in paragraphs, and a list of facts (see `route.rs`).
pub(crate) struct Comment {
    pub(crate) summary: String,
    pub(crate) description: String,
    pub(crate) facts: Vec<Fact>,
}

/// A fact: ``- Key: `value`, `value`. Text``
pub(crate) struct Fact {
    pub(crate) key: String,
    pub(crate) values: Vec<String>,
    pub(crate) text: String,
}

impl Comment {
    /// Reads the comment above `module::function`.
    pub(crate) fn of(handler: &str) -> Self {
        let (module, function) = handler.rsplit_once("::").expect("the handler path has no module");
        let module = module.replace("::", "/");
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../rest-gateway/src/routes/{module}.rs"));
        let source = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let before = source.split(&format!("async fn {function}(")).next().unwrap_or_default();
        let above = before.lines().rev().skip(1).map_while(|line| line.strip_prefix("///"));
        let mut lines: Vec<&str> = above.collect();
        lines.reverse();
        let blocks = blocks(lines);
        let (facts, texts): (Vec<_>, Vec<_>) = blocks.into_iter().partition(|block| block.starts_with("- "));
        let [summary, description @ ..] = &texts[..] else { panic!("{handler} has no documentation") };
        Self {
            summary: summary.clone(),
            description: description.join("\n\n"),
            facts: facts.iter().map(|fact| Fact::of(fact)).collect(),
        }
    }
}

impl Fact {
    fn of(line: &str) -> Self {
        let (key, mut text) = line.trim_start_matches("- ").split_once(": ").unwrap_or_else(|| panic!("{line}"));
        let mut values = Vec::new();
        while let Some((value, rest)) = text.strip_prefix('`').and_then(|text| text.split_once('`')) {
            values.push(value.to_owned());
            text = rest.trim_start_matches(['.', ',', ' ']);
        }
        Self { key: key.to_owned(), values, text: text.to_owned() }
    }
}

/// Returns paragraphs and list items, each as one line.
pub(crate) fn blocks<'a>(lines: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut blocks = vec![String::new()];
    for line in lines.into_iter().map(str::trim) {
        match blocks.last_mut() {
            Some(block) if !block.is_empty() && !line.is_empty() && !line.starts_with("- ") => {
                block.push(' ');
                block.push_str(line);
            }
            _ => blocks.push(line.to_owned()),
        }
    }
    blocks.retain(|block| !block.is_empty());
    blocks
}

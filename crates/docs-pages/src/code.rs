//! Escapes and highlights code samples.

use std::fmt::Write as _;

use pulldown_cmark_escape::escape_html;

/// Escapes text for HTML content and double-quoted attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    // Writing to a String cannot fail.
    let _ = escape_html(&mut html, text);
    html
}

/// Renders a heading that links to itself.
pub(crate) fn heading(level: usize, anchor: &str, html: &str) -> String {
    format!("<h{level} id=\"{anchor}\"><a class=\"anchor\" href=\"#{anchor}\">{html}</a></h{level}>")
}

const KEYWORDS: &[&str] = &[
    "None", "True", "False", "as", "async", "await", "const", "def", "else", "except", "export", "false", "for",
    "from", "function", "if", "import", "in", "let", "new", "null", "print", "raise", "return", "true", "try", "while",
    "with",
];

/// Returns the display name of a sample's language.
pub(crate) fn language<'a>(name: &str, text: &'a str) -> &'a str {
    match name {
        "sh" if text.contains("curl ") => "curl",
        "sh" => "Shell",
        "python" => "Python",
        "ts" => "TypeScript",
        "json" => "JSON",
        _ => "Text",
    }
}

/// Renders a code block.
///
/// With `tabindex`, users can scroll wide blocks with the keyboard.
pub(crate) fn block(language: &str, text: &str) -> String {
    format!("<pre tabindex=\"0\"><code>{}</code></pre>", highlight(language, text.trim_end()))
}

/// Wraps strings, numbers, keywords and comments in `<span>`s.
fn highlight(language: &str, code: &str) -> String {
    let comment = match language {
        "sh" | "python" => "#",
        "ts" => "//",
        _ => "\0",
    };
    let mut html = String::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let starts_word = !html.ends_with(|last: char| last.is_alphanumeric() || last == '_');
        let (class, length) = if rest.starts_with(comment) && html.chars().last().is_none_or(char::is_whitespace) {
            ("c", rest.find('\n').unwrap_or(rest.len()))
        } else if matches!(first, '"' | '\'' | '`') && !language.is_empty() {
            let length = string(rest, first);
            let is_key = language == "json" && rest[length..].starts_with(':');
            (if is_key { "k" } else { "s" }, length)
        } else if starts_word && first.is_ascii_digit() {
            // `samples.js` replaces the service's base URL, so that URL must stay a single text node.
            let is_address = ["sh", ""].contains(&language) && html.ends_with(['/', ':']);
            let length = rest.find(|next: char| !next.is_ascii_digit() && next != '.').unwrap_or(rest.len());
            (if is_address { "" } else { "n" }, length)
        } else if starts_word && first.is_alphabetic() {
            let length = rest.find(|next: char| !next.is_alphanumeric() && next != '_').unwrap_or(rest.len());
            let is_keyword = !["sh", ""].contains(&language) && KEYWORDS.contains(&&rest[..length]);
            (if is_keyword { "w" } else { "" }, length)
        } else {
            ("", first.len_utf8())
        };
        let (text, after) = rest.split_at(length);
        if class.is_empty() {
            html.push_str(&escape(text));
        } else {
            let _ = write!(html, "<span class=\"{class}\">{}</span>", escape(text));
        }
        rest = after;
    }
    html
}

/// Returns the length of the string literal at the start of `text`, in bytes.
fn string(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (index, character) in text.char_indices().skip(1) {
        if is_escaped {
            is_escaped = false;
        } else if character == '\\' {
            is_escaped = true;
        } else if character == quote {
            return index + character.len_utf8();
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::block;

    #[test]
    fn code_blocks_escape_html() {
        assert_eq!(
            block("json", r#"{"<a>": [12, "x\"</pre>", null]}"#),
            "<pre tabindex=\"0\"><code>{<span class=\"k\">&quot;&lt;a&gt;&quot;</span>: [<span class=\"n\">12</span>, \
             <span class=\"s\">&quot;x\\&quot;&lt;/pre&gt;&quot;</span>, <span class=\"w\">null</span>]}</code></pre>"
        );
        assert!(block("", "BASE=http://127.0.0.1:8080").contains("http://127.0.0.1:8080"));
        assert!(block("sh", "# <b>\nx 'never ends é").contains("<span class=\"c\"># &lt;b&gt;</span>\n"));
    }
}

//! One operation of the reference: what it takes and returns, samples, and a form to try it.

use std::fmt::Write as _;

use crate::{
    code::{self, concat, escape},
    form::form,
    json::Json,
    markdown::code_samples,
    samples::{Request, Shown, content_examples},
    schema::{Document, kind as kind_of},
    site::Kind,
};

/// An operation of the document.
#[derive(Debug)]
pub(crate) struct Operation<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) json: &'a Json,
}

impl<'a> Operation<'a> {
    /// The operations of a document, in its order.
    pub(crate) fn all(document: &'a Json) -> Vec<Self> {
        let methods = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];
        let paths = document.get("paths").map(Json::entries).unwrap_or_default().iter();
        let operations = paths.flat_map(|(path, methods)| methods.entries().iter().map(move |entry| (path, entry)));
        operations
            .filter(|(_, (method, _))| methods.contains(&method.as_str()))
            .map(|(path, (method, json))| Self { method, path, json })
            .collect()
    }

    /// Its name in addresses and in generated clients.
    pub(crate) fn id(&self) -> String {
        let id = self.json.text("operationId");
        if id.is_empty() { crate::markdown::anchor(&format!("{} {}", self.method, self.path)) } else { escape(id) }
    }

    pub(crate) fn tag(&self) -> &str {
        self.json.list("tags").first().and_then(Json::as_text).unwrap_or_default()
    }

    /// Method and path, as a reader sees them.
    pub(crate) fn endpoint(&self) -> String {
        format!(
            "<span class=\"method {}\">{}</span> <code class=\"path\">{}</code>",
            self.method,
            self.method.to_uppercase(),
            // A long path may have a new line before a slash.
            escape(self.path).replace('/', "<wbr>/")
        )
    }

    /// The responses by their status, references resolved.
    pub(crate) fn responses(&self, document: &Document<'a>) -> Vec<(&'a str, &'a Json, Option<&'a str>)> {
        let responses = self.json.get("responses").map(Json::entries).unwrap_or_default().iter();
        let name = |response: &'a Json| response.text("$ref").rsplit('/').next().filter(|name| !name.is_empty());
        responses.map(|(status, response)| (status.as_str(), document.resolve(response), name(response))).collect()
    }

    /// The section of the operation.
    pub(crate) fn html(&self, document: &Document<'a>, shown: &[Shown]) -> String {
        let id = self.id();
        let operation = format!("{} {}", self.method.to_uppercase(), self.path);
        let shown = shown.iter().find(|shown| shown.is_of(&operation));
        let mut html = format!(
            "<section class=\"operation\" id=\"{id}\" aria-labelledby=\"{id}-title\"><div class=\"text\">\
             <h3 id=\"{id}-title\"><a class=\"anchor\" href=\"#{id}\">{}</a></h3>\
             <p class=\"endpoint\">{}</p><p>{}</p>",
            escape(self.json.text("summary")),
            self.endpoint(),
            document.text(self.json.text("description"))
        );
        if let Some(shown) = shown {
            let guide = document.links.page(Kind::Guide);
            let _ = write!(html, "<p><a href=\"{guide}#{}\">With examples, in the guide</a></p>", shown.anchor);
        }
        html.push_str(&self.parameters(document));
        html.push_str(&body(document, self.json));
        html.push_str(&self.returned(document));
        html.push_str("</div><div class=\"code\">");
        let request = Request::new(document, self.method, self.path, self.json);
        let samples = request.samples(shown);
        html.push_str(&code_samples(samples.iter().map(|(language, text)| (*language, text.as_str()))));
        if let Some((status, text)) = self.response_sample(document, shown) {
            let _ = write!(
                html,
                "<div class=\"samples\"><div class=\"sample\"><p class=\"sample-name\">Response {status}</p>{}</div></div>",
                code::block("json", &text)
            );
        }
        html.push_str(&form(self, document, request.needs_token));
        html + "</div></section>"
    }

    fn response_sample(&self, document: &Document<'a>, shown: Option<&Shown>) -> Option<(String, String)> {
        let of_guide = shown.and_then(|shown| shown.response.clone());
        // With the lines of a narrow column.
        let of_guide = of_guide.map(|(status, text)| {
            let json = serde_json::from_str::<Json>(&text).map(|json| json.pretty());
            (status, json.unwrap_or(text))
        });
        of_guide.or_else(|| {
            let responses = self.responses(document).into_iter();
            let mut successes = responses.filter(|(status, ..)| status.starts_with('2'));
            successes.find_map(|(status, response, _)| {
                Some((status.to_owned(), content_examples(response).first()?.1.pretty()))
            })
        })
    }

    fn parameters(&self, document: &Document<'a>) -> String {
        let parameters = self.json.list("parameters").iter().map(|parameter| document.resolve(parameter));
        let (headers, others): (Vec<_>, Vec<_>) = parameters.partition(|parameter| parameter.text("in") == "header");
        let field = |parameter: &&'a Json| {
            let is_required = parameter.get("required") == Some(&Json::Flag(true));
            let schema = parameter.get("schema").unwrap_or(&Json::Null);
            document.field(
                parameter.text("name"),
                &escape(parameter.text("in")),
                is_required,
                schema,
                parameter.text("description"),
            )
        };
        let mut html = String::new();
        if !others.is_empty() {
            let fields = concat(others.iter().map(field));
            let _ = write!(html, "<h4>Parameters</h4><ul class=\"fields\">{fields}</ul>");
        }
        if !headers.is_empty() {
            let fields = concat(headers.iter().map(field));
            let _ = write!(
                html,
                "<details class=\"more\"><summary>Headers of the request</summary><ul class=\"fields\">{fields}</ul></details>"
            );
        }
        html
    }

    /// The responses: those of success one by one, the errors by their status.
    fn returned(&self, document: &Document<'a>) -> String {
        let responses = self.responses(document);
        let (errors, successes): (Vec<_>, Vec<_>) =
            responses.into_iter().partition(|(status, ..)| status.starts_with(['4', '5']));
        let mut html = "<h4>Responses</h4>".to_owned();
        for (status, response, _) in successes {
            let _ = write!(
                html,
                "<details class=\"response\"><summary>{}<span>{}</span></summary>{}{}</details>",
                status_badge(status),
                document.text(response.text("description")),
                content(document, response),
                headers(document, response)
            );
        }
        let mut statuses: Vec<&str> = errors.iter().map(|(status, ..)| *status).collect();
        statuses.dedup();
        if !statuses.is_empty() {
            let badges = concat(statuses.iter().map(|status| status_badge(status)));
            let page = document.links.page(Kind::Errors);
            let items = concat(errors.iter().map(|(status, response, name)| {
                let text = document.text(response.text("description"));
                let link =
                    name.map_or_else(|| text.clone(), |name| format!("<a href=\"{page}#{}\">{text}</a>", escape(name)));
                format!("<li>{} {link}</li>", status_badge(status))
            }));
            let _ = write!(
                html,
                "<details class=\"response\"><summary><span>Errors</span>{badges}</summary><ul class=\"errors\">{items}</ul></details>"
            );
        }
        html
    }
}

/// The body of a request: the fields of each of its forms.
fn body<'a>(document: &Document<'a>, operation: &'a Json) -> String {
    let Some(body) = operation.get("requestBody") else { return String::new() };
    let mut html = "<h4>Body</h4>".to_owned();
    for (kind, content) in body.get("content").map(Json::entries).unwrap_or_default() {
        let Some(schema) = content.get("schema") else { continue };
        let forms = ["oneOf", "anyOf"].iter().find_map(|key| Some(schema.list(key)).filter(|forms| !forms.is_empty()));
        let Some(forms) = forms else {
            let named = document.resolve(schema);
            let _ = write!(html, "<p class=\"rules\"><code>{}</code> · {}</p>", escape(kind), kind_of(schema));
            html.push_str(&document.whole(named));
            continue;
        };
        for (index, form) in forms.iter().enumerate() {
            let open = if index == 0 { " open" } else { "" };
            let _ = write!(
                html,
                "<details class=\"form\"{open}><summary>{}</summary>{}</details>",
                escape(form.text("$ref").rsplit('/').next().unwrap_or("Body")),
                document.whole(document.resolve(form))
            );
        }
    }
    html
}

/// The content of a response: its types, and its schema.
fn content<'a>(document: &Document<'a>, response: &'a Json) -> String {
    let mut html = String::new();
    for (kind, content) in response.get("content").map(Json::entries).unwrap_or_default() {
        let schema = content.get("schema").unwrap_or(&Json::Null);
        let _ = write!(html, "<p class=\"rules\"><code>{}</code> · {}</p>", escape(kind), kind_of(schema));
        if schema.get("properties").is_some() {
            html.push_str(&document.fields(schema));
        }
    }
    html
}

/// The headers of a response.
pub(crate) fn headers<'a>(document: &Document<'a>, response: &'a Json) -> String {
    let headers = response.get("headers").map(Json::entries).unwrap_or_default();
    if headers.is_empty() {
        return String::new();
    }
    let items = concat(headers.iter().map(|(name, header)| {
        let text = document.resolve(header).text("description");
        format!("<li><code>{}</code> {}</li>", escape(name), document.text(text))
    }));
    format!("<details class=\"more\"><summary>Headers of the response</summary><ul>{items}</ul></details>")
}

/// A status, with a class by its first digit.
pub(crate) fn status_badge(status: &str) -> String {
    let group = status.chars().next().unwrap_or('x');
    format!("<span class=\"status of-{}\">{}</span> ", escape(&group.to_string()), escape(status))
}

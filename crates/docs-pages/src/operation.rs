//! One operation of the reference: what it takes and returns, samples, and a form to try it.

use std::fmt::Write as _;

use crate::{
    code::{self, concat, details, escape},
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
        let of_path = |(path, methods): (&'a String, &'a Json)| {
            // A path may also have parameters of all of its operations.
            let operations = methods.entries().iter().filter(|(_, json)| json.get("responses").is_some());
            operations.map(move |(method, json)| Self { method, path, json })
        };
        document.entries_of("paths").iter().flat_map(of_path).collect()
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
        let responses = self.json.entries_of("responses").iter();
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
        let list = |parameters: Vec<_>| format!("<ul class=\"fields\">{}</ul>", concat(parameters.iter().map(field)));
        let mut html = String::new();
        if !others.is_empty() {
            html = format!("<h4>Parameters</h4>{}", list(others));
        }
        if !headers.is_empty() {
            html += &details("more", "Headers of the request", &list(headers));
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
            let text = document.text(response.text("description"));
            let summary = format!("{}<span>{text}</span>", status_badge(status));
            html += &details("response", &summary, &(content(document, response) + &headers(document, response)));
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
            let summary = format!("<span>Errors</span>{badges}");
            html += &details("response", &summary, &format!("<ul class=\"errors\">{items}</ul>"));
        }
        html
    }
}

/// The body of a request: the fields of each of its forms.
fn body<'a>(document: &Document<'a>, operation: &'a Json) -> String {
    let Some(body) = operation.get("requestBody") else { return String::new() };
    let mut html = "<h4>Body</h4>".to_owned();
    for (kind, content) in body.entries_of("content") {
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
    for (kind, content) in response.entries_of("content") {
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
    let headers = response.entries_of("headers");
    if headers.is_empty() {
        return String::new();
    }
    let items = concat(headers.iter().map(|(name, header)| {
        let text = document.resolve(header).text("description");
        format!("<li><code>{}</code> {}</li>", escape(name), document.text(text))
    }));
    details("more", "Headers of the response", &format!("<ul>{items}</ul>"))
}

/// A status, with a class by its first digit.
pub(crate) fn status_badge(status: &str) -> String {
    let group = status.chars().next().unwrap_or('x');
    format!("<span class=\"status of-{}\">{}</span> ", escape(&group.to_string()), escape(status))
}

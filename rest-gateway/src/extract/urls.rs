//! The body of `POST /urls`.

use compliance_api::{
    error::Error,
    rules::Check as _,
    v1::{AddComplianceUrlsRequest, UrlInput},
};

use super::{
    json_body::{FromObject, document},
    object::Object,
};
use crate::ignored::Ignored;

/// Reads the body. Its elements may take `memory` bytes.
pub(crate) fn add(body: &[u8], memory: usize, ignored: &mut Ignored) -> Result<AddComplianceUrlsRequest, Error> {
    let document = document::<UrlInput>(body, memory, AddComplianceUrlsRequest::MESSAGE, ignored)?;
    document.into_batch(ignored, |request: &mut AddComplianceUrlsRequest, urls| request.urls = urls)
}

impl FromObject for UrlInput {
    const LIST: &'static str = "urls";

    fn object<'de>() -> Object<'de> {
        Object::new(Self::MESSAGE.fields, None)
    }

    fn from_object(object: &Object<'_>) -> Result<Self, Error> {
        object.message()
    }
}

#[cfg(test)]
mod tests {
    use compliance_api::{error::Reason, v1::UrlInput};

    use super::{Ignored, add};

    const MEMORY: usize = 1 << 20;

    fn violations(body: &str) -> Vec<(String, String)> {
        let error = add(body.as_bytes(), MEMORY, &mut Ignored::default()).unwrap_err();
        error.violations.into_iter().map(|violation| (violation.path, violation.message)).collect()
    }

    #[test]
    fn elements_keep_their_order_and_null_is_absent() {
        let body = br#"{"a":[[]],"urls":[{"url":"http://a/","x":{}},{"url":null},{},{"url":"","url":"b"}]}"#;
        let urls: Vec<Option<String>> =
            add(body, MEMORY, &mut Ignored::default()).unwrap().urls.into_iter().map(|input| input.url).collect();
        assert_eq!(urls, [Some("http://a/".into()), None, None, Some("b".into())]);
    }

    #[test]
    fn a_missing_or_empty_list_is_for_the_core_to_refuse() {
        for body in ["{}", r#"{"urls":null}"#, r#"{"urls":[]}"#, r#"{"urls":5,"urls":[]}"#, r#"{"url":5}"#] {
            assert!(add(body.as_bytes(), MEMORY, &mut Ignored::default()).unwrap().urls.is_empty(), "{body}");
        }
    }

    #[test]
    fn violations_of_type_and_of_rules_are_reported_together_and_once() {
        assert_eq!(violations(r#"{"urls":{}}"#), [("urls".into(), "The urls field must be an array.".into())]);
        let body = r#"{"urls":[5,{"url":7},{},{"url":"ftp://a/"},{"url":"http://a/"}]}"#;
        let expected = [
            ("urls.0", "The urls.0 field must be an object."),
            ("urls.1.url", "The urls.1.url field must be a string."),
            ("urls.2", "The urls.2 field must contain entries for: url."),
            ("urls.3.url", "The urls.3.url field must be a valid URL."),
        ];
        assert_eq!(violations(body), expected.map(|(path, message)| (path.to_owned(), message.to_owned())));
    }

    #[test]
    fn more_elements_than_memory_is_too_large() {
        let body = format!(r#"{{"urls":[{}{{}}]}}"#, "{},".repeat(100));
        assert_eq!(
            add(body.as_bytes(), 100 * size_of::<UrlInput>(), &mut Ignored::default()).unwrap_err().reason,
            Reason::BodyTooLarge
        );
    }
}

//! The body of `POST /urls`.

use compliance_api::{
    error::Error,
    rules::{self, Violations},
    v1::{AddComplianceUrlsRequest, UrlInput},
};
use serde::de::{Error as _, IgnoredAny, MapAccess, SeqAccess};

use super::{
    Form,
    faults::{Faults, Unreadable},
    json::{Key, Read, Shape, Text, TextShape, read},
};

const LIST: &str = "urls";

impl Form for AddComplianceUrlsRequest {
    fn faults(&self) -> Violations {
        rules::check(self)
    }
}

/// Reads the body. Its elements may take `memory` bytes.
pub(crate) fn add(body: &[u8], memory: usize) -> Result<AddComplianceUrlsRequest, Error> {
    let mut overflow = false;
    let (urls, faults) = match read(body, TopShape { most: memory / size_of::<UrlInput>(), overflow: &mut overflow }) {
        Ok(Some(document)) => document,
        Ok(None) => return Err(Unreadable::NotAnObject.into()),
        Err(_) if overflow => return Err(Unreadable::TooMuch.into()),
        Err(_) => return Err(Unreadable::NotJson.into()),
    };
    faults.or(AddComplianceUrlsRequest { urls })
}

/// The body itself.
struct TopShape<'a> {
    most: usize,
    overflow: &'a mut bool,
}

impl<'de> Shape<'de> for TopShape<'_> {
    type Value = Option<(Vec<UrlInput>, Faults)>;

    fn other(self) -> Self::Value {
        None
    }

    fn object<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        let (mut urls, mut faults) = (Vec::new(), Faults::default());
        while let Some(is_list) = object.next_key_seed(Key::new(|name: &str| name == LIST))? {
            if is_list {
                // The last list counts: an earlier one is forgotten with its faults.
                faults = Faults::default();
                let shape = ListShape { most: self.most, overflow: &mut *self.overflow, faults: &mut faults };
                urls = object.next_value_seed(Read(shape))?;
            } else {
                object.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Some((urls, faults)))
    }
}

struct ListShape<'a> {
    most: usize,
    overflow: &'a mut bool,
    faults: &'a mut Faults,
}

impl<'de> Shape<'de> for ListShape<'_> {
    type Value = Vec<UrlInput>;

    fn other(self) -> Vec<UrlInput> {
        self.faults.push(LIST.to_owned(), 0, 0, |label| format!("The {label} field must be an array."));
        Vec::new()
    }

    fn null(self) -> Vec<UrlInput> {
        Vec::new()
    }

    fn array<A: SeqAccess<'de>>(self, mut array: A) -> Result<Vec<UrlInput>, A::Error> {
        let mut urls = Vec::new();
        while let Some(element) = array.next_element_seed(Read(ElementShape))? {
            let index = urls.len();
            if index == self.most {
                *self.overflow = true;
                return Err(A::Error::custom("the elements take too much memory"));
            }
            let url = match element {
                Some(Text::Is(url)) => Some(url),
                Some(Text::Null) => None,
                Some(Text::Wrong) => {
                    let item = index as u32 + 1;
                    self.faults.push(format!("{LIST}.{index}.url"), item, 1, |label| {
                        format!("The {label} field must be a string.")
                    });
                    // The rules would take the element for one without its entry.
                    self.faults.hide(item);
                    None
                }
                None => {
                    self.faults.not_an_object(LIST, index);
                    None
                }
            };
            urls.push(UrlInput { url });
        }
        Ok(urls)
    }
}

/// The `url` of an element; `None` when the element is no object.
struct ElementShape;

impl<'de> Shape<'de> for ElementShape {
    type Value = Option<Text>;

    fn other(self) -> Self::Value {
        None
    }

    fn object<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        let mut url = Text::Null;
        while let Some(is_url) = object.next_key_seed(Key::new(|name: &str| name == "url"))? {
            if is_url {
                url = object.next_value_seed(Read(TextShape))?;
            } else {
                object.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Some(url))
    }
}

#[cfg(test)]
mod tests {
    use compliance_api::{error::Reason, v1::UrlInput};

    use super::add;

    const MEMORY: usize = 1 << 20;

    fn told(body: &str) -> Vec<(String, String)> {
        let error = add(body.as_bytes(), MEMORY).unwrap_err();
        error.violations.into_iter().map(|violation| (violation.path, violation.message)).collect()
    }

    #[test]
    fn elements_keep_their_order_and_null_is_absent() {
        let body = br#"{"a":[[]],"urls":[{"url":"http://a/","x":{}},{"url":null},{},{"url":"","url":"b"}]}"#;
        let urls: Vec<Option<String>> = add(body, MEMORY).unwrap().urls.into_iter().map(|input| input.url).collect();
        assert_eq!(urls, [Some("http://a/".into()), None, None, Some("b".into())]);
    }

    #[test]
    fn a_missing_or_empty_list_is_for_the_core_to_refuse() {
        for body in ["{}", r#"{"urls":null}"#, r#"{"urls":[]}"#, r#"{"urls":5,"urls":[]}"#] {
            assert!(add(body.as_bytes(), MEMORY).unwrap().urls.is_empty(), "{body}");
        }
    }

    #[test]
    fn faults_of_type_and_of_rules_are_told_together_and_once() {
        assert_eq!(told(r#"{"urls":{}}"#), [("urls".into(), "The urls field must be an array.".into())]);
        let body = r#"{"urls":[5,{"url":7},{},{"url":"ftp://a/"},{"url":"http://a/"}]}"#;
        let expected = [
            ("urls.0", "The urls.0 field must be an object."),
            ("urls.1.url", "The urls.1.url field must be a string."),
            ("urls.2", "The urls.2 field must contain entries for: url."),
            ("urls.3.url", "The urls.3.url field must be a valid URL."),
        ];
        assert_eq!(told(body), expected.map(|(path, message)| (path.to_owned(), message.to_owned())));
    }

    #[test]
    fn more_elements_than_memory_is_too_much() {
        let body = format!(r#"{{"urls":[{}{{}}]}}"#, "{},".repeat(100));
        assert_eq!(add(body.as_bytes(), 100 * size_of::<UrlInput>()).unwrap_err().reason, Reason::BodyTooLarge);
    }
}

//! Measures encoded requests before decoding them, because two bytes can expand to a thousand in memory.

use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

use crate::{
    description::{Field, Kind, Message},
    error::{Error, Reason},
    rules::Violations,
};

/// Maximum number of list elements, unless the field has its own limit.
pub const MAX_ITEMS: usize = 100_000;

/// The size of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measure {
    /// Number of list elements, excluding lists within elements.
    pub items: usize,
    /// Upper bound on the memory of the decoded message, in bytes.
    pub bytes: usize,
}

/// Overhead of a string, in bytes, because allocations are rounded up.
const ALLOCATION: usize = 16;
/// Growth factor of a short list: it can use up to twice the memory of its elements.
const GROWTH: usize = 2;

/// Measures an encoded request.
///
/// Rejects malformed requests, lists with too many elements, and requests that need more than `limit` bytes once decoded.
pub fn measure(shape: &Message, encoded: &[u8], limit: usize) -> Result<Measure, Error> {
    let mut scan = Scan { measure: Measure { items: 0, bytes: shape.size }, lists: Vec::new(), limit, rejection: None };
    match scan.message(shape, encoded, true) {
        Some(()) => Ok(scan.measure),
        None => Err(scan.rejection.unwrap_or_else(|| {
            Error::invalid(Violations::one("body", "The body must be a valid message of the operation."))
        })),
    }
}

struct Scan {
    measure: Measure,
    /// Element counts of the request's lists, by field number.
    lists: Vec<(u32, usize)>,
    limit: usize,
    /// Why a well-formed message is rejected.
    rejection: Option<Error>,
}

/// Methods return `None` to end the scan, because the message is malformed or rejected.
impl Scan {
    fn message(&mut self, shape: &Message, mut encoded: &[u8], is_request: bool) -> Option<()> {
        while !encoded.is_empty() {
            let (number, wire_type) = decode_key(&mut encoded).ok()?;
            let Some(field) = field_of(shape, number) else {
                skip_field(wire_type, number, &mut encoded, DecodeContext::default()).ok()?;
                continue;
            };
            // A long list grows in place, or moves while half of the new memory is untouched.
            let growth = if is_request { 1 } else { GROWTH };
            let elements = self.field(field, wire_type, &mut encoded, growth)?;
            if field.is_list && is_request {
                self.count(field, elements)?;
            }
        }
        Some(())
    }

    /// Reads a field's value. Returns the number of elements that it adds to a list.
    fn field(&mut self, field: &Field, wire_type: WireType, encoded: &mut &[u8], growth: usize) -> Option<usize> {
        let in_list = |size: usize| if field.is_list { size * growth } else { 0 };
        match (field.kind, wire_type) {
            (Kind::Integer(_) | Kind::Flag | Kind::Choice(_), WireType::Varint) => {
                decode_varint(encoded).ok()?;
                self.add(in_list(size_of::<i64>()))?;
            }
            (Kind::Integer(_) | Kind::Flag | Kind::Choice(_), WireType::LengthDelimited) if field.is_list => {
                // Packed numbers, without keys.
                let (mut numbers, mut elements) = (take(encoded)?, 0);
                while !numbers.is_empty() {
                    decode_varint(&mut numbers).ok()?;
                    elements += 1;
                }
                self.add(in_list(size_of::<i64>()) * elements)?;
                return Some(elements);
            }
            (Kind::Text, WireType::LengthDelimited) => {
                let text = take(encoded)?;
                std::str::from_utf8(text).ok()?;
                let allocated = if text.is_empty() { 0 } else { text.len() + ALLOCATION };
                self.add(in_list(size_of::<String>()) + allocated)?;
            }
            (Kind::Message(inner), WireType::LengthDelimited) => {
                let encoded = take(encoded)?;
                self.add(in_list(inner.size))?;
                self.message(inner, encoded, false)?;
            }
            _ => return None,
        }
        Some(1)
    }

    fn add(&mut self, bytes: usize) -> Option<()> {
        self.measure.bytes += bytes;
        if self.measure.bytes <= self.limit {
            return Some(());
        }
        let message = format!("The request needs more than {} bytes of memory.", self.limit);
        self.rejection = Some(Error::new(Reason::BodyTooLarge, message));
        None
    }

    /// Counts elements of a list in the request.
    fn count(&mut self, field: &Field, elements: usize) -> Option<()> {
        self.measure.items += elements;
        let count = if let Some((_, count)) = self.lists.iter_mut().find(|(number, _)| *number == field.number) {
            *count += elements;
            *count
        } else {
            self.lists.push((field.number, elements));
            elements
        };
        let most = field.max_items.unwrap_or(MAX_ITEMS);
        if count <= most {
            return Some(());
        }
        self.rejection = Some(Error::invalid(Violations::too_many_items(field.name, most)));
        None
    }
}

fn field_of(message: &Message, number: u32) -> Option<&'static Field> {
    // Field numbers rarely have gaps.
    let likely = message.fields.get((number as usize).wrapping_sub(1)).filter(|field| field.number == number);
    likely.or_else(|| message.fields.iter().find(|field| field.number == number))
}

/// Takes the bytes of a length-delimited field.
fn take<'a>(encoded: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(decode_varint(encoded).ok()?).ok()?;
    let (taken, rest) = encoded.split_at_checked(length)?;
    *encoded = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::{MAX_ITEMS, Measure, measure};
    use crate::{
        error::{Error, Reason},
        v1::{self, AddComplianceUrlsRequest, BatchGetComplianceUrlsRequest, BatchUpdateAffiliatesRequest},
        wire::Operation,
    };

    const LIMIT: usize = 128 << 20;

    fn measured(path: &str, encoded: &[u8]) -> Result<Measure, Error> {
        measure(Operation::at(path).unwrap().request, encoded, LIMIT)
    }

    const ADD: &str = Operation::ADD_COMPLIANCE_URLS.path;
    const CREATE: &str = Operation::BATCH_CREATE_AFFILIATES.path;
    const UPDATE: &str = Operation::BATCH_UPDATE_AFFILIATES.path;
    const BATCH_GET: &str = Operation::BATCH_GET_COMPLIANCE_URLS.path;

    #[test]
    fn list_elements_and_bytes_are_counted() {
        let url = v1::UrlInput { url: Some("http://example.org/".into()) };
        let request = AddComplianceUrlsRequest { urls: vec![url; 1000], validate_only: false };
        let measure = measured(ADD, &request.encode_to_vec()).unwrap();
        let least = 1000 * (size_of::<v1::UrlInput>() + 19);
        assert_eq!(measure.items, 1000);
        assert!((least..least * 3).contains(&measure.bytes), "{measure:?}");

        let update = v1::AffiliateUpdate {
            id: Some(5),
            affiliate: Some(v1::AffiliateInput { city: Some("Bonn".into()), ..Default::default() }),
            update_mask: Some(prost_types::FieldMask { paths: vec!["city".into(), "zip".into()] }),
            etag: String::new(),
        };
        let request =
            BatchUpdateAffiliatesRequest { anchor_id: Some(1), affiliates: vec![update; 10], validate_only: false };
        assert_eq!(measured(UPDATE, &request.encode_to_vec()).unwrap().items, 10);
        // Numbers are packed.
        let request = BatchGetComplianceUrlsRequest { ids: (0..1000).collect() };
        assert_eq!(measured(BATCH_GET, &request.encode_to_vec()).unwrap().items, 1000);
    }

    #[test]
    fn errors_name_oversized_lists() {
        let refused = |path, encoded: &[u8]| {
            let error = measured(path, encoded).unwrap_err();
            assert_eq!(error.reason, Reason::InvalidFields);
            error.message
        };
        // Up to a million empty elements, of a small and of a large type.
        for (path, field) in [(ADD, "urls"), (CREATE, "affiliates")] {
            for items in [MAX_ITEMS + 1, 1_000_000] {
                let message = format!("The {field} field must not have more than {MAX_ITEMS} items.");
                assert_eq!(refused(path, &[0x0a, 0].repeat(items)), message);
            }
        }
        assert!(measured(CREATE, &[0x0a, 0].repeat(MAX_ITEMS)).is_ok());
        let ids = BatchGetComplianceUrlsRequest { ids: (0..1001).collect() };
        assert_eq!(refused(BATCH_GET, &ids.encode_to_vec()), "The ids field must not have more than 1000 items.");
    }

    #[test]
    fn memory_amplifying_requests_are_rejected() {
        // Each update contains a thousand empty paths: 2,000 bytes expand to 48,000.
        let mask = [&[0x0a, 0].repeat(1000)[..]].concat();
        let update = [&[0x1a, 0xd0, 0x0f][..], &mask].concat();
        let element = [&[0x12, 0xd3, 0x0f][..], &update].concat();
        let encoded = element.repeat(3000);
        assert!(encoded.len() < 7 << 20);
        assert_eq!(measured(UPDATE, &encoded).unwrap_err().reason, Reason::BodyTooLarge);
        assert!(measured(UPDATE, &element).is_ok());
    }

    /// After random changes, the scan accepts exactly the messages that the decoder accepts.
    #[test]
    fn scan_and_decoder_agree() {
        let input = v1::AffiliateInput { city: Some("Böhn".into()), zip: Some("1".into()), ..Default::default() };
        let update = v1::AffiliateUpdate {
            id: Some(300),
            affiliate: Some(input),
            update_mask: Some(prost_types::FieldMask { paths: vec!["city".into()] }),
            etag: String::new(),
        };
        let good =
            BatchUpdateAffiliatesRequest { anchor_id: Some(1), affiliates: vec![update; 2], validate_only: false }
                .encode_to_vec();
        let ids = BatchGetComplianceUrlsRequest { ids: vec![1, 300, 70_000] }.encode_to_vec();
        let mut state = 7_u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let (mut accepted, mut refused) = (0, 0);
        for _ in 0..200_000 {
            let of_update = random(4) > 0;
            let mut encoded = if of_update { good.clone() } else { ids.clone() };
            for _ in 0..=random(3) {
                let at = random(encoded.len());
                match random(3) {
                    0 => encoded[at] = random(256) as u8,
                    1 => encoded.truncate(at + 1),
                    _ => encoded.insert(at, random(256) as u8),
                }
            }
            let (path, decodes) = if of_update {
                (UPDATE, BatchUpdateAffiliatesRequest::decode(&encoded[..]).is_ok())
            } else {
                (BATCH_GET, BatchGetComplianceUrlsRequest::decode(&encoded[..]).is_ok())
            };
            assert_eq!(measured(path, &encoded).is_ok(), decodes, "{path}: {encoded:?}");
            if decodes { accepted += 1 } else { refused += 1 }
        }
        assert!(accepted > 1000 && refused > 1000, "{accepted} accepted, {refused} rejected");
    }
}

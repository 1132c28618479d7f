//! Counts and checks the whole list of affiliates in parts, without storing it.

use anyhow::ensure;

/// The beginning of the list.
const START: &[u8] = b"{\"code\":\"1026\"";
/// The end of the list.
const END: &[u8] = b"]}";
/// The beginning of a record. No string contains it, because strings escape quotes.
const RECORD: &[u8] = b"{\"id\":";

/// The state of a partly read list.
#[derive(Debug, Default)]
pub struct AffiliateList {
    records: u64,
    start: Vec<u8>,
    /// The end of the previous part, shorter than the beginning of a record.
    tail: Vec<u8>,
}

impl AffiliateList {
    /// Reads the next part.
    pub fn read(&mut self, part: &[u8]) {
        let kept = RECORD.len() - 1;
        if self.start.len() < START.len() {
            let missing = START.len() - self.start.len();
            self.start.extend_from_slice(&part[..part.len().min(missing)]);
        }
        // Search across the border of the parts first, then within the part.
        let border = [self.tail.as_slice(), &part[..part.len().min(kept)]].concat();
        self.records += memchr::memmem::find_iter(&border, RECORD).count() as u64;
        if part.len() > kept {
            self.records += memchr::memmem::find_iter(part, RECORD).count() as u64;
            self.tail = part[part.len() - kept..].to_vec();
        } else {
            self.tail = border[border.len().saturating_sub(kept)..].to_vec();
        }
    }

    /// Returns the number of records, or fails if the list is incomplete.
    pub fn records(&self) -> anyhow::Result<u64> {
        ensure!(self.start == START, "the list has another beginning: {}", String::from_utf8_lossy(&self.start));
        ensure!(self.tail.ends_with(END), "the list is cut off");
        Ok(self.records)
    }
}

#[cfg(test)]
mod tests {
    use super::AffiliateList;

    fn read(text: &[u8], size: usize) -> anyhow::Result<u64> {
        let mut list = AffiliateList::default();
        text.chunks(size).for_each(|part| list.read(part));
        list.records()
    }

    #[test]
    fn records_are_counted_in_pieces_of_any_size() {
        let text = br#"{"code":"1026","data":[{"id":1,"x":"y"},{"id":2},{"id":3}]}"#;
        for size in 1..=text.len() {
            assert_eq!(read(text, size).unwrap(), 3, "in pieces of {size}");
        }
        assert_eq!(read(br#"{"code":"1026","data":[]}"#, 7).unwrap(), 0);
    }

    #[test]
    fn an_incomplete_list_is_an_error() {
        for wrong in [r#"{"code":"1026","data":[{"id":1}"#, r#"{"code":"500","data":[]}"#, ""] {
            assert!(read(wrong.as_bytes(), 5).is_err(), "{wrong}");
        }
    }
}

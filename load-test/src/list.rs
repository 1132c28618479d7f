//! The whole list of affiliates as it passes: counted and checked, not kept.

use anyhow::ensure;

/// How the list begins.
const START: &[u8] = b"{\"code\":\"1026\"";
/// How it ends.
const END: &[u8] = b"]}";
/// How a record of it begins. No string can hold this, as quotes are escaped there.
const RECORD: &[u8] = b"{\"id\":";

/// What has passed of a list.
#[derive(Debug, Default)]
pub(crate) struct List {
    records: u64,
    bytes: u64,
    start: Vec<u8>,
    /// The end of the piece before, shorter than what is looked for.
    tail: Vec<u8>,
}

impl List {
    /// Takes the next piece.
    pub(crate) fn read(&mut self, part: &[u8]) {
        let kept = RECORD.len() - 1;
        self.bytes += part.len() as u64;
        if self.start.len() < START.len() {
            let missing = START.len() - self.start.len();
            self.start.extend_from_slice(&part[..part.len().min(missing)]);
        }
        // Across the border first; then within the piece.
        let border = [self.tail.as_slice(), &part[..part.len().min(kept)]].concat();
        self.records += memchr::memmem::find_iter(&border, RECORD).count() as u64;
        if part.len() > kept {
            self.records += memchr::memmem::find_iter(part, RECORD).count() as u64;
            self.tail = part[part.len() - kept..].to_vec();
        } else {
            self.tail = border[border.len().saturating_sub(kept)..].to_vec();
        }
    }

    /// How many bytes there were.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many records there were in a list that is whole.
    pub(crate) fn records(&self) -> anyhow::Result<u64> {
        ensure!(self.start == START, "the list does not begin as it should: {}", String::from_utf8_lossy(&self.start));
        ensure!(self.tail.ends_with(END), "the list does not end as it should");
        Ok(self.records)
    }
}

#[cfg(test)]
mod tests {
    use super::List;

    fn read(text: &[u8], size: usize) -> anyhow::Result<u64> {
        let mut list = List::default();
        text.chunks(size).for_each(|part| list.read(part));
        list.records()
    }

    #[test]
    fn records_are_counted_however_the_text_is_cut() {
        let text = br#"{"code":"1026","data":[{"id":1,"x":"y"},{"id":2},{"id":3}]}"#;
        for size in 1..=text.len() {
            assert_eq!(read(text, size).unwrap(), 3, "in pieces of {size}");
        }
        assert_eq!(read(br#"{"code":"1026","data":[]}"#, 7).unwrap(), 0);
    }

    #[test]
    fn a_list_that_breaks_off_is_none() {
        for wrong in [r#"{"code":"1026","data":[{"id":1}"#, r#"{"code":"500","data":[]}"#, ""] {
            assert!(read(wrong.as_bytes(), 5).is_err(), "{wrong}");
        }
    }
}

//! Etags: numbers of the versions of a record, which callers know as texts without a meaning.

/// The revisions of which a record must have one, by an etag of a request: one, or several, separated by commas. `None` if the request
/// has none. What is no revision is one that no record has.
pub(crate) fn revisions(etag: &str) -> Option<Vec<i64>> {
    (!etag.is_empty()).then(|| etag.split(',').filter_map(|etag| etag.trim().parse().ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::revisions;

    #[test]
    fn an_etag_that_no_record_has_is_no_absent_one() {
        assert_eq!(revisions(""), None);
        assert_eq!(revisions("7"), Some(vec![7]));
        assert_eq!(revisions("7, 9"), Some(vec![7, 9]));
        assert_eq!(revisions("W/7"), Some(vec![]));
        assert_eq!(revisions(","), Some(vec![]));
    }
}

//! Etags: revisions of a record. For callers, they are opaque texts.

/// The revisions that an etag of a request allows: one or several, separated by commas. `None` without an etag. Text that is not a
/// revision matches no record.
pub(crate) fn revisions(etag: &str) -> Option<Vec<i64>> {
    (!etag.is_empty()).then(|| etag.split(',').filter_map(|etag| etag.trim().parse().ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::revisions;

    #[test]
    fn text_that_is_not_a_revision_matches_nothing() {
        assert_eq!(revisions(""), None);
        assert_eq!(revisions("7"), Some(vec![7]));
        assert_eq!(revisions("7, 9"), Some(vec![7, 9]));
        assert_eq!(revisions("W/7"), Some(vec![]));
        assert_eq!(revisions(","), Some(vec![]));
    }
}

//! Items that one statement cannot write together.

use std::{collections::HashSet, hash::Hash};

/// Separates the first items without a common key from all others.
pub(super) fn without_conflicts<T, K: Eq + Hash>(
    items: Vec<T>,
    most: usize,
    keys_of: impl Fn(&T) -> Vec<K>,
) -> (Vec<T>, Vec<T>) {
    let mut keys = HashSet::new();
    let mut count = 0;
    items.into_iter().partition(|item| {
        let own = keys_of(item);
        let fits = count < most && own.iter().all(|key| !keys.contains(key));
        // An item that is left out keeps later ones with its keys behind it.
        keys.extend(own);
        count += usize::from(fits);
        fits
    })
}

#[cfg(test)]
mod tests {
    use super::without_conflicts;

    /// Items of a few keys each; the first items of the result are written now.
    fn divided(items: &[&[u8]], most: usize) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        without_conflicts(items.iter().map(|keys| keys.to_vec()).collect(), most, Clone::clone)
    }

    #[test]
    fn no_two_items_of_a_statement_have_a_key_in_common() {
        assert_eq!(divided(&[&[1, 2], &[3], &[2, 4], &[5]], 9), (vec![vec![1, 2], vec![3], vec![5]], vec![vec![2, 4]]));
        // The third item is behind the second one, with which it has a key in common.
        assert_eq!(divided(&[&[1], &[1, 2], &[2], &[3]], 9), (vec![vec![1], vec![3]], vec![vec![1, 2], vec![2]]));
        assert_eq!(divided(&[&[], &[]], 9), (vec![vec![], vec![]], vec![]));
    }

    #[test]
    fn a_statement_has_a_limit() {
        assert_eq!(divided(&[&[1], &[2], &[3]], 2), (vec![vec![1], vec![2]], vec![vec![3]]));
        assert_eq!(divided(&[&[1], &[2]], 2), (vec![vec![1], vec![2]], vec![]));
        // What is left out counts for nothing.
        assert_eq!(divided(&[&[1], &[1], &[2], &[3]], 2), (vec![vec![1], vec![2]], vec![vec![1], vec![3]]));
    }
}

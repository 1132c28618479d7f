//! What is asked for of a list, and how its page is found: by a walk, by a choice between a scan and a sort, or by a scan.

use super::description::Part;

/// What decides on the statement that reads a page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    /// The parts of the sort key.
    pub(super) parts: &'static [Part],
    /// The column of the timestamps that a range of days is about.
    pub(super) date: &'static str,
    pub(super) descending: bool,
    /// Whether a range of days is asked for.
    pub(super) ranged: bool,
    pub(super) filtered: bool,
    pub(super) among: Among,
}

/// Where a page is looked for: among the records of one affiliate, or among all, near the beginning or far from it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Among {
    Affiliate,
    Near,
    Deep,
}

impl Shape {
    pub(super) fn name(&self) -> String {
        let among = match self.among {
            Among::Affiliate => "of an affiliate",
            Among::Near => "near",
            Among::Deep => "deep",
        };
        let mut name = format!("{among} by {}", self.column().unwrap_or("id"));
        for (is_so, words) in
            [(self.descending, " descending"), (self.ranged, " in a range"), (self.filtered, " filtered")]
        {
            name += if is_so { words } else { "" };
        }
        name
    }

    /// The column that is sorted by, unless it is the ID.
    pub(super) fn column(&self) -> Option<&'static str> {
        if let [Part::Days(column), ..] = self.parts { Some(column) } else { None }
    }

    /// Whether a range is on another column than the sort key.
    pub(super) fn ranged_elsewhere(&self) -> bool {
        self.ranged && self.column() != Some(self.date)
    }

    /// Whether a range is on the column of this part of the sort key.
    pub(super) fn ranged_along(&self, part: Part) -> bool {
        self.ranged && part == Part::Days(self.date)
    }

    /// Whether the statement finds the page by a walk. With a range on another column it must count the records of each
    /// bucket that the range cuts: few where the sort key is the ID, nearly all with another timestamp.
    pub(super) fn walks(&self) -> bool {
        self.among == Among::Deep && (!self.ranged_elsewhere() || self.column().is_none())
    }

    /// Whether the statement chooses between a scan and a sort.
    pub(super) fn chooses(&self) -> bool {
        self.ranged_elsewhere() && !self.walks()
    }

    /// Whether each combination of filter values has its own scan. Far from the beginning, unless the counts say
    /// where the page begins, sorting what all of them read would cost more than passing over what does not match.
    pub(super) fn grouped(&self) -> bool {
        self.filtered && !(self.chooses() && self.among == Among::Deep)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDS: &[Part] = &[Part::Ids];
    const MADE: &[Part] = &[Part::Days("made")];
    const SEEN: &[Part] = &[Part::Days("seen"), Part::Nulls("seen")];

    /// What is asked for, and how the page is found.
    type Row<'a> = (&'static [Part], bool, bool, Among, &'a [&'a str]);

    #[test]
    fn what_is_asked_for_decides_how_a_page_is_found() {
        let (walks, chooses, grouped) = ("walks", "chooses", "grouped");
        let table: &[Row] = &[
            (IDS, false, false, Among::Near, &[]),
            (MADE, true, false, Among::Near, &[]),
            (MADE, false, true, Among::Near, &[grouped]),
            (SEEN, true, false, Among::Near, &[chooses]),
            (SEEN, true, true, Among::Near, &[chooses, grouped]),
            (IDS, true, true, Among::Near, &[chooses, grouped]),
            (IDS, false, false, Among::Deep, &[walks]),
            (IDS, true, false, Among::Deep, &[walks]),
            (MADE, true, false, Among::Deep, &[walks]),
            (SEEN, false, false, Among::Deep, &[walks]),
            (SEEN, true, false, Among::Deep, &[chooses]),
            (SEEN, true, true, Among::Deep, &[chooses]),
            (MADE, true, true, Among::Deep, &[walks, grouped]),
            (SEEN, false, true, Among::Deep, &[walks, grouped]),
            (IDS, true, true, Among::Deep, &[walks, grouped]),
        ];
        for (number, (parts, ranged, filtered, among, expected)) in table.iter().enumerate() {
            let (ranged, filtered, among) = (*ranged, *filtered, *among);
            let shape = Shape { parts, date: "made", descending: false, ranged, filtered, among };
            let found = [(walks, shape.walks()), (chooses, shape.chooses()), (grouped, shape.grouped())];
            let found: Vec<&str> = found.into_iter().filter_map(|(name, is_so)| is_so.then_some(name)).collect();
            assert_eq!(found, *expected, "row {number}");
        }
    }
}

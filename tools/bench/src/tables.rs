//! The tables of the report that are not about load, and the goal of each.

use serde::Serialize;

/// A table of values that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Table {
    Floods,
    FirstPages,
    LatePages,
    OtherLatePages,
    Totals,
    WholeList,
    FirstByte,
    Memory,
    Batches,
    Watches,
    LateChanges,
    Feed,
    Syncs,
    SameRoster,
    Recording,
    DemoData,
}

/// The texts around the rows of a table.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) title: &'static str,
    pub(crate) text: &'static str,
    /// Headings of the number and of the two values.
    pub(crate) columns: [&'static str; 3],
    /// The goal in words, and the maximum of the ratio or the single value.
    pub(crate) goal: Option<(&'static str, f64, &'static str)>,
}

impl Table {
    /// In the order of the report.
    pub(crate) const ALL: [Self; 16] = [
        Self::Floods,
        Self::FirstPages,
        Self::LatePages,
        Self::OtherLatePages,
        Self::Totals,
        Self::WholeList,
        Self::FirstByte,
        Self::Memory,
        Self::Batches,
        Self::Watches,
        Self::LateChanges,
        Self::Feed,
        Self::Syncs,
        Self::SameRoster,
        Self::Recording,
        Self::DemoData,
    ];

    /// Number of worst rows to show for each list. `None` for all rows.
    pub(crate) fn shown(self) -> Option<usize> {
        (self == Self::FirstPages).then_some(5)
    }

    #[expect(clippy::too_many_lines, reason = "a list of tables")]
    pub(crate) fn frame(self) -> Frame {
        let frame = |title, text, columns, goal| Frame { title, text, columns, goal };
        match self {
            Self::Floods => frame(
                "Floods",
                "p99 of one company's calls, at 200 mixed requests a second: alone, and while another company sends \
                requests without a pause.",
                ["connections of the flood", "alone, ms", "during the flood, ms"],
                None,
            ),
            Self::FirstPages => frame(
                "First pages",
                "p50 of page 1 with 100 records, with every combination of filters and sorts, ÷ p50 of the plain page of the same \
                list (no filter, default sort): the slowest pages, and the median.",
                ["records", "plain page, ms", "page 1, ms"],
                Some(("p50 of page 1 ÷ the plain page", 4.0, "")),
            ),
            Self::LatePages => frame(
                "Late pages",
                "p50 of page 1 and of page 5,000 (or the last full page), with 200 records a page. Lists with fewer than two full \
                pages are left out.",
                ["late page", "page 1, ms", "late page, ms"],
                Some(("p50 of the late page ÷ page 1, 200 a page, filters counted or of the sort", 2.0, "")),
            ),
            Self::OtherLatePages => frame(
                "Late pages with other filters",
                "The same, with a filter without counts, or with a range of days in a column that is not the sort key.",
                ["late page", "page 1, ms", "late page, ms"],
                None,
            ),
            Self::Totals => frame(
                "Exact totals",
                "p50 for the company with half of all records, and for a company with 1,000 of each kind.",
                ["total", "of 1,000, ms", "of many, ms"],
                Some(("exact total of many records ÷ of 1,000", 2.0, "")),
            ),
            Self::WholeList => frame(
                "The whole list of affiliates",
                "REST, compared with `\\copy (select row_to_json(…)) to '/dev/null'`.",
                ["affiliates", "`\\copy`, s", "REST, s"],
                Some(("affiliates listed whole: time ÷ psql's copy", 1.5, "")),
            ),
            Self::FirstByte => frame(
                "First byte of the whole list",
                "Time until the first byte, over REST.",
                ["affiliates", "", "ms"],
                Some(("affiliates listed whole: first byte", 100.0, " ms")),
            ),
            Self::Memory => frame(
                "Growth of peak memory during the whole list",
                "Compared with the peak after the whole list of a small company.",
                ["affiliates", "", "MiB"],
                Some(("affiliates listed whole: growth of peak memory", 16.0, " MiB")),
            ),
            Self::Batches => frame(
                "Batches",
                "New affiliates in one `POST /affiliates`, compared with `\\copy` of the same affiliates into the same table, for another company.",
                ["affiliates", "`\\copy`, ms", "request, ms"],
                Some(("batch create: time ÷ `\\copy`", 2.0, "")),
            ),
            Self::Watches => frame(
                "Watches",
                "The time from the beginning of a commit until its change arrives as an event. Either all watches belong to one \
                company, or each belongs to another company.",
                ["watches", "p50, ms", "p99, ms"],
                None,
            ),
            Self::LateChanges => frame(
                "The slowest watches",
                "p99 of the same times.",
                ["watches", "", "ms"],
                Some(("from a commit to a watch, p99", 50.0, " ms")),
            ),
            Self::Feed => frame(
                "The feed of changes",
                "All changes of a company in pages of 1,000, compared with `\\copy (select * from changes …) to '/dev/null'`.",
                ["changes", "`\\copy`, ms per 1,000", "REST, ms per 1,000"],
                None,
            ),
            Self::Syncs => frame(
                "Syncs",
                "A sync with a list of new affiliates, and a second sync with the same list.",
                ["affiliates", "new, ms", "the same, ms"],
                None,
            ),
            Self::SameRoster => frame(
                "The second sync",
                "At 50,000 rows a second, the sync takes 200 ms.",
                ["affiliates", "", "ms"],
                Some(("a roster that is the same", 200.0, " ms")),
            ),
            Self::Recording => frame(
                "The record of changes",
                "The time of a write with disabled and with enabled triggers, for one company over 32 connections. A batch is one request.",
                ["records", "without, ms", "with, ms"],
                Some(("time of a write with the record of changes ÷ without it", 1.33, "")),
            ),
            Self::DemoData => frame(
                "Demo data",
                "URLs that `compliance demo-data` creates in a new database.",
                ["URLs", "without a service, s", "with one, s"],
                Some(("demo data in a new database: time with a service ÷ without one", 1.5, "")),
            ),
        }
    }
}

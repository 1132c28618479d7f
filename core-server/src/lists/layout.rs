//! Lays out a statement for reading: lines that are not long, indented by their brackets.

/// The longest line, in characters.
pub(super) const WIDTH: usize = 140;
const INDENT: usize = 4;

/// Words that begin a clause, and with it a line.
const CLAUSES: [&str; 14] = [
    "select ",
    "from ",
    "left join ",
    "cross join ",
    "where ",
    "group by ",
    "order by ",
    "limit ",
    "offset ",
    "union all ",
    "union all (",
    "when ",
    "else ",
    "with ",
];

/// The statement with other white space. None of its literals has any.
pub(super) fn lay_out(sql: &str) -> String {
    let mut lines = String::new();
    write(&one_line(sql), 0, &mut lines);
    lines
}

/// The statement on one line. Statements that differ only in white space are the same.
pub(super) fn one_line(sql: &str) -> String {
    sql.split_whitespace().collect::<Vec<_>>().join(" ").replace("( ", "(").replace(" )", ")")
}

/// Writes a text on one line, or its parts on several: its clauses, the elements of a list, the parts of a condition, or else
/// what surrounds its longest bracket, and what is inside it.
fn write(text: &str, indent: usize, lines: &mut String) {
    let text = text.trim();
    if text.is_empty() {
        return;
    }
    if indent + text.len() <= WIDTH {
        lines.extend([&" ".repeat(indent), text, "\n"]);
        return;
    }
    let scan = Scan::of(text);
    let further = if begins_clause(text) && !text.starts_with("with ") { INDENT } else { 0 };
    for (cuts, further) in [(&scan.clauses, 0), (&scan.elements, further), (&scan.conditions, further)] {
        if !cuts.is_empty() {
            for (number, part) in filled(text, cuts, WIDTH - indent - further).into_iter().enumerate() {
                write(part, indent + if number == 0 { 0 } else { further }, lines);
            }
            return;
        }
    }
    let Some((start, end)) = scan.longest else {
        lines.extend([&" ".repeat(indent), text, "\n"]);
        return;
    };
    write(&text[..start], indent, lines);
    write(&text[start..end], indent + INDENT, lines);
    write(&text[end..], indent, lines);
}

fn begins_clause(text: &str) -> bool {
    CLAUSES.iter().any(|clause| text.starts_with(clause))
}

/// The parts between the cuts. Neighbours without brackets share a line while they fit.
fn filled<'t>(text: &'t str, cuts: &[usize], width: usize) -> Vec<&'t str> {
    let is_plain = |part: &str| !part.contains('(');
    let (mut parts, mut start, mut last) = (Vec::new(), 0, 0);
    for &cut in cuts.iter().chain([&text.len()]) {
        let joins = is_plain(&text[start..cut]) && cut - start <= width && text[start..last].ends_with(", ");
        if last > start && !joins {
            parts.push(&text[start..last]);
            start = last;
        }
        last = cut;
    }
    parts.push(&text[start..]);
    parts
}

/// Where a text can be cut outside of its brackets; `case … end` is one.
#[derive(Default)]
struct Scan {
    clauses: Vec<usize>,
    elements: Vec<usize>,
    conditions: Vec<usize>,
    /// The inside of the longest bracket.
    longest: Option<(usize, usize)>,
}

impl Scan {
    fn of(text: &str) -> Self {
        let mut scan = Self::default();
        let (mut depth, mut opened, mut is_between) = (0, 0, false);
        for (at, character) in text.char_indices() {
            let rest = &text[at..];
            let begins_word =
                at == 0 || !text[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_');
            let is_word = |word: &str| {
                begins_word
                    && rest
                        .strip_prefix(word)
                        .is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_'))
            };
            if character == ')' || is_word("end") {
                depth -= 1;
                if depth == 0 && scan.longest.is_none_or(|(start, end)| end - start < at - opened) {
                    scan.longest = Some((opened, at));
                }
            }
            if depth == 0 && at > 0 && begins_word {
                if begins_clause(rest) {
                    scan.clauses.push(at);
                } else if text[..at].ends_with(", ") {
                    scan.elements.push(at);
                } else if is_word("and") && !is_between {
                    scan.conditions.push(at);
                }
                is_between = if is_word("and") { false } else { is_between || is_word("between") };
            }
            if character == '(' || is_word("case") {
                if depth == 0 {
                    opened = at + if character == '(' { 1 } else { "case".len() };
                }
                depth += 1;
            }
        }
        scan
    }
}

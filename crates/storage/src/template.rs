//! SQL files with named placeholders, filled once before their first use.

/// Replaces each placeholder `:name` with the part of the same name, and removes comment lines.
///
/// `psql` can run the same file with one variable per part.
pub fn fill(statement: &str, parts: &[(&str, &str)]) -> String {
    let lines = statement.lines().filter(|line| !line.trim_start().starts_with("--"));
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    let (mut filled, mut rest) = (String::with_capacity(text.len()), text.as_str());
    while let Some((before, after)) = rest.split_once(':') {
        filled.push_str(before);
        let name = after.split(|character: char| !character.is_ascii_lowercase() && character != '_').next();
        let part = parts.iter().find(|(of, _)| Some(*of) == name);
        rest = match (part, after.strip_prefix(':')) {
            (Some((name, part)), _) => {
                filled.push_str(part);
                &after[name.len()..]
            }
            // A cast.
            (None, Some(after)) => {
                filled.push_str("::");
                after
            }
            (None, None) => {
                filled.push(':');
                after
            }
        };
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::fill;

    #[test]
    fn placeholders_are_replaced() {
        let statement = "-- Reads :columns.\nselect :columns, a.:key::text\nfrom t -- not :other\nwhere x[1:2]";
        let filled = fill(statement, &[("columns", "a, b"), ("key", "id"), ("text", "never")]);
        assert_eq!(filled, "select a, b, a.id::text\nfrom t -- not :other\nwhere x[1:2]\n");
    }
}

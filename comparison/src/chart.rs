//! Bar charts as SVG: plain enough to be read in the file's own text.

use std::fmt::Write as _;

use crate::statistics::Summary;

/// One bar.
#[derive(Debug)]
pub(crate) struct Bar {
    pub(crate) label: String,
    pub(crate) value: Summary,
    /// Ours stand out.
    pub(crate) is_ours: bool,
}

const WIDTH: f64 = 800.0;
const LEFT: f64 = 310.0;
const RIGHT: f64 = 90.0;
const ROW: f64 = 26.0;
const TOP: f64 = 44.0;

/// Draws the bars below a title, the spread as a line across each bar's end.
pub(crate) fn draw(title: &str, unit: &str, bars: &[Bar]) -> Result<String, std::fmt::Error> {
    let most = bars.iter().map(|bar| bar.value.max).fold(f64::MIN_POSITIVE, f64::max);
    let scale = (WIDTH - LEFT - RIGHT) / most;
    let height = TOP + ROW * bars.len() as f64 + 12.0;
    let mut svg = String::new();
    writeln!(
        svg,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="13">"#
    )?;
    writeln!(svg, r##"<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>"##)?;
    writeln!(svg, r#"<text x="12" y="26" font-size="15" font-weight="bold">{}</text>"#, escaped(title))?;
    for (row, bar) in bars.iter().enumerate() {
        let y = TOP + ROW * row as f64;
        let (colour, text) = (if bar.is_ours { "#2563a8" } else { "#a9b4c0" }, y + 15.0);
        writeln!(svg, r#"<text x="{}" y="{text}" text-anchor="end">{}</text>"#, LEFT - 8.0, escaped(&bar.label))?;
        let width = bar.value.median * scale;
        writeln!(svg, r#"<rect x="{LEFT}" y="{y}" width="{width:.1}" height="{}" fill="{colour}"/>"#, ROW - 6.0)?;
        let (from, to, middle) = (LEFT + bar.value.min * scale, LEFT + bar.value.max * scale, y + 10.0);
        writeln!(svg, r##"<path d="M{from:.1} {middle}H{to:.1}" stroke="#222222"/>"##)?;
        let end = to.max(LEFT + width) + 6.0;
        writeln!(svg, r#"<text x="{end:.1}" y="{text}">{}{}</text>"#, figure(bar.value.median), escaped(unit))?;
    }
    svg.push_str("</svg>\n");
    Ok(svg)
}

/// A figure with as many digits as mean something.
pub(crate) fn figure(value: f64) -> String {
    match value.abs() {
        _ if value.is_nan() => "–".to_owned(),
        100.0.. => {
            let digits = format!("{value:.0}");
            let groups: Vec<&str> =
                digits.as_bytes().rchunks(3).rev().map(|group| str::from_utf8(group).unwrap_or_default()).collect();
            groups.join(",")
        }
        10.0.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::{Bar, draw, figure};
    use crate::statistics::Summary;

    #[test]
    fn figures_are_short() {
        for (value, text) in [(1_234_567.8, "1,234,568"), (999.6, "1,000"), (12.34, "12.3"), (0.567, "0.57")] {
            assert_eq!(figure(value), text);
        }
    }

    #[test]
    fn every_bar_is_drawn() {
        let value = Summary { median: 2.0, min: 1.0, max: 4.0 };
        let bar = |label: &str| Bar { label: label.to_owned(), value, is_ours: label == "a" };
        let svg = draw("x < y", " /s", &[bar("a"), bar("b")]).unwrap();
        assert_eq!(svg.matches("<rect").count(), 3);
        assert!(svg.contains("x &lt; y") && svg.ends_with("</svg>\n"));
    }
}

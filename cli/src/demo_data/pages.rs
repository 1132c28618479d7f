//! Where URLs lead: hosts under domains that belong to nobody, and paths as such hosts have them.

use super::chance::Chance;

/// What kind of host a page is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Blog,
    Social,
    Video,
    Market,
    Forum,
    Coupons,
}

/// A page: its address, and what it is.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) url: String,
    pub(super) kind: Kind,
}

const FIRST: [&str; 40] = [
    "sunny", "honest", "daily", "urban", "golden", "green", "simply", "brave", "quiet", "modern", "happy", "north",
    "blue", "smart", "mindful", "cosy", "fresh", "bright", "little", "global", "vivid", "steady", "lucky", "silver",
    "open", "fit", "clever", "royal", "true", "wild", "gentle", "rapid", "prime", "solid", "noble", "early", "warm",
    "zen", "bold", "clear",
];
const SECOND: [&str; 40] = [
    "kitchen",
    "mornings",
    "income",
    "wellness",
    "momlife",
    "hustle",
    "garden",
    "reviews",
    "beauty",
    "nutrition",
    "nomad",
    "skincare",
    "freedom",
    "coaching",
    "deals",
    "lifestyle",
    "fitness",
    "traveller",
    "budget",
    "family",
    "energy",
    "balance",
    "journey",
    "vitality",
    "academy",
    "studio",
    "notes",
    "corner",
    "circle",
    "habits",
    "finance",
    "oils",
    "supplements",
    "mindset",
    "runner",
    "cooking",
    "yoga",
    "sleep",
    "glow",
    "roots",
];
const ENDINGS: [&str; 8] =
    ["example", "example", "example.com", "example.com", "example.net", "example.org", "test", "blogs.example"];
const IN_OTHER_SCRIPTS: [&str; 8] = [
    "здоровье-каждый-день.example",
    "zdraví.example",
    "υγεία.example",
    "健康生活.example",
    "प्राकृतिक.example",
    "gesünder-leben.example",
    "صحتي.example",
    "건강한하루.example",
];
const TITLES: [&str; 16] = [
    "how-i-left-my-job",
    "my-honest-review",
    "before-and-after-90-days",
    "why-i-joined",
    "seven-income-streams",
    "what-nobody-tells-you",
    "my-morning-routine",
    "the-starter-kit",
    "meine-erfahrungen",
    "mi-historia",
    "mon-avis-sincere",
    "is-it-a-scam",
    "results-after-30-days",
    "work-from-anywhere",
    "free-samples",
    "questions-and-answers",
];

/// The page of the URL `number`. No other number's page has this address.
pub(super) fn page(number: u64, year_month: (i32, u8), slug: &str, chance: &mut Chance) -> Page {
    let mark = mark(number);
    let kind = match chance.weighted(&[36, 26, 15, 9, 7, 7]) {
        0 => Kind::Blog,
        1 => Kind::Social,
        2 => Kind::Video,
        3 => Kind::Market,
        4 => Kind::Forum,
        _ => Kind::Coupons,
    };
    let name = slug.replace('.', "");
    let url = match kind {
        Kind::Blog => {
            let (year, month) = year_month;
            let path = format!("{year}/{month:02}/{}-{mark}", chance.one_of(&TITLES));
            match chance.weighted(&[60, 30, 8]) {
                0 => {
                    let host = format!("{}-{}", chance.one_of(&FIRST), chance.one_of(&SECOND));
                    format!("https://{host}.{}/{path}", chance.one_of(&ENDINGS))
                }
                1 => format!("https://www.{name}.{}/{path}", chance.one_of(&ENDINGS)),
                _ => format!("https://{}/{path}", chance.one_of(&IN_OTHER_SCRIPTS)),
            }
        }
        Kind::Social => match chance.weighted(&[40, 34, 18, 8]) {
            0 => format!("https://www.friendface.example/{name}/posts/{mark}"),
            1 => format!("https://pictogram.example/p/{mark}/"),
            2 => format!("https://chirp.example/{name}/status/{mark}"),
            _ => format!("https://pinwall.example.net/pin/{mark}/"),
        },
        Kind::Video => match chance.weighted(&[55, 33, 12]) {
            0 => format!("https://vidtube.example/watch?v={mark}"),
            1 => format!("https://www.shortclips.example/@{name}/video/{mark}"),
            _ => format!("http://live.streamhub.test/{name}/{mark}"),
        },
        Kind::Market => match chance.weighted(&[60, 40]) {
            0 => format!("https://market.example.com/itm/{}-{mark}", chance.one_of(&SECOND)),
            _ => format!("https://auctions.example.org/lot/{mark}"),
        },
        Kind::Forum => format!("http://forum.{}.example/showthread.php?t={mark}", chance.one_of(&SECOND)),
        Kind::Coupons => format!("https://{}-coupons.example.com/store/{mark}", chance.one_of(&FIRST)),
    };
    Page { url, kind }
}

/// A short text that no other number has and that does not show the order.
fn mark(number: u64) -> String {
    const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    // Multiplying by an odd number permutes the numbers of 40 bits.
    let mut mixed = number.wrapping_mul(0x9E_3779_B97F) & ((1 << 40) - 1);
    let mut text = String::with_capacity(8);
    for _ in 0..8 {
        text.push(char::from(DIGITS[(mixed & 31) as usize]));
        mixed >>= 5;
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::page;
    use crate::demo_data::chance::{Chance, Stream};

    /// Domains that belong to nobody (RFC 2606).
    const RESERVED: [&str; 5] = ["example.com", "example.net", "example.org", "example", "test"];

    #[test]
    fn pages_differ_and_belong_to_nobody() {
        let mut seen = HashSet::new();
        for number in 0..50_000 {
            let chance = &mut Chance::of(5, Stream::UrlRest, number);
            let page = page(number, (2025, 3), "ann.lee", chance);
            let url = compliance_api::rules::normalised_url(&page.url).unwrap();
            let host = url.host_str().unwrap();
            assert!(RESERVED.iter().any(|domain| host == *domain || host.ends_with(&format!(".{domain}"))), "{host}");
            assert!(seen.insert(url));
        }
    }
}

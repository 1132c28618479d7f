//! Generates affiliates to write, with the fields that companies usually set.

use compliance_api::v1::AffiliateInput;
use serde_json::{Map, Value};

/// Returns an affiliate with a unique name for each `number` in a `run`.
pub fn affiliate(run: u64, number: u64) -> AffiliateInput {
    let text = |text: &str| Some(text.to_owned());
    AffiliateInput {
        client_affiliate_id: Some(format!("LT-{run:x}-{number}")),
        affiliate_name: Some(format!("Load Test {run:x} {number}")),
        email_one: Some(format!("affiliate{number}@example.com")),
        phone_one: Some(format!("+1 555 {:07}", number % 10_000_000)),
        instagram: Some(format!("@affiliate{number}")),
        country: text("US"),
        first_name: text("Alex"),
        last_name: Some(format!("Sample{}", number % 997)),
        address: Some(format!("{} Main Street", number % 9_999)),
        city: text("Springfield"),
        state: text("IL"),
        zip: Some(format!("{:05}", number % 100_000)),
        ranking: text("Silver"),
        replicated_website: Some(format!("https://shop.example.com/{number}")),
        sponsor: text("Jordan Example"),
        status: text("active"),
        start_date: text("2024-05-17"),
        language_used: text("en"),
        territory: text("North"),
        company_name: text("Example Ventures"),
        sponsor_id: Some(format!("AFF-{}", number % 1_000)),
        pay_rank: text("Director"),
        recognition_rank: text("Director"),
        ..AffiliateInput::default()
    }
}

/// Returns the affiliate as a JSON object without absent fields.
pub fn affiliate_json(input: &AffiliateInput) -> Value {
    use compliance_api::record::Record as _;
    let fields = AffiliateInput::FIELDS.iter();
    let present = fields.filter_map(|field| Some((field.name.to_owned(), Value::from(field.text(input)?))));
    Value::Object(present.collect::<Map<_, _>>())
}

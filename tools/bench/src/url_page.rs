//! A page of a hundred URLs with infractions, as the same JSON from us and from `PostgREST`.

use anyhow::{Context as _, ensure};
use load_test::workload::{LoadRequest, Scenario};
use serde_json::Value;

use crate::{contender::Contender, load::load, results::Results, stage::Stage};

/// The work in results.
pub(crate) const PAGES: &str = "pages of 100 URLs with infractions";
/// Connections that keep both processors busy.
pub(crate) const CONNECTIONS: u32 = 16;

fn contenders<'s>(stage: &'s Stage<'_>) -> Vec<&'s Contender> {
    ['a', 'b', 'h'].into_iter().filter_map(|key| stage.contender(key)).collect()
}

/// Checks that all contenders return the same page.
async fn check(stage: &Stage<'_>) -> anyhow::Result<()> {
    let (mut expected, page, company): (Option<Value>, _, _) =
        (None, LoadRequest::ListUrls { page: 1, per_page: 100 }, stage.universe.company);
    for contender in contenders(stage) {
        let mut caller = contender.caller(company, &page).await?.context("pages are read over HTTP")?;
        contender.ask(&mut caller, company, &page).await?;
        let data = contender.data(&caller)?;
        if let Some(expected) = &expected {
            ensure!(&data == expected, "({}) {} has another page of URLs than ours", contender.key, contender.name);
        }
        expected = Some(data);
    }
    Ok(())
}

/// Measures one round, beginning with another contender each time.
pub(crate) async fn round(stage: &Stage<'_>, round: u64, seconds: f64, results: &mut Results) -> anyhow::Result<()> {
    if round == 0 {
        check(stage).await?;
    }
    let contenders = contenders(stage);
    for turn in 0..contenders.len() {
        let contender = contenders[(turn + round as usize) % contenders.len()];
        let companies = std::slice::from_ref(&stage.universe);
        let sample = load(stage, contender, Scenario::UrlPage, companies, CONNECTIONS, seconds).await?;
        results.series(PAGES, (contender.key, contender.name), 1, CONNECTIONS).samples.push(sample);
    }
    Ok(())
}

//! A page of a hundred URLs with their infractions, from us and from `PostgREST`, as the same JSON.

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::{
    contender::{Contender, Way},
    point_read::measure_one,
    question::{HttpWorker, Question},
    results::Series,
    stage::Stage,
};

/// Connections that keep both cores busy.
const CONNECTIONS: u32 = 16;

fn contenders<'s>(stage: &'s Stage<'_>) -> Vec<&'s Contender> {
    ['a', 'b', 'h'].into_iter().filter_map(|key| stage.contender(key)).collect()
}

/// Checks that all contenders return the same page.
pub(crate) async fn check(stage: &Stage<'_>) -> anyhow::Result<()> {
    let mut expected: Option<Value> = None;
    for contender in contenders(stage) {
        let page = page(stage, contender).await?;
        if let Some(expected) = &expected {
            ensure!(&page == expected, "({}) {} has another page of URLs than ours", contender.key, contender.name);
        }
        expected = Some(page);
    }
    Ok(())
}

/// Measures one round. Each round begins with another contender.
pub(crate) async fn round(stage: &Stage<'_>, round: u64, seconds: f64, all: &mut Vec<Series>) -> anyhow::Result<()> {
    let contenders = contenders(stage);
    for turn in 0..contenders.len() {
        let contender = contenders[(turn + round as usize) % contenders.len()];
        let sample = measure_one(stage, contender, CONNECTIONS, Question::UrlPage, seconds).await?;
        Series::of(all, contender, CONNECTIONS).samples.push(sample);
    }
    Ok(())
}

/// The page from a contender.
async fn page(stage: &Stage<'_>, contender: &Contender) -> anyhow::Result<Value> {
    let Way::Http { target, form, token } = &contender.way else { anyhow::bail!("pages are read over HTTP") };
    let worker = HttpWorker::open(target, *form, token.as_deref(), Question::UrlPage, &stage.universe, 0);
    let page = worker.await?.urls().await;
    page.with_context(|| format!("({}) {} has no page of URLs", contender.key, contender.name))
}

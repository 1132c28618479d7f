//! A page of a hundred URLs with their infractions: ours and `PostgREST`'s, of the same JSON.

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::{
    Effort,
    contender::{Contender, Way},
    point_read::one,
    question::{HttpWorker, Question},
    results::Series,
    stage::Stage,
};

/// Enough to keep both cores busy.
const CONNECTIONS: u32 = 16;

/// Measures all rounds.
pub(super) async fn run(stage: &Stage<'_>, effort: Effort) -> anyhow::Result<Vec<Series>> {
    let contenders: Vec<&Contender> = ['a', 'b', 'h'].into_iter().filter_map(|key| stage.contender(key)).collect();
    let mut expected: Option<Value> = None;
    for contender in &contenders {
        let page = page(stage, contender).await?;
        if let Some(expected) = &expected {
            ensure!(&page == expected, "({}) {} has another page of URLs than ours", contender.key, contender.name);
        }
        expected = Some(page);
    }
    let mut series: Vec<Series> = contenders.iter().map(|contender| Series::new(contender, CONNECTIONS)).collect();
    for round in 0..effort.rounds as usize {
        eprintln!("pages of URLs, round {} of {}", round + 1, effort.rounds);
        for turn in 0..contenders.len() {
            let at = (turn + round) % contenders.len();
            series[at].samples.push(one(stage, contenders[at], CONNECTIONS, Question::UrlPage, effort).await?);
        }
    }
    Ok(series)
}

/// The page as a contender has it.
async fn page(stage: &Stage<'_>, contender: &Contender) -> anyhow::Result<Value> {
    let Way::Http { target, form, token } = &contender.way else { anyhow::bail!("pages are asked for over HTTP") };
    let worker = HttpWorker::open(target, *form, token.as_deref(), Question::UrlPage, &stage.universe, 0);
    let page = worker.await?.urls().await;
    page.with_context(|| format!("({}) {} has no page of URLs", contender.key, contender.name))
}

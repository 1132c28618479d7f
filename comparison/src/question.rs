//! The workers of the comparison. Each has one connection and reads affiliates or pages of URLs.

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use load_test::{
    check, grpc,
    http::{self, Connection},
    target::Target,
    workload::{Chance, Operation, Universe},
};

use crate::{contender::Form, measure::Worker, peers::postgrest};

/// The record or page to read.
#[derive(Clone, Debug)]
pub(crate) enum Question {
    /// Any affiliate of the company by ID.
    Affiliate,
    /// The first hundred URLs with their infractions.
    UrlPage,
}

/// Reads over HTTP.
#[derive(Debug)]
pub(crate) struct HttpWorker {
    connection: Connection,
    form: Form,
    headers: String,
    question: Question,
    universe: Universe,
    chance: Chance,
    number: u64,
    request: Vec<u8>,
    body: Vec<u8>,
}

impl HttpWorker {
    pub(crate) async fn open(
        target: &Target,
        form: Form,
        token: Option<&str>,
        question: Question,
        universe: &Universe,
        worker: u32,
    ) -> anyhow::Result<Self> {
        let accept = if matches!(question, Question::Affiliate) { form.headers() } else { "" };
        Ok(Self {
            connection: Connection::open(target).await?,
            form,
            headers: http::headers(target, token) + accept,
            question,
            universe: universe.clone(),
            chance: Chance::new(u64::from(worker) + 1),
            number: 0,
            request: Vec::new(),
            body: Vec::new(),
        })
    }

    async fn ask(&mut self, method: &str, path: &str, body: &str) -> anyhow::Result<u16> {
        http::request(&mut self.request, method, path, &self.headers, body.as_bytes());
        self.body.clear();
        let Self { body, .. } = self;
        Ok(self.connection.exchange(&self.request, |part| body.extend_from_slice(part)).await?.status)
    }

    /// Reads one affiliate and returns the record.
    pub(crate) async fn affiliate(&mut self, id: i64) -> anyhow::Result<Value> {
        let (method, path, body) = self.form.affiliate(self.universe.company, id);
        let status = self.ask(method, &path, &body).await?;
        ensure!(status == 200, "status {status}: {}", String::from_utf8_lossy(&self.body));
        let mut answer: Value = serde_json::from_slice(&self.body).context("the response is no JSON")?;
        Ok(if self.form == Form::Documented { answer["data"].take() } else { answer })
    }

    /// Reads the page of URLs and returns its records.
    pub(crate) async fn urls(&mut self) -> anyhow::Result<Value> {
        let status = self.ask_urls().await?;
        ensure!(status == 200, "status {status}: {}", String::from_utf8_lossy(&self.body));
        let mut answer: Value = serde_json::from_slice(&self.body).context("the response is no JSON")?;
        Ok(if self.form == Form::Documented { answer["data"].take() } else { answer })
    }

    async fn ask_urls(&mut self) -> anyhow::Result<u16> {
        let path = match self.form {
            Form::Documented => URL_PAGE.rest().1,
            Form::Tables => postgrest::url_page(self.universe.company),
            Form::Transcoded => bail!("the transcoder serves no pages"),
        };
        self.ask("GET", &path, "").await
    }
}

/// The request for the page of URLs in our form.
const URL_PAGE: Operation = Operation::ListUrls { page: 1, per_page: 100 };

impl Worker for HttpWorker {
    async fn once(&mut self) -> anyhow::Result<()> {
        let whole = check::is_sampled(self.number);
        self.number += 1;
        match self.question {
            Question::Affiliate => {
                let id = self.universe.affiliates.draw(&mut self.chance);
                let (method, path, body) = self.form.affiliate(self.universe.company, id);
                let status = self.ask(method, &path, &body).await?;
                if self.form == Form::Documented {
                    return check::rest(&Operation::GetAffiliate(id), &self.universe, status, &self.body, whole);
                }
                ensure!(status == 200 && self.body.starts_with(b"{"), "status {status} for affiliate {id}");
                if whole {
                    check::affiliate(&serde_json::from_slice(&self.body)?, self.universe.company, id)?;
                }
            }
            Question::UrlPage => {
                let status = self.ask_urls().await?;
                if self.form == Form::Documented {
                    return check::rest(&URL_PAGE, &self.universe, status, &self.body, whole);
                }
                ensure!(status == 200 && self.body.starts_with(b"["), "status {status} for a page of URLs");
                if whole {
                    let rows: Vec<Value> = serde_json::from_slice(&self.body)?;
                    ensure!(rows.len() as u64 == self.universe.urls.min(100), "{} rows of a page", rows.len());
                }
            }
        }
        Ok(())
    }
}

/// Reads over gRPC.
#[derive(Debug)]
pub(crate) struct GrpcWorker {
    connection: grpc::Connection,
    headers: grpc::Headers,
    universe: Universe,
    chance: Chance,
    number: u64,
}

impl GrpcWorker {
    pub(crate) async fn open(target: &Target, token: &str, universe: &Universe, worker: u32) -> anyhow::Result<Self> {
        Ok(Self {
            connection: grpc::Connection::open(target).await?,
            headers: grpc::headers(token)?,
            universe: universe.clone(),
            chance: Chance::new(u64::from(worker) + 1),
            number: 0,
        })
    }
}

impl Worker for GrpcWorker {
    async fn once(&mut self) -> anyhow::Result<()> {
        let whole = check::is_sampled(self.number);
        self.number += 1;
        let read = Operation::GetAffiliate(self.universe.affiliates.draw(&mut self.chance));
        self.connection.call(&self.headers, &read, &self.universe, whole).await.map(|_| ())
    }
}

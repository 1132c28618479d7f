//! `load-test unread`: lists that clients ask for and do not read.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use clap::{Args, ValueEnum};
use compliance_api::v1::{
    ListAffiliatesRequest, ListAffiliatesResponse, affiliate_service_client::AffiliateServiceClient,
};
use futures::{StreamExt as _, stream};
use load_test::{
    http::{headers, request},
    service::Demo,
    target::Target,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
};
use tonic::{Request, Streaming, transport::Endpoint};

use crate::floods::Processes;

/// How many lists are asked for at the same time.
const AT_ONCE: usize = 64;
/// Lists of one gRPC connection.
const OF_A_CONNECTION: usize = 100;
/// How much longer than its timeout a list may be open.
const SLACK: Duration = Duration::from_mins(1);
/// Descriptors that the service may have opened meanwhile for other purposes.
const DESCRIPTORS: usize = 16;

/// Settings of unread lists.
#[derive(Args, Debug)]
pub(crate) struct UnreadArgs {
    /// Layers to ask.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "rest,grpc")]
    layer: Vec<Layer>,
    /// Lists to ask for.
    #[arg(long, default_value_t = 6000, value_name = "N")]
    lists: usize,
    /// Companies that ask for them, each as many.
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    companies: u32,
    /// Lists that the service lets a company have open.
    #[arg(long, default_value_t = 6000, value_name = "N")]
    company_streams: usize,
    /// Timeout of a list in the service, in seconds.
    #[arg(long, default_value_t = 30, value_name = "S")]
    list_timeout: u64,
}

/// A layer of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Layer {
    Rest,
    Grpc,
}

/// Opens the lists, and measures until the service has ended them.
pub(crate) async fn run(args: &UnreadArgs) -> anyhow::Result<()> {
    let (streams, time) = (args.company_streams.to_string(), format!("{}s", args.list_timeout));
    let most = (args.lists * 2).max(10_000).to_string();
    let mut arguments = vec!["--rate-limit", "off", "--company-streams", &streams];
    for flag in ["--rest-list-timeout", "--list-timeout"] {
        arguments.extend([flag, &time]);
    }
    for flag in ["--rest-max-connections", "--rest-max-connections-per-peer"] {
        arguments.extend([flag, &most]);
    }
    let demo = Demo::start_with(args.companies, &arguments).await?;
    let result = measure_all(args, &demo).await;
    demo.stop().await;
    result
}

async fn measure_all(args: &UnreadArgs, demo: &Demo) -> anyhow::Result<()> {
    let processes = Processes { service: demo.service.process.pid, database: demo.database_pid()? };
    let tokens: Vec<&str> = demo.companies.iter().map(|(token, _)| token.as_str()).collect();
    for layer in &args.layer {
        // What the service takes without lists, after it has sent some.
        for token in &tokens {
            drop(Rest::open(&Target::local(demo.service.rest), token).await?);
        }
        tokio::time::sleep(Duration::from_secs(2)).await;
        let (before, descriptors) = (processes.memory("VmRSS:"), processes.descriptors());
        processes.reset_peak();
        let started = Instant::now();
        let open = match layer {
            Layer::Rest => open_rest(args, demo, &tokens).await?,
            Layer::Grpc => open_grpc(args, demo, &tokens).await?,
        };
        let (opened, lists) = (Instant::now(), open.len());
        println!(
            "{layer:?}: {lists} lists are open after {:.1} s, {} were rejected",
            started.elapsed().as_secs_f64(),
            args.lists - lists
        );
        // The service closes the connections although nothing is read.
        while processes.descriptors() > descriptors + DESCRIPTORS {
            ensure!(
                opened.elapsed() < Duration::from_secs(args.list_timeout) + SLACK,
                "lists are open after their time"
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let closed = opened.elapsed().as_secs_f64();
        let peak = processes.memory("VmHWM:").saturating_sub(before);
        println!(
            "{layer:?}: the memory grew by {} MiB at most, {} KiB a list; all ended {closed:.1} s after the last one began",
            peak >> 10,
            peak / (lists.max(1) as u64)
        );
        let whole = tokio::time::timeout(SLACK, open.whole()).await.context("what was left of the lists has no end")?;
        ensure!(whole == 0, "{whole} lists that were cut off look complete");
    }
    Ok(())
}

/// Lists that are open.
enum Open {
    Rest(Vec<Rest>),
    Grpc(Vec<Streaming<ListAffiliatesResponse>>),
}

impl Open {
    fn len(&self) -> usize {
        match self {
            Self::Rest(lists) => lists.len(),
            Self::Grpc(lists) => lists.len(),
        }
    }

    /// Reads what has arrived of each, and returns how many look complete.
    async fn whole(self) -> usize {
        // The system holds megabytes of each, which a small window passes slowly.
        let mut ends = match self {
            Self::Rest(lists) => stream::iter(lists).map(Rest::ends_whole).buffer_unordered(AT_ONCE).boxed(),
            Self::Grpc(lists) => stream::iter(lists).map(ends_whole).buffer_unordered(AT_ONCE).boxed(),
        };
        let mut whole = 0;
        while let Some(is_whole) = ends.next().await {
            whole += usize::from(is_whole);
        }
        whole
    }
}

/// Reads what has arrived of a list over gRPC; whether that ends as a list does.
async fn ends_whole(mut list: Streaming<ListAffiliatesResponse>) -> bool {
    loop {
        match list.message().await {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

async fn open_rest(args: &UnreadArgs, demo: &Demo, tokens: &[&str]) -> anyhow::Result<Open> {
    let target = Target::local(demo.service.rest);
    let lists = (0..args.lists).map(|number| Rest::open(&target, tokens[number % tokens.len()]));
    let lists: Vec<_> = stream::iter(lists).buffer_unordered(AT_ONCE).collect().await;
    let mut open = Vec::new();
    for list in lists {
        open.extend(list?);
    }
    Ok(Open::Rest(open))
}

async fn open_grpc(args: &UnreadArgs, demo: &Demo, tokens: &[&str]) -> anyhow::Result<Open> {
    let mut channels = Vec::new();
    for _ in 0..args.lists.div_ceil(OF_A_CONNECTION) {
        let endpoint = Endpoint::from_shared(format!("http://{}", demo.service.grpc))?;
        // A list that nobody reads fills its window, and the connection serves the others.
        channels.push(endpoint.initial_stream_window_size(4096).connect().await?);
    }
    let lists = (0..args.lists).map(|number| {
        let channel = channels[number / OF_A_CONNECTION].clone();
        let mut request = Request::new(ListAffiliatesRequest {});
        let bearer = format!("Bearer {}", tokens[number % tokens.len()]).parse();
        async move {
            request.metadata_mut().insert("authorization", bearer?);
            anyhow::Ok(AffiliateServiceClient::new(channel).list_affiliates(request).await)
        }
    });
    let lists: Vec<_> = stream::iter(lists).buffer_unordered(AT_ONCE).collect().await;
    let mut open = Vec::new();
    for list in lists {
        open.extend(list?.ok().map(tonic::Response::into_inner));
    }
    Ok(Open::Grpc(open))
}

/// A list over REST.
struct Rest(TcpStream);

impl Rest {
    /// Asks for a list, and reads the status. `None` if it is refused.
    async fn open(target: &Target, token: &str) -> anyhow::Result<Option<Self>> {
        let socket = TcpSocket::new_v4()?;
        // Otherwise the system would receive most of the list.
        socket.set_recv_buffer_size(4096)?;
        let mut stream = socket.connect(target.address).await?;
        let mut bytes = Vec::new();
        request(&mut bytes, "GET", "/api/affiliates", &headers(target, Some(token)), b"");
        stream.write_all(&bytes).await?;
        let mut head = [0; 12];
        stream.read_exact(&mut head).await?;
        Ok((&head == b"HTTP/1.1 200").then_some(Self(stream)))
    }

    /// Reads what the system holds of the list; whether that ends as a list does.
    async fn ends_whole(mut self) -> bool {
        let mut received = Vec::new();
        let _ = self.0.read_to_end(&mut received).await;
        received.ends_with(b"0\r\n\r\n")
    }
}

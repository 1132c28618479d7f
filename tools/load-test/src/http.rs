//! A lean HTTP/1.1 client with one connection and one request in flight.
//!
//! The generator shares the machine with the service, so each request must cost it little. It sends prepared bytes, and
//! reads only the status and the body of a response.

use anyhow::{Context as _, bail};
use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::target::{HTTP1, Stream, Target};

/// A persistent connection.
#[derive(Debug)]
pub struct Connection {
    stream: Stream,
    buffer: BytesMut,
    target: Target,
    /// The last response closes the connection.
    closes: bool,
}

/// How a response marks the end of its body.
enum Framing {
    Length(usize),
    Chunked,
}

impl Connection {
    /// Connects to a target.
    pub async fn open(target: &Target) -> anyhow::Result<Self> {
        let stream = target.connect(HTTP1).await?;
        Ok(Self { stream, buffer: BytesMut::with_capacity(64 << 10), target: target.clone(), closes: false })
    }

    /// Sends a request, passes the body of the response to `sink` in parts, and returns the status.
    ///
    /// A service that shuts down closes its connections after a response. The next request opens another one.
    pub async fn send(&mut self, request: &[u8], mut sink: impl FnMut(&[u8])) -> anyhow::Result<u16> {
        if self.closes {
            *self = Self::open(&self.target).await?;
        }
        self.stream.write_all(request).await?;
        // A TLS stream may hold back what was written.
        self.stream.flush().await?;
        let (status, framing, closes) = self.head().await?;
        self.closes = closes;
        match framing {
            Framing::Length(length) => self.take(length, &mut sink).await?,
            Framing::Chunked => self.chunks(&mut sink).await?,
        }
        Ok(status)
    }

    async fn head(&mut self) -> anyhow::Result<(u16, Framing, bool)> {
        loop {
            if !self.buffer.is_empty()
                && let Some((length, status, framing, closes)) = parse(&self.buffer)?
            {
                self.buffer.advance(length);
                return Ok((status, framing, closes));
            }
            self.fill().await?;
        }
    }

    async fn chunks(&mut self, sink: &mut impl FnMut(&[u8])) -> anyhow::Result<()> {
        loop {
            let size = loop {
                match httparse::parse_chunk_size(&self.buffer) {
                    Ok(httparse::Status::Complete((used, size))) => {
                        self.buffer.advance(used);
                        break usize::try_from(size)?;
                    }
                    Ok(httparse::Status::Partial) => self.fill().await?,
                    Err(_) => bail!("a chunk of the response has no size"),
                }
            };
            self.take(size, sink).await?;
            self.take(2, &mut |_| {}).await?;
            if size == 0 {
                return Ok(());
            }
        }
    }

    async fn take(&mut self, mut left: usize, sink: &mut impl FnMut(&[u8])) -> anyhow::Result<()> {
        while left > 0 {
            if self.buffer.is_empty() {
                self.fill().await?;
            }
            let part = left.min(self.buffer.len());
            sink(&self.buffer[..part]);
            self.buffer.advance(part);
            left -= part;
        }
        Ok(())
    }

    async fn fill(&mut self) -> anyhow::Result<()> {
        self.buffer.reserve(16 << 10);
        if self.stream.read_buf(&mut self.buffer).await? == 0 {
            bail!("the connection closed in the middle of a response");
        }
        Ok(())
    }
}

/// The length of a head, its status, the framing of its body, and whether the connection closes after it; `None` if the head is
/// incomplete.
fn parse(bytes: &[u8]) -> anyhow::Result<Option<(usize, u16, Framing, bool)>> {
    let mut headers = [httparse::EMPTY_HEADER; 48];
    let mut response = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(length) = response.parse(bytes).context("the response is not HTTP/1.1")? else {
        return Ok(None);
    };
    let status = response.code.unwrap_or_default();
    let (mut framing, mut closes) = (Framing::Length(0), false);
    for header in response.headers.iter() {
        if header.name.eq_ignore_ascii_case("content-length") {
            let value = str::from_utf8(header.value)?.trim().parse().context("the content-length is not a number")?;
            framing = Framing::Length(value);
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            framing = Framing::Chunked;
        } else if header.name.eq_ignore_ascii_case("connection") {
            closes = header.value.eq_ignore_ascii_case(b"close");
        }
    }
    Ok(Some((length, status, framing, closes)))
}

/// Writes a request into `out`, which is cleared first.
pub fn request(out: &mut Vec<u8>, method: &str, path: &str, headers: &str, body: &[u8]) {
    out.clear();
    for part in [method, " ", path, " HTTP/1.1\r\n", headers] {
        out.extend_from_slice(part.as_bytes());
    }
    if !body.is_empty() {
        out.extend_from_slice(b"content-type: application/json\r\ncontent-length: ");
        out.extend_from_slice(body.len().to_string().as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(body);
}

/// The headers of every request to a target.
pub fn headers(target: &Target, token: Option<&str>) -> String {
    let mut headers = format!("host: {}\r\n", target.authority);
    if let Some(token) = token {
        headers.push_str("authorization: Bearer ");
        headers.push_str(token);
        headers.push_str("\r\n");
    }
    headers
}

#[cfg(test)]
mod tests {
    use tokio::{io::AsyncWriteExt as _, net::TcpListener};

    use super::{Connection, parse, request};
    use crate::target::Target;

    #[test]
    fn an_incomplete_head_is_not_parsed() {
        assert!(parse(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n").unwrap().is_none());
        assert!(parse(b"SSH-2.0-x\r\n").is_err());
    }

    #[test]
    fn a_request_with_a_body_has_its_length() {
        let mut out = Vec::new();
        request(&mut out, "GET", "/a", "host: b\r\n", b"");
        assert_eq!(out, b"GET /a HTTP/1.1\r\nhost: b\r\n\r\n");
        request(&mut out, "POST", "/a", "", b"{}");
        assert_eq!(out, b"POST /a HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}");
    }

    #[tokio::test]
    async fn bodies_of_both_framings_arrive_whole() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = Target::local(listener.local_addr().unwrap());
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            for part in [
                "HTTP/1.1 200 OK\r\nContent-Le",
                "ngth: 5\r\n\r\nhel",
                "loHTTP/1.1 404 Not Found\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r",
                "\n2\r\nde\r\n0\r\n\r\n",
            ] {
                stream.write_all(part.as_bytes()).await.unwrap();
                stream.flush().await.unwrap();
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        });
        let mut connection = Connection::open(&target).await.unwrap();
        for (status, expected) in [(200, "hello"), (404, "abcde")] {
            let mut body = Vec::new();
            let received = connection.send(b"x", |part| body.extend_from_slice(part)).await.unwrap();
            assert_eq!((received, body.as_slice()), (status, expected.as_bytes()));
        }
        assert!(connection.send(b"x", |_| {}).await.is_err());
    }

    #[tokio::test]
    async fn a_connection_that_closes_is_replaced() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = Target::local(listener.local_addr().unwrap());
        tokio::spawn(async move {
            for _ in 0..2 {
                let (mut stream, _) = listener.accept().await.unwrap();
                stream.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n").await.unwrap();
            }
        });
        let mut connection = Connection::open(&target).await.unwrap();
        for _ in 0..2 {
            assert_eq!(connection.send(b"x", |_| {}).await.unwrap(), 204);
        }
    }
}

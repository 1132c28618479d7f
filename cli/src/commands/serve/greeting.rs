//! The message of `--demo`: addresses, a token and commands to try.

use std::{
    fmt,
    io::Write as _,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::Path,
};

use compliance_api::token::{Claims, Secret, issue};
use fixtures::DEMO_COMPANY;
use runtime::unix_now;

/// The lifetime of the token, in hours.
const HOURS: i64 = 8;

/// The message. It is printed to standard output: it contains a token, and tokens do not belong in a log.
pub(super) struct Greeting<'a> {
    pub(super) rest: SocketAddr,
    pub(super) grpc: SocketAddr,
    pub(super) data: &'a str,
    pub(super) data_dir: &'a Path,
    /// The secret that signs tokens, unless another issuer does.
    pub(super) secret: Option<&'a Secret>,
    pub(super) issuer: Option<String>,
}

impl Greeting<'_> {
    /// Prints it. Standard output may be closed.
    pub(super) fn print(&self) {
        let mut out = std::io::stdout().lock();
        let _ = write!(out, "{self}").and_then(|()| out.flush());
    }

    /// A token for the demo company.
    fn token(&self) -> Option<String> {
        let claims = Claims { iss: self.issuer.clone(), ..Claims::new(DEMO_COMPANY, unix_now().ok()?, HOURS * 3600) };
        issue(self.secret?, &claims).ok()
    }
}

impl fmt::Display for Greeting<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rest, grpc, data) = (reachable(self.rest), reachable(self.grpc), self.data);
        let token = self.token();
        let shown = token.as_deref().unwrap_or("'a token of your own issuer'");
        // Response bodies do not end in a line break, so curl adds one for the terminal.
        let curl = r#"curl -sw '\n' -H "Authorization: Bearer $TOKEN""#;
        let json = "-H 'Content-Type: application/json'";
        write!(
            f,
            r#"
The Affiliate Compliance Service is running.

  REST  http://{rest}/api
  gRPC  {grpc}
  Data  {data}

To read about REST and try it: http://{rest}/docs
To look at records: http://{rest}/console

Company {DEMO_COMPANY} is for trying things out. Paste these lines into another terminal:

  TOKEN={shown}
  {curl} http://{rest}/api/affiliates
  {curl} 'http://{rest}/api/cases?per_page=2'
  {curl} {json} -d '{{"urls":[{{"url":"https://example.org/offer"}}]}}' http://{rest}/api/urls

"#
        )?;
        if token.is_some() {
            let program = std::env::current_exe().unwrap_or_else(|_| "compliance".into());
            let (program, data_dir) = (quoted(&program.to_string_lossy()), quoted(&self.data_dir.to_string_lossy()));
            writeln!(
                f,
                "The token is valid for {HOURS} hours. Another one: {program} token --company {DEMO_COMPANY} --data-dir {data_dir}"
            )?;
        }
        writeln!(f, "Ctrl-C stops the service.\n")
    }
}

/// The address under which this machine reaches a server that listens on `address`.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        ip if !ip.is_unspecified() => {}
        IpAddr::V4(_) => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(_) => address.set_ip(Ipv6Addr::LOCALHOST.into()),
    }
    address
}

/// A word, quoted for the shell if necessary.
fn quoted(word: &str) -> String {
    let plain = |character: char| character.is_alphanumeric() || "/._-+@=:".contains(character);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_can_be_pasted() {
        let secret = Secret::new([7; 32]).unwrap();
        let greeting = Greeting {
            rest: "0.0.0.0:8080".parse().unwrap(),
            grpc: "[::]:50051".parse().unwrap(),
            data: "/data",
            data_dir: Path::new("/it's here"),
            secret: Some(&secret),
            issuer: None,
        };
        let text = greeting.to_string();
        assert!(text.contains("http://127.0.0.1:8080/api/affiliates\n") && text.contains("[::1]:50051"), "{text}");
        assert!(text.contains(r"--data-dir '/it'\''s here'"), "{text}");
        assert_eq!(text.matches("\n  curl ").count(), 3);
    }
}

//! The greeting of `--demo`: addresses, a token and commands to try.

use std::{
    borrow::Cow,
    fmt,
    io::Write as _,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::Path,
};

use compliance_api::token::{Claims, Secret, issue};

use fixtures::DEMO_COMPANY;
use runtime::unix_now;

/// How long the token in the greeting is good for, in hours.
const HOURS: i64 = 8;

/// The greeting. It goes to standard output: it holds a token, and tokens do not belong in a log.
pub(super) struct Greeting<'a> {
    pub(super) rest: SocketAddr,
    pub(super) grpc: SocketAddr,
    pub(super) data: String,
    pub(super) data_dir: &'a Path,
    /// What tokens are signed with, when that is for us to do.
    pub(super) secret: Option<&'a Secret>,
    pub(super) issuer: Option<String>,
}

impl Greeting<'_> {
    /// Prints it. Nobody may be there to read it.
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
        let (rest, grpc) = (reachable(self.rest), reachable(self.grpc));
        let token = self.token();
        writeln!(f)?;
        writeln!(f, "The Affiliate Compliance Service is running.")?;
        writeln!(f)?;
        writeln!(f, "  REST  http://{rest}/api")?;
        writeln!(f, "  gRPC  {grpc}")?;
        writeln!(f, "  Data  {}", self.data)?;
        writeln!(f)?;
        writeln!(f, "Company {DEMO_COMPANY} is for trying things out. Paste these lines into another terminal:")?;
        writeln!(f)?;
        writeln!(f, "  TOKEN={}", token.as_deref().unwrap_or("'a token of your own issuer'"))?;
        // Answers do not end in a line break, which a terminal would miss.
        let curl = r#"curl -sw '\n' -H "Authorization: Bearer $TOKEN""#;
        writeln!(f, "  {curl} http://{rest}/api/affiliates")?;
        writeln!(f, "  {curl} 'http://{rest}/api/cases?per_page=2'")?;
        writeln!(
            f,
            r#"  {curl} -H 'Content-Type: application/json' -d '{{"urls":[{{"url":"https://example.org/offer"}}]}}' http://{rest}/api/urls"#
        )?;
        writeln!(f)?;
        if token.is_some() {
            let program = std::env::current_exe().unwrap_or_else(|_| "compliance".into());
            writeln!(
                f,
                "The token is good for {HOURS} hours. Another one: {} token --company {} --data-dir {}",
                quoted(&program.to_string_lossy()),
                DEMO_COMPANY,
                quoted(&self.data_dir.to_string_lossy())
            )?;
        }
        writeln!(f, "Ctrl-C stops the service.")?;
        writeln!(f)
    }
}

/// The address to use on this machine for one that stands for all of its addresses.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        ip if !ip.is_unspecified() => {}
        IpAddr::V4(_) => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(_) => address.set_ip(Ipv6Addr::LOCALHOST.into()),
    }
    address
}

/// A word as a shell takes it.
fn quoted(word: &str) -> Cow<'_, str> {
    let plain = |character: char| character.is_alphanumeric() || "/._-+@=:".contains(character);
    if !word.is_empty() && word.chars().all(plain) {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_can_be_pasted() {
        let secret = Secret::new([7; 32]).unwrap();
        let greeting = Greeting {
            rest: "0.0.0.0:8080".parse().unwrap(),
            grpc: "[::]:50051".parse().unwrap(),
            data: "/data".to_owned(),
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

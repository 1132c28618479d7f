//! Runs a short program to its end, but never longer than allowed.

use std::{
    io::{self, Read},
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

/// How a program ended and what it printed.
pub(crate) struct Finished {
    pub(crate) success: bool,
    /// Standard output and then standard error, as text.
    pub(crate) output: String,
}

/// Runs `command` and gives back what it printed; kills it after `limit`, which is an error of kind `TimedOut`.
///
/// Blocks the thread.
pub(crate) fn run(mut command: Command, limit: Duration) -> io::Result<Finished> {
    let deadline = Instant::now() + limit;
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    // The pipes are read aside: a program that fills one would otherwise wait for us while we wait for it.
    let (out, err) = (collect(child.stdout.take()), collect(child.stderr.take()));
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::new(io::ErrorKind::TimedOut, format!("no end within {} s", limit.as_secs())));
        }
        thread::sleep(Duration::from_millis(5));
    };
    // A grandchild could hold a pipe open for ever; its words are not worth waiting for.
    let patience = Duration::from_secs(1);
    let mut output = out.recv_timeout(patience).unwrap_or_default();
    output.push_str(&err.recv_timeout(patience).unwrap_or_default());
    Ok(Finished { success: status.success(), output })
}

fn collect(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What was read before an error still counts.
            let _ = pipe.read_to_end(&mut bytes);
        }
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receiver
}

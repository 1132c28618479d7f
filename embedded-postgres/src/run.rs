//! Execution of short programs with a time limit.

use std::{
    io::{self, Read},
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

/// The result of a program.
pub(crate) struct Finished {
    pub(crate) success: bool,
    /// Standard output and then standard error, as text.
    pub(crate) output: String,
}

/// Runs `command` and returns its output. Kills it after `limit`, which is an error of kind `TimedOut`.
///
/// Blocks the thread.
pub(crate) fn run(mut command: Command, limit: Duration) -> io::Result<Finished> {
    let deadline = Instant::now() + limit;
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    // The pipes are read by threads: otherwise a program that fills one would never end.
    let (out, err) = (collect(child.stdout.take()), collect(child.stderr.take()));
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("it did not end within {} s", limit.as_secs()),
            ));
        }
        thread::sleep(Duration::from_millis(5));
    };
    // A grandchild could keep a pipe open; its output is not waited for.
    let timeout = Duration::from_secs(1);
    let mut output = out.recv_timeout(timeout).unwrap_or_default();
    output.push_str(&err.recv_timeout(timeout).unwrap_or_default());
    Ok(Finished { success: status.success(), output })
}

fn collect(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // Output before a read error is kept.
            let _ = pipe.read_to_end(&mut bytes);
        }
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receiver
}

use std::{
    sync::{Arc, mpsc},
    time::Duration,
};

use tokio::sync::Semaphore;

use super::{LONG_COMPUTATION, MAX_OFF_THREAD, compute, off_thread, run, run_off_thread};

#[tokio::test]
async fn works_on_a_single_threaded_runtime() {
    assert_eq!(off_thread(|| 5), 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn short_and_excess_computations_run_inline() {
    // The spawned task runs only if the computation frees its worker, which can take a long time on a busy machine.
    fn task(is_left: bool) -> impl FnOnce() -> bool {
        let (sender, receiver) = mpsc::channel();
        tokio::spawn(async move { sender.send(7) });
        let patience = if is_left { Duration::from_mins(1) } else { Duration::from_millis(200) };
        move || receiver.recv_timeout(patience).is_ok()
    }
    for (bytes, is_left) in [(LONG_COMPUTATION, false), (LONG_COMPUTATION + 1, true)] {
        assert_eq!(tokio::spawn(async move { compute(bytes, task(is_left)) }).await.unwrap(), is_left, "{bytes} bytes");
    }
    for (others, is_left) in [(MAX_OFF_THREAD - 1, true), (MAX_OFF_THREAD, false), (0, true)] {
        let running = Arc::new(Semaphore::new(MAX_OFF_THREAD));
        // Runs in its own task, because each computation may hand the worker to another thread.
        let ended = Arc::clone(&running);
        tokio::spawn(async move { (0..MAX_OFF_THREAD).for_each(|_| run(&ended, || ())) }).await.unwrap();
        let computed = tokio::spawn(async move {
            let _others = running.try_acquire_many(others as u32).unwrap();
            run(&running, task(is_left))
        });
        assert_eq!(computed.await.unwrap(), is_left, "with {others} other computations");
    }
}

/// With one worker, a blocking computation would deadlock with the task it waits for.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn other_tasks_run_during_long_computations() {
    let computed = tokio::spawn(async {
        let (sender, receiver) = mpsc::channel();
        tokio::spawn(async move { sender.send(7) });
        run_off_thread(async move { receiver.recv() }, true).await
    });
    assert_eq!(computed.await.unwrap(), Ok(7));
}

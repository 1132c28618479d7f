//! Which threads the system runs first, where those that make load and those that measure share a machine with the service.

use thread_priority::{
    NormalThreadSchedulePolicy, RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

/// Lets this thread run as soon as it has something to do, like a client on another machine. Otherwise what keeps the
/// processors busy delays the measurement by milliseconds, and not only what is measured. Without the right to do so, the
/// thread is scheduled like any other.
pub fn first() {
    set(ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo));
}

/// Lets all other threads run before this one: it takes little of what the service could use.
pub fn last() {
    set(ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Other));
}

/// The lowest priority of a class. That of the real-time class is above all that is not of it.
fn set(class: ThreadSchedulePolicy) {
    let _ = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, class);
}

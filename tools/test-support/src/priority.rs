//! Sets thread priorities for tests that measure a service on the same machine.

use thread_priority::{
    NormalThreadSchedulePolicy, RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

/// Runs this thread before all others, like a client on a different machine.
///
/// Otherwise, busy processors would delay the measuring thread by milliseconds. Without permission, does nothing.
pub fn first() {
    set(ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo));
}

/// Runs this thread after all others, to take little CPU time from the service.
pub fn last() {
    set(ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Other));
}

/// Sets the lowest priority of a class. Every real-time priority is above all normal priorities.
fn set(class: ThreadSchedulePolicy) {
    let _ = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, class);
}

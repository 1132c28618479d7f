//! Large messages that are handed over within a process as they are, instead of being written out and read back.
//!
//! They lie in a [`Slot`] among a request's extensions, which do not leave the process. An answer: the caller puts an
//! empty slot beside its request; a service that finds it puts the answer there, and one that finds none was called over
//! a network and sends the answer as usual. A request: a caller that knows that the service is in its process, and takes
//! messages so, puts the message there and sends an empty one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tonic::{Extensions, Request, Response};

/// A place for a message. Clones are the same place.
#[derive(Debug)]
pub struct Slot<M>(Arc<Mutex<Option<M>>>);

impl<M> Clone for Slot<M> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<M: Default + Send + 'static> Slot<M> {
    /// Puts a slot beside a request.
    pub fn beside<R>(request: &mut Request<R>) -> Self {
        let slot = Self(Arc::default());
        request.extensions_mut().insert(slot.clone());
        slot
    }

    /// The answer: what was put here, or else what was sent.
    pub fn or_sent(self, sent: M) -> M {
        self.content().take().unwrap_or(sent)
    }

    /// Answers with a message: by the slot beside the request, or else by sending it.
    pub fn answer(beside: &Extensions, message: M) -> Response<M> {
        match beside.get::<Self>() {
            Some(slot) => {
                *slot.content() = Some(message);
                Response::new(M::default())
            }
            None => Response::new(message),
        }
    }

    fn content(&self) -> MutexGuard<'_, Option<M>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Puts the message of a request beside it, for a service in this process that takes it by [`message`].
pub fn hand_over<M: Default + Send + 'static>(request: Request<M>) -> Request<M> {
    let (metadata, mut beside, message) = request.into_parts();
    beside.insert(Slot(Arc::new(Mutex::new(Some(message)))));
    Request::from_parts(metadata, beside, M::default())
}

/// The message of a request: what was handed over, or else what was sent.
pub fn message<M: Default + Send + 'static>(beside: &Extensions, sent: M) -> M {
    match beside.get::<Slot<M>>() {
        Some(slot) => slot.clone().or_sent(sent),
        None => sent,
    }
}

#[cfg(test)]
mod tests {
    use tonic::Request;

    use super::{Slot, hand_over, message};

    #[test]
    fn an_answer_is_handed_over_to_who_made_room_for_it_and_sent_to_others() {
        let mut request = Request::new(());
        assert_eq!(Slot::answer(request.extensions(), 7).into_inner(), 7);
        let slot = Slot::<i32>::beside(&mut request);
        let sent = Slot::answer(request.extensions(), 7).into_inner();
        assert_eq!((sent, slot.or_sent(sent)), (0, 7));
    }

    #[test]
    fn what_is_sent_counts_when_nothing_was_handed_over() {
        let mut request = Request::new(());
        assert_eq!(Slot::<i32>::beside(&mut request).or_sent(5), 5);
    }

    #[test]
    fn a_request_is_handed_over_or_sent() {
        let (_, beside, sent) = hand_over(Request::new(7)).into_parts();
        assert_eq!((sent, message(&beside, sent)), (0, 7));
        let (_, beside, sent) = Request::new(7).into_parts();
        assert_eq!(message(&beside, sent), 7);
    }
}

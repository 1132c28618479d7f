//! Generates random plans for interleavings.

use load_test::workload::{LoadRequest, Rng, affiliate};

use crate::calls::Via;

/// Kind of OLD. The kinds cover both sides of each threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    UpdateOne,
    UpdateMany,
    /// Two changes of one affiliate, applied in order in a transaction.
    UpdateInOrder,
    CreateOne,
    CreateFew,
    /// Written with `COPY`.
    CreateMany,
    AddOne,
    AddFew,
    AddMany,
}

/// Why OLD waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// Its company's batches. One of them waits for rows locked by an open transaction.
    Batches,
    /// Its company's long batches, which do not wait.
    LongBatches,
    /// Rows, names or URLs locked by an open transaction.
    Rows,
    /// An advisory lock: for the counts, or for updates in order.
    Advisory,
    /// Permits held by other companies' writes, which wait for locks.
    Permits,
}

/// How OLD's caller disconnects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    /// Closes its connection (REST).
    Disconnect,
    /// Resets its stream (REST over HTTP/2).
    Reset,
    /// Cancels its call (gRPC).
    Cancel,
    /// Receives `DEADLINE_EXCEEDED` (gRPC) after this number of milliseconds.
    Deadline(u64),
    /// Receives 504 (REST).
    Timeout,
}

impl Leave {
    pub(super) fn via(self) -> Via {
        match self {
            Self::Disconnect | Self::Timeout => Via::Rest,
            Self::Reset => Via::Http2,
            Self::Cancel => Via::Grpc,
            Self::Deadline(ms) => Via::Deadline(ms),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) number: u64,
    pub(super) company: i64,
    pub(super) kind: Kind,
    pub(super) wait: Wait,
    pub(super) leave: Leave,
    /// Side of OLD. NEW goes to the other side.
    pub(super) side: usize,
    /// Whether NEW creates a name or URL from OLD.
    pub(super) shared: bool,
    /// Whether NEW is sent over gRPC.
    pub(super) grpc: bool,
    /// Number of items in a long URL request.
    urls: usize,
    /// Pauses, in milliseconds.
    pub(super) pauses: [u64; 3],
}

fn one_of<T: Copy>(chance: &mut Rng, of: &[T]) -> T {
    of[chance.u64(..of.len() as u64) as usize]
}

impl Plan {
    pub(super) fn new(number: u64, chance: &mut Rng) -> Self {
        use Kind::{AddFew, AddMany, AddOne, CreateFew, CreateMany, CreateOne, UpdateInOrder, UpdateMany, UpdateOne};
        let kinds =
            [UpdateOne, UpdateOne, UpdateOne, UpdateMany, UpdateInOrder, CreateOne, CreateFew, AddOne, AddFew, AddMany];
        let mut kind = one_of(chance, &kinds);
        if kind == CreateFew && chance.u64(..4) == 0 {
            kind = CreateMany;
        }
        let mut wait = match chance.u64(..10) {
            0..4 => Wait::Batches,
            4 => Wait::LongBatches,
            5..8 => Wait::Rows,
            8 => Wait::Advisory,
            _ => Wait::Permits,
        };
        let coalesced = matches!(kind, UpdateOne | CreateOne | AddOne | AddFew);
        wait = match wait {
            Wait::Permits if !coalesced => Wait::Batches,
            Wait::LongBatches if kind.is_update() => Wait::Batches,
            Wait::Advisory if !matches!(kind, UpdateInOrder | AddOne | AddFew | AddMany) => Wait::Rows,
            wait => wait,
        };
        let leave = match chance.u64(..5) {
            0 => Leave::Disconnect,
            1 => Leave::Reset,
            2 => Leave::Cancel,
            3 => Leave::Deadline(40 + chance.u64(..200)),
            _ => Leave::Timeout,
        };
        Self {
            number,
            company: 1_000_000 + number as i64,
            kind,
            wait,
            leave,
            side: chance.u64(..2) as usize,
            shared: !kind.is_update() && chance.u64(..3) == 0,
            grpc: chance.u64(..2) == 0,
            urls: 9 + chance.u64(..110) as usize,
            pauses: std::array::from_fn(|_| chance.u64(..40)),
        }
    }

    /// Returns the ID of one of the company's affiliates.
    pub(super) fn id(&self, index: i64) -> i64 {
        self.company * 100 + index
    }

    /// Returns a name or URL locked by an open transaction and needed by one of the company's batches.
    pub(super) fn blocker(&self, index: usize) -> String {
        self.key("blocker", index)
    }

    /// Returns the name or URL of a request item.
    pub(super) fn key(&self, who: &str, index: usize) -> String {
        if self.kind.is_url() {
            format!("https://{who}-{}.example/{index}", self.number)
        } else {
            format!("{who}-{} {index}", self.number)
        }
    }

    /// Returns OLD, or a similar request from another caller for other affiliates.
    pub(super) fn like_old(&self, who: &str, first: i64) -> LoadRequest {
        let (id, notes) = (|index| self.id(first + index), format!("{who}-{}", self.number));
        match self.kind {
            Kind::UpdateOne => LoadRequest::Update { id: id(0), notes },
            Kind::UpdateMany => LoadRequest::BatchUpdate { ids: vec![id(0), id(1), id(2)], notes },
            Kind::UpdateInOrder => LoadRequest::BatchUpdate { ids: vec![id(0), id(1), id(0)], notes },
            Kind::CreateOne | Kind::AddOne => self.creation(who, 1, None),
            Kind::CreateFew | Kind::AddFew => self.creation(who, 3, None),
            Kind::CreateMany => self.creation(who, 500, None),
            Kind::AddMany => self.creation(who, self.urls, None),
        }
    }

    /// Returns NEW, which writes the same records as OLD.
    pub(super) fn new_write(&self) -> LoadRequest {
        let (id, notes) = (self.id(0), format!("new-{}", self.number));
        match self.kind {
            Kind::UpdateOne | Kind::UpdateInOrder => LoadRequest::Update { id, notes },
            Kind::UpdateMany => LoadRequest::BatchUpdate { ids: vec![self.id(1), id], notes },
            Kind::AddMany => self.creation("new", 12, None),
            _ => self.creation("new", 1, None),
        }
    }

    /// Returns one of the company's batches that OLD waits for.
    pub(super) fn own_batch(&self, index: usize) -> LoadRequest {
        let who = format!("own{index}");
        let first = 10 + 5 * index as i64;
        match (self.wait, self.kind.is_update()) {
            (_, true) if self.pauses[0].is_multiple_of(2) => {
                let ids = vec![self.id(first), self.id(first + 1), self.id(first)];
                LoadRequest::BatchUpdate { ids, notes: format!("{who}-{}", self.number) }
            }
            (_, true) => {
                let ids = vec![self.id(first), self.id(first + 1)];
                LoadRequest::BatchUpdate { ids, notes: format!("{who}-{}", self.number) }
            }
            (Wait::LongBatches, false) => self.creation(&who, 300, None),
            _ => self.creation(&who, 9, Some(self.blocker(index))),
        }
    }

    fn creation(&self, who: &str, count: usize, last: Option<String>) -> LoadRequest {
        let is_shared = |index| self.shared && index == 0 && (who == "old" || who == "new");
        let key = |index| self.key(if is_shared(index) { "shared" } else { who }, index);
        let keys = (0..count).map(key).chain(last);
        if self.kind.is_url() {
            return LoadRequest::AddUrls(keys.collect());
        }
        let inputs = keys.enumerate().map(|(index, name)| {
            let mut input = affiliate(self.number, index as u64);
            input.affiliate_name = Some(name);
            input.client_affiliate_id = Some(format!("{who}-{}", self.number));
            input
        });
        let mut inputs = inputs.collect::<Vec<_>>();
        if count == 1 { LoadRequest::Create(Box::new(inputs.remove(0))) } else { LoadRequest::BatchCreate(inputs) }
    }

    /// Returns whether NEW waits for the same lock as OLD.
    pub(super) fn blocks_new(&self) -> bool {
        match self.wait {
            Wait::Rows => self.kind.is_update() || self.shared,
            Wait::Advisory => self.kind.is_url(),
            Wait::Batches | Wait::LongBatches | Wait::Permits => false,
        }
    }
}

impl Kind {
    pub(super) fn is_update(self) -> bool {
        matches!(self, Self::UpdateOne | Self::UpdateMany | Self::UpdateInOrder)
    }

    pub(super) fn is_url(self) -> bool {
        matches!(self, Self::AddOne | Self::AddFew | Self::AddMany)
    }
}

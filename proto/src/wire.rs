//! Encoded requests, measured before they are decoded: two bytes can stand for a thousand in memory.
//!
//! [`measure`] reads the bytes of a message along its [`MessageShape`], which is generated from `proto/`. It accepts what
//! the decoder accepts, so that a malformed request is refused in the contract's words.

mod scan;

pub use scan::measure;

/// The most elements of a list that has no limit of its own beside its field.
pub const MAX_ITEMS: usize = 100_000;

/// What a message takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measure {
    /// Elements of its lists. Those of lists within elements do not count.
    pub items: usize,
    /// Bytes in memory once it is decoded: an upper bound.
    pub bytes: usize,
}

/// A request that knows how much it asks for.
pub trait Items {
    /// Elements of its lists, as [`Measure::items`] counts them.
    fn items(&self) -> usize;
}

impl Items for tonic_health::pb::HealthCheckRequest {
    fn items(&self) -> usize {
        0
    }
}

/// An operation of the contract.
#[derive(Debug)]
pub struct Operation {
    /// `/package.Service/Operation`.
    pub path: &'static str,
    /// The shape of its request.
    pub request: &'static MessageShape,
    /// Whether it takes a stream of requests.
    pub streams: bool,
    /// Whether it changes nothing, so that it may be called again.
    pub is_read: bool,
    /// Who may call it.
    pub authorization: Authorization,
    /// What a call makes the service do.
    pub work: Work,
}

/// Who may call an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authorization {
    /// Anybody.
    Open,
    /// Whoever has a valid token.
    Token,
    /// Whoever has a valid token with this scope.
    Scope(&'static str),
}

/// What a call of an operation makes the service do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A statement of its own, or a part of a coalesced one, by the number of its items.
    ByItems,
    /// A part of a coalesced statement, which reads one record.
    SingleRead,
    /// A statement of its own, which reads many records.
    Page,
}

impl Operation {
    /// The operation at a path. `None` for those of other contracts, such as reflection.
    pub fn at(path: &str) -> Option<&'static Self> {
        let operations = Self::ALL;
        operations.binary_search_by(|operation| operation.path.cmp(path)).ok().map(|index| &operations[index])
    }

    /// Every operation.
    pub fn all() -> &'static [Self] {
        Self::ALL
    }
}

/// What a message consists of.
#[derive(Debug)]
pub struct MessageShape {
    /// Size of the Rust type, in bytes.
    size: usize,
    /// By number.
    fields: &'static [FieldShape],
}

#[derive(Debug)]
struct FieldShape {
    number: u32,
    name: &'static str,
    kind: Kind,
    repeated: bool,
    max_items: Option<usize>,
}

#[derive(Debug)]
enum Kind {
    /// A whole number, a flag or an enum.
    Varint,
    Text,
    Message(&'static MessageShape),
}

impl MessageShape {
    fn field(&self, number: u32) -> Option<&'static FieldShape> {
        // Numbers mostly have no gaps.
        let likely = self.fields.get((number as usize).wrapping_sub(1)).filter(|field| field.number == number);
        likely.or_else(|| self.fields.iter().find(|field| field.number == number))
    }
}

#[allow(clippy::pedantic, reason = "generated")]
mod generated {
    use super::{Authorization, FieldShape, Items, Kind, MessageShape, Operation, Work};

    include!(concat!(env!("OUT_DIR"), "/shapes.rs"));
}

#[cfg(test)]
mod tests {
    use super::Operation;

    /// A gateway calls again what changes nothing.
    #[test]
    fn operations_that_read_are_marked() {
        let reads = ["Get", "BatchGet", "List", "Export", "Check", "BatchRead", "StreamComplianceUrls"];
        for Operation { path, is_read, .. } in Operation::all() {
            let name = path.rsplit('/').next().unwrap();
            assert_eq!(*is_read, reads.iter().any(|read| name.starts_with(read)), "{path}");
        }
    }
}

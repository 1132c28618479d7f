//! What the tests of every crate share: databases, tokens, clients and clean-up.

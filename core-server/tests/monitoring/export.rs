use crate::common::tests;
tests![];

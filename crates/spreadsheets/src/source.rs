//! Defines table sources and row callbacks.

use std::{
    io::{BufReader, Read, Seek},
    ops::ControlFlow,
};

use crate::{error::FileError, row::RawRow};

/// Number of bytes at the start of a file that determine how to read it.
pub(crate) const HEAD: u64 = 64 << 10;

/// Source of a table. A table is read several times.
pub trait Source: Read + Seek + Send {}

impl<T: Read + Seek + Send> Source for T {}

pub(crate) type Input = BufReader<Box<dyn Source>>;

/// Receives each row, and can stop parsing.
pub(crate) type Each<'e> = &'e mut dyn FnMut(RawRow) -> Result<ControlFlow<()>, FileError>;

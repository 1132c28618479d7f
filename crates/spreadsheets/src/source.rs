//! What a file is read from, and who receives its rows.

use std::{
    io::{BufReader, Read, Seek},
    ops::ControlFlow,
};

use crate::{error::FileError, row::RawRow};

/// Bytes at the beginning of a file that determine how it is read.
pub(crate) const HEAD: u64 = 64 << 10;

/// What a table is read from. It is read several times.
pub trait Source: Read + Seek + Send {}

impl<T: Read + Seek + Send> Source for T {}

pub(crate) type Input = BufReader<Box<dyn Source>>;

/// Receives each row. It can end the reading.
pub(crate) type Each<'e> = &'e mut dyn FnMut(RawRow) -> Result<ControlFlow<()>, FileError>;

//! Encodes values as composite types. Finds attributes by name, and writes them in the database's catalog order.

use std::{
    borrow::{Borrow, Cow},
    collections::HashMap,
    sync::Arc,
};

use sqlx::{
    Encode, Postgres, Type,
    encode::IsNull,
    error::BoxDynError,
    postgres::{PgArgumentBuffer, PgTypeInfo, types::Oid},
};

use crate::limits::SAMPLE;

/// Encodes one attribute of a value.
type Write<T> = Box<dyn Fn(&T, &mut Encoder<'_>) -> Result<(), BoxDynError> + Send + Sync>;

/// An attribute of a composite type for values of type `T`.
pub struct Attribute<T> {
    /// Attribute name.
    pub name: &'static str,
    /// SQL type, as PostgreSQL's `format_type` writes it.
    pub(super) sql_type: Cow<'static, str>,
    pub(super) write: Write<T>,
}

/// A composite database type for values of type `T`.
pub struct Composite<T> {
    pub(super) name: &'static str,
    /// Attributes known to the program.
    pub attributes: Vec<Attribute<T>>,
}

/// Layouts of composite types, by name.
#[derive(Debug, Default)]
pub struct Layouts(pub(super) HashMap<&'static str, Layout>);

/// Attributes of a type, in the database's order.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) oid: Oid,
    pub(super) array_oid: Oid,
    /// Type of each attribute, and its index among the attributes known to the program.
    pub(super) attributes: Vec<(Oid, Option<usize>)>,
}

impl<T: 'static> Composite<T> {
    /// Creates a type. Attribute order does not matter.
    pub fn new(name: &'static str, attributes: impl IntoIterator<Item = Attribute<T>>) -> Self {
        Self { name, attributes: attributes.into_iter().collect() }
    }
}

/// Writes values in PostgreSQL's binary format.
pub(super) struct Encoder<'b> {
    pub(super) buffer: &'b mut PgArgumentBuffer,
    pub(super) layouts: &'b Layouts,
}

impl Encoder<'_> {
    /// Writes a length-prefixed value, or null.
    pub(super) fn value<'q, V: Encode<'q, Postgres>>(&mut self, value: Option<V>) -> Result<(), BoxDynError> {
        match value {
            None => {
                self.buffer.extend_from_slice(&(-1_i32).to_be_bytes());
                Ok(())
            }
            Some(value) => self.with_length(|encoder| {
                // Values encoded here are never null.
                value.encode_by_ref(encoder.buffer).map(|_| ())
            }),
        }
    }

    /// Writes a length-prefixed array of a composite type.
    pub(super) fn array<U: 'static>(
        &mut self,
        composite: &'static Composite<U>,
        values: &[U],
    ) -> Result<(), BoxDynError> {
        self.with_length(|encoder| encoder.write_array(composite, values.iter()))
    }

    pub(super) fn write_array<'v, T: 'v>(
        &mut self,
        composite: &'static Composite<T>,
        values: impl ExactSizeIterator<Item = &'v T>,
    ) -> Result<(), BoxDynError> {
        let layouts = self.layouts;
        let layout = layouts.0.get(composite.name).ok_or_else(|| format!("unknown type {}", composite.name))?;
        let dimensions = i32::from(values.len() > 0);
        self.number(dimensions);
        self.number(0); // No element is null.
        self.oid(layout.oid);
        if dimensions == 0 {
            return Ok(());
        }
        self.number(i32::try_from(values.len())?);
        self.number(1); // Index of the first element.
        let (start, count) = (self.buffer.len(), values.len());
        for (index, value) in values.enumerate() {
            if index == SAMPLE {
                // Growing the buffer by doubling would copy it several times, into pages that the system must clear.
                let each = (self.buffer.len() - start) / SAMPLE;
                self.buffer.reserve(each * (count - SAMPLE) * 9 / 8);
            }
            self.with_length(|encoder| {
                encoder.number(i32::try_from(layout.attributes.len())?);
                for (type_oid, known) in &layout.attributes {
                    encoder.oid(*type_oid);
                    match known.and_then(|index| composite.attributes.get(index)) {
                        Some(known) => (known.write)(value, encoder)?,
                        // A later version of the service added this attribute.
                        None => encoder.value(None::<i64>)?,
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    fn with_length(&mut self, write: impl FnOnce(&mut Self) -> Result<(), BoxDynError>) -> Result<(), BoxDynError> {
        let start = self.buffer.len();
        self.number(0);
        write(self)?;
        let length = i32::try_from(self.buffer.len() - start - size_of::<i32>())?;
        self.buffer[start..start + size_of::<i32>()].copy_from_slice(&length.to_be_bytes());
        Ok(())
    }

    fn number(&mut self, number: i32) {
        self.buffer.extend_from_slice(&number.to_be_bytes());
    }

    fn oid(&mut self, oid: Oid) {
        self.buffer.extend_from_slice(&oid.0.to_be_bytes());
    }
}

impl<T: 'static> Composite<T> {
    /// Returns values, or references to them, as an array of the type.
    pub fn batch<'r, V: Borrow<T>>(&'static self, layouts: &Arc<Layouts>, values: &'r [V]) -> Batch<'r, T, V> {
        Batch { composite: self, layouts: Arc::clone(layouts), values }
    }
}

/// Values sent as one array of a composite type.
pub struct Batch<'r, T: 'static, V> {
    composite: &'static Composite<T>,
    layouts: Arc<Layouts>,
    values: &'r [V],
}

impl<T, V> Type<Postgres> for Batch<'_, T, V> {
    /// The type has only an OID, which [`Encode::produces`] returns.
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(Oid(0))
    }
}

impl<T, V: Borrow<T>> Encode<'_, Postgres> for Batch<'_, T, V> {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        Encoder { buffer, layouts: &self.layouts }
            .write_array(self.composite, self.values.iter().map(Borrow::borrow))?;
        Ok(IsNull::No)
    }

    fn produces(&self) -> Option<PgTypeInfo> {
        self.layouts.0.get(self.composite.name).map(|layout| PgTypeInfo::with_oid(layout.array_oid))
    }
}

//! Batches: many values sent as one array of a composite type.

use std::{borrow::Borrow, sync::Arc};

use sqlx::{
    Encode, Postgres, Type,
    encode::IsNull,
    error::BoxDynError,
    postgres::{PgArgumentBuffer, PgTypeInfo, types::Oid},
};

use super::encoder::{Composite, Encoder, Layouts};

impl<T: 'static> Composite<T> {
    /// Values, or references to them, to be bound as one array of the type.
    pub fn batch<'r, V: Borrow<T>>(&'static self, layouts: &Arc<Layouts>, values: &'r [V]) -> Batch<'r, T, V> {
        Batch { composite: self, layouts: Arc::clone(layouts), values }
    }
}

pub struct Batch<'r, T: 'static, V> {
    composite: &'static Composite<T>,
    layouts: Arc<Layouts>,
    values: &'r [V],
}

impl<T, V> Type<Postgres> for Batch<'_, T, V> {
    /// The type is known by its OID alone, which [`Encode::produces`] has.
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

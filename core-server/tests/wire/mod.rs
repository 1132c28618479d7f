//! What goes over the database's wire: one round trip an operation, counted between the service and a real PostgreSQL.

mod round_trips;

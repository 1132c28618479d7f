//! Round trips to the database: one for each operation, counted between the service and a real PostgreSQL.

mod round_trips;

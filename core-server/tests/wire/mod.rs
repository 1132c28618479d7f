//! Database round trips, counted between the service and a real PostgreSQL.

mod round_trips;

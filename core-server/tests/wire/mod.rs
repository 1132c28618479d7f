//! Counts database round trips between the service and a real PostgreSQL server.

mod round_trips;

//! Tests that mount file systems. Containers usually lack this right.

mod full_disk;
mod name_servers;

//! Tests that mount file systems. Containers usually lack this privilege.

mod full_disk;
mod name_servers;

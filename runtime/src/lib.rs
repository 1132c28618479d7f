//! What every program of the service needs once: settings, logging, signals, keys and an orderly shutdown.

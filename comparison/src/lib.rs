//! Measures the service beside peers and bare baselines in the same run.

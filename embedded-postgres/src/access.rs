//! A cluster as a program sees it that does not care who runs it.

use crate::{cluster::Cluster, endpoint::Endpoint, error::Error};

/// The way a program got to a cluster: see [`Cluster::connect_or_start`].
#[derive(Debug)]
pub enum Access {
    /// Another process runs it.
    Running(Endpoint),
    /// This process has started it and has to stop it; programs that connected meanwhile lose it then.
    Started(Cluster),
}

impl Access {
    /// Where the cluster is reached.
    pub fn endpoint(&self) -> &Endpoint {
        match self {
            Self::Running(endpoint) => endpoint,
            Self::Started(cluster) => cluster.endpoint(),
        }
    }

    /// Stops the cluster if this process started it.
    pub async fn release(self) -> Result<(), Error> {
        match self {
            Self::Running(_) => Ok(()),
            Self::Started(cluster) => cluster.stop().await,
        }
    }
}

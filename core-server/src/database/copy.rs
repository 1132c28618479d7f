//! Rows that are copied into a table.

use super::{Connections, Unavailable};
use crate::table::Rows;

impl Connections {
    /// Copies rows into a table, all of them or none. They are encoded while the server takes those before them.
    pub(crate) async fn copy<'r, T: 'static, const IDS: usize>(
        &self,
        mut rows: Rows<'_, T, impl Iterator<Item = ([i64; IDS], &'r T)>, IDS>,
    ) -> Result<(), sqlx::Error> {
        let mut lease = self.lease().await?;
        let given_up = lease.given_up();
        // The server of a connection that is let go half way would wait for more rows.
        let connection = lease.transaction()?;
        let copying = async {
            let statement = rows.statement().to_owned();
            let mut copy = connection.copy_in_raw(&statement).await?;
            while let Some(part) = rows.next_part()? {
                copy.send(part).await?;
            }
            copy.finish().await.map(|_| ())
        };
        let result = tokio::select! {
            biased;
            result = copying => result,
            () = given_up => return Err(Unavailable::Hung.into()),
        };
        if let Err(sqlx::Error::Database(_)) = result {
            lease.transaction_ended();
        }
        lease.done(&result);
        result
    }
}

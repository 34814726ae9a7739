//! Where a server says that a table is cut: the ranges on Partita's admin port, `GET /admin/v1/ranges`.
//!
//! It is a help, not a need: a scan whose split points are wrong or missing returns the same rows. So whatever is not understood in
//! the answer is passed over.

use crate::admin::{AdminError, AdminPort, Ranges};
use std::sync::Arc;
use std::time::Duration;

/// For the whole answer: a scan goes on without.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The PartitionKeys at which ranges begin within a table, in the server's order. `admin` is the admin port's URL,
/// `http://host:port`.
///
/// # Errors
/// [`AdminError`].
pub async fn split_points(
    admin: &str,
    account: &str,
    table: &str,
) -> Result<Vec<String>, AdminError> {
    let port = AdminPort::new(admin, Arc::default())?.within(TIMEOUT);
    let ranges: Ranges = port.page("/admin/v1/ranges").await?.read()?;
    let starts = ranges.ranges.into_iter().filter_map(|range| range.start);
    let within = starts.filter(|start| {
        let is_table = |name: &String| name.eq_ignore_ascii_case(table);
        start.account.as_deref() == Some(account) && start.table.as_ref().is_some_and(is_table)
    });
    Ok(within.filter_map(|start| start.partition_key).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    /// What is made of an answer.
    async fn points(answer: &'static str) -> Result<Vec<String>, AdminError> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let serve = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = [0; 64];
            let length = stream.read(&mut head).await.unwrap();
            assert!(head[..length].starts_with(b"GET /admin/v1/ranges HTTP/1.0\r\n"));
            stream.write_all(answer.as_bytes()).await.unwrap();
        };
        tokio::join!(split_points(&url, "a", "People"), serve).0
    }

    #[tokio::test]
    async fn only_starts_within_the_table_count() {
        let answer = concat!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n",
            r#"{"map_version":3,"ranges":[{"id":1,"start":null},"#,
            r#"{"id":2,"start":{"account":"a","table":"people","partition_key":"m"}},"#,
            r#"{"id":3,"start":{"account":"a","table":null,"partition_key":"n"}},"#,
            r#"{"id":4,"start":{"account":"b","table":"people","partition_key":"o"}},"#,
            r#"{"id":5,"start":{"account":"a","table":"people"}},{"id":6}]}"#,
        );
        assert_eq!(points(answer).await.unwrap(), ["m"]);
    }

    #[tokio::test]
    async fn other_answers() {
        for answer in [
            "",
            "HTTP/1.1 404 Not Found\r\n\r\n{\"ranges\":[]}",
            "HTTP/1.1 200 OK\r\n\r\n{}",
        ] {
            let refused = points(answer).await;
            assert!(matches!(refused, Err(AdminError::Strange(_))), "{answer}");
        }
    }
}

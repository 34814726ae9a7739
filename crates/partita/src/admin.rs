//! Asks the admin port of a server: a request, an answer in JSON, no more. For verbs of operators, who are on the server's machine
//! or have a tunnel to it.

use std::io::{Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::{Arg, ArgMatches};
use serde_json::Value;

/// The name of the argument.
const ADMIN: &str = "admin";

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The longest action waits for a flush of every range.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);

/// How often a job is asked after.
const POLL: Duration = Duration::from_millis(100);

/// The argument that says where the admin port is.
pub(crate) fn argument() -> Arg {
    Arg::new(ADMIN)
        .long(ADMIN)
        .value_name("URL")
        .default_value("http://127.0.0.1:10010")
        .help("The server's admin port")
}

/// The admin port of a server.
#[derive(Debug)]
pub(crate) struct Admin {
    /// Host and port.
    authority: String,
}

impl Admin {
    /// The one that was named.
    ///
    /// # Errors
    /// No URL of an admin port.
    pub(crate) fn of(matches: &ArgMatches) -> anyhow::Result<Admin> {
        let url = matches.get_one::<String>(ADMIN).map(String::as_str);
        let url = url.unwrap_or_default();
        let authority = url
            .strip_prefix("http://")
            .map(|rest| rest.trim_end_matches('/'));
        let authority = authority.filter(|rest| rest.contains(':') && !rest.contains('/'));
        let authority = authority.with_context(|| {
            format!("--admin takes a URL such as http://127.0.0.1:10010, not {url}")
        })?;
        Ok(Admin {
            authority: authority.to_owned(),
        })
    }

    /// A page.
    ///
    /// # Errors
    /// Nobody there, or the server's refusal.
    pub(crate) fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.ask("GET", path, "")
    }

    /// An action.
    ///
    /// # Errors
    /// Nobody there, or the server's refusal.
    pub(crate) fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.ask("POST", path, &body.to_string())
    }

    /// An action that starts a job, and what came of it.
    ///
    /// # Errors
    /// Nobody there, the server's refusal, or why the job failed.
    pub(crate) fn job(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        let mut job = self.post(path, body)?;
        let id = job.get("id").and_then(Value::as_u64).context("no job")?;
        loop {
            match job.get("state").and_then(Value::as_str) {
                Some("running") => std::thread::sleep(POLL),
                Some("done") => return Ok(job.get("result").cloned().unwrap_or_default()),
                _ => bail!("{}", text(&job, "error")),
            }
            job = self.get(&format!("/admin/v1/jobs/{id}"))?;
        }
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> anyhow::Result<Value> {
        let authority = &self.authority;
        let nobody = || format!("no admin port answers at http://{authority}");
        let mut addresses = authority.to_socket_addrs().with_context(nobody)?;
        let stream = addresses
            .find_map(|address| TcpStream::connect_timeout(&address, CONNECT_TIMEOUT).ok());
        let mut stream = stream.with_context(nobody)?;
        stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        stream.set_write_timeout(Some(ANSWER_TIMEOUT))?;
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {authority}\r\nX-Partita-Admin: 1\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        let mut answer = String::new();
        stream
            .write_all(request.as_bytes())
            .and_then(|()| stream.read_to_string(&mut answer))
            .with_context(|| format!("the admin port at http://{authority} broke off"))?;
        let strange = || format!("what answers at http://{authority} is no admin port");
        let (head, body) = answer.split_once("\r\n\r\n").with_context(strange)?;
        let status = head.split(' ').nth(1).with_context(strange)?;
        let body: Value = serde_json::from_str(body).with_context(strange)?;
        if !status.starts_with('2') {
            let error = body.get("error").with_context(strange)?;
            bail!("{} ({})", text(error, "message"), text(error, "code"));
        }
        Ok(body)
    }
}

/// A member that is a text.
pub(crate) fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value
        .get(member)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

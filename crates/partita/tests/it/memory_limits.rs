//! The server under a limit of its address space (`ulimit -v`) or of its cgroup: it refuses requests and does not end.

use std::ffi::OsStr;
use std::io::Write as _;
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::thread;

use crate::memory_group::MemoryGroup;
use crate::process::{Server, command_at};
use crate::request::{JSON, exchange, get_page, http_date_now, signed};

/// The limit of the address space, in KiB. The program and its threads take about a third of it.
const LIMIT_KIB: &str = "600000";

/// The limit of the cgroup.
const GROUP_BYTES: u64 = 600_000_000;

/// Clients that write at the same time.
const WRITERS: usize = 8;
/// Batches of each client. All clients together write about 300 MB.
const BATCHES: usize = 12;

/// Entities of a batch.
const ENTITIES: usize = 100;
/// Bytes of an entity: a batch has 3 MB.
const ENTITY_BYTES: usize = 30_000;

/// Clients that ask for a page and do not read it. The pages together take 1 GB.
const READERS: usize = 250;

/// A server on a directory, started by a shell after `limit`, a command with the argument `$0`.
fn serve_after(limit: &str, argument: &OsStr, directory: &Path) -> Command {
    let mut command = command_at(Path::new("sh"));
    command.arg("-c").arg(format!("{limit} && exec \"$@\""));
    command.arg(argument).arg(env!("CARGO_BIN_EXE_partita"));
    command.args(["serve", "--table-port", "0", "--location"]);
    command.arg(directory);
    command
}

fn start_in_address_space(directory: &Path) -> Server {
    let mut command = serve_after("ulimit -v $0", OsStr::new(LIMIT_KIB), directory);
    Server::start_command(command.args(["--admin-port", "0"]))
}

fn start_in_group(group: &MemoryGroup, directory: &Path) -> Server {
    let processes = group.processes_file();
    let mut command = serve_after("echo $$ > \"$0\"", processes.as_os_str(), directory);
    Server::start_command(command.args(["--admin-port", "0"]))
}

/// A client with one connection.
struct Client {
    address: String,
    date: String,
    stream: TcpStream,
}

impl Client {
    fn connect(address: &str, date: &str) -> Self {
        Self {
            address: address.to_owned(),
            date: date.to_owned(),
            stream: TcpStream::connect(address).unwrap(),
        }
    }

    fn request(&self, method: &str, path: &str, headers: &str, body: &str) -> Vec<u8> {
        signed(&self.address, &self.date, (method, path), headers, body)
    }

    /// Sends a request; returns head and body of the answer. Connects again if the server closes the connection after
    /// the answer.
    fn send(&mut self, method: &str, path: &str, headers: &str, body: &str) -> (String, String) {
        let request = self.request(method, path, headers, body);
        let (head, body) = exchange(&mut self.stream, &request).unwrap();
        if head.to_ascii_lowercase().contains("connection: close") {
            self.stream = TcpStream::connect(&self.address).unwrap();
        }
        (head, body)
    }

    fn create_table(&mut self) {
        let (head, body) = self.send("POST", "Tables", JSON, "{\"TableName\":\"Tab\"}");
        assert!(head.starts_with("HTTP/1.1 201 "), "{head}{body}");
    }

    fn get(&mut self, partition: &str, row: usize) -> String {
        let path = format!("Tab(PartitionKey='{partition}',RowKey='{row:03}')");
        self.send("GET", &path, "", "").0
    }

    /// Writes a batch; returns whether it was committed. If not, the server must have said why.
    fn write_batch(&mut self, partition: &str) -> bool {
        let body = batch(&self.address, partition);
        let kind = "Content-Type: multipart/mixed; boundary=batch\r\n";
        let (head, answer) = self.send("POST", "$batch", kind, &body);
        if answer.matches("HTTP/1.1 204 ").count() == ENTITIES {
            return true;
        }
        let both = format!("{head}\r\n{answer}");
        assert!(both.contains("HTTP/1.1 503 "), "{both}");
        assert!(both.contains("x-partita-reason: "), "{both}");
        false
    }
}

/// A batch that writes a partition.
fn batch(address: &str, partition: &str) -> String {
    let entity = format!("{{\"A\":\"{}\"}}", "a".repeat(ENTITY_BYTES));
    let mut body = "--batch\r\nContent-Type: multipart/mixed; boundary=changes\r\n\r\n".to_owned();
    for row in 0..ENTITIES {
        body += &format!(
            "--changes\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
             PUT http://{address}/devstoreaccount1/Tab(PartitionKey='{partition}',RowKey='{row:03}') HTTP/1.1\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{entity}\r\n",
            entity.len()
        );
    }
    body + "--changes--\r\n\r\n--batch--\r\n"
}

fn partition(writer: usize, batch: usize) -> String {
    format!("{writer}-{batch}")
}

/// Writes large batches as fast as possible. The server serves or refuses them, and lives on, also after a kill.
fn write_large_batches(start: impl Fn(&Path) -> Server) {
    let directory = tempfile::tempdir().unwrap();
    let mut server = start(directory.path());
    let (address, date) = (server.table(), http_date_now());
    Client::connect(&address, &date).create_table();
    let write = |writer: usize| {
        let mut client = Client::connect(&address, &date);
        let batches = 0..BATCHES;
        batches
            .filter(|batch| client.write_batch(&partition(writer, *batch)))
            .map(|batch| partition(writer, batch))
            .collect::<Vec<_>>()
    };
    let write = &write;
    let committed = thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| scope.spawn(move || write(writer)))
            .collect();
        let committed = writers.into_iter().map(|writer| writer.join().unwrap());
        committed.collect::<Vec<_>>().concat()
    });
    assert!(committed.len() >= WRITERS, "{committed:?}");
    let check = |address: &str| {
        let mut client = Client::connect(address, &date);
        for partition in &committed {
            let head = client.get(partition, ENTITIES - 1);
            assert!(head.starts_with("HTTP/1.1 200 "), "{partition}: {head}");
        }
    };
    check(&address);
    // The start reads the whole log under the same limit.
    server.kill();
    let server = start(directory.path());
    check(&server.table());
    assert_eq!(server.end("-TERM").0, 0);
}

/// Asks for large pages and does not read them. The server serves other clients, and lives on.
fn hold_large_pages(start: impl Fn(&Path) -> Server) {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path());
    let (address, date) = (server.table(), http_date_now());
    let mut client = Client::connect(&address, &date);
    client.create_table();
    for batch in 0..2 {
        assert!(client.write_batch(&partition(0, batch)));
    }
    let small = "Tab(PartitionKey='small',RowKey='007')";
    let (head, body) = client.send("PUT", small, JSON, "{}");
    assert!(head.starts_with("HTTP/1.1 204 "), "{head}{body}");
    let page = client.request("GET", "Tab()", "", "").repeat(2);
    let readers: Vec<_> = (0..READERS)
        .map(|_| {
            let mut stream = TcpStream::connect(&address).unwrap();
            stream.write_all(&page).unwrap();
            // Another client, which reads its answers, still gets its entity. A larger one could need memory that the
            // others hold.
            let head = client.get("small", 7);
            assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
            stream
        })
        .collect();
    let (head, _) = client.send("GET", "Tab()", "", "");
    let is_refused = head.starts_with("HTTP/1.1 503 ") && head.contains("x-partita-reason: memory");
    assert!(is_refused || head.starts_with("HTTP/1.1 200 "), "{head}");
    drop(readers);
    assert_eq!(server.end("-TERM").0, 0);
}

#[test]
fn in_a_small_address_space_large_batches_do_not_end_the_server() {
    write_large_batches(start_in_address_space);
}

#[test]
fn in_a_small_address_space_unread_pages_do_not_end_the_server() {
    hold_large_pages(start_in_address_space);
}

#[test]
fn in_a_small_cgroup_large_batches_do_not_end_the_server() {
    match MemoryGroup::create(GROUP_BYTES) {
        Ok(group) => write_large_batches(|directory| start_in_group(&group, directory)),
        Err(reason) => println!("skipped: {reason}"),
    }
}

#[test]
fn in_a_small_cgroup_unread_pages_do_not_end_the_server() {
    match MemoryGroup::create(GROUP_BYTES) {
        Ok(group) => hold_large_pages(|directory| start_in_group(&group, directory)),
        Err(reason) => println!("skipped: {reason}"),
    }
}

#[test]
fn bodies_and_answers_get_a_quarter_of_the_cgroup() {
    match MemoryGroup::create(GROUP_BYTES) {
        Ok(group) => check_budget(&group),
        Err(reason) => println!("skipped: {reason}"),
    }
}

fn check_budget(group: &MemoryGroup) {
    let directory = tempfile::tempdir().unwrap();
    let processes = group.processes_file();
    let server = Server::start_command_with_admin(|| {
        serve_after("echo $$ > \"$0\"", processes.as_os_str(), directory.path())
    });
    let url = server.admin();
    let (_, metrics) = get_page(url.strip_prefix("http://").unwrap(), "/metrics");
    let expected = format!(
        "\npartita_memory_in_flight_max_bytes {}\n",
        group.limit() / 4
    );
    assert!(metrics.contains(&expected), "{expected}{metrics}");
    assert_eq!(server.end("-TERM").0, 0);
}

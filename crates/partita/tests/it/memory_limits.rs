//! The server under a limit of its address space (`ulimit -v`): it refuses requests and does not end.

use std::io::Write as _;
use std::net::TcpStream;
use std::path::Path;
use std::thread;

use crate::process::{Server, command_at};
use crate::request::{JSON, exchange, http_date_now, signed};

/// The limit of the address space, in KiB. The program and its threads take about a third of it.
const LIMIT_KIB: &str = "600000";

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

fn start(directory: &Path) -> Server {
    let mut command = command_at(Path::new("sh"));
    let script = "ulimit -v $0 && exec \"$@\"";
    let program = env!("CARGO_BIN_EXE_partita");
    command.args(["-c", script, LIMIT_KIB, program, "serve"]);
    command.args(["--table-port", "0", "--admin-port", "0", "--location"]);
    command.arg(directory);
    Server::start_command(&mut command)
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

#[test]
fn a_stream_of_large_batches_is_served_or_refused_and_the_server_lives_on() {
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

#[test]
fn clients_that_ask_for_large_pages_and_do_not_read_do_not_end_the_server() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path());
    let (address, date) = (server.table(), http_date_now());
    let mut client = Client::connect(&address, &date);
    client.create_table();
    for batch in 0..2 {
        assert!(client.write_batch(&partition(0, batch)));
    }
    let page = client.request("GET", "Tab()", "", "").repeat(2);
    let readers: Vec<_> = (0..READERS)
        .map(|_| {
            let mut stream = TcpStream::connect(&address).unwrap();
            stream.write_all(&page).unwrap();
            // Another client, which reads its answers, still gets its entity.
            let head = client.get("0-1", 7);
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

//! Tests of commands through HTTP proxies: the variables and the flag that choose the proxy.

use std::net::TcpListener;

use crate::gate::Gate;
use crate::process::{Server, command, read};

/// Exit code and stderr of a command that lists tables, with these variables.
fn list(connection: &str, flags: &str, variables: &[(&str, &str)]) -> (i32, String) {
    let mut command = command();
    command
        .args(["table", "list", "--retries", "0", "--connection-string"])
        .arg(connection)
        .args(flags.split_whitespace());
    for name in ["http_proxy", "https_proxy", "all_proxy", "no_proxy"] {
        command
            .env_remove(name)
            .env_remove(name.to_ascii_uppercase());
    }
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let (code, _, talk) = read(output);
    (code, talk)
}

#[test]
fn variables_and_the_flag_choose_the_proxy() {
    let mut server = Server::start(&["--in-memory"]);
    let here = server.line();
    // The gate forwards bytes. It can serve as a proxy, because the server accepts requests with absolute URLs.
    let proxy = Gate::before(&server.table(), usize::MAX);
    let proxy = format!("http://{}", proxy.address());
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let dead = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    let far = here.replace(&server.table(), "tables.invalid:10002");
    assert_ne!(far, here);

    let (code, talk) = list(&far, "", &[]);
    assert_eq!(code, 2, "the host does not exist: {talk}");
    for name in ["http_proxy", "HTTP_PROXY", "all_proxy"] {
        let (code, talk) = list(&far, "", &[(name, &proxy)]);
        assert_eq!(code, 1, "there are no tables: {talk}");
    }
    let spared = [
        ("http_proxy", proxy.as_str()),
        ("no_proxy", "tables.invalid"),
    ];
    assert_eq!(list(&far, "", &spared).0, 2);
    assert_eq!(list(&far, "--proxy none", &[("http_proxy", &proxy)]).0, 2);
    let flag = format!("--proxy {proxy}");
    assert_eq!(list(&far, &flag, &[("http_proxy", &dead)]).0, 1);

    assert_eq!(
        list(&here, "", &[("http_proxy", &dead)]).0,
        1,
        "the proxy of the variable is not used for this machine"
    );
    let (code, talk) = list(&here, &format!("--proxy {dead}"), &[]);
    assert_eq!(
        code, 2,
        "the proxy of the flag is used for this machine too"
    );
    assert!(talk.contains(&dead), "{talk}");
    let (code, talk) = list(&here, "--proxy socks5://x", &[]);
    assert_eq!(code, 2);
    assert!(talk.contains("http://name:password@host:port"), "{talk}");
}

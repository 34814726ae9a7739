//! Runs the example of a program that migrates when it starts, and finds its code in the documents.

use crate::server;

#[path = "../../examples/at_start.rs"]
#[allow(dead_code, reason = "the test does not call `main`")]
mod program;

#[tokio::test]
async fn two_instances_start_at_the_same_time() {
    let server = server::start(&[]).await;
    let text = server::connection_string(&server);
    let (first, second) = tokio::join!(program::start(&text), program::start(&text));
    for staff in [first.unwrap(), second.unwrap()] {
        let keiko = staff.get_entity("O'Brien", "Keiko").await.unwrap();
        assert_eq!(keiko.get("Age"), Some(&39.into()));
    }
    server.stop().await;
}

#[test]
fn the_documents_have_the_code_of_the_example() {
    let example = include_str!("../../examples/at_start.rs");
    let (_, from) = example.split_once("type Failure").unwrap();
    let (code, _) = from.split_once("\n#[tokio::main]").unwrap();
    let code = code.split_once("\n\n").unwrap().1.trim_end();
    assert!(code.starts_with("/// All migrations") && code.ends_with('}'));
    for (name, text) in [
        ("README.md", include_str!("../../README.md")),
        (
            "docs/migrations.md",
            include_str!("../../../../docs/migrations.md"),
        ),
    ] {
        // `pub(crate)` is for the test above.
        let code = code.replace("pub(crate) ", "");
        assert!(text.contains(&code), "{name} has other code");
    }
}

//! Golden scripts: commands, and below each the actions of the controller.
//!
//! A script is a list of blocks: command lines, a line `---`, the expected actions, and an empty line. Lines that begin
//! with `#` are comments. `UPDATE_GOLDEN=1 cargo nextest run -p partita-cluster` rewrites the expected lines; review
//! the diff.

mod world;

use std::path::Path;
use world::World;

/// Runs a script and compares its actions.
fn check(name: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/controller/scripts");
    let path = folder.join(format!("{name}.txt"));
    let expected = std::fs::read_to_string(&path).unwrap();
    let found = run(&expected);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, found).unwrap();
    } else {
        assert_eq!(
            found, expected,
            "in {name}.txt; UPDATE_GOLDEN=1 rewrites it"
        );
    }
}

/// Returns the script with the actual actions of its commands.
fn run(script: &str) -> String {
    let (mut world, mut found) = (World::new(), String::new());
    let mut is_output = false;
    for line in script.lines() {
        match line {
            "---" => {
                is_output = true;
                found.push_str("---\n");
                for done in world.take_output() {
                    found.push_str(&format!("{done}\n"));
                }
            }
            "" => {
                is_output = false;
                found.push('\n');
            }
            _ if is_output => {}
            command => {
                if !command.starts_with('#') {
                    world.command(command);
                }
                found.push_str(&format!("{command}\n"));
            }
        }
    }
    found
}

macro_rules! scripts {
    ($($name:ident),* $(,)?) => {
        $(
            #[test]
            fn $name() {
                check(stringify!($name));
            }
        )*
    };
}

scripts! {
    start,
    split,
    merge,
    refused,
    failed_change,
    unrecorded_rollback,
    change_lock,
    deletion,
    pins,
    balancing,
    broken_action,
}

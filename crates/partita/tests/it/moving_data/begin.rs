//! Transfers and migrations that cannot begin, were interrupted, or only try.

use super::{Files, done, has_table, kill_at, refused, rows};
use crate::process::read;
use crate::tools::World;

/// B5: a run takes over the lease of a process of this machine that has died, and says so. Other leases block it, with
/// the remedy in the message. The owner has a name without the variables of a shell, too.
#[cfg(target_os = "linux")]
#[test]
fn b5_a_dead_run_does_not_block_migrations() {
    let (world, files) = (World::new(), Files::new());
    let step = |table: &str| format!("[[up]]\noperation = \"create_table\"\ntable = \"{table}\"\n");
    let file = format!(
        "version = 1\nid = \"one\"\n{}{}",
        step("tab1"),
        step("tab2")
    );
    files.write("1.toml", file);
    let up = format!("migrate up --yes --directory {}", files.path(""));
    // The plan, the version table, two for the lease, the records, the record of the migration; then the first step.
    kill_at(&world, &world.gate(6), &up);
    let status = format!("migrate status --directory {}", files.path(""));
    let talk = done(&world, &status);
    assert!(
        talk.starts_with("1 migration, 0 to run, 1 unfinished, "),
        "{talk}"
    );

    let mut command = world.command(&up);
    for name in ["USER", "LOGNAME", "HOSTNAME"] {
        command.env_remove(name);
    }
    let (code, _, talk) = read(command.output().unwrap());
    assert_eq!(code, 0, "{talk}");
    let taken = " has ended without releasing its lease; taking the lease over\n";
    assert!(talk.contains(taken), "{talk}");
    assert!(has_table(&world, "tab2"));
    let (_, data, _) = world.run(&status);
    assert!(data.contains("\"who\":\"user "), "{data}");
    assert!(
        data.contains(" at ") && data.contains(", process "),
        "{data}"
    );

    let lease = "entity insert versionData lease lease Who=Dukat Seconds:int32=3600";
    done(&world, lease);
    files.write(
        "2.toml",
        format!("version = 2\nid = \"two\"\n{}", step("tab3")),
    );
    let talk = refused(&world, &up);
    assert!(talk.contains("Dukat is running migrations"), "{talk}");
    assert!(
        talk.contains("or, if that process has died, with --take-over"),
        "{talk}"
    );
}

/// B6: an interrupted export starts again with `--restart`, as imports and copies do.
#[test]
fn b6_export_restarts() {
    let (world, files) = (World::new(), Files::new());
    world.fill("many", &[("a", 300), ("b", 100)]);
    for to in ["parts", "rows.csv"] {
        let line = format!(
            "export many {} --part-rows 40 --page-rows 20 --jobs 1",
            files.path(to)
        );
        kill_at(&world, &world.gate(10), &line);
        let talk = refused(&world, &line);
        let expected = "has an interrupted export: --resume resumes it, --restart starts again";
        assert!(talk.contains(expected), "{talk}");
        // Other arguments do not matter: nothing of the interrupted run is used.
        let talk = done(&world, &format!("{line} --restart --prefix a"));
        assert!(talk.starts_with("300 rows in "), "{talk}");
        let table = to.replace('.', "");
        done(
            &world,
            &format!("import {} {table} --create-table", files.path(to)),
        );
        assert_eq!(world.run(&format!("count {table}")).1, "300\n");
        // A finished export is not discarded, but overwritten.
        let talk = refused(&world, &format!("{line} --restart"));
        let expected = "already exists: --overwrite replaces it";
        assert!(talk.contains(expected), "{talk}");
        let overwrite = format!("{line} --overwrite --prefix b");
        let talk = refused(&world, &overwrite);
        assert!(talk.contains("add --yes to overwrite "), "{talk}");
        let talk = done(&world, &format!("{overwrite} --yes"));
        assert!(talk.starts_with("100 rows in "), "{talk}");
        let import = format!("import {} {table}", files.path(to));
        let talk = done(&world, &format!("{import} --mode skip"));
        assert!(talk.starts_with("100 rows written, "), "{talk}");
        let talk = done(&world, &format!("{import} --overwrite --dry-run"));
        assert!(talk.contains(", 100 of them exist, "), "{talk}");
    }
    assert_eq!(files.names(), ["parts", "rows.csv"]);
}

/// B9: a dry run looks at the target: whether the table is there, and which rows are.
#[test]
fn b9_dry_runs_look_at_the_target() {
    let (world, files) = (World::new(), Files::new());
    let path = files.write("rows.jsonl", rows(0..250));
    let import = |flags: &str| format!("import {path} target --dry-run {flags}");
    let talk = refused(&world, &import(""));
    assert!(
        talk.contains("the target table target does not exist: --create-table creates it"),
        "{talk}"
    );
    let talk = done(&world, &import("--create-table"));
    let expected = "250 rows would be written in 3 requests, table target would be created, ";
    assert!(talk.starts_with(expected), "{talk}");
    assert!(!has_table(&world, "target"));

    let part = files.write("part.jsonl", rows(100..150));
    done(&world, &format!("import {part} target --create-table"));
    let talk = refused(&world, &import(""));
    assert!(
        talk.contains("RowKey \"00100\" already exists: --mode skip keeps existing rows"),
        "{talk}"
    );
    for (mode, expected) in [
        (
            "skip",
            "200 rows would be written in 3 requests, 50 skipped, ",
        ),
        (
            "merge",
            "250 rows would be written in 3 requests, 50 of them exist, ",
        ),
    ] {
        let talk = done(&world, &import(&format!("--mode {mode}")));
        assert!(talk.starts_with(expected), "{talk}");
    }
    assert_eq!(world.run("count target").1, "50\n");
    // An export looks at its destination.
    for (to, expected) in [
        (&*part, "already exists"),
        (&files.path("no/x.csv"), "not found"),
    ] {
        let talk = refused(&world, &format!("export target {to} --dry-run"));
        assert!(talk.contains(expected), "{talk}");
    }
    let talk = refused(&world, "log append missing web --dry-run");
    assert!(
        talk.contains("table missing does not exist; --create-table creates it"),
        "{talk}"
    );
}

/// B10: nothing is left behind by what never began: no table, no file, no advice to resume.
#[test]
fn b10_what_cannot_begin_leaves_nothing() {
    let (world, files) = (World::new(), Files::new());
    done(&world, "table create some");
    let talk = refused(&world, "copy nosuch2 zz3 --create-table");
    assert!(
        talk.contains("cannot read the source table: table nosuch2 does not exist at http://"),
        "{talk}"
    );
    let bad = files.write("bad.jsonl", "{bad\n");
    refused(&world, &format!("import {bad} zz3 --create-table"));
    assert!(!has_table(&world, "zz3"));

    for to in ["nos.csv", "nos"] {
        let talk = refused(&world, &format!("export nosuch2 {}", files.path(to)));
        assert!(talk.contains("table nosuch2 does not exist at"), "{talk}");
        assert!(!talk.contains("--resume"), "{talk}");
    }
    // A path that cannot be written, also for root.
    for to in ["/proc/x.csv", &format!("{bad}/x.csv")] {
        let talk = refused(&world, &format!("export some {to}"));
        assert!(talk.contains(to) && !talk.contains("--resume"), "{talk}");
        assert!(!talk.contains(".partial"), "{talk}");
    }
    assert_eq!(files.names(), ["bad.jsonl"]);
    assert_eq!(world.states(), 0);
}

/// B11: no directory is made that was not asked for.
#[test]
fn b11_directories_are_not_made_unasked() {
    let (world, files) = (World::new(), Files::new());
    done(&world, "table create some");
    for to in ["missing/x.csv", "missing/parts"] {
        let talk = refused(&world, &format!("export some {}", files.path(to)));
        let expected = format!(": directory {} not found", files.path("missing"));
        assert!(talk.contains(&expected), "{talk}");
    }
    let state = files.path("missing/state.json");
    let line = format!("copy some other --create-table --state {state}");
    let talk = refused(&world, &line);
    assert!(talk.contains(&state), "{talk}");
    assert_eq!(files.names(), [""; 0]);
    // The last directory of an export is what the user asked for.
    done(&world, &format!("export some {}", files.path("parts")));
    assert_eq!(files.names(), ["parts"]);
}

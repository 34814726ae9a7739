//! Formats of files, and what reading partitions costs.

use std::path::Path;

use super::{Files, done, refused, rows};
use crate::tools::World;

/// B20: arrays, gzip and other delimiters are read; a directory that is not an export is called so.
#[test]
fn b20_more_files_are_imported() {
    let (world, files) = (World::new(), Files::new());
    done(&world, "table create some");
    done(
        &world,
        &format!("import {} some", files.write("rows.jsonl", rows(0..5))),
    );
    let (_, array, _) = world.run("scan some -o json");
    assert!(array.starts_with('['), "{array}");
    let gzip = |name: &str, text: &str| {
        let path = files.write(name, text);
        let packed = std::process::Command::new("gzip").arg(&path).status();
        assert!(packed.unwrap().success());
        format!("{path}.gz")
    };
    let csv = "PartitionKey;RowKey;N;N@type\np;00000;0;Edm.Int32\n";
    let paths = [
        files.write("array.json", &array),
        gzip("packed.json", &array),
        gzip("packed.jsonl", &rows(0..5)),
        gzip("packed.csv", csv),
        files.write("semi.csv", csv),
        files.write("tab.csv", csv.replace(';', "\t")),
        files.write("odd.csv", csv.replace(';', "~")) + " --delimiter ~",
    ];
    for (number, path) in paths.iter().enumerate() {
        let table = format!("copy{number}");
        done(&world, &format!("import {path} {table} --create-table"));
        let same = world.run(&format!("entity get {table} p 00000 --select N -o csv"));
        assert_eq!(
            same.1,
            world.run("entity get some p 00000 --select N -o csv").1,
            "{path}"
        );
    }
    assert_eq!(world.run("diff some copy0").0, 0);
    let talk = refused(&world, &format!("import {} some", files.path("")));
    assert!(
        talk.contains("has no _manifest.json, so it is not an export"),
        "{talk}"
    );
    let talk = refused(&world, &format!("import {} some", files.path("odd.csv")));
    assert!(
        talk.contains("missing column PartitionKey") && talk.contains("--delimiter"),
        "{talk}"
    );
    let talk = refused(
        &world,
        &format!("import {} some --delimiter ;", files.path("array.json")),
    );
    assert!(
        talk.contains("--delimiter is for CSV files, not for json"),
        "{talk}"
    );
}

/// B21: partitions of some hundred rows cost far fewer bytes than all keys.
#[test]
fn b21_partitions_cost_less_than_all_keys() {
    let world = World::new();
    done(&world, "table create many");
    let row = |partition: usize, row: usize| {
        format!("{{\"PartitionKey\":\"p{partition:02}\",\"RowKey\":\"{row:05}\"}}\n")
    };
    let rows: String = (0..40)
        .flat_map(|partition| (0..290).map(move |at| row(partition, at)))
        .collect();
    let files = Files::new();
    done(
        &world,
        &format!("import {} many", files.write("rows.jsonl", rows)),
    );
    let kib = |line: &str| {
        let talk = done(&world, line);
        let bytes = talk.split(", ").nth(2).unwrap().to_owned();
        let (number, unit) = bytes.split_once(' ').unwrap();
        let number: f64 = number.parse().unwrap();
        match unit {
            "KiB" => number,
            "MiB" => number * 1024.0,
            _ => panic!("{talk}"),
        }
    };
    let (partitions, all) = (kib("partitions many"), kib("count many"));
    assert!(partitions * 2.0 < all, "{partitions} KiB of {all} KiB");
}

/// The note on Timestamp: an export for analysis has neither Timestamp nor the columns that only an import needs.
#[test]
fn exports_for_analysis_are_plain() {
    let (world, files) = (World::new(), Files::new());
    done(&world, "table create some");
    done(&world, "entity insert some p r Age:int32=42");
    let path = files.path("plain.csv");
    done(
        &world,
        &format!("export some {path} --no-timestamp --plain"),
    );
    let text = std::fs::read_to_string(Path::new(&path)).unwrap();
    assert_eq!(text, "PartitionKey,RowKey,Age\r\np,r,42\r\n");
    let (_, data, _) = world.run("export some - --no-timestamp");
    assert_eq!(
        data,
        "{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"Age\":42}\n"
    );
    let talk = refused(&world, "export some - --plain");
    assert!(
        talk.contains("--plain is for csv and parquet, not for jsonl"),
        "{talk}"
    );
    // An export that leaves out columns is another export.
    let parts = files.path("parts");
    done(&world, &format!("export some {parts} --no-timestamp"));
    let talk = refused(&world, &format!("export some {parts} --resume"));
    assert!(
        talk.contains("has an export with other arguments"),
        "{talk}"
    );
    done(&world, &format!("import {parts} copied --create-table"));
}

//! `partita-cluster-model [PREFIX] [--trace]`: explores every case, prints states, depth and time of each, and fails when one
//! shows something else than the table of results says.

#![allow(clippy::print_stdout, reason = "prints results")]

use std::{process::ExitCode, time::Instant};

use partita_cluster_model::{Expected, Outcome, cases};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let trace = arguments.iter().any(|argument| argument == "--trace");
    let prefix = arguments
        .iter()
        .find(|argument| !argument.starts_with("--"))
        .map_or("", String::as_str);
    let start = Instant::now();
    let (mut states, mut count, mut unexpected) = (0, 0, 0);
    for case in cases()
        .iter()
        .filter(|case| case.name().starts_with(prefix))
    {
        let outcome = case.run();
        let met = outcome.meets(case.expected);
        let mark = if met { "" } else { "  UNEXPECTED" };
        println!(
            "{:70} {:>9} states  depth {:>3}  {:>5.1} s  {}{mark}",
            case.name(),
            outcome.states,
            outcome.depth,
            outcome.time.as_secs_f32(),
            summary(&outcome, case.expected),
        );
        if trace || !met {
            for (property, steps) in &outcome.failures {
                println!("    {property}: {}", steps.join(" > "));
            }
        }
        states += outcome.states;
        count += 1;
        unexpected += usize::from(!met);
    }
    println!(
        "{count} cases, {states} states, {:.1} s, {unexpected} unexpected",
        start.elapsed().as_secs_f32()
    );
    // A misspelt prefix must not pass.
    if unexpected == 0 && count > 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// What came out, in a few words.
fn summary(outcome: &Outcome, expected: Expected) -> String {
    if !outcome.complete {
        return "not explored to the end".into();
    }
    match (expected, outcome.failures.first()) {
        (Expected::Recovers, None) => "recovers".into(),
        (_, None) => "holds".into(),
        (_, Some(_)) => {
            let failures: Vec<_> = outcome
                .failures
                .iter()
                .map(|(property, steps)| format!("{property} in {} steps", steps.len()))
                .collect();
            format!("fails: {}", failures.join(", "))
        }
    }
}

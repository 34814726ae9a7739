//! `partita hot`: the hottest partitions, and whether a split can help.

use super::{Asking, DEFAULT_ACCOUNT, number, printed_whole, say_all, tenths};
use crate::error::{End, Failure};
use crate::output::{Output, Shape, Shown};
use crate::progress::many;
use clap::{Arg, ArgMatches, Command, value_parser};
use partita_client::ValueRef;
use partita_tools::admin::{Hot, HotPartition, Place, SplitAdvice};
use std::collections::BTreeSet;

pub(crate) fn command() -> Command {
    Command::new("hot")
        .about("List the hottest partitions: rates, share of their range, and whether a split can help")
        .arg(
            Arg::new("limit")
                .long("limit")
                .short('n')
                .value_name("N")
                .value_parser(value_parser!(u16).range(1..=1000))
                .default_value("20")
                .help("How many, 1 to 1,000"),
        )
}

pub(crate) async fn run(matches: &ArgMatches) -> Result<End, Failure> {
    let Asking { port, talk } = Asking::of(matches)?;
    let limit = matches.get_one::<u16>("limit").copied().unwrap_or(20);
    let answer = port.page(&format!("/admin/v1/hot?limit={limit}")).await?;
    let hot: Hot = answer.read()?;
    if !printed_whole(matches, &answer)? {
        let mut output = Output::of(matches, Shape::Rows, None);
        for partition in &hot.partitions {
            show(partition, &hot.splits, &mut output)?;
        }
        output.end()?;
        say_all(&advice(&hot));
    }
    let found = hot.partitions.len() as u64;
    talk.end(&many(found, "partition", "partitions"));
    Ok(End::of_count(found))
}

fn show(hot: &HotPartition, splits: &[SplitAdvice], output: &mut Output) -> Result<(), Failure> {
    let place = hot.partition.clone().unwrap_or_default();
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let (account, table, key) = (
        text(&place.account),
        text(&place.table),
        text(&place.partition_key),
    );
    let rate = |rate: Option<f64>| ValueRef::Double(tenths(rate.unwrap_or_default()));
    let microseconds = |us: Option<u64>| number(us.unwrap_or_default());
    let share = (hot.share * 1000.0).round() / 10.0;
    output.row(&Shown::Record(&[
        ("Table", ValueRef::String(&table)),
        ("PartitionKey", ValueRef::String(&key)),
        ("Range", number(hot.range)),
        ("SharePercent", ValueRef::Double(share)),
        ("Reads", rate(hot.reads_per_second)),
        ("Writes", rate(hot.writes_per_second)),
        ("Rows", rate(hot.rows_per_second)),
        ("BytesIn", rate(hot.bytes_in_per_second)),
        ("BytesOut", rate(hot.bytes_out_per_second)),
        ("Throttled", rate(hot.throttled_per_second)),
        ("P50Us", microseconds(hot.p50_us)),
        ("P99Us", microseconds(hot.p99_us)),
        ("Split", ValueRef::String(split_word(hot, splits))),
        ("Account", ValueRef::String(&account)),
    ]))
}

/// Whether a split helps, in a word or three.
pub(crate) fn split_word(hot: &HotPartition, splits: &[SplitAdvice]) -> &'static str {
    let of_range = splits.iter().find(|split| split.range == hot.range);
    match of_range.map_or("", |split| split.advice.as_str()) {
        _ if hot.split_helps => "helps",
        "one_hot_partition" | "grows_at_one_end" => "cannot help",
        _ => "not needed",
    }
}

/// What is to be said about splits and about tables that grow at one end.
pub(crate) fn advice(hot: &Hot) -> Vec<String> {
    let splits = hot.splits.iter().filter_map(|split| {
        let (at, share) = (split.at.as_ref()?, split.share? * 100.0);
        let range = split.range;
        match split.advice.as_str() {
            "cut" => Some(format!(
                "range {range}: a split before {at} leaves {share:.0} % of its load on the left: {}",
                split_command(range, at)
            )),
            "one_hot_partition" => Some(format!(
                "range {range}: {at} alone has {share:.0} % of its load, and a partition is never cut: spread its rows over more PartitionKeys"
            )),
            "grows_at_one_end" => Some(format!(
                "range {range}: {share:.0} % of its load is at the end at which table {at} grows, and goes where that goes: no split shares it out"
            )),
            _ => None,
        }
    });
    let growth = hot.growth.iter().filter_map(|growth| {
        let (table, advice) = (growth.table.as_ref()?, growth.advice.as_ref()?);
        Some(format!("table {table}: {advice}"))
    });
    // A table that lies in several ranges is told about once.
    let growth: BTreeSet<String> = growth.collect();
    let unsplit = (hot.no_split_key > 0).then(|| {
        let times = many(hot.no_split_key, "time", "times");
        format!("no split key was found {times} for a range that stayed hot or large")
    });
    splits.chain(growth).chain(unsplit).collect()
}

/// The command that makes the split, for a shell.
fn split_command(range: u64, at: &Place) -> String {
    let quoted = |text: &Option<String>| {
        let text = text.as_deref().unwrap_or_default();
        format!("'{}'", text.replace('\'', "'\\''"))
    };
    // The account that everybody has need not be named.
    let account = at
        .account
        .as_deref()
        .filter(|account| *account != DEFAULT_ACCOUNT);
    let account = account.map(|_| format!(" --account {}", quoted(&at.account)));
    format!(
        "partita admin split {range}{} --table {} --at {}",
        account.unwrap_or_default(),
        quoted(&at.table),
        quoted(&at.partition_key)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_names_the_command_and_tells_of_a_table_once() {
        let place = Place {
            account: Some("acct".to_owned()),
            table: Some("people".to_owned()),
            partition_key: Some("O'Brien".to_owned()),
            table_id: None,
        };
        let split = |range, advice: &str| SplitAdvice {
            range,
            advice: advice.to_owned(),
            at: Some(place.clone()),
            share: Some(0.416),
        };
        let growth = partita_tools::admin::Growth {
            table: Some("people".to_owned()),
            advice: Some("vary the key".to_owned()),
            ..Default::default()
        };
        let hot = Hot {
            splits: vec![
                split(3, "cut"),
                split(4, "one_hot_partition"),
                split(5, "not_enough_load"),
                SplitAdvice {
                    at: Some(Place {
                        partition_key: None,
                        ..place.clone()
                    }),
                    ..split(6, "grows_at_one_end")
                },
            ],
            growth: vec![growth.clone(), growth],
            no_split_key: 2,
            ..Default::default()
        };
        let said = advice(&hot);
        assert_eq!(said.len(), 5, "{said:#?}");
        assert!(said[0].starts_with("range 3: a split before people 'O''Brien' leaves 42 %"));
        assert!(said[0].ends_with(
            r"partita admin split 3 --account 'acct' --table 'people' --at 'O'\''Brien'"
        ));
        assert!(said[1].contains("alone has 42 %") && said[4].contains("2 times"));
        assert!(
            said[2].starts_with("range 6: 42 % of its load")
                && said[2].contains("table people grows")
        );
        assert_eq!(said[3], "table people: vary the key");
        let partition = HotPartition {
            range: 6,
            ..Default::default()
        };
        assert_eq!(split_word(&partition, &hot.splits), "cannot help");
    }
}

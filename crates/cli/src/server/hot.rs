//! `partita hot`: the hottest partitions, and whether a split can help.

use super::DEFAULT_ACCOUNT;
use super::ranges::missing;
use crate::args::admin_port::flag_for;
use crate::prelude::*;
use crate::screen::{wrap, wrap_command};
use clap::value_parser;
use partita_tools::admin::AdminPort;
use partita_wire::admin::{AdviceKind, Hot, HotPartition, NamedKey, SplitAdvice};
use std::collections::BTreeSet;
use std::fmt;

/// List the hottest partitions: rates, share of their range, and whether a split can help
#[derive(clap::Args)]
pub(crate) struct HotCommand {
    /// Partitions to list, 1 to 1,000
    #[arg(long, short = 'n', value_name = "N", value_parser = value_parser!(u16).range(1..=1000), default_value_t = 20)]
    limit: u16,
    #[command(flatten)]
    output: OutputArgs,
}

impl AdminPortCommand for HotCommand {
    async fn run(self, port: AdminPort, progress: Progress) -> CommandResult {
        let page = port.hot(self.limit).await?;
        let hot = &page.document;
        self.output
            .write_document(&page.text, Shape::Rows, |output| {
                let mut partitions = hot.partitions.iter();
                partitions.try_for_each(|it| write_partition(it, &hot.splits, output))
            })?;
        if !self.output.is_json() {
            let admin = flag_for(&port);
            advice(hot, &admin)
                .iter()
                .for_each(|advice| message(&advice.to_string()));
            let missing = missing(&hot.missing);
            missing.iter().for_each(|note| message(note));
        }
        let found = hot.partitions.len() as u64;
        progress.finish_count(found, "partition", "partitions")
    }
}

fn write_partition(
    hot: &HotPartition,
    splits: &[SplitAdvice],
    output: &mut Output,
) -> Result<(), CommandError> {
    let key = hot.partition.clone().unwrap_or_default();
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let (account, table) = (text(&key.account), text(&key.table));
    let partition_key = text(&key.partition_key);
    let rates = &hot.rates;
    let rate = |rate: Option<f64>| Field::Rate(rate.unwrap_or_default());
    let byte_rate = |rate: Option<f64>| Field::ByteRate(rate.unwrap_or_default());
    let latency = |us: Option<u64>| Field::Latency(us.unwrap_or_default());
    // The last columns are left out on a narrow terminal.
    output.record(&[
        ("table", Field::text(&table)),
        ("PartitionKey", Field::text(&partition_key)),
        ("range", Field::id(hot.range)),
        ("share_percent", Field::tenths(hot.share * 100.0)),
        ("reads", rate(rates.reads_per_second)),
        ("writes", rate(rates.writes_per_second)),
        ("p99_us", latency(hot.latency.p99_us)),
        ("split", Field::text(split_word(hot, splits))),
        ("throttled", rate(rates.throttled_per_second)),
        ("p50_us", latency(hot.latency.p50_us)),
        ("rows", rate(rates.rows_per_second)),
        ("bytes_in", byte_rate(rates.bytes_in_per_second)),
        ("bytes_out", byte_rate(rates.bytes_out_per_second)),
        ("account", Field::text(&account)),
    ])
}

/// That nothing needs a split.
pub(super) const NOT_NEEDED: &str = "not needed";

/// Whether a split helps, in a few words.
pub(super) fn split_word(hot: &HotPartition, splits: &[SplitAdvice]) -> &'static str {
    let of_range = splits.iter().find(|split| split.range == hot.range);
    match of_range.map(|split| &split.advice) {
        _ if hot.split_helps => "helps",
        Some(AdviceKind::OneHotPartition | AdviceKind::GrowsAtOneEnd) => "cannot help",
        _ => NOT_NEEDED,
    }
}

/// What an operator can do.
#[derive(Debug)]
pub(super) struct Advice {
    text: String,
    /// The command that does it.
    command: Option<String>,
}

impl From<String> for Advice {
    fn from(text: String) -> Self {
        let command = None;
        Self { text, command }
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        let mut command = self.command.iter();
        command.try_for_each(|command| write!(f, ": {command}"))
    }
}

impl Advice {
    /// Lines of at most `width` columns. The command has its own, and runs as it is printed.
    pub(super) fn lines(&self, width: usize) -> Vec<String> {
        let Some(command) = &self.command else {
            return wrap(&self.text, width, 2);
        };
        let mut lines = wrap(&format!("{}:", self.text), width, 2);
        let command = wrap_command(command, width.saturating_sub(2), 4);
        lines.extend(command.iter().map(|line| format!("  {line}")));
        lines
    }
}

/// Advice on splits, and on tables that grow at one end. Its commands end in `admin`, the flag of the admin port.
pub(super) fn advice(hot: &Hot, admin: &str) -> Vec<Advice> {
    let splits = hot.splits.iter();
    let splits = splits.filter_map(|split| split_advice(split, admin));
    let growth = hot.growth.iter().filter_map(|growth| {
        let (table, advice) = (growth.table.as_ref()?, growth.advice.as_ref()?);
        Some(format!("table {table}: {advice}"))
    });
    // A table in several ranges is named once.
    let growth: BTreeSet<String> = growth.collect();
    let unsplit = (hot.no_split_key > 0).then(|| {
        let times = many(hot.no_split_key, "time", "times");
        format!(
            "{times}, balancing found no key at which to split a range that stayed hot or large"
        )
    });
    let texts = growth.into_iter().chain(unsplit);
    splits.chain(texts.map(Advice::from)).collect()
}

/// The advice on a range; `None` if the range has too little load. Also `None` for a dropped table: the server deletes
/// its rows, and no command can name it.
fn split_advice(split: &SplitAdvice, admin: &str) -> Option<Advice> {
    let at = split.at.as_ref().filter(|at| at.table.is_some())?;
    let (range, share) = (split.range, split.share? * 100.0);
    let text = match split.advice {
        AdviceKind::Cut => {
            let what = format!("a split before {at} leaves {share:.0} % of its load on the left");
            return Some(Advice {
                text: format!("range {range}: {what}"),
                command: Some(split_command(range, at, admin)),
            });
        }
        AdviceKind::OneHotPartition => format!(
            "{at} alone has {share:.0} % of its load, and a partition is never split: spread its rows over more PartitionKeys"
        ),
        AdviceKind::GrowsAtOneEnd => format!(
            "{share:.0} % of its load is at the growing end of table {at}, which moves with each insert: no split can divide it"
        ),
        AdviceKind::NotEnoughLoad | AdviceKind::Other(_) => return None,
    };
    Some(format!("range {range}: {text}").into())
}

/// The command of the split, for a shell. With `=`, a key may begin with a hyphen.
fn split_command(range: u64, at: &NamedKey, admin: &str) -> String {
    let quoted = |text: &Option<String>| {
        let text = text.as_deref().unwrap_or_default();
        format!("'{}'", text.replace('\'', "'\\''"))
    };
    // The flag is optional for the default account.
    let account = match at.account.as_deref() {
        None | Some(DEFAULT_ACCOUNT) => String::new(),
        Some(_) => format!(" --account {}", quoted(&at.account)),
    };
    format!(
        "partita admin split {range}{account} --table {} --at={}{admin}",
        quoted(&at.table),
        quoted(&at.partition_key)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::tests::lines_of_table;
    use partita_wire::admin::{GrowthAdvice, GrowthPattern};
    use unicode_width::UnicodeWidthStr as _;

    fn people() -> NamedKey {
        NamedKey {
            account: Some("acct".to_owned()),
            table: Some("people".to_owned()),
            partition_key: Some("O'Brien".to_owned()),
            ..NamedKey::default()
        }
    }

    fn split(range: u64, advice: AdviceKind) -> SplitAdvice {
        SplitAdvice {
            range,
            advice,
            at: Some(people()),
            share: Some(0.416),
        }
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let json = include_str!("../../../wire/src/admin/golden/hot.json");
        let mut hot: Hot = serde_json::from_str(json).unwrap();
        for partition in &mut hot.partitions {
            partition.partition = Some(people());
            partition.rates.bytes_in_per_second = Some(123_456_789.0);
        }
        for width in [60, 80, 120] {
            let lines = lines_of_table(width, |output| {
                let mut partitions = hot.partitions.iter();
                partitions.try_for_each(|it| write_partition(it, &hot.splits, output))
            });
            assert!(lines.len() > 1 && lines[0].trim_start().starts_with("table"));
            assert!(lines.iter().all(|line| line.width() <= width), "{lines:#?}");
        }
    }

    #[test]
    fn advice_has_the_command_and_names_a_table_once() {
        let growth = GrowthAdvice {
            range: 3,
            account: None,
            table: Some("people".to_owned()),
            pattern: GrowthPattern::AppendOnly,
            end_share: 1.0,
            advice: Some("vary the key".to_owned()),
        };
        let hot = Hot {
            splits: vec![
                split(3, AdviceKind::Cut),
                split(4, AdviceKind::OneHotPartition),
                split(5, AdviceKind::NotEnoughLoad),
                SplitAdvice {
                    at: Some(NamedKey {
                        partition_key: None,
                        ..people()
                    }),
                    ..split(6, AdviceKind::GrowsAtOneEnd)
                },
            ],
            growth: vec![growth.clone(), growth],
            no_split_key: 2,
            ..Hot::default()
        };
        let advice = advice(&hot, " --admin http://h:1");
        let lines = advice[0].lines(60);
        assert_eq!(
            lines[2..],
            [
                r"  partita admin split 3 --account 'acct' --table 'people' \",
                r"      --at='O'\''Brien' --admin http://h:1",
            ]
        );
        let advice: Vec<String> = advice.iter().map(ToString::to_string).collect();
        assert_eq!(advice.len(), 5, "{advice:#?}");
        assert!(advice[0].starts_with("range 3: a split before people 'O''Brien' leaves 42 %"));
        assert!(advice[0].ends_with(
            r"partita admin split 3 --account 'acct' --table 'people' --at='O'\''Brien' --admin http://h:1"
        ));
        assert!(advice[1].contains("alone has 42 %") && advice[4].contains("2 times"));
        assert!(
            advice[2].starts_with("range 6: 42 % of its load")
                && advice[2].contains("the growing end of table people")
        );
        assert_eq!(advice[3], "table people: vary the key");
        let partition = HotPartition {
            range: 6,
            ..HotPartition::default()
        };
        assert_eq!(split_word(&partition, &hot.splits), "cannot help");
    }

    /// B2: no command names a dropped table.
    #[test]
    fn b2_a_dropped_table_gets_no_advice() {
        let mut cut = split(4, AdviceKind::Cut);
        cut.at = Some(NamedKey {
            table: None,
            ..people()
        });
        let hot = Hot {
            splits: vec![cut],
            ..Hot::default()
        };
        assert!(advice(&hot, "").is_empty());
    }
}

//! `partita service properties show|set`: logging and metrics, which Azure collects. Partita and Azurite store these
//! settings, and have logs and metrics of their own.

use super::{OnService, RunOnService, Service};
use crate::args::choice;
use crate::prelude::*;
use clap::builder::TypedValueParser;
use partita_client::{Logging, Metrics, ServiceProperties, ValueRef};

commands! {
    pub(crate) enum PropertiesCommand {
        Show(OnService<ShowCommand>), Set(OnService<SetCommand>),
    }
}

/// Show logging, metrics, and the number of CORS rules
#[derive(clap::Args)]
pub(crate) struct ShowCommand {
    #[command(flatten)]
    output: OutputArgs,
}

impl RunOnService for ShowCommand {
    async fn run(self, service: Service, progress: Progress) -> CommandResult {
        let ServiceProperties {
            logging,
            hour_metrics,
            minute_metrics,
            cors,
        } = service.properties().await?;
        let logged = logged(&logging);
        let days = [
            logging.retention_days,
            hour_metrics.retention_days,
            minute_metrics.retention_days,
        ];
        let [logging_days, hour_days, minute_days] = days.map(days_field);
        self.output.write(Shape::Single, |output| {
            output.record(&[
                ("logging", Field::text(&logged)),
                ("logging_days", logging_days),
                ("hour_metrics", Field::text(level(&hour_metrics))),
                ("hour_metrics_days", hour_days),
                ("minute_metrics", Field::text(level(&minute_metrics))),
                ("minute_metrics_days", minute_days),
                ("cors_rules", Field::count(cors.len() as u64)),
            ])
        })?;
        progress.finish("1 service", Outcome::Done)
    }
}

/// What is logged, as `--logging` reads it.
fn logged(logging: &Logging) -> String {
    let all = [
        (logging.read, "read"),
        (logging.write, "write"),
        (logging.delete, "delete"),
    ];
    let words = all.into_iter().filter(|(is_on, _)| *is_on);
    let words: Vec<&str> = words.map(|(_, word)| word).collect();
    match words.is_empty() {
        true => "none".to_owned(),
        false => words.join(","),
    }
}

/// What metrics there are, as `--hour-metrics` reads it.
fn level(metrics: &Metrics) -> &'static str {
    match (metrics.enabled, metrics.include_apis) {
        (false, _) => "off",
        (true, Some(true)) => "apis",
        (true, _) => "service",
    }
}

/// How long data is kept, in days; `none` for ever.
fn days_field(days: Option<u16>) -> Field<'static> {
    match days {
        Some(days) => Field::Plain(ValueRef::Int32(days.into())),
        None => Field::text("none"),
    }
}

/// Change logging and metrics; what has no flag stays
#[derive(clap::Args)]
pub(crate) struct SetCommand {
    /// What is logged: read, write and delete, or `none`
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = ["read", "write", "delete", "none"])]
    logging: Vec<String>,
    /// How long logs are kept: 1 to 365 days, or `none` for ever
    #[arg(long, value_name = "DAYS", value_parser = days)]
    logging_days: Option<Days>,
    /// Metrics by the hour: off, of the service, or also of each API
    #[arg(long, value_name = "LEVEL", value_parser = levels())]
    hour_metrics: Option<Level>,
    /// How long metrics by the hour are kept: 1 to 365 days, or `none` for ever
    #[arg(long, value_name = "DAYS", value_parser = days)]
    hour_metrics_days: Option<Days>,
    /// Metrics by the minute: off, of the service, or also of each API
    #[arg(long, value_name = "LEVEL", value_parser = levels())]
    minute_metrics: Option<Level>,
    /// How long metrics by the minute are kept: 1 to 365 days, or `none` for ever
    #[arg(long, value_name = "DAYS", value_parser = days)]
    minute_metrics_days: Option<Days>,
}

/// A number of days, or `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Days(Option<u16>);

fn days(text: &str) -> Result<Days, String> {
    if text == "none" {
        return Ok(Days(None));
    }
    let days = text.trim_end_matches('d').parse().ok();
    let days = days.filter(|days| (1..=365).contains(days));
    days.map(|days| Days(Some(days)))
        .ok_or_else(|| "write 1 to 365, or none".to_owned())
}

/// A level of metrics: `None` is off, else whether each API has its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Level(Option<bool>);

fn levels() -> impl TypedValueParser<Value = Level> {
    choice([
        ("off", Level(None)),
        ("service", Level(Some(false))),
        ("apis", Level(Some(true))),
    ])
}

impl SetCommand {
    /// Applies the flags; returns whether there are any.
    fn apply(&self, properties: &mut ServiceProperties) -> Result<bool, CommandError> {
        let before = properties.clone();
        let logging = &mut properties.logging;
        let has = |word: &str| self.logging.iter().any(|given| given == word);
        if has("none") && self.logging.len() > 1 {
            return Err(CommandError::usage("--logging: `none` stands alone"));
        }
        let mut is_given = !self.logging.is_empty();
        if is_given {
            (logging.read, logging.write, logging.delete) =
                (has("read"), has("write"), has("delete"));
        }
        if let Some(Days(days)) = self.logging_days {
            logging.retention_days = days;
            is_given = true;
        }
        for (metrics, level, kept) in [
            (
                &mut properties.hour_metrics,
                self.hour_metrics,
                self.hour_metrics_days,
            ),
            (
                &mut properties.minute_metrics,
                self.minute_metrics,
                self.minute_metrics_days,
            ),
        ] {
            if let Some(Level(apis)) = level {
                metrics.enabled = apis.is_some();
                metrics.include_apis = apis;
                is_given = true;
            }
            if let Some(Days(days)) = kept {
                metrics.retention_days = days;
                is_given = true;
            }
        }
        if !is_given {
            return Err(CommandError::usage(
                "nothing to change: give --logging, --hour-metrics or another flag; see --help",
            ));
        }
        Ok(*properties != before)
    }
}

impl RunOnService for SetCommand {
    async fn run(self, service: Service, progress: Progress) -> CommandResult {
        let mut properties = service.properties().await?;
        if !self.apply(&mut properties)? {
            return progress.finish("nothing changed", Outcome::Done);
        }
        service.set_properties(&properties).await?;
        let label = service.label();
        progress.finish(
            &format!("settings of the {label} service changed"),
            Outcome::Done,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Set {
        #[command(flatten)]
        set: SetCommand,
    }

    fn apply(line: &str, properties: &mut ServiceProperties) -> Result<bool, String> {
        let set = Set::try_parse_from(line.split_whitespace());
        let set = set.map_err(|error| error.to_string())?.set;
        set.apply(properties).map_err(|error| error.chain())
    }

    #[test]
    fn flags_change_only_what_they_name() {
        let mut properties = ServiceProperties::default();
        let line = "set --logging read,delete --logging-days 7 --hour-metrics apis";
        assert_eq!(apply(line, &mut properties), Ok(true));
        assert_eq!(logged(&properties.logging), "read,delete");
        assert_eq!(properties.logging.retention_days, Some(7));
        assert_eq!(level(&properties.hour_metrics), "apis");
        assert_eq!(level(&properties.minute_metrics), "off");
        assert_eq!(apply("set --hour-metrics apis", &mut properties), Ok(false));
        let line = "set --logging none --logging-days none --minute-metrics service";
        assert_eq!(apply(line, &mut properties), Ok(true));
        assert_eq!(logged(&properties.logging), "none");
        assert_eq!(properties.logging.retention_days, None);
        assert_eq!(level(&properties.minute_metrics), "service");
        for (line, expected) in [
            ("set", "nothing to change"),
            ("set --logging none,read", "`none` stands alone"),
            ("set --logging reads", "invalid value"),
            ("set --logging-days 366", "write 1 to 365, or none"),
            ("set --hour-metrics on", "invalid value"),
        ] {
            let refused = apply(line, &mut properties).unwrap_err();
            assert!(refused.contains(expected), "{refused}");
        }
    }
}

//! `partita service cors list|add|remove`: the rules by which browsers let pages of other origins send requests.

use super::{OnService, RunOnService, Service};
use crate::prelude::*;
use crate::units::{duration, seconds_within};
use partita_client::CorsRule;
use std::time::Duration;

/// The maximum number of rules of a service.
const RULES_MAX: usize = 5;
/// The methods of a rule.
const METHODS: [&str; 8] = [
    "DELETE", "GET", "HEAD", "MERGE", "OPTIONS", "PATCH", "POST", "PUT",
];

commands! {
    pub(crate) enum CorsCommand {
        List(OnService<ListCommand>), Add(OnService<AddCommand>), Remove(OnService<RemoveCommand>),
    }
}

/// List the CORS rules; the first that matches a request decides
#[derive(clap::Args)]
pub(crate) struct ListCommand {
    #[command(flatten)]
    output: OutputArgs,
}

impl RunOnService for ListCommand {
    async fn run(self, service: Service, progress: Progress) -> CommandResult {
        let properties = service.properties().await?;
        let mut found = 0;
        self.output.write(Shape::Rows, |output| {
            for rule in &properties.cors {
                found += 1;
                let max_age = duration(Duration::from_secs(rule.max_age_seconds.into()));
                let texts = [
                    &rule.allowed_origins,
                    &rule.allowed_methods,
                    &rule.allowed_headers,
                    &rule.exposed_headers,
                ];
                let [origins, methods, allowed, exposed] = texts.map(|texts| texts.join(","));
                output.record(&[
                    ("rule", Field::id(found)),
                    ("origins", Field::text(&origins)),
                    ("methods", Field::text(&methods)),
                    ("allowed_headers", Field::text(&allowed)),
                    ("exposed_headers", Field::text(&exposed)),
                    ("max_age", Field::text(&max_age)),
                ])?;
            }
            Ok(())
        })?;
        progress.finish_count(found, "rule", "rules")
    }
}

/// Add a CORS rule at the end
#[derive(clap::Args)]
#[command(
    after_help = "A service has at most five rules. x-ms-meta-* matches headers by their prefix, * matches all."
)]
pub(crate) struct AddCommand {
    /// Origins of pages, such as https://app.example.com, or * for every page
    #[arg(long, value_name = "ORIGINS", value_delimiter = ',', required = true)]
    origins: Vec<String>,
    /// HTTP methods
    #[arg(long, value_name = "METHODS", value_delimiter = ',', required = true, value_parser = method)]
    methods: Vec<String>,
    /// Headers that requests may have
    #[arg(long, value_name = "HEADERS", value_delimiter = ',')]
    allowed_headers: Vec<String>,
    /// Headers of answers that pages can read
    #[arg(long, value_name = "HEADERS", value_delimiter = ',')]
    exposed_headers: Vec<String>,
    /// How long a browser keeps the answer to a preflight request
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = seconds_within(0..=2_147_483_647))]
    max_age: u64,
}

fn method(text: &str) -> Result<String, String> {
    let upper = text.trim().to_ascii_uppercase();
    match METHODS.contains(&&*upper) {
        true => Ok(upper),
        false => Err(format!("write methods of {}", METHODS.join(", "))),
    }
}

impl RunOnService for AddCommand {
    async fn run(self, service: Service, progress: Progress) -> CommandResult {
        let mut properties = service.properties().await?;
        if properties.cors.len() >= RULES_MAX {
            let label = service.label();
            return Err(CommandError::usage(format!(
                "the {label} service has {RULES_MAX} rules already, the most that it stores; `partita service cors remove` removes one"
            )));
        }
        properties.cors.push(CorsRule {
            allowed_origins: self.origins,
            allowed_methods: self.methods,
            allowed_headers: self.allowed_headers,
            exposed_headers: self.exposed_headers,
            max_age_seconds: u32::try_from(self.max_age).unwrap_or(i32::MAX.unsigned_abs()),
        });
        let number = properties.cors.len();
        service.set_properties(&properties).await?;
        progress.finish(&format!("rule {number} added"), Outcome::Done)
    }
}

/// Remove CORS rules
#[derive(clap::Args)]
pub(crate) struct RemoveCommand {
    /// Number of the rule, from `list`
    #[arg(value_name = "RULE", required_unless_present = "all", value_parser = clap::value_parser!(u64).range(1..))]
    rule: Option<u64>,
    /// Remove all rules
    #[arg(long, conflicts_with = "rule")]
    all: bool,
    #[command(flatten)]
    confirm: ConfirmArgs,
}

impl RunOnService for RemoveCommand {
    async fn run(self, service: Service, mut progress: Progress) -> CommandResult {
        let mut properties = service.properties().await?;
        let rules = &mut properties.cors;
        let before = rules.len();
        let question = match self.rule {
            None => {
                rules.clear();
                format!("remove {}", many(before as u64, "CORS rule", "CORS rules"))
            }
            Some(number) => {
                let at = usize::try_from(number - 1).unwrap_or(usize::MAX);
                if at < rules.len() {
                    rules.remove(at);
                }
                format!("remove CORS rule {number}")
            }
        };
        let removed = (before - rules.len()) as u64;
        if removed == 0 {
            let rules = many(before as u64, "rule", "rules");
            message(&format!("the {} service has {rules}", service.label()));
            return progress.finish("0 rules removed", Outcome::NothingFound);
        }
        self.confirm.confirm(&question, &mut progress)?;
        service.set_properties(&properties).await?;
        let end = format!("{} removed", many(removed, "rule", "rules"));
        progress.finish(&end, Outcome::Done)
    }
}

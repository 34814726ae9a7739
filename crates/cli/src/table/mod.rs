//! `partita table create|list|delete|show|set|rename|truncate`.

mod extension;

use crate::args::connection::{self, Connection};
use crate::args::{self, required, switch, text, texts};
use crate::error::{End, Failure};
use crate::output::{self, Output, Shape, Shown};
use crate::progress::{Talk, confirm, many, say};
use clap::{Arg, ArgAction, ArgMatches, Command};
use partita_client::{Filter, TableServiceClient, ValueRef};
use std::fmt::Write as _;

pub(crate) fn command() -> Command {
    let verb =
        |name: &'static str, about: &'static str| connection::add(Command::new(name).about(about));
    let filter = Arg::new("filter")
        .value_name("FILTER")
        .help("Only those that pass, such as \"TableName ge 'm'\" (OData)");
    Command::new("table")
        .about("Tables of an account")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(verb("create", "Make tables").arg(names()).arg(switch(
            "if-not-exists",
            "A table that is there already will do",
        )))
        .subcommand(
            verb("list", "List the tables")
                .arg(filter)
                .arg(output::argument()),
        )
        .subcommand(
            verb("delete", "Delete tables with all that is in them")
                .arg(names())
                .arg(args::yes()),
        )
        .subcommand(
            verb("show", "Show a table and its access policies")
                .arg(args::table())
                .arg(output::argument()),
        )
        .subcommand(connection::add(extension::set(Command::new("set"))))
        .subcommand(connection::add(extension::rename(Command::new("rename"))))
        .subcommand(connection::add(extension::truncate(Command::new(
            "truncate",
        ))))
}

fn names() -> Arg {
    Arg::new("table")
        .required(true)
        .value_name("TABLE")
        .num_args(1..)
        .action(ArgAction::Append)
        .help("Names of tables")
}

pub(crate) async fn run(matches: &ArgMatches) -> Result<End, Failure> {
    match matches.subcommand() {
        Some(("create", matches)) => create(matches).await,
        Some(("list", matches)) => list(matches).await,
        Some(("delete", matches)) => delete(matches).await,
        Some(("show", matches)) => show(matches).await,
        Some(("set", matches)) => extension::run_set(matches).await,
        Some(("rename", matches)) => extension::run_rename(matches).await,
        Some(("truncate", matches)) => extension::run_truncate(matches).await,
        _ => unreachable!("clap lets only known verbs through"),
    }
}

async fn create(matches: &ArgMatches) -> Result<End, Failure> {
    let connection = Connection::of(matches)?;
    let talk = Talk::new(&connection);
    let mut made = 0;
    for name in texts(matches, "table") {
        match connection.service.create_table(&name).await {
            Ok(_) => made += 1,
            Err(error) if matches.get_flag("if-not-exists") && exists(&error) => {
                say(&format!("table {name} is there already"));
            }
            Err(error) => return Err(error.into()),
        }
    }
    talk.end(&format!("{} created", many(made, "table", "tables")));
    Ok(End::Done)
}

fn exists(error: &partita_client::Error) -> bool {
    error.code_text() == "TableAlreadyExists"
}

async fn list(matches: &ArgMatches) -> Result<End, Failure> {
    let connection = Connection::of(matches)?;
    let talk = Talk::new(&connection);
    let mut output = Output::of(matches, Shape::Rows, None);
    let mut tables = match text(matches, "filter") {
        Some(filter) => connection.service.query_tables(Filter::raw(filter)),
        None => connection.service.list_tables(),
    };
    let mut found = 0;
    while let Some(name) = next(&mut tables).await {
        output.row(&Shown::Record(&[("TableName", ValueRef::String(&name?))]))?;
        found += 1;
    }
    output.end()?;
    talk.end(&many(found, "table", "tables"));
    Ok(End::of_count(found))
}

async fn next(tables: &mut partita_client::TableStream) -> Option<partita_client::Result<String>> {
    std::future::poll_fn(|context| tables.as_mut().poll_next(context)).await
}

async fn delete(matches: &ArgMatches) -> Result<End, Failure> {
    let connection = Connection::of(matches)?;
    let names = texts(matches, "table");
    let tables = if names.len() == 1 { "table" } else { "tables" };
    let question = format!("delete {tables} {} with all rows", names.join(", "));
    confirm(&question, matches.get_flag("yes"))?;
    let talk = Talk::new(&connection);
    let mut deleted = 0;
    for name in &names {
        match connection.service.delete_table(name).await {
            Ok(()) => deleted += 1,
            Err(error) if error.is_not_found() => say(&format!("there is no table {name}")),
            Err(error) => return Err(error.into()),
        }
    }
    talk.end(&format!("{} deleted", many(deleted, "table", "tables")));
    Ok(End::of_count(deleted))
}

async fn show(matches: &ArgMatches) -> Result<End, Failure> {
    let connection = Connection::of(matches)?;
    let talk = Talk::new(&connection);
    let name = required(matches, "table")?;
    let Some(exact) = exact_name(&connection.service, name).await? else {
        say(&format!("there is no table {name}"));
        talk.end("0 tables");
        return Ok(End::NothingFound);
    };
    let mut fields = vec![("TableName".to_owned(), exact)];
    match connection.service.table_client(name).settings().await {
        Ok(Some(settings)) => {
            fields.push(("Created".to_owned(), settings.created.to_string()));
            fields.push(("TimeToLive".to_owned(), extension::ttl_text(settings.ttl)));
        }
        // Not Partita, or a signature that may not see them.
        Ok(None) => {}
        Err(error) if error.status() == Some(403) => {}
        Err(error) => return Err(error.into()),
    }
    match connection
        .service
        .table_client(name)
        .get_access_policy()
        .await
    {
        Ok(policies) => {
            for (index, identifier) in policies.iter().enumerate() {
                let policy = &identifier.policy;
                let mut text = format!("{}:", identifier.id);
                if let Some(letters) = &policy.permission {
                    let _ = write!(text, " may {letters}");
                }
                if let Some(start) = policy.start {
                    let _ = write!(text, " from {start}");
                }
                if let Some(expiry) = policy.expiry {
                    let _ = write!(text, " until {expiry}");
                }
                fields.push((format!("Policy{}", index + 1), text));
            }
        }
        // Only a shared key sees policies.
        Err(error) if error.status() == Some(403) => {
            say("access policies are not shown: they need a shared key");
        }
        Err(error) => return Err(error.into()),
    }
    let mut output = Output::of(matches, Shape::Single, None);
    let record = fields
        .iter()
        .map(|(name, text)| (&**name, ValueRef::String(text)));
    output.row(&Shown::Record(&record.collect::<Vec<_>>()))?;
    output.end()?;
    talk.end("1 table");
    Ok(End::Done)
}

/// The name in the case in which the table was made: names are the same in any case, filters on them are not.
async fn exact_name(service: &TableServiceClient, name: &str) -> Result<Option<String>, Failure> {
    let mut by_name = service.query_tables(Filter::property("TableName").eq(name));
    if let Some(found) = next(&mut by_name).await.transpose()? {
        return Ok(Some(found));
    }
    let mut all = service.list_tables();
    while let Some(other) = next(&mut all).await.transpose()? {
        if other.eq_ignore_ascii_case(name) {
            return Ok(Some(other));
        }
    }
    Ok(None)
}

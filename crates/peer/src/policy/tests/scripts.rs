//! `scripts.txt` has a block for each case: a line for each event, with the action after `=>`. `UPDATE_GOLDEN=1` writes
//! the actions anew; review the diff.

use std::path::Path;
use std::time::Duration;

use super::super::{Action, Event, Forwarding, Holds, Kind, Route, Time};
use crate::forward::Tenure;

struct Case {
    request: Option<Forwarding>,
    holds: Holds,
}

impl Case {
    fn new() -> Self {
        Self {
            request: None,
            holds: Holds::default(),
        }
    }

    /// Runs `MS EVENT [VALUE]`.
    fn run(&mut self, words: &[&str]) -> String {
        let number = |index: usize| -> u64 { words[index].parse().unwrap() };
        let now = Duration::from_millis(number(0));
        let event = match words[1] {
            "read" | "write" => {
                let kind = if words[1] == "read" {
                    Kind::Read
                } else {
                    Kind::Write
                };
                let bytes = usize::try_from(number(2)).unwrap();
                self.request = Some(Forwarding::new(kind, bytes));
                return "begun".to_owned();
            }
            "others" => {
                let bytes = usize::try_from(number(3)).unwrap();
                for _ in 0..number(2) {
                    assert!(self.holds.enter(bytes));
                }
                return "held".to_owned();
            }
            "map" if words[2] == "unserved" => Event::Map(Route::Unserved),
            "map" => Event::Map(Route::Owner(Tenure(number(2)))),
            "not-processed" => Event::NotProcessed,
            "421" => Event::NotHere(Tenure(number(2))),
            "broken" => Event::Broken,
            "answered" => Event::Answered,
            "abandoned" => Event::Abandoned,
            other => panic!("unknown event {other}"),
        };
        let request = self.request.as_mut().expect("a request");
        let action = request.step(event, now, &mut self.holds);
        let action = match action {
            Action::Wait(until) if until == Time::MAX => "wait".to_owned(),
            Action::Wait(until) => format!("wait until {}", until.as_millis()),
            Action::Send(tenure) => format!("send in {}", tenure.0),
            other => format!("{other:?}").to_lowercase(),
        };
        format!("{action}, {} held", self.holds.requests())
    }
}

#[test]
fn the_actions_are_those_of_the_scripts() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/policy/tests/scripts.txt");
    let expected = std::fs::read_to_string(&path).unwrap();
    let (mut case, mut found) = (Case::new(), String::new());
    for line in expected.lines() {
        let event = line.split("=>").next().unwrap_or_default().trim();
        if event.is_empty() || event.starts_with('#') {
            case = Case::new();
            found.push_str(line);
        } else {
            let words: Vec<&str> = event.split_whitespace().collect();
            let action = case.run(&words);
            found.push_str(&format!("{event:<22} => {action}"));
        }
        found.push('\n');
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, found).unwrap();
    } else {
        assert_eq!(found, expected, "UPDATE_GOLDEN=1 rewrites scripts.txt");
    }
}

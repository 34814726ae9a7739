//! How managers save map records: a new manager fences its predecessor by a record of its own.

use crate::Rule;

use super::{
    Shape,
    state::{Content, Manager, Stage, State, VERSIONS, Writer},
};

/// What the record says once a change that was begun is undone.
fn undone(content: Content) -> Content {
    if content == Content::After {
        Content::After
    } else {
        Content::Before
    }
}

impl Shape {
    pub(super) fn elect(&self, state: &mut State, manager: usize) -> Option<()> {
        if state.term != 0 || state.counts.terms >= self.bounds.terms {
            return None;
        }
        state.counts.terms += 1;
        state.term = state.counts.terms;
        state.managers[manager] = Manager {
            stage: Stage::Elected,
            term: state.term,
        };
        Some(())
    }

    pub(super) fn end_term(&self, state: &mut State) -> Option<()> {
        if state.term == 0 || state.counts.terms >= self.bounds.terms {
            return None;
        }
        state.term = 0;
        Some(())
    }

    pub(super) fn save(&self, state: &mut State, manager: usize) -> Option<()> {
        let Manager { stage, term } = state.managers[manager];
        let next = match stage {
            Stage::Elected => self.list(state),
            Stage::Listed(number, content) if state.term == term => {
                Stage::Confirmed(number, content)
            }
            Stage::Listed(..) => Stage::Down,
            Stage::Confirmed(number, content) => {
                self.put_first(state, term, number, undone(content))?
            }
            Stage::Saved(number, content) => self.list_after_save(state, number, content),
            _ => return None,
        };
        state.managers[manager].stage = next;
        Some(())
    }

    fn list(&self, state: &State) -> Stage {
        let (number, content) = state.newest();
        if !self.rules.keep(Rule::NewManagerSaves) {
            Stage::Active(number, undone(content))
        } else if self.rules.keep(Rule::TermConfirmedBeforeSave) {
            Stage::Listed(number, content)
        } else {
            Stage::Confirmed(number, content)
        }
    }

    /// The first record of a term. It undoes a change that has no decision yet.
    fn put_first(
        &self,
        state: &mut State,
        term: u8,
        number: usize,
        content: Content,
    ) -> Option<Stage> {
        if number + 1 >= VERSIONS {
            return None;
        }
        if state.put(number + 1, content, Writer::Manager(term)) {
            Some(self.saved(number + 1, content))
        } else if self.rules.keep(Rule::FirstSaveIsOwn) {
            Some(Stage::Elected)
        } else {
            Some(Stage::Active(number + 1, content))
        }
    }

    /// A record was created, but perhaps with the number of a pruned one.
    pub(super) fn saved(&self, number: usize, content: Content) -> Stage {
        match content {
            _ if self.rules.keep(Rule::ManagerListsAfterSave) => Stage::Saved(number, content),
            Content::Begun => Stage::Leading(number),
            _ => Stage::Active(number, content),
        }
    }

    fn list_after_save(&self, state: &mut State, number: usize, content: Content) -> Stage {
        if state.newest().0 != number {
            return Stage::Down;
        }
        if content == Content::Begun {
            state.request_change(number + 1);
            return Stage::Leading(number);
        }
        Stage::Active(number, content)
    }

    pub(super) fn save_again(&self, state: &mut State, manager: usize) -> Option<()> {
        let Manager {
            stage: Stage::Active(number, content),
            term,
        } = state.managers[manager]
        else {
            return None;
        };
        if number + 1 >= self.bounds.saves {
            return None;
        }
        let created = state.put(number + 1, content, Writer::Manager(term));
        state.managers[manager].stage = if created {
            self.saved(number + 1, content)
        } else {
            Stage::Down
        };
        Some(())
    }

    pub(super) fn prune(&self, state: &mut State, manager: usize) -> Option<()> {
        let Stage::Active(newest, _) = state.managers[manager].stage else {
            return None;
        };
        if !self.bounds.prunes {
            return None;
        }
        state.map[..newest].fill(None);
        Some(())
    }
}

//! Builds the filter tree from tokens, by operator precedence with an explicit stack.

use super::hint;
use super::lexer::Lexer;
use super::literal::literal;
use super::token::{Kind, Token};
use super::{FILTER_BYTES_MAX, FILTER_DEPTH_MAX};
use crate::{ErrorCode, Failure};
use partita_model::{Comparison, Filter, Property, Value};

/// OData operators that the service does not implement.
const FOREIGN_OPERATORS: [&str; 7] = ["add", "sub", "mul", "div", "mod", "in", "has"];

/// Reads a filter. A blank text matches every row.
///
/// # Errors
/// 400 InvalidInput for a text that is not a filter, is longer than [`FILTER_BYTES_MAX`] or deeper than
/// [`FILTER_DEPTH_MAX`]; 501 NotImplemented for the parts of OData that the service does not implement.
pub fn parse_filter(text: &str) -> Result<Filter, Failure> {
    if text.len() > FILTER_BYTES_MAX {
        return Err(ErrorCode::InvalidInput.into());
    }
    if text.trim_ascii().is_empty() {
        return Ok(Filter::Constant(true));
    }
    Parser::new(text)?.parse()
}

/// Operators that wait for their right operand, from the highest precedence to the lowest, and open parentheses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Waiting {
    Not,
    And,
    Or,
    Open,
}

/// One side of a comparison.
#[derive(Debug)]
enum Operand {
    Property(Property),
    Literal(Value),
    Null,
}

#[derive(Debug)]
struct Parser<'a> {
    lexer: Lexer<'a>,
    token: Token<'a>,
    /// The token before `token`.
    before: Token<'a>,
    waiting: Vec<Waiting>,
    /// The number of `not`s and open parentheses in `waiting`.
    depth: usize,
    done: Vec<Filter>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Result<Self, Failure> {
        let mut lexer = Lexer::new(text);
        let token = lexer.next()?;
        Ok(Self {
            lexer,
            token,
            before: token,
            waiting: Vec::new(),
            depth: 0,
            done: Vec::new(),
        })
    }

    fn parse(mut self) -> Result<Filter, Failure> {
        loop {
            self.before_predicate()?;
            let predicate = self.predicate()?;
            self.finish_operand(predicate);
            if !self.after_predicate()? {
                break;
            }
        }
        self.reduce_below(Waiting::Or);
        // A parenthesis that is still open is unmatched.
        match (self.waiting.is_empty(), self.done.pop()) {
            (true, Some(filter)) => Ok(filter),
            _ => Err(self.syntax_error(self.no_operator())),
        }
    }

    fn advance(&mut self) -> Result<(), Failure> {
        let next = self.lexer.next()?;
        self.before = std::mem::replace(&mut self.token, next);
        Ok(())
    }

    fn syntax_error(&self, hint: String) -> Failure {
        self.lexer.syntax_error(&self.token, hint)
    }

    fn not_implemented(&self, hint: String) -> Failure {
        self.lexer.not_implemented(&self.token, hint)
    }

    /// The hint for a token where an operator, a parenthesis or the end must be.
    fn no_operator(&self) -> String {
        let opened = self.waiting.contains(&Waiting::Open);
        hint::no_operator(&self.token, &self.before, opened)
    }

    fn push_waiting(&mut self, waiting: Waiting) -> Result<(), Failure> {
        self.depth += 1;
        if self.depth > FILTER_DEPTH_MAX {
            let text = "Recursion depth exceeded allowed limit.";
            return Err(Failure::with_message(ErrorCode::InvalidInput, text));
        }
        self.waiting.push(waiting);
        Ok(())
    }

    /// Takes the tokens before a predicate: `not` and open parentheses.
    fn before_predicate(&mut self) -> Result<(), Failure> {
        loop {
            if self.token.kind == Kind::Open {
                self.push_waiting(Waiting::Open)?;
            } else if self.token.is_word("not") {
                self.push_waiting(Waiting::Not)?;
            } else {
                return Ok(());
            }
            self.advance()?;
        }
    }

    /// Takes the tokens after a predicate: closing parentheses, then `and` or `or`. Returns whether another predicate
    /// must follow.
    fn after_predicate(&mut self) -> Result<bool, Failure> {
        while self.token.kind == Kind::Close {
            self.reduce_below(Waiting::Or);
            if self.waiting.pop() != Some(Waiting::Open) {
                return Err(self.syntax_error(self.no_operator()));
            }
            self.depth -= 1;
            let Some(inner) = self.done.pop() else {
                return Err(self.syntax_error(self.no_operator()));
            };
            self.finish_operand(inner);
            self.advance()?;
        }
        let chain = match self.token {
            token if token.kind == Kind::End => return Ok(false),
            token if token.is_word("and") => Waiting::And,
            token if token.is_word("or") => Waiting::Or,
            _ => return Err(self.misplaced_operator()),
        };
        self.reduce_below(chain);
        self.waiting.push(chain);
        self.advance()?;
        Ok(true)
    }

    /// Completes an operand of `and` or `or`, by applying the `not`s before it.
    fn finish_operand(&mut self, operand: Filter) {
        let mut filter = operand;
        while self.waiting.last() == Some(&Waiting::Not) {
            self.waiting.pop();
            self.depth -= 1;
            filter = Filter::Not(Box::new(filter));
        }
        self.done.push(filter);
    }

    /// Joins the waiting operators that bind at least as tightly as `operator`.
    fn reduce_below(&mut self, operator: Waiting) {
        while let Some(&waiting @ (Waiting::And | Waiting::Or)) = self.waiting.last()
            && waiting <= operator
        {
            self.waiting.pop();
            if let (Some(right), Some(left)) = (self.done.pop(), self.done.pop()) {
                self.done.push(join(waiting, left, right));
            }
        }
    }

    /// A comparison, a bare property or a constant.
    fn predicate(&mut self) -> Result<Filter, Failure> {
        let first = self.token;
        let left = self.operand()?;
        let Some(op) = comparison(&self.token) else {
            if self.is_foreign_operator() {
                return Err(self.not_implemented(self.no_operator()));
            }
            return match left {
                Operand::Property(property) => Ok(Filter::IsTrue(property)),
                Operand::Literal(Value::Boolean(value)) => Ok(Filter::Constant(value)),
                Operand::Literal(_) | Operand::Null => {
                    let hint = hint::lonely_literal(&first);
                    Err(self.lexer.syntax_error(&first, hint))
                }
            };
        };
        self.advance()?;
        if self.token.kind == Kind::Open {
            return Err(self.not_implemented(hint::parenthesized_value()));
        }
        let second = self.token;
        let right = self.operand()?;
        if comparison(&self.token).is_some() || self.is_foreign_operator() {
            return Err(self.not_implemented(self.no_operator()));
        }
        self.compare((first, left), op, (second, right))
    }

    /// A property or a literal. A word before a parenthesis is a function, and a word before a slash is a path; the
    /// service supports neither.
    fn operand(&mut self) -> Result<Operand, Failure> {
        let token = self.token;
        if let Some(value) = literal(&self.lexer, &token)? {
            self.advance()?;
            return Ok(Operand::Literal(value));
        }
        match token.kind {
            Kind::Word => {}
            Kind::Sign if matches!(token.text, "-" | "$") => {
                return Err(self.not_implemented(hint::no_operand(&token)));
            }
            _ => return Err(self.syntax_error(hint::no_operand(&token))),
        }
        if token.text == "null" {
            self.advance()?;
            return Ok(Operand::Null);
        }
        if matches!(token.text, "and" | "or" | "not") || comparison(&token).is_some() {
            return Err(self.syntax_error(hint::no_operand(&token)));
        }
        self.advance()?;
        if self.token.kind == Kind::Open {
            let hint = hint::function(token.text, self.lexer.after(&self.token));
            return Err(self.lexer.not_implemented(&token, hint));
        }
        if self.token.kind == Kind::Sign && self.token.text == "/" {
            return Err(self.lexer.not_implemented(&token, hint::path()));
        }
        Ok(Operand::Property(Property::from_name(token.text)))
    }

    fn compare(
        &self,
        (first, left): (Token<'a>, Operand),
        op: Comparison,
        (second, right): (Token<'a>, Operand),
    ) -> Result<Filter, Failure> {
        let (property, op, literal) = match (left, right) {
            (Operand::Null, _) => return Err(self.null_failure(op, &first)),
            (_, Operand::Null) => return Err(self.null_failure(op, &second)),
            (Operand::Property(property), Operand::Literal(literal)) => (property, op, literal),
            (Operand::Literal(literal), Operand::Property(property)) => {
                (property, op.mirrored(), literal)
            }
            (Operand::Property(_), Operand::Property(_)) => {
                let meant = self.lexer.unquoted_text(&second);
                let (start, end) = (second.start, second.start + meant.len());
                let hint = self.lexer.hint(start, end, hint::unquoted(meant));
                return Err(Failure::new(ErrorCode::NotImplemented).hint(hint));
            }
            (Operand::Literal(_), Operand::Literal(_)) => {
                let hint = hint::two_literals(&first);
                return Err(self.lexer.not_implemented(&first, hint));
            }
        };
        Ok(Filter::Compare {
            property,
            op,
            literal,
        })
    }

    /// The failure for a comparison with `null`. The filter language has this word, but the service accepts no
    /// comparison with it.
    fn null_failure(&self, op: Comparison, token: &Token<'_>) -> Failure {
        let name = match op {
            Comparison::Equal | Comparison::NotEqual => None,
            Comparison::Less => Some("LessThan"),
            Comparison::LessOrEqual => Some("LessThanOrEqual"),
            Comparison::Greater => Some("GreaterThan"),
            Comparison::GreaterOrEqual => Some("GreaterThanOrEqual"),
        };
        let message = name.map(|name| {
            format!(
                "The operator '{name}' is not supported for the 'null' literal; only equality checks are supported."
            )
        });
        let failure = Failure {
            message: message.map(Into::into),
            ..Failure::new(ErrorCode::InvalidInput)
        };
        failure.hint(self.lexer.hint(token.start, token.end(), hint::null()))
    }

    fn is_foreign_operator(&self) -> bool {
        self.token.kind == Kind::Word && FOREIGN_OPERATORS.contains(&self.token.text)
    }

    /// The failure for a token where `and`, `or`, `)` or the end must follow. An OData operator there is not
    /// implemented; any other token is a syntax error.
    fn misplaced_operator(&self) -> Failure {
        if comparison(&self.token).is_some() || self.is_foreign_operator() {
            self.not_implemented(self.no_operator())
        } else {
            self.syntax_error(self.no_operator())
        }
    }
}

fn comparison(token: &Token<'_>) -> Option<Comparison> {
    if token.kind != Kind::Word {
        return None;
    }
    Some(match token.text {
        "eq" => Comparison::Equal,
        "ne" => Comparison::NotEqual,
        "lt" => Comparison::Less,
        "le" => Comparison::LessOrEqual,
        "gt" => Comparison::Greater,
        "ge" => Comparison::GreaterOrEqual,
        _ => return None,
    })
}

/// Joins both filters into one chain of `operator`, which is `and` or `or`. If `left` or `right` is such a chain, its
/// terms become terms of the new chain.
fn join(operator: Waiting, left: Filter, right: Filter) -> Filter {
    let mut terms = match (operator, left) {
        (Waiting::And, Filter::And(terms)) | (Waiting::Or, Filter::Or(terms)) => terms,
        (_, other) => vec![other],
    };
    match (operator, right) {
        (Waiting::And, Filter::And(more)) | (Waiting::Or, Filter::Or(more)) => terms.extend(more),
        (_, other) => terms.push(other),
    }
    match operator {
        Waiting::And => Filter::And(terms),
        _ => Filter::Or(terms),
    }
}

//! Builds the filter tree from tokens, by operator precedence with an explicit stack.

use super::lexer::{Kind, Lexer, Token};
use super::literal::literal;
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
            _ => Err(self.syntax_error()),
        }
    }

    fn advance(&mut self) -> Result<Token<'a>, Failure> {
        let next = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.token, next))
    }

    fn syntax_error(&self) -> Failure {
        self.lexer.syntax_error(&self.token)
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
                return Err(self.syntax_error());
            }
            self.depth -= 1;
            let Some(inner) = self.done.pop() else {
                return Err(self.syntax_error());
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
                return Err(ErrorCode::NotImplemented.into());
            }
            return match left {
                Operand::Property(property) => Ok(Filter::IsTrue(property)),
                Operand::Literal(Value::Boolean(value)) => Ok(Filter::Constant(value)),
                Operand::Literal(_) | Operand::Null => Err(self.lexer.syntax_error(&first)),
            };
        };
        self.advance()?;
        if self.token.kind == Kind::Open {
            return Err(ErrorCode::NotImplemented.into());
        }
        let right = self.operand()?;
        if comparison(&self.token).is_some() || self.is_foreign_operator() {
            return Err(ErrorCode::NotImplemented.into());
        }
        compare(left, op, right)
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
                return Err(ErrorCode::NotImplemented.into());
            }
            _ => return Err(self.syntax_error()),
        }
        if token.text == "null" {
            self.advance()?;
            return Ok(Operand::Null);
        }
        if matches!(token.text, "and" | "or" | "not") || comparison(&token).is_some() {
            return Err(self.syntax_error());
        }
        self.advance()?;
        let navigates = self.token.kind == Kind::Sign && self.token.text == "/";
        if navigates || self.token.kind == Kind::Open {
            return Err(ErrorCode::NotImplemented.into());
        }
        Ok(Operand::Property(Property::from_name(token.text)))
    }

    fn is_foreign_operator(&self) -> bool {
        self.token.kind == Kind::Word && FOREIGN_OPERATORS.contains(&self.token.text)
    }

    /// The failure for a token where `and`, `or`, `)` or the end must follow. An OData operator there is not
    /// implemented; any other token is a syntax error.
    fn misplaced_operator(&self) -> Failure {
        if comparison(&self.token).is_some() || self.is_foreign_operator() {
            ErrorCode::NotImplemented.into()
        } else {
            self.syntax_error()
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

fn compare(left: Operand, op: Comparison, right: Operand) -> Result<Filter, Failure> {
    let (property, op, literal) = match (left, right) {
        (Operand::Null, _) | (_, Operand::Null) => return Err(null_failure(op)),
        (Operand::Property(property), Operand::Literal(literal)) => (property, op, literal),
        (Operand::Literal(literal), Operand::Property(property)) => {
            (property, op.mirrored(), literal)
        }
        (Operand::Property(_), Operand::Property(_))
        | (Operand::Literal(_), Operand::Literal(_)) => {
            return Err(ErrorCode::NotImplemented.into());
        }
    };
    Ok(Filter::Compare {
        property,
        op,
        literal,
    })
}

/// The failure for a comparison with `null`. The filter language has this word, but the service accepts no comparison
/// with it.
fn null_failure(op: Comparison) -> Failure {
    let name = match op {
        Comparison::Equal | Comparison::NotEqual => return ErrorCode::InvalidInput.into(),
        Comparison::Less => "LessThan",
        Comparison::LessOrEqual => "LessThanOrEqual",
        Comparison::Greater => "GreaterThan",
        Comparison::GreaterOrEqual => "GreaterThanOrEqual",
    };
    let message = format!(
        "The operator '{name}' is not supported for the 'null' literal; only equality checks are supported."
    );
    Failure::with_message(ErrorCode::InvalidInput, message)
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

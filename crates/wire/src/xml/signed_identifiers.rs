//! Stored access policies of a table, a queue or a container (service documents "Get Table ACL", "Set Table ACL").

use super::element::{
    Element, invalid, write_declaration, write_empty, write_end, write_start, write_text,
};
use crate::Failure;
use partita_model::limits::POLICIES_MAX;
use partita_model::{AccessPolicy, DateTime, SignedIdentifier};

/// The maximum length of the name of a policy, in characters.
const ID_CHARS_MAX: usize = 64;
/// The maximum number of digits of a fraction of a second; the service refused nine (recording
/// go--TestSetInvalidAccessPolicy).
const FRACTION_DIGITS_MAX: usize = 7;

/// Reads the body that sets access policies. An empty body or list clears them. `permissions` are the letters that
/// policies of the service can have.
///
/// # Errors
/// 400 InvalidXmlDocument, also for more than five policies, for a policy without a name, and for two of the same name.
pub fn read_signed_identifiers(
    body: &[u8],
    permissions: &str,
) -> Result<Vec<SignedIdentifier>, Failure> {
    if body.is_empty() {
        return Ok(Vec::new());
    }
    let root = Element::parse(body, "SignedIdentifiers")?;
    root.check_children(&["SignedIdentifier"])?;
    if root.children.len() > POLICIES_MAX {
        return Err(invalid());
    }
    let mut identifiers: Vec<SignedIdentifier> = Vec::with_capacity(root.children.len());
    for element in &root.children {
        let identifier = read_identifier(element, permissions)?;
        if identifiers.iter().any(|other| other.id == identifier.id) {
            return Err(invalid());
        }
        identifiers.push(identifier);
    }
    Ok(identifiers)
}

fn read_identifier(element: &Element, permissions: &str) -> Result<SignedIdentifier, Failure> {
    element.check_children(&["Id", "AccessPolicy"])?;
    let id = element.text_of("Id")?.ok_or_else(invalid)?;
    if id.is_empty() || id.chars().count() > ID_CHARS_MAX {
        return Err(invalid());
    }
    let policy = match element.child("AccessPolicy")? {
        Some(policy) => read_policy(policy, permissions)?,
        None => AccessPolicy::default(),
    };
    Ok(SignedIdentifier {
        id: id.to_owned(),
        policy,
    })
}

/// Reads a policy. An empty element counts as absent: clients without a start time send an empty `Start` or omit it.
fn read_policy(element: &Element, permissions: &str) -> Result<AccessPolicy, Failure> {
    element.check_children(&["Start", "Expiry", "Permission"])?;
    let part = |name| Ok::<_, Failure>(element.text_of(name)?.filter(|text| !text.is_empty()));
    let permission = part("Permission")?;
    if permission.is_some_and(|letters| letters.contains(|letter| !permissions.contains(letter))) {
        return Err(invalid());
    }
    Ok(AccessPolicy {
        start: part("Start")?.map(read_time).transpose()?,
        expiry: part("Expiry")?.map(read_time).transpose()?,
        permission: permission.map(str::to_owned),
    })
}

fn read_time(text: &str) -> Result<DateTime, Failure> {
    let fraction = text.split_once('.').map_or("", |(_, fraction)| fraction);
    if fraction.bytes().filter(u8::is_ascii_digit).count() > FRACTION_DIGITS_MAX {
        return Err(invalid());
    }
    DateTime::parse(text).map_err(|_| invalid())
}

/// Appends the body with access policies: times with seven decimals, an empty policy omitted
/// (recording js--access_policy_operations_should_send_a_null_ap).
pub fn write_signed_identifiers(identifiers: &[SignedIdentifier], out: &mut Vec<u8>) {
    write_declaration(out);
    if identifiers.is_empty() {
        return write_empty("SignedIdentifiers", out);
    }
    write_start("SignedIdentifiers", out);
    for SignedIdentifier { id, policy } in identifiers {
        write_start("SignedIdentifier", out);
        write_text("Id", id, out);
        write_policy(policy, out);
        write_end("SignedIdentifier", out);
    }
    write_end("SignedIdentifiers", out);
}

fn write_policy(policy: &AccessPolicy, out: &mut Vec<u8>) {
    if *policy == AccessPolicy::default() {
        return;
    }
    write_start("AccessPolicy", out);
    for (name, time) in [("Start", policy.start), ("Expiry", policy.expiry)] {
        if let Some(time) = time {
            write_text(name, &time.text_seven_digits(), out);
        }
    }
    if let Some(permission) = &policy.permission {
        write_text("Permission", permission, out);
    }
    write_end("AccessPolicy", out);
}

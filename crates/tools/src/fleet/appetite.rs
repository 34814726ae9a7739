//! When a step ends, and into how many follow-up steps its open parts are cut. Pure functions.

use crate::scan::{Part, Step};

/// Number of waiting messages for each parallel step of the fleet: with fewer, running steps end early and are cut.
const WAITING_MIN: u64 = 1;
/// Number of waiting messages for each parallel step of the fleet after a cut. The more, the rarer are cuts.
pub const WAITING_PER_LOOP: u64 = 3;
/// Maximum number of follow-up steps of a step. With the step's own row, they fit into one transaction of 100 rows.
pub(super) const FOLLOW_UPS_MAX: usize = 64;
/// A step with this many open parts ends. A part has at most three keys and a token, about 6 KiB in UTF-16, so the parts
/// fit into one row of 1 MiB.
pub(super) const PARTS_MAX: usize = 128;

/// How many further steps a running step should supply now, given the fleet's number of parallel steps and the number of
/// messages, hidden ones included: its share of what the fleet could execute. A worker that is alone with one step at a
/// time wants none.
pub(super) fn wanted(loops: u64, messages: u64) -> usize {
    if loops <= 1 {
        return 0;
    }
    // Each running step has a hidden message.
    if messages >= loops.saturating_mul(1 + WAITING_MIN) {
        return 0;
    }
    let full = loops.saturating_mul(1 + WAITING_PER_LOOP);
    let running = messages.clamp(1, loops);
    let wanted = full.saturating_sub(messages).div_ceil(running);
    usize::try_from(wanted)
        .unwrap_or(usize::MAX)
        .min(FOLLOW_UPS_MAX)
}

/// Cuts parts, which are in the table's order, into at most `pieces` lists of neighbours. The last parts are the largest
/// ones, because they cover all that is not read yet: with few pieces, the first parts share a piece. The rest of a
/// partition, which is usually short, stays with the part after it.
pub(super) fn cut(parts: Vec<Step>, pieces: usize) -> Vec<Vec<Step>> {
    let mut units: Vec<Vec<Step>> = Vec::new();
    for part in parts {
        let last = units.last_mut();
        match last.filter(|unit| unit.iter().all(is_partition)) {
            Some(unit) => unit.push(part),
            None => units.push(vec![part]),
        }
    }
    if units.is_empty() {
        return units;
    }
    let pieces = pieces.clamp(1, FOLLOW_UPS_MAX).min(units.len());
    let rest = units.split_off(units.len() - (pieces - 1));
    std::iter::once(units.concat()).chain(rest).collect()
}

fn is_partition(part: &Step) -> bool {
    matches!(part.part, Part::Partition { .. })
}

/// Cuts parts or files into at most `pieces` and [`FOLLOW_UPS_MAX`] lists of neighbours of about equal length.
pub(super) fn deal<T: Clone>(parts: &[T], pieces: usize) -> Vec<Vec<T>> {
    let pieces = pieces.clamp(1, FOLLOW_UPS_MAX);
    let length = parts.len().div_ceil(pieces).max(1);
    parts.chunks(length).map(<[T]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::{Bounds, Strategy};

    #[test]
    fn a_worker_that_is_alone_wants_no_steps() {
        assert_eq!((wanted(0, 0), wanted(1, 0)), (0, 0));
        // One message waits for each step, or fewer.
        assert_eq!((wanted(4, 7), wanted(4, 8)), (3, 0));
        // One step runs, then all: each supplies its share.
        assert_eq!((wanted(4, 1), wanted(4, 2), wanted(4, 4)), (15, 7, 3));
        assert_eq!(wanted(4, 1_000_000), 0);
        assert_eq!(wanted(u64::MAX, 0), FOLLOW_UPS_MAX);
    }

    #[test]
    fn pieces_keep_the_order_of_their_parts() {
        let points: Vec<String> = ('b'..='f').map(String::from).collect();
        let parts = Strategy::Ranges.plan(&Bounds::default(), &points, 1);
        for pieces in 0..10 {
            let cut = cut(parts.clone(), pieces);
            assert_eq!(cut.len(), pieces.clamp(1, parts.len()));
            assert!(cut.iter().all(|piece| !piece.is_empty()));
            assert_eq!(cut.concat(), parts);
        }
        assert_eq!(deal(&parts, FOLLOW_UPS_MAX).len(), parts.len());
        assert!(cut(Vec::new(), 3).is_empty());
        let partition = Step::new(Part::Partition {
            key: "a".to_owned(),
            after: None,
        });
        let mixed = [partition, parts[0].clone(), parts[1].clone()];
        let lengths: Vec<_> = cut(mixed.to_vec(), 3).iter().map(Vec::len).collect();
        assert_eq!(lengths, [2, 1]);
        let many = vec![
            Step::new(Part::Range {
                bounds: Bounds::default()
            });
            1000
        ];
        assert_eq!(deal(&many, 2).len(), 2);
        let dealt = deal(&many, 1000);
        assert!(dealt.len() <= FOLLOW_UPS_MAX && dealt.concat() == many);
        assert_eq!(cut(many, 1000).len(), FOLLOW_UPS_MAX);
    }
}

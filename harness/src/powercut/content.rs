//! The content of a simulated file: its length, and the pages that are not all zeros.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::Context;

/// Bytes of a page: the unit in which a power cut keeps or drops unsynced data ([`super::disk`]).
pub(super) const PAGE: u64 = 4_096;

/// The bytes of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Content {
    length: u64,
    pages: BTreeMap<u64, Vec<u8>>,
}

impl Content {
    pub(super) fn write(&mut self, offset: u64, data: &[u8]) {
        let mut at = offset;
        let mut rest = data;
        while !rest.is_empty() {
            let inside = at % PAGE;
            let count = rest.len().min((PAGE - inside) as usize);
            let (part, after) = rest.split_at(count);
            let page = self.pages.entry(at / PAGE);
            let page = page.or_insert_with(|| vec![0; PAGE as usize]);
            page[inside as usize..inside as usize + count].copy_from_slice(part);
            at += count as u64;
            rest = after;
        }
        self.length = self.length.max(at);
    }

    pub(super) fn zero(&mut self, offset: u64, length: u64) {
        let end = offset + length;
        self.clear(offset, end);
        self.length = self.length.max(end);
    }

    pub(super) fn resize(&mut self, length: u64) {
        self.clear(length, self.length.max(length));
        self.length = length;
    }

    pub(super) const fn len(&self) -> u64 {
        self.length
    }

    fn clear(&mut self, from: u64, to: u64) {
        if from >= to {
            return;
        }
        let touched: Vec<u64> = self
            .pages
            .range(from / PAGE..=(to - 1) / PAGE)
            .map(|(page, _)| *page)
            .collect();
        for number in touched {
            let begin = from.saturating_sub(number * PAGE).min(PAGE) as usize;
            let end = (to - number * PAGE).min(PAGE) as usize;
            if let Some(page) = self.pages.get_mut(&number) {
                page[begin..end].fill(0);
                if page.iter().all(|byte| *byte == 0) {
                    self.pages.remove(&number);
                }
            }
        }
    }

    /// Writes a new file; pages of zeros become holes.
    pub(super) fn store(&self, path: &Path) -> anyhow::Result<()> {
        let file = File::create_new(path).with_context(|| format!("making {}", path.display()))?;
        file.set_len(self.length)?;
        for (number, page) in &self.pages {
            let offset = number * PAGE;
            let count = (self.length.saturating_sub(offset)).min(PAGE) as usize;
            file.write_all_at(&page[..count], offset)?;
        }
        Ok(())
    }

    /// Reads a file.
    pub(super) fn load(path: &Path) -> anyhow::Result<Self> {
        let mut file = File::open(path).with_context(|| format!("reading {}", path.display()))?;
        let mut content = Self::default();
        let mut piece = vec![0; 1 << 20];
        loop {
            let count = file.read(&mut piece)?;
            if count == 0 {
                return Ok(content);
            }
            for page in piece[..count].chunks(PAGE as usize) {
                let at = content.length;
                if page.iter().all(|byte| *byte == 0) {
                    content.zero(at, page.len() as u64);
                } else {
                    content.write(at, page);
                }
            }
        }
    }

    /// The first byte at which two contents differ.
    pub(super) fn difference(&self, other: &Self) -> Option<u64> {
        if self.length != other.length {
            return Some(self.length.min(other.length));
        }
        let zeros = vec![0; PAGE as usize];
        let numbers = self.pages.keys().chain(other.pages.keys());
        let differing = numbers.filter_map(|number| {
            let page = |content: &Self| content.pages.get(number).unwrap_or(&zeros).clone();
            let (ours, theirs) = (page(self), page(other));
            let inside = ours.iter().zip(&theirs).position(|(a, b)| a != b)?;
            Some(number * PAGE + inside as u64)
        });
        differing.min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_is_like_a_file() {
        let mut content = Content::default();
        let mut bytes = Vec::new();
        let mut random = partita_load::Random::new(3);
        for _ in 0..200 {
            let (at, count) = (random.below(20_000) as usize, random.below(9_000) as usize);
            let value = random.below(256) as u8;
            match random.below(4) {
                0 => {
                    content.resize(at as u64);
                    bytes.resize(at, 0);
                }
                1 => {
                    content.zero(at as u64, count as u64);
                    bytes.resize(bytes.len().max(at + count), 0);
                    bytes[at..at + count].fill(0);
                }
                _ if count > 0 => {
                    content.write(at as u64, &vec![value; count]);
                    bytes.resize(bytes.len().max(at + count), 0);
                    bytes[at..at + count].fill(value);
                }
                _ => {}
            }
            assert_eq!(content.len(), bytes.len() as u64);
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        content.store(&path).unwrap();
        assert!(std::fs::read(&path).unwrap() == bytes);
        let loaded = Content::load(&path).unwrap();
        assert_eq!(loaded.difference(&content), None);
        content.write(7, &[bytes[7] ^ 1]);
        assert_eq!(loaded.difference(&content), Some(7));
    }
}

//! A hash over all code that a skill can run: its `SKILL.md` and every file beside it, above all scripts.
//!
//! In: a folder that may hold links to anywhere. Out: a hash that changes when a file is changed, added, renamed or
//! removed; `None` above the limits, so that no answer about the skill is kept. Links are followed, except to a
//! directory that contains the folder, and each directory is entered once. Left out: `.git`, and `__pycache__`, which
//! running the code itself fills. Pipes and devices count by their kind: they are not read.
//!
//! Limits: [`MOST_ENTRIES`] entries and [`MOST_BYTES`] bytes.

use std::collections::HashSet;
use std::fs::{FileType, Metadata};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::read::{hash, regular};

/// Entries of all directories.
const MOST_ENTRIES: usize = 20_000;
/// Bytes of all files.
const MOST_BYTES: u64 = 64 << 20;

/// The hash of the skill in `directory` whose `SKILL.md` has the hash `manifest`; equal to `manifest` without other
/// files.
pub(super) fn fingerprint(directory: &Path, manifest: &str) -> Option<String> {
    let mut folder = FolderHasher::default();
    let root = std::fs::metadata(directory).ok()?;
    folder.seen.insert((root.dev(), root.ino()));
    let above = directory.ancestors().skip(1);
    let above = above.filter_map(|above| std::fs::metadata(above).ok());
    folder
        .seen
        .extend(above.map(|above| (above.dev(), above.ino())));
    folder.next.push(directory.to_owned());
    while let Some(inner) = folder.next.pop() {
        folder.hash_directory(directory, &inner)?;
    }
    if folder.parts.is_empty() {
        return Some(manifest.to_owned());
    }
    folder.parts.sort();
    let mut all = manifest.as_bytes().to_vec();
    folder
        .parts
        .iter()
        .for_each(|part| all.extend(Sha256::digest(part)));
    Some(hash(&all))
}

#[derive(Default)]
struct FolderHasher {
    /// Device and inode of directories entered.
    seen: HashSet<(u64, u64)>,
    next: Vec<PathBuf>,
    /// For each file: its path, ended by a NUL, and its kind or content hash.
    parts: Vec<Vec<u8>>,
    entries: usize,
    bytes: u64,
}

impl FolderHasher {
    /// `None`: a limit is exceeded, or an entry cannot be read.
    fn hash_directory(&mut self, root: &Path, directory: &Path) -> Option<()> {
        for entry in std::fs::read_dir(directory).ok()? {
            let path = entry.ok()?.path();
            self.entries += 1;
            if self.entries > MOST_ENTRIES {
                return None;
            }
            let name = path.file_name().unwrap_or_default();
            let is_manifest = directory == root && (name == "SKILL.md" || name == "skill.md");
            if is_manifest || name == ".git" || name == "__pycache__" {
                continue;
            }
            let below = path.strip_prefix(root).unwrap_or(&path);
            let mut part = below.as_os_str().as_bytes().to_vec();
            part.push(0);
            match std::fs::metadata(&path) {
                Ok(metadata) if metadata.is_dir() => {
                    if self.seen.insert((metadata.dev(), metadata.ino())) {
                        self.next.push(path);
                    } else {
                        part.extend(std::fs::read_link(&path).ok()?.as_os_str().as_bytes());
                    }
                }
                Ok(metadata) => part.extend(self.hash_file(&path, &metadata)?),
                // A link that dangles or loops.
                Err(_) => part.extend(std::fs::read_link(&path).ok()?.as_os_str().as_bytes()),
            }
            self.parts.push(part);
        }
        Some(())
    }

    fn hash_file(&mut self, path: &Path, metadata: &Metadata) -> Option<Vec<u8>> {
        if !metadata.is_file() {
            return Some(kind(metadata.file_type()).to_vec());
        }
        let left = MOST_BYTES - self.bytes;
        let mut file = regular(path).ok()?.take(left + 1);
        let mut hash = Sha256::new();
        let mut buffer = vec![0; 1 << 16];
        let mut length = 0;
        loop {
            match file.read(&mut buffer).ok()? {
                0 => break,
                count => {
                    hash.update(&buffer[..count]);
                    length += count as u64;
                }
            }
        }
        if length > left {
            return None;
        }
        self.bytes += length;
        Some(hash.finalize().to_vec())
    }
}

fn kind(of: FileType) -> &'static [u8] {
    match of {
        of if of.is_fifo() => b"pipe",
        of if of.is_socket() => b"socket",
        _ => b"device",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn every_change_changes_the_hash() {
        let world = tempfile::tempdir().unwrap();
        let skill = world.path().join("skills/demo");
        let write = |path: &str, text: &str| {
            let path = world.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let of = || fingerprint(&skill, "hash of the file").unwrap();
        write("skills/demo/SKILL.md", "text");
        assert_eq!(of(), "hash of the file", "it has no other files");
        let mut known = HashSet::from([of()]);
        let mut changed = |what: &str| assert!(known.insert(of()), "{what}");
        write("skills/demo/scripts/run.py", "a");
        changed("a script is new");
        write("skills/demo/scripts/run.py", "b");
        changed("it has another content");
        write("skills/demo/scripts/.hidden", "b");
        changed("a hidden file");
        write("shared/lib.py", "a");
        symlink(world.path().join("shared"), skill.join("lib")).unwrap();
        changed("a linked directory");
        write("shared/lib.py", "b");
        changed("a file in a linked directory");
        write("alone.py", "a");
        symlink(world.path().join("alone.py"), skill.join("alone.py")).unwrap();
        changed("a linked file");
        write("alone.py", "b");
        changed("the content of a linked file");
        std::fs::remove_file(world.path().join("alone.py")).unwrap();
        changed("a link that dangles");
        symlink(world.path(), skill.join("up")).unwrap();
        changed("a link to a directory it lies in, which is not entered");
        std::fs::rename(skill.join("scripts/run.py"), skill.join("scripts/go.py")).unwrap();
        changed("another name");
        let now = of();
        write("skills/demo/SKILL.md", "its hash is given");
        write(
            "skills/demo/scripts/__pycache__/go.pyc",
            "made by running it",
        );
        write("skills/demo/.git/index", "not code");
        write("elsewhere", "x");
        assert_eq!(of(), now);
    }

    #[test]
    fn a_folder_over_the_limit_has_no_hash() {
        let world = tempfile::tempdir().unwrap();
        let large = std::fs::File::create(world.path().join("large")).unwrap();
        large.set_len(MOST_BYTES).unwrap();
        assert!(fingerprint(world.path(), "").is_some());
        large.set_len(MOST_BYTES + 1).unwrap();
        assert_eq!(fingerprint(world.path(), ""), None);
        assert_eq!(fingerprint(&world.path().join("gone"), ""), None);
    }

    #[test]
    fn a_pipe_does_not_block() {
        let world = tempfile::tempdir().unwrap();
        let pipe = world.path().join("pipe");
        let made = rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        );
        made.unwrap();
        assert!(fingerprint(world.path(), "").is_some());
    }
}

//! The attributes of a file (owner, group, mode, access list (ACL), extended attributes), copied to the file that
//! replaces it.
//!
//! Invariants: lost attributes are reported; no user gains access to the new file who had none to the old one.
//! Document: xattr(7), acl(5).

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{
    Gid, Mode, OFlags, Stat, Uid, XattrFlags, fchmod, fchown, fgetxattr, fgetxattr_query,
    flistxattr, flistxattr_query, fremovexattr, fsetxattr, fstat, openat,
};
use rustix::io::Errno;

/// The access list, as an attribute.
const ACCESS_LIST: &str = "system.posix_acl_access";

/// Attributes that describe the content: the system drops them when a file is written, and they would be wrong on
/// another file.
const CONTENT_ATTRIBUTES: [&str; 3] = ["security.capability", "security.ima", "security.evm"];

/// The attributes of the old file that the new one lacks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LostAttributes(Vec<String>);

impl LostAttributes {
    /// One sentence about the file at `path`; `None` when all attributes were kept.
    pub fn sentence(&self, path: &Path) -> Option<String> {
        if self.0.is_empty() {
            return None;
        }
        Some(format!(
            "`{}` was written, but not all of it could be kept: {}",
            path.display(),
            self.0.join("; ")
        ))
    }

    fn add(&mut self, what: impl Into<String>) {
        self.0.push(what.into());
    }
}

/// Copies the attributes of the file `name` in `directory`, whose status is `stat`, to `new`.
///
/// # Errors
/// The mode cannot be set.
pub(super) fn copy_to(
    directory: &OwnedFd,
    name: &std::ffi::OsStr,
    stat: &Stat,
    new: &File,
) -> Result<LostAttributes, Errno> {
    let mut unkept = LostAttributes::default();
    match stat.st_nlink.saturating_sub(1) {
        0 => {}
        1 => unkept.add("its other name (a hard link) still has the old contents"),
        others => unkept.add(format!(
            "its {others} other names (hard links) still have the old contents"
        )),
    }
    let theirs = copy_owner(stat, new, &mut unkept)?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let listed = match openat(directory, name, flags, Mode::empty()) {
        Ok(old) => copy_attributes(&old, new, &mut unkept),
        // A file may be writable, but not readable.
        Err(_) => false,
    };
    // The system clears some bits when the owner changes, and sets some with the list.
    let mut bits = stat.st_mode & 0o777;
    if !(theirs && listed) {
        // The group bits were meant for another group, or are the mask of the list: the new group gets those of
        // others.
        bits &= !0o070 | (bits & 0o007) << 3;
    }
    fchmod(new, Mode::from_raw_mode(bits))?;
    Ok(unkept)
}

/// Copies owner and group. False: the group could not be kept.
fn copy_owner(stat: &Stat, new: &File, unkept: &mut LostAttributes) -> Result<bool, Errno> {
    let now = fstat(new)?;
    let (owner, group) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
    if (now.st_uid, now.st_gid) == (stat.st_uid, stat.st_gid)
        || fchown(new, Some(owner), Some(group)).is_ok()
    {
        return Ok(true);
    }
    if now.st_uid != stat.st_uid && fchown(new, Some(owner), None).is_err() {
        unkept.add(format!(
            "its owner was uid {} and is now uid {}",
            stat.st_uid, now.st_uid
        ));
    }
    if now.st_gid != stat.st_gid && fchown(new, None, Some(group)).is_err() {
        unkept.add(format!(
            "its group was gid {} and is now gid {}",
            stat.st_gid, now.st_gid
        ));
        return Ok(false);
    }
    Ok(true)
}

/// Copies the access list and the other attributes. False: the access list could not be kept.
fn copy_attributes(old: &OwnedFd, new: &File, unkept: &mut LostAttributes) -> bool {
    let mut list_kept = true;
    let names = names(old);
    for name in &names {
        if CONTENT_ATTRIBUTES.contains(&name.as_str()) {
            continue;
        }
        let value = value(old, name);
        if value.is_some() && value == self::value(new, name) {
            continue;
        }
        let set = value.map(|value| fsetxattr(new, name.as_str(), &value, XattrFlags::empty()));
        if set != Some(Ok(())) {
            if name == ACCESS_LIST {
                list_kept = false;
                unkept.add("its access list (ACL) is gone");
            } else {
                unkept.add(format!("its attribute `{name}` is gone"));
            }
        }
    }
    // The directory may have given the new file a default list that the old one has not.
    if !names.iter().any(|name| name == ACCESS_LIST) && value(new, ACCESS_LIST).is_some() {
        list_kept &= fremovexattr(new, ACCESS_LIST).is_ok();
    }
    list_kept
}

/// The names of the attributes; none where the file system has no attributes.
fn names(file: &OwnedFd) -> Vec<String> {
    let mut bytes = vec![0; flistxattr_query(file).unwrap_or(0)];
    let length = flistxattr(file, &mut bytes[..]).unwrap_or(0);
    bytes.truncate(length);
    let names = bytes
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty());
    names
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect()
}

fn value(file: impl std::os::fd::AsFd, name: &str) -> Option<Vec<u8>> {
    let mut bytes = vec![0; fgetxattr_query(&file, name).ok()?];
    let length = fgetxattr(&file, name, &mut bytes[..]).ok()?;
    bytes.truncate(length);
    Some(bytes)
}

//! Directories that only the user can write.

use std::fs::{DirBuilder, Metadata, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

use super::FileError;

/// Creates `path` and its missing parents with mode 0700, whatever the umask; an existing directory is only checked.
///
/// # Errors
/// [`FileError::Refused`] when another user owns it or can write to it, [`FileError::System`] otherwise.
pub fn private_dir(path: &Path) -> Result<(), FileError> {
    if let Some(metadata) = look(path)? {
        return check(path, &metadata);
    }
    if let Some(parent) = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        && !parent.is_dir()
    {
        private_dir(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => std::fs::set_permissions(path, Permissions::from_mode(0o700))
            .map_err(|error| FileError::system("set the mode of", path, error)),
        // Another process of ours may have created it in the meantime; a link to nothing is no directory.
        Err(error) => match look(path)? {
            Some(metadata) => check(path, &metadata),
            None => Err(FileError::system("create", path, error)),
        },
    }
}

/// Refuses a directory that another user owns or can write to; a missing one is accepted.
///
/// # Errors
/// As [`private_dir`].
pub fn check_private_dir(path: &Path) -> Result<(), FileError> {
    look(path)?.map_or(Ok(()), |metadata| check(path, &metadata))
}

/// The status of what is at `path`; `None` where nothing is.
fn look(path: &Path) -> Result<Option<Metadata>, FileError> {
    match std::fs::metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FileError::system("open", path, error)),
    }
}

fn check(path: &Path, metadata: &Metadata) -> Result<(), FileError> {
    let refused = |reason: String, hint: String| {
        Err(FileError::Refused {
            path: path.to_owned(),
            reason,
            hint,
        })
    };
    if !metadata.is_dir() {
        return refused("is not a directory".into(), "move it out of the way".into());
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return refused(
            format!("is owned by another user (uid {})", metadata.uid()),
            "choose a directory of your own with --config-dir or the XDG variables".into(),
        );
    }
    if metadata.mode() & 0o022 != 0 {
        return refused(
            format!(
                "can be written by other users (mode {:o})",
                metadata.mode() & 0o7777
            ),
            format!("run `chmod go-w {}`", path.display()),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn created_directories_are_private() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a/b/c");
        private_dir(&path).unwrap();
        private_dir(&path).unwrap();
        for path in [path.as_path(), path.parent().unwrap()] {
            assert_eq!(mode(path), 0o700);
        }
    }

    #[test]
    fn directories_others_can_write_are_refused() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("open");
        private_dir(&path).unwrap();
        for (bits, fine) in [
            (0o755, true),
            (0o770, false),
            (0o707, false),
            (0o1777, false),
        ] {
            std::fs::set_permissions(&path, Permissions::from_mode(bits)).unwrap();
            assert_eq!(private_dir(&path).is_ok(), fine, "{bits:o}");
            assert_eq!(check_private_dir(&path).is_ok(), fine, "{bits:o}");
        }
        assert!(check_private_dir(&home.path().join("missing")).is_ok());
    }

    #[test]
    fn a_file_in_the_way_is_named() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        std::fs::write(&path, "x").unwrap();
        let error = private_dir(&path).unwrap_err();
        assert!(error.to_string().contains("is not a directory"), "{error}");
        for check in [private_dir, check_private_dir] {
            let error = check(&path.join("below")).unwrap_err();
            assert!(error.to_string().starts_with("cannot open"), "{error}");
        }
    }

    #[test]
    fn a_link_to_nothing_is_no_directory() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("link");
        std::os::unix::fs::symlink("nothing", &path).unwrap();
        let error = private_dir(&path).unwrap_err();
        assert!(error.to_string().starts_with("cannot create"), "{error}");
    }

    #[test]
    fn one_that_others_create_meanwhile_is_taken() {
        let home = tempfile::tempdir().unwrap();
        for round in 0..200 {
            let path = home.path().join(round.to_string());
            let created = std::thread::scope(|scope| {
                let ways = [(); 4].map(|()| scope.spawn(|| private_dir(&path)));
                ways.map(|way| way.join().unwrap())
            });
            assert!(created.iter().all(Result::is_ok), "{created:?}");
        }
    }

    #[test]
    fn a_directory_of_another_user_is_refused() {
        // Only root can create one; for other users, `/` is a directory of another user.
        let home = tempfile::tempdir().unwrap();
        let foreign = if rustix::process::geteuid().is_root() {
            let path = home.path().join("foreign");
            private_dir(&path).unwrap();
            std::os::unix::fs::chown(&path, Some(12345), None).unwrap();
            path
        } else {
            "/".into()
        };
        let error = check_private_dir(&foreign).unwrap_err();
        assert!(
            error.to_string().contains("owned by another user"),
            "{error}"
        );
    }
}

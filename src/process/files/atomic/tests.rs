//! Atomic writes: planted links, modes, injected failures.

use super::*;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use tempfile::TempDir;

fn home() -> TempDir {
    let home = tempfile::tempdir().unwrap();
    fs::set_permissions(home.path(), Permissions::from_mode(0o700)).unwrap();
    home
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn a_file_is_created_and_replaced() {
    let home = home();
    let path = home.path().join("f");
    write_whole(&path, b"one", FileMode::Keep).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"one");
    assert_eq!(mode(&path) & 0o600, 0o600);
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    write_whole(&path, b"two", FileMode::Keep).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"two");
    assert_eq!(mode(&path), 0o640);
    write_whole(&path, b"three", FileMode::Private).unwrap();
    assert_eq!(mode(&path), 0o600);
    assert_eq!(names(home.path()), ["f"]);
}

#[test]
fn a_large_file_is_written_whole() {
    let home = home();
    let path = home.path().join("f");
    let contents: Vec<u8> = (0..5 * NewFile::PART as u32 / 8)
        .flat_map(u32::to_le_bytes)
        .collect();
    write_whole(&path, &contents, FileMode::Keep).unwrap();
    assert!(fs::read(&path).unwrap() == contents);
    write_whole_with(&path, FileMode::Keep, |file| {
        file.write_all(b"head")?;
        contents
            .chunks(70_000)
            .try_for_each(|part| file.write_all(part))
    })
    .unwrap();
    let read = fs::read(&path).unwrap();
    assert!(read.strip_prefix(b"head") == Some(&contents));
    assert_eq!(names(home.path()), ["f"]);
}

#[test]
fn a_failing_write_leaves_the_old_file_and_nothing_else() {
    let home = home();
    let path = home.path().join("f");
    write_whole(&path, b"old", FileMode::Keep).unwrap();
    let error = write_whole_with(&path, FileMode::Keep, |file| {
        file.write_all(b"half")?;
        Err(std::io::Error::from(std::io::ErrorKind::StorageFull))
    })
    .unwrap_err();
    assert!(error.to_string().contains("cannot write"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(names(home.path()), ["f"]);
}

#[test]
fn what_somebody_writes_at_the_last_moment_is_not_overwritten() {
    let home = home();
    let path = home.path().join("f");
    let written = |is_unchanged: &dyn Fn() -> bool| {
        let fill = |file: &mut NewFile| file.write_all(b"ours");
        write_whole_unless_changed(&path, FileMode::Keep, is_unchanged, fill)
    };
    let theirs = |unchanged: bool| {
        fs::write(&path, "theirs").unwrap();
        unchanged
    };
    // There was no file when all else was done, and it is seen or not; then there is one.
    for unchanged in [true, false, false] {
        let error = written(&|| theirs(unchanged)).unwrap_err();
        let report = crate::text::report::Report::from(error).to_string();
        assert!(report.contains("another program changed it"), "{report}");
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
        assert_eq!(names(home.path()), ["f"]);
        if unchanged {
            fs::remove_file(&path).unwrap();
        }
    }
    written(&|| true).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"ours");
    fs::remove_file(&path).unwrap();
    written(&|| true).unwrap();
    assert_eq!(names(home.path()), ["f"]);
}

#[test]
fn a_panic_while_filling_leaves_the_old_file() {
    let home = home();
    let path = home.path().join("f");
    write_whole(&path, b"old", FileMode::Keep).unwrap();
    let target = path.clone();
    let filling = std::thread::spawn(move || {
        let _ = write_whole_with(&target, FileMode::Keep, |_| panic!("injected"));
    });
    assert!(filling.join().is_err());
    assert_eq!(fs::read(&path).unwrap(), b"old");
}

#[test]
fn what_cannot_be_replaced_is_told() {
    let home = home();
    fs::create_dir(home.path().join("d")).unwrap();
    let check = |name: &str, part: &str| {
        let error = write_whole(&home.path().join(name), b"x", FileMode::Keep).unwrap_err();
        let report = crate::text::report::Report::from(error).to_string();
        assert!(report.contains(part), "{name}: {report}");
    };
    check("d", "directory");
    check("missing/f", "cannot open the directory of");
    rustix::fs::mknodat(CWD, home.path().join("fifo"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    check("fifo", "is not a regular file");
}

#[test]
fn read_only_files_and_directories_stay() {
    if geteuid().is_root() {
        // Root is refused nothing; the check itself is the system's.
        return;
    }
    let home = home();
    let path = home.path().join("f");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o400)).unwrap();
    assert!(write_whole(&path, b"x", FileMode::Keep).is_err());
    fs::set_permissions(home.path(), Permissions::from_mode(0o500)).unwrap();
    assert!(write_whole(&home.path().join("new"), b"x", FileMode::Keep).is_err());
    fs::set_permissions(home.path(), Permissions::from_mode(0o700)).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"old");
}

#[test]
fn a_link_of_the_user_stays_a_link() {
    let home = home();
    fs::create_dir(home.path().join("dotfiles")).unwrap();
    fs::set_permissions(home.path().join("dotfiles"), Permissions::from_mode(0o755)).unwrap();
    let real = home.path().join("dotfiles/config");
    fs::write(&real, "old").unwrap();
    let link = home.path().join("config");
    symlink("dotfiles/config", &link).unwrap();
    write_whole(&link, b"new", FileMode::Keep).unwrap();
    assert!(link.is_symlink());
    assert_eq!(fs::read(&real).unwrap(), b"new");
}

#[test]
fn planted_links_are_not_followed() {
    let home = home();
    let outside = home.path().join("victim");
    fs::write(&outside, "untouched").unwrap();
    let shared = home.path().join("shared");
    fs::create_dir(&shared).unwrap();
    fs::set_permissions(&shared, Permissions::from_mode(0o1777)).unwrap();
    // A link in a directory that other users can write.
    symlink(&outside, shared.join("link")).unwrap();
    let error = write_whole(&shared.join("link"), b"x", FileMode::Keep).unwrap_err();
    assert!(error.to_string().contains("others can write"), "{error}");
    // A link into such a directory.
    fs::write(shared.join("goal"), "untouched").unwrap();
    symlink(shared.join("goal"), home.path().join("link")).unwrap();
    assert!(write_whole(&home.path().join("link"), b"x", FileMode::Keep).is_err());
    // A link to a missing file.
    symlink("nowhere", home.path().join("dangling")).unwrap();
    assert!(write_whole(&home.path().join("dangling"), b"x", FileMode::Keep).is_err());
    assert_eq!(fs::read(&outside).unwrap(), b"untouched");
    assert_eq!(fs::read(shared.join("goal")).unwrap(), b"untouched");
    assert!(!home.path().join("nowhere").exists());
}

#[test]
fn a_hard_link_is_cut_not_written_through() {
    let home = home();
    let (victim, path) = (home.path().join("victim"), home.path().join("f"));
    fs::write(&victim, "untouched").unwrap();
    fs::hard_link(&victim, &path).unwrap();
    write_whole(&path, b"new", FileMode::Keep).unwrap();
    assert_eq!(fs::read(&victim).unwrap(), b"untouched");
}

#[test]
fn linked_parents_in_a_project_are_refused() {
    let home = home();
    let root = home.path().join("project");
    fs::create_dir_all(root.join("a/b")).unwrap();
    symlink("/etc", root.join("a/link")).unwrap();
    let check = |path: &str, fine: bool| {
        assert_eq!(
            refuse_linked_parents(&root, &root.join(path)).is_ok(),
            fine,
            "{path}"
        );
    };
    check("f", true);
    check("a/b/f", true);
    check("a/link/f", false);
    check("a/../../f", false);
    assert!(refuse_linked_parents(&root, Path::new("/etc/passwd")).is_err());
    assert!(refuse_linked_parents(Path::new(""), Path::new("./a/f")).is_ok());
}

#[test]
fn what_a_kill_left_goes_with_the_next_write_of_the_file() {
    let home = home();
    let path = home.path().join("f");
    fs::write(&path, "old").unwrap();
    let name = |start: &str, rest: &str| format!("{start}.ipycodex-{rest}");
    let random = "0123456789abcdef";
    let left = [
        name(".f", &format!("1-{random}")),
        name(".f", &format!("{}-{random}", std::process::id())),
    ];
    let kept = [
        name(".f", "1-short"),
        name(".f", &format!("x-{random}")),
        name(".f", &format!("1-{random}.bak")),
        name(".g", &format!("1-{random}")),
        name("f", &format!("1-{random}")),
        name(".f", &format!("2-{random}")),
        name(".f", &format!("3-{random}")),
        name(".f", &format!("4-{random}")),
        name(".f", &format!("5-{random}")),
        "f".to_owned(),
    ];
    for name in left.iter().chain(&kept[..5]).chain(&kept[7..8]) {
        fs::write(home.path().join(name), "x").unwrap();
    }
    symlink("f", home.path().join(&kept[5])).unwrap();
    fs::create_dir(home.path().join(&kept[6])).unwrap();
    // Opening it would wait for a writer.
    rustix::fs::mknodat(
        CWD,
        home.path().join(&kept[8]),
        FileType::Fifo,
        Mode::RUSR,
        0,
    )
    .unwrap();
    // A running writer holds this one.
    let held = File::open(home.path().join(&kept[7])).unwrap();
    assert!(leftovers::lock(&held));
    let looked = File::open(home.path().join(&kept[7])).unwrap();
    assert!(!leftovers::lock(&looked));
    drop(looked);
    write_whole(&path, b"new", FileMode::Keep).unwrap();
    let mut expected = kept.to_vec();
    expected.sort();
    assert_eq!(names(home.path()), expected);
    // Also with the first write of a file.
    fs::remove_file(&path).unwrap();
    fs::write(home.path().join(&left[0]), "x").unwrap();
    write_whole(&path, b"new", FileMode::Keep).unwrap();
    assert_eq!(names(home.path()), expected);
    // A temporary file that was taken for an abandoned one is created again.
    let other = home.path().join("other");
    let taken = File::create(&other).unwrap();
    fs::remove_file(&other).unwrap();
    assert!(!leftovers::lock(&taken));
}

fn attribute(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut bytes = vec![0; 4096];
    let length = rustix::fs::getxattr(path, name, &mut bytes[..]).ok()?;
    bytes.truncate(length);
    Some(bytes)
}

fn set(path: &Path, name: &str, value: &[u8]) -> bool {
    rustix::fs::setxattr(path, name, value, rustix::fs::XattrFlags::empty()).is_ok()
}

/// An access list in the system's binary form: `u::rw-, u:12345:rw-, g::r--, m::rw-, o::---`.
fn list() -> Vec<u8> {
    let entries: [(u16, u16, u32); 5] = [
        (1, 6, u32::MAX),
        (2, 6, 12345),
        (4, 4, u32::MAX),
        (16, 6, u32::MAX),
        (32, 0, u32::MAX),
    ];
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    for (tag, rights, id) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(rights.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

#[test]
fn a_file_that_is_replaced_keeps_its_owner_list_and_attributes() {
    let home = home();
    let path = home.path().join("f");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    let is_root = geteuid().is_root();
    if is_root {
        std::os::unix::fs::chown(&path, Some(12345), Some(54321)).unwrap();
    }
    let attributes = [
        ("user.origin", b"elsewhere".to_vec()),
        ("user.empty", Vec::new()),
        ("trusted.mark", b"\x00\xff".to_vec()),
        ("security.mark", b"x".to_vec()),
        ("system.posix_acl_access", list()),
    ];
    let had: Vec<_> = attributes
        .iter()
        .filter(|(name, value)| set(&path, name, value))
        .collect();
    let before = fs::metadata(&path).unwrap();
    write_whole(&path, b"new", FileMode::Keep).unwrap();
    let after = fs::metadata(&path).unwrap();
    let facts = |found: &fs::Metadata| (found.uid(), found.gid(), found.mode());
    assert_eq!(facts(&after), facts(&before));
    for (name, value) in had {
        assert_eq!(attribute(&path, name).as_ref(), Some(value), "{name}");
    }
    assert_eq!(LostAttributes::default().sentence(&path), None);
    // The default list of a directory must not reach a file that replaces one without a list.
    let _ = rustix::fs::removexattr(&path, "system.posix_acl_access");
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    set(home.path(), "system.posix_acl_default", &list());
    write_whole(&path, b"newer", FileMode::Keep).unwrap();
    assert_eq!(attribute(&path, "system.posix_acl_access"), None);
    assert_eq!(mode(&path), 0o640);
}

#[test]
fn long_names_and_names_that_are_not_text() {
    let home = home();
    for name in [
        OsStr::from_bytes(&[b'x'; 255]),
        OsStr::from_bytes(b"\xff\xfe"),
    ] {
        write_whole(&home.path().join(name), b"x", FileMode::Private).unwrap();
    }
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 2);
}

#[test]
fn what_other_names_of_a_replaced_file_keep_is_said() {
    let home = home();
    let [path, other, third] = ["f", "g", "h"].map(|name| home.path().join(name));
    fs::write(&path, "old").unwrap();
    let write = || {
        let fill = |file: &mut NewFile| file.write_all(b"new");
        let unkept = write_whole_with(&path, FileMode::Keep, fill).unwrap();
        unkept.sentence(&path)
    };
    assert_eq!(write(), None);
    fs::write(&path, "old").unwrap();
    fs::hard_link(&path, &other).unwrap();
    assert!(write().unwrap().contains("its other name (a hard link)"));
    assert_eq!(fs::read_to_string(&other).unwrap(), "old");
    assert_eq!(write(), None);
    fs::hard_link(&path, other.with_extension("2")).unwrap();
    fs::hard_link(&path, &third).unwrap();
    assert!(write().unwrap().contains("2 other names (hard links)"));
}

/// Gives this thread a working directory and a umask of its own.
#[allow(unsafe_code)]
fn set_apart() {
    // SAFETY: it changes this thread only.
    assert_eq!(unsafe { libc::unshare(libc::CLONE_FS) }, 0);
}

/// Makes this thread one of another user, who has no rights but their own.
#[allow(unsafe_code)]
fn become_user(user: u32) {
    // SAFETY: as system calls they change this thread only.
    unsafe {
        libc::syscall(libc::SYS_setgroups, 0, std::ptr::null::<libc::gid_t>());
        libc::syscall(libc::SYS_setresgid, user, user, user);
        libc::syscall(libc::SYS_setresuid, user, user, user);
    }
}

#[test]
fn a_bare_name_is_in_the_working_directory_and_has_the_mode_of_a_new_file() {
    let home = home();
    let write = || {
        set_apart();
        std::env::set_current_dir(home.path()).unwrap();
        rustix::process::umask(Mode::from_raw_mode(0o027));
        write_whole(Path::new("f"), b"new", FileMode::Keep).unwrap();
    };
    std::thread::scope(|scope| scope.spawn(write).join().unwrap());
    assert_eq!(fs::read(home.path().join("f")).unwrap(), b"new");
    assert_eq!(mode(&home.path().join("f")), 0o640);
}

#[test]
fn what_somebody_else_cannot_keep_is_said_and_opens_the_file_to_nobody() {
    if !geteuid().is_root() {
        // Only root can be somebody else.
        return;
    }
    const USER: u32 = 12345;
    let home = home();
    let [other, owned] = ["other", "owned"].map(|name| home.path().join(name));
    for (path, group) in [(&other, 1), (&owned, USER)] {
        fs::write(path, "old").unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o676)).unwrap();
        std::os::unix::fs::chown(path, Some(1), Some(group)).unwrap();
    }
    let marked = set(&other, "security.mark", b"x");
    std::os::unix::fs::chown(home.path(), Some(USER), Some(USER)).unwrap();
    let written = |path: &Path| {
        let fill = |file: &mut NewFile| file.write_all(b"new");
        let lost = write_whole_with(path, FileMode::Keep, fill).unwrap();
        lost.sentence(path).unwrap()
    };
    std::thread::scope(|scope| {
        let somebody = scope.spawn(|| {
            become_user(USER);
            [written(&other), written(&owned)]
        });
        let [lost_group, kept_group] = somebody.join().unwrap();
        assert!(
            lost_group.contains("its owner was uid 1 and is now uid 12345"),
            "{lost_group}"
        );
        assert!(
            lost_group.contains("its group was gid 1 and is now gid 12345"),
            "{lost_group}"
        );
        let gone = lost_group.contains("its attribute `security.mark` is gone");
        assert_eq!(gone, marked, "{lost_group}");
        assert!(
            kept_group.ends_with(": its owner was uid 1 and is now uid 12345"),
            "{kept_group}"
        );
    });
    // The group that has the file now gets what everybody had.
    assert_eq!(mode(&other), 0o666);
    assert_eq!(mode(&owned), 0o676);
}

//! The version, and how this program was built.
//!
//! In: variables of the build. Absent on purpose: a build script.

use std::env::consts::{ARCH, OS};
use std::sync::LazyLock;

/// Returns the version and the facts of the build. Packagers set the commit in `IPYCODEX_COMMIT`.
pub(super) fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        let kind = match cfg!(debug_assertions) {
            true => "debug",
            false => "release",
        };
        let (version, rust) = (env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_RUST_VERSION"));
        let commit = option_env!("IPYCODEX_COMMIT").map(|commit| format!(", commit {commit}"));
        format!(
            "{version}\nbuild: {kind} for {ARCH}-{OS}, Rust {rust} or later{}",
            commit.unwrap_or_default()
        )
    });
    &VERSION
}

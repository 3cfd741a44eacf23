//! The version, and how this program was built. Absent on purpose: a script that runs before the build.

use std::env::consts::{ARCH, OS};
use std::sync::LazyLock;

/// The version, then how the program was built. Who packages it names a commit in `IPYCODEX_COMMIT`.
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

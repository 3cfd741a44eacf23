//! Peers of Jupyter beyond the kernels of Python and Bash: kernels of JavaScript and of TypeScript, and the gateway of
//! clusters.

use std::path::PathBuf;
use std::sync::LazyLock;

use serde_json::json;

use super::{fetch_environment, fetched, have, install_packages, peers_folder};

/// A kernel of a language whose kernel tells what is complete, which that of Bash does not.
const JAVASCRIPT: &str = "tslab@1.0.22";

/// A kernel that is interrupted by message, asks for input and changes its displays.
const TYPESCRIPT: &str = "deno@2.9.6";

/// The gateway of clusters, with a kernel for it to start.
const ENTERPRISE: [&str; 2] = ["jupyter_enterprise_gateway==3.3.0", "ipykernel==6.29.5"];

/// The prefix of the kernel `javascript`.
pub fn javascript() -> Option<PathBuf> {
    static FOUND: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
        let words = ["kernel", "--js", "--config-path", "{connection_file}"];
        packaged("javascript", JAVASCRIPT, &words, "signal")
    });
    have("the kernel of JavaScript", &FOUND)
}

/// The prefix of the kernel `typescript`.
pub fn typescript() -> Option<PathBuf> {
    static FOUND: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
        let words = ["jupyter", "--kernel", "--conn", "{connection_file}"];
        packaged("typescript", TYPESCRIPT, &words, "message")
    });
    have("the kernel of TypeScript", &FOUND)
}

/// A kernel whose program a package brings, and how it is interrupted: the prefix it is installed at.
fn packaged(
    language: &str,
    package: &str,
    words: &[&str],
    interrupted_by: &str,
) -> Result<PathBuf, String> {
    let folder = peers_folder().join(language);
    fetched(&folder, package, || {
        install_packages(&folder, &[package])?;
        let (name, _) = package.split_once('@').unwrap_or((package, ""));
        let program = folder.join("node_modules/.bin").join(name);
        let program = program.to_string_lossy();
        let words = [&[&*program], words].concat();
        let spec = json!({
            "argv": words,
            "display_name": language,
            "language": language,
            "interrupt_mode": interrupted_by,
        });
        let place = folder.join("share/jupyter/kernels").join(language);
        std::fs::create_dir_all(&place)
            .and_then(|()| std::fs::write(place.join("kernel.json"), spec.to_string()))
            .map_err(|error| error.to_string())
    })?;
    Ok(folder)
}

/// The Python of an environment with Jupyter Enterprise Gateway.
pub fn enterprise_gateway() -> Option<PathBuf> {
    static FOUND: LazyLock<Result<PathBuf, String>> =
        LazyLock::new(|| fetch_environment("enterprise", &ENTERPRISE, "enterprise_gateway"));
    have("Jupyter Enterprise Gateway", &FOUND)
}

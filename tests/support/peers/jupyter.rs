//! Peers of Jupyter beyond the kernels of Python and Bash: a kernel of JavaScript and TypeScript, and the gateway of
//! clusters.

use std::path::PathBuf;
use std::sync::LazyLock;

use serde_json::json;

use super::{fetch_environment, fetched, have, install_packages, peers_folder};

/// A kernel of a language whose kernel tells what is complete, which that of Bash does not.
const JAVASCRIPT: &str = "tslab@1.0.22";

/// The gateway of clusters, with a kernel for it to start.
const ENTERPRISE: [&str; 2] = ["jupyter_enterprise_gateway==3.3.0", "ipykernel==6.29.5"];

/// The prefix of the kernel `javascript`.
pub fn javascript() -> Option<PathBuf> {
    static FOUND: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
        let folder = peers_folder().join("javascript");
        fetched(&folder, JAVASCRIPT, || {
            install_packages(&folder, &[JAVASCRIPT])?;
            let program = folder.join("node_modules/.bin/tslab");
            let spec = json!({
                "argv": [program, "kernel", "--js", "--config-path", "{connection_file}"],
                "display_name": "JavaScript",
                "language": "javascript",
            });
            let place = folder.join("share/jupyter/kernels/javascript");
            std::fs::create_dir_all(&place)
                .and_then(|()| std::fs::write(place.join("kernel.json"), spec.to_string()))
                .map_err(|error| error.to_string())
        })?;
        Ok(folder)
    });
    have("the kernel of JavaScript", &FOUND)
}

/// The Python of an environment with Jupyter Enterprise Gateway.
pub fn enterprise_gateway() -> Option<PathBuf> {
    static FOUND: LazyLock<Result<PathBuf, String>> =
        LazyLock::new(|| fetch_environment("enterprise", &ENTERPRISE, "enterprise_gateway"));
    have("Jupyter Enterprise Gateway", &FOUND)
}

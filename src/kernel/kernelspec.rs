//! The kernelspecs of our kernels: install, list, remove.
//!
//! Out: `kernels/NAME/kernel.json` below a data folder of Jupyter. Invariant: a kernelspec of the same name that starts
//! another program is neither overwritten nor removed.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::files::{FileMode, write_whole};
use crate::text::report::Report;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelKind {
    /// Cells of Python and prompts.
    Cells,
    /// Prompts to an agent of the Agent Client Protocol.
    AgentClient,
}

impl KernelKind {
    pub fn name(self) -> &'static str {
        match self {
            KernelKind::Cells => "ipycodex",
            KernelKind::AgentClient => "agentclient",
        }
    }

    pub fn labels(self) -> (&'static str, &'static str) {
        match self {
            KernelKind::Cells => ("ipycodex (Python + AI)", "python"),
            KernelKind::AgentClient => ("Agent Client Protocol", "agent"),
        }
    }
}

/// A data folder of Jupyter; kernelspecs are in its `kernels`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelspecDir(pub PathBuf);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledKernel {
    pub folder: PathBuf,
    pub argv: Vec<String>,
}

/// Writes the kernelspec of `program` with `arguments`; returns its folder.
///
/// # Errors
/// When the folder cannot be written, or holds a kernel that is not ours.
pub fn install(
    place: &KernelspecDir,
    kind: KernelKind,
    program: &Path,
    arguments: &[String],
) -> Result<PathBuf, Report> {
    let folder = place.folder(kind);
    if folder.join("kernel.json").exists() && own_argv(&folder).is_none() {
        let message = format!("`{}` starts another program", folder.display());
        return Err(
            Report::failure(message).hint("move it away, or install with another `--prefix`")
        );
    }
    let failed = |error: std::io::Error| {
        let report = Report::failure(format!("cannot write `{}`", folder.display()));
        let report = match error.kind() {
            ErrorKind::PermissionDenied => report.hint("`--user` installs it for you alone"),
            _ => report,
        };
        report.because(error)
    };
    let mut argv = vec![program.display().to_string(), "kernel".to_owned()];
    argv.extend(arguments.iter().cloned());
    argv.extend(["-f".to_owned(), "{connection_file}".to_owned()]);
    let (display_name, language) = kind.labels();
    let spec = json!({
        "argv": argv,
        "display_name": display_name,
        "language": language,
        "interrupt_mode": "message",
        "env": {},
        "metadata": {"debugger": false},
    });
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let text = format!("{spec:#}\n");
    write_whole(&folder.join("kernel.json"), text.as_bytes(), FileMode::Keep)?;
    Ok(folder)
}

/// Removes the kernelspec; false when there was none.
///
/// # Errors
/// When the kernelspec is not ours, or cannot be removed.
pub fn uninstall(place: &KernelspecDir, kind: KernelKind) -> Result<bool, Report> {
    let folder = place.folder(kind);
    if !folder.join("kernel.json").exists() {
        return Ok(false);
    }
    if own_argv(&folder).is_none() {
        let message = format!("`{}` starts another program: it stays", folder.display());
        return Err(Report::failure(message));
    }
    std::fs::remove_dir_all(&folder).map_err(|error| {
        Report::failure(format!("cannot remove `{}`", folder.display())).because(error)
    })?;
    Ok(true)
}

pub fn list_installed(places: &[KernelspecDir]) -> Vec<InstalledKernel> {
    let kinds = [KernelKind::Cells, KernelKind::AgentClient];
    let folders = places
        .iter()
        .flat_map(|place| kinds.map(|kind| place.folder(kind)));
    folders
        .filter_map(|folder| {
            let argv = own_argv(&folder)?;
            Some(InstalledKernel { folder, argv })
        })
        .collect()
}

impl KernelspecDir {
    fn folder(&self, kind: KernelKind) -> PathBuf {
        self.0.join("kernels").join(kind.name())
    }
}

/// The command line of the kernelspec in a folder, if its first argument is our subcommand `kernel`.
fn own_argv(folder: &Path) -> Option<Vec<String>> {
    let text = std::fs::read(folder.join("kernel.json")).ok()?;
    let spec: Value = crate::text::json::parse(&text).ok()?;
    let words = spec.get("argv")?.as_array()?;
    let words: Vec<String> = words
        .iter()
        .filter_map(|word| word.as_str().map(str::to_owned))
        .collect();
    let kernel = words.get(1).is_some_and(|word| word == "kernel");
    kernel.then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_kernelspecs_are_installed_and_removed_and_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let place = KernelspecDir(folder.path().join("jupyter"));
        let program = Path::new("/bin/ipycodex");
        let arguments = ["--python".to_owned(), "/p".to_owned()];
        let written = install(&place, KernelKind::Cells, program, &arguments).unwrap();
        let argv = [
            "/bin/ipycodex",
            "kernel",
            "--python",
            "/p",
            "-f",
            "{connection_file}",
        ];
        let listed = list_installed(std::slice::from_ref(&place));
        assert_eq!(
            (listed[0].folder.as_path(), listed[0].argv.as_slice()),
            (written.as_path(), &argv.map(str::to_owned)[..])
        );
        let cells = KernelKind::Cells;
        let of_agent = install(&place, KernelKind::AgentClient, program, &[]).unwrap();
        assert!(of_agent.ends_with("kernels/agentclient"));
        assert_eq!(list_installed(std::slice::from_ref(&place)).len(), 2);
        assert_eq!(uninstall(&place, KernelKind::AgentClient).ok(), Some(true));
        assert!(install(&place, cells, program, &[]).is_ok());
        assert_eq!(uninstall(&place, cells).ok(), Some(true));
        assert_eq!(uninstall(&place, cells).ok(), Some(false));
        std::fs::create_dir_all(&written).unwrap();
        std::fs::write(
            written.join("kernel.json"),
            r#"{"argv": ["python", "-m", "x"]}"#,
        )
        .unwrap();
        assert!(install(&place, cells, program, &[]).is_err());
        assert!(uninstall(&place, cells).is_err());
        assert!(list_installed(&[place]).is_empty());
    }
}

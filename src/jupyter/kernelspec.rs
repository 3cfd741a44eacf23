//! Kernelspecs: the installed kernels, and the command that starts each.
//!
//! In: the environment. Out: the spec of a name, searched in Jupyter's order: `JUPYTER_PATH`, the user's folder,
//! the active environment's, the machine's. Invariant: the first folder that has the name wins. Absent on purpose:
//! kernels of provisioners, which no file describes.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use jupyter_protocol::JupyterKernelspec;

#[derive(Debug, Clone)]
pub struct Kernelspec {
    pub name: String,
    pub folder: PathBuf,
    pub spec: JupyterKernelspec,
}

#[derive(Debug, thiserror::Error)]
pub enum KernelspecError {
    #[error("no kernel `{name}` is installed; there are: {}", listed(known))]
    Unknown {
        name: String,
        /// Names of the installed kernels.
        known: Vec<String>,
    },
    /// The file `kernel.json` is invalid.
    #[error("the kernel `{name}` cannot be started: `{}` {why}", file.display())]
    Broken {
        name: String,
        file: PathBuf,
        /// The fault, as a phrase that follows the file's name.
        why: String,
    },
}

fn listed(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        names => names.join(", "),
    }
}

impl Kernelspec {
    /// Returns the program that starts the kernel: one of the installation the spec belongs to
    /// (`PREFIX/share/jupyter/kernels/NAME`), where that has it; otherwise the name in the spec, to be searched on
    /// `PATH`.
    pub fn program(&self) -> PathBuf {
        let named = PathBuf::from(&self.spec.argv[0]);
        let own = self
            .folder
            .ancestors()
            .nth(4)
            .map(|prefix| prefix.join("bin").join(&named));
        match own {
            Some(own) if named.components().count() == 1 && own.is_file() => own,
            _ => named,
        }
    }
}

/// Returns the folders that may hold `kernels/`, nearest first. `prefix`: of the Python that cells would run in.
pub fn data_dirs(variables: &BTreeMap<OsString, OsString>, prefix: Option<&Path>) -> Vec<PathBuf> {
    let variable = |name: &str| {
        let value = variables.get(OsStr::new(name));
        value.filter(|value| !value.is_empty()).map(PathBuf::from)
    };
    let mut folders = Vec::new();
    if let Some(path) = variable("JUPYTER_PATH") {
        folders.extend(std::env::split_paths(&path));
    }
    let home = variable("HOME").map(|home| home.join(".local/share"));
    let data = variable("XDG_DATA_HOME").or(home);
    folders.extend(variable("JUPYTER_DATA_DIR").or(data.map(|data| data.join("jupyter"))));
    let prefixes = ["VIRTUAL_ENV", "CONDA_PREFIX"].map(variable);
    for prefix in prefixes
        .into_iter()
        .flatten()
        .chain(prefix.map(Path::to_owned))
    {
        folders.push(prefix.join("share/jupyter"));
    }
    folders.push("/usr/local/share/jupyter".into());
    folders.push("/usr/share/jupyter".into());
    folders
}

/// Returns the kernel of this name.
///
/// # Errors
/// There is no such kernel, or its file is invalid.
pub fn find_kernelspec(name: &str, folders: &[PathBuf]) -> Result<Kernelspec, KernelspecError> {
    let kernels = folders.iter().map(|folder| folder.join("kernels"));
    let found = kernels.clone().map(|kernels| kernels.join(name));
    let Some(folder) = found
        .into_iter()
        .find(|folder| folder.join("kernel.json").is_file())
    else {
        let mut known: Vec<String> = kernels.flat_map(|folder| names_in(&folder)).collect();
        known.sort();
        known.dedup();
        return Err(KernelspecError::Unknown {
            name: name.to_owned(),
            known,
        });
    };
    let file = folder.join("kernel.json");
    let broken = |why: String| KernelspecError::Broken {
        name: name.to_owned(),
        file: file.clone(),
        why,
    };
    let text = std::fs::read(&file).map_err(|error| broken(format!("cannot be read: {error}")))?;
    let spec: JupyterKernelspec = serde_json::from_slice(&text)
        .map_err(|error| broken(format!("is not a kernelspec: {error}")))?;
    if spec.argv.is_empty() {
        return Err(broken("names no program under `argv`".to_owned()));
    }
    Ok(Kernelspec {
        name: name.to_owned(),
        folder,
        spec,
    })
}

fn names_in(kernels: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(kernels).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.path().join("kernel.json").is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_folder_wins_and_what_there_is_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let write = |place: &str, text: &str| {
            let folder = folder.path().join(place);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("kernel.json"), text).unwrap();
        };
        let spec = |argv: &str| {
            format!(r#"{{"argv": [{argv}], "display_name": "B", "language": "bash", "env": {{}}}}"#)
        };
        write("near/kernels/bash", &spec("\"near\""));
        write("far/kernels/bash", &spec("\"far\""));
        write("far/kernels/empty", &spec(""));
        write("far/kernels/wrong", "{}");
        write(
            "p/share/jupyter/kernels/own",
            &spec("\"own-python\", \"-m\""),
        );
        let prefix = folder.path().join("p");
        let own = find_kernelspec("own", &[prefix.join("share/jupyter")]).unwrap();
        assert_eq!(own.program(), Path::new("own-python"));
        std::fs::create_dir(prefix.join("bin")).unwrap();
        std::fs::write(prefix.join("bin/own-python"), "").unwrap();
        assert_eq!(own.program(), prefix.join("bin/own-python"));
        let folders = [folder.path().join("near"), folder.path().join("far")];
        assert_eq!(
            find_kernelspec("bash", &folders).unwrap().spec.argv,
            ["near"]
        );
        let said = |name: &str| find_kernelspec(name, &folders).unwrap_err().to_string();
        assert_eq!(
            said("ir"),
            "no kernel `ir` is installed; there are: bash, empty, wrong"
        );
        assert!(said("empty").contains("names no program"));
        assert!(said("wrong").contains("is not a kernelspec"));
    }

    #[test]
    fn variables_say_where_to_look() {
        let of = |pairs: &[(&str, &str)]| {
            let pairs = pairs
                .iter()
                .map(|(name, value)| (name.into(), value.into()));
            data_dirs(&pairs.collect(), Some(Path::new("/p")))
        };
        let names = [
            ("HOME", "/h"),
            ("JUPYTER_PATH", "/a:/b"),
            ("VIRTUAL_ENV", "/v"),
        ];
        let wanted = [
            "/a",
            "/b",
            "/h/.local/share/jupyter",
            "/v/share/jupyter",
            "/p/share/jupyter",
            "/usr/local/share/jupyter",
            "/usr/share/jupyter",
        ];
        assert_eq!(of(&names), wanted.map(PathBuf::from));
        assert_eq!(
            of(&[("JUPYTER_DATA_DIR", "/d"), ("HOME", "/h")])[0],
            Path::new("/d")
        );
    }
}

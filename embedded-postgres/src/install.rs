//! Search for the `PostgreSQL` server programs on this machine.

use std::{
    collections::HashSet,
    env,
    fs::{self, File},
    io::Read,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use crate::{
    error::Error,
    requirements::{BIN_DIR_VARIABLE, OLDEST_MAJOR},
    run::run,
};

/// `postgres --version` takes milliseconds; a program that takes longer is something else.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

/// A folder with the programs `postgres` and `initdb` of one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    bin_dir: PathBuf,
    major: u32,
    version: String,
}

impl Installation {
    /// Finds the programs in the folder that [`BIN_DIR_VARIABLE`] names, or else the first usable ones in `PATH`, in
    /// `pg_config --bindir`, and in the folders of packages (newest version first).
    ///
    /// Blocks the thread for some milliseconds to run `postgres --version`. Fails with [`Error::NotInstalled`], which
    /// names the packages to install, or [`Error::BadBinDir`].
    pub fn find() -> Result<Self, Error> {
        Self::find_where(|_| true)
    }

    /// Like [`Installation::find`], but only of a major version: a cluster runs under the version that created it.
    pub fn find_major(major: u32) -> Result<Self, Error> {
        Self::find_where(|found| found.major == major)
    }

    /// The programs in `bin_dir`. Fails with [`Error::BadBinDir`] if they are missing or too old.
    pub fn at(bin_dir: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = bin_dir.into();
        Self::examine(&path).map_err(|reason| Error::BadBinDir { path, reason })
    }

    /// The folder of the programs.
    pub fn bin_dir(&self) -> &Path {
        &self.bin_dir
    }

    /// The major version, such as 17.
    pub fn major(&self) -> u32 {
        self.major
    }

    /// The full version, such as `17.2`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The path of one of the programs.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.bin_dir.join(name)
    }

    fn find_where(wanted: impl Fn(&Self) -> bool) -> Result<Self, Error> {
        if let Some(dir) = env::var_os(BIN_DIR_VARIABLE).filter(|dir| !dir.is_empty()) {
            return Self::at(dir);
        }
        let mut looked = Vec::new();
        for dir in candidates() {
            match Self::examine(&dir) {
                Ok(found) if wanted(&found) => return Ok(found),
                Ok(found) => looked.push(format!("{} (version {})", dir.display(), found.version)),
                Err(reason) => looked.push(format!("{} ({reason})", dir.display())),
            }
        }
        if looked.is_empty() {
            looked.push("PATH, pg_config, /usr/lib/postgresql, /usr/pgsql-*, Homebrew".to_owned());
        }
        Err(Error::NotInstalled { looked: looked.join("; ") })
    }

    fn examine(bin_dir: &Path) -> Result<Self, String> {
        for program in ["postgres", "initdb"] {
            if !is_program(&bin_dir.join(program)) {
                return Err(format!("no program `{program}` in it"));
            }
        }
        let mut command = Command::new(bin_dir.join("postgres"));
        command.arg("--version").current_dir("/");
        let answer = run(command, VERSION_TIMEOUT).map_err(|error| format!("`postgres --version`: {error}"))?;
        let (version, major) = parse_version(&answer.output)
            .filter(|_| answer.success)
            .ok_or_else(|| format!("`postgres --version` printed {:?}", answer.output.trim()))?;
        if major < OLDEST_MAJOR {
            return Err(format!("version {version} is older than {OLDEST_MAJOR}"));
        }
        Ok(Self { bin_dir: bin_dir.to_owned(), major, version })
    }
}

/// Parses `15.13` and 15 from `postgres (PostgreSQL) 15.13 (Debian 15.13-1)`; a beta is `18beta1`.
fn parse_version(text: &str) -> Option<(String, u32)> {
    let version = text.split("(PostgreSQL)").nth(1)?.split_whitespace().next()?;
    let digits: String = version.chars().take_while(char::is_ascii_digit).collect();
    Some((version.to_owned(), digits.parse().ok()?))
}

/// The folders to search, each once, in order of preference.
fn candidates() -> Vec<PathBuf> {
    let mut dirs = Vec::new();
    let mut scripts = Vec::new();
    for dir in env::split_paths(&env::var_os("PATH").unwrap_or_default()) {
        let postgres = dir.join("postgres");
        if !is_program(&postgres) {
            continue;
        }
        // `PATH` often holds only a link; the programs of one version are next to its target.
        if let Some(real) = fs::canonicalize(&postgres).ok().as_deref().and_then(Path::parent) {
            dirs.push(real.to_owned());
        }
        // A wrapper script may change the user or stay as the parent process, so it comes last.
        if is_script(&postgres) { scripts.push(dir) } else { dirs.push(dir) }
    }
    let mut pg_config = Command::new("pg_config");
    pg_config.arg("--bindir").current_dir("/");
    if let Ok(answer) = run(pg_config, VERSION_TIMEOUT)
        && answer.success
    {
        dirs.push(PathBuf::from(answer.output.trim()));
    }
    dirs.extend(versioned("/usr/lib/postgresql", ""));
    dirs.extend(versioned("/usr", "pgsql-"));
    dirs.extend(versioned("/opt/homebrew/opt", "postgresql@"));
    dirs.extend(versioned("/usr/local/opt", "postgresql@"));
    dirs.push(PathBuf::from("/usr/local/pgsql/bin"));
    dirs.extend(scripts);

    let mut seen = HashSet::new();
    dirs.retain(|dir| {
        // A folder with neither program is not worth reporting.
        (is_program(&dir.join("postgres")) || is_program(&dir.join("initdb")))
            && seen.insert(fs::canonicalize(dir).unwrap_or_else(|_| dir.clone()))
    });
    dirs
}

/// The folders `<parent>/<prefix><version>/bin`, highest version first.
fn versioned(parent: &str, prefix: &str) -> Vec<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = fs::read_dir(parent)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            let version = name.to_str()?.strip_prefix(prefix)?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .collect();
    found.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
    found.into_iter().map(|(_, dir)| dir).collect()
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

fn is_script(path: &Path) -> bool {
    let mut start = [0; 2];
    File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *b"#!"
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_what_the_program_prints() {
        let debian = "postgres (PostgreSQL) 15.13 (Debian 15.13-0+deb12u1)\n";
        assert_eq!(parse_version(debian), Some(("15.13".to_owned(), 15)));
        assert_eq!(parse_version("postgres (PostgreSQL) 18beta1\n"), Some(("18beta1".to_owned(), 18)));
        assert_eq!(parse_version("something else 4.2"), None);
    }

    #[test]
    fn the_programs_of_this_machine_are_found() {
        let found = Installation::find().unwrap();
        assert!(found.major() >= OLDEST_MAJOR);
        assert!(is_program(&found.program("initdb")) && is_program(&found.program("postgres")));
        assert_eq!(Installation::find_major(found.major()).unwrap().major(), found.major());
    }

    #[test]
    fn a_folder_without_the_programs_is_refused_with_the_reason() {
        let error = Installation::at("/nonexistent").unwrap_err().to_string();
        assert!(error.contains("no program `postgres`"), "{error}");
    }

    #[test]
    fn a_missing_version_names_what_to_install() {
        let error = Installation::find_major(9_999).unwrap_err().to_string();
        assert!(error.contains("apt-get install postgresql") && error.contains("brew install"), "{error}");
    }
}

//! Finds the `PostgreSQL` server programs on this machine.

use std::{
    collections::HashSet,
    env, fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use crate::{
    error::Error,
    programs::{run, text},
};

/// Oldest supported major version of `PostgreSQL`.
const OLDEST_MAJOR: u32 = 15;
/// Environment variable that specifies the folder with the server programs.
const BIN_DIR_VARIABLE: &str = "COMPLIANCE_POSTGRES_BIN";
/// Timeout for `postgres --version`, which takes milliseconds.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

/// A folder with one version of `postgres`, `initdb` and `pg_ctl`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Installation {
    /// Folder with the programs.
    pub bin_dir: PathBuf,
    /// Major version, such as 17.
    pub major: u32,
    /// Full version, such as `17.2`.
    pub version: String,
}

impl Installation {
    /// Returns the path of a program such as `pg_dump`, which may not exist.
    pub fn program(&self, name: &str) -> PathBuf {
        self.bin_dir.join(name)
    }

    /// Finds the server programs, of major version `major` if specified.
    ///
    /// Searches the folder in `COMPLIANCE_POSTGRES_BIN` if set. Otherwise, searches `PATH` and package folders, newest version first.
    pub async fn find(major: Option<u32>) -> Result<Self, Error> {
        let dirs = match env::var_os(BIN_DIR_VARIABLE).filter(|dir| !dir.is_empty()) {
            Some(dir) => vec![dir.into()],
            None => candidates(),
        };
        let mut looked = Vec::new();
        for dir in dirs {
            match Self::examine(&dir).await {
                Ok(found) if major.is_none_or(|major| major == found.major) => return Ok(found),
                Ok(found) => looked.push(format!("{} (version {})", dir.display(), found.version)),
                Err(reason) => looked.push(format!("{} ({reason})", dir.display())),
            }
        }
        if looked.is_empty() {
            looked.push("PATH, /usr/lib/postgresql, /usr/pgsql-*, Homebrew".to_owned());
        }
        let (missing, wanted, migrate) = match major {
            None => (
                format!("PostgreSQL server (version {OLDEST_MAJOR} or newer)"),
                "one (Debian, Ubuntu: `apt-get install postgresql`; Fedora, RHEL: `dnf install postgresql-server`; \
                 Alpine: `apk add postgresql`; Arch: `pacman -S postgresql`; macOS: `brew install postgresql@17`)"
                    .to_owned(),
                "",
            ),
            Some(major) => (
                format!("PostgreSQL {major}, which created the database,"),
                format!(
                    "PostgreSQL {major} (Debian, Ubuntu: `apt-get install postgresql-{major}`, if necessary from \
                     apt.postgresql.org; Fedora, RHEL: `dnf install postgresql{major}-server` from yum.postgresql.org; \
                     Alpine: `apk add postgresql{major}`; macOS: `brew install postgresql@{major}`)"
                ),
                "migrate the data with pg_upgrade or pg_dumpall, ",
            ),
        };
        Err(Error::Other(format!(
            "found no {missing} on this machine. Install {wanted}, set {BIN_DIR_VARIABLE} to the folder that contains \
             `postgres`, `initdb` and `pg_ctl`, {migrate}or specify a running server with --database-url. Searched: {}",
            looked.join("; ")
        )))
    }

    async fn examine(bin_dir: &Path) -> Result<Self, String> {
        for program in ["postgres", "initdb", "pg_ctl"] {
            if !is_program(&bin_dir.join(program)) {
                return Err(format!("no `{program}` program"));
            }
        }
        let mut command = Command::new(bin_dir.join("postgres"));
        command.arg("--version").current_dir("/");
        let output = run(command, VERSION_TIMEOUT).await.map_err(|error| format!("`postgres --version`: {error}"))?;
        let (version, major) = parse_version(&text(&output))
            .filter(|_| output.status.success())
            .ok_or_else(|| format!("`postgres --version` printed {:?}", text(&output)))?;
        if major < OLDEST_MAJOR {
            return Err(format!("version {version} is older than {OLDEST_MAJOR}"));
        }
        Ok(Self { bin_dir: bin_dir.to_owned(), major, version })
    }
}

/// Parses `15.13` and 15 from `postgres (PostgreSQL) 15.13 (Debian 15.13-1)`. Beta versions look like `18beta1`.
fn parse_version(text: &str) -> Option<(String, u32)> {
    let version = text.split("(PostgreSQL)").nth(1)?.split_whitespace().next()?;
    let digits: String = version.chars().take_while(char::is_ascii_digit).collect();
    Some((version.to_owned(), digits.parse().ok()?))
}

/// Returns the folders to search, in order of preference.
fn candidates() -> Vec<PathBuf> {
    let mut dirs: Vec<PathBuf> = env::split_paths(&env::var_os("PATH").unwrap_or_default())
        // `PATH` often contains only a link. The other programs of that version are next to the link's target.
        .filter_map(|dir| Some(fs::canonicalize(dir.join("postgres")).ok()?.parent()?.to_owned()))
        .collect();
    for (parent, prefix) in [
        ("/usr/lib/postgresql", ""),
        ("/usr", "pgsql-"),
        ("/opt/homebrew/opt", "postgresql@"),
        ("/usr/local/opt", "postgresql@"),
    ] {
        dirs.extend(versioned(parent, prefix));
    }
    dirs.push(PathBuf::from("/usr/local/pgsql/bin"));
    // Keeps folders without server programs out of error messages.
    dirs.retain(|dir| is_program(&dir.join("postgres")) || is_program(&dir.join("initdb")));
    let mut seen = HashSet::new();
    dirs.retain(|dir| seen.insert(fs::canonicalize(dir).unwrap_or_else(|_| dir.clone())));
    dirs
}

/// Returns the folders `<parent>/<prefix><version>/bin`, highest version first.
fn versioned(parent: &str, prefix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let versions = entries.filter_map(|entry| entry.file_name().to_str()?.strip_prefix(prefix)?.parse().ok());
    let mut versions: Vec<u32> = versions.collect();
    versions.sort_unstable_by(|one, other| other.cmp(one));
    versions.iter().map(|version| Path::new(parent).join(format!("{prefix}{version}/bin"))).collect()
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_parsed_from_program_output() {
        let debian = "postgres (PostgreSQL) 15.13 (Debian 15.13-0+deb12u1)\n";
        assert_eq!(parse_version(debian), Some(("15.13".to_owned(), 15)));
        assert_eq!(parse_version("postgres (PostgreSQL) 18beta1\n"), Some(("18beta1".to_owned(), 18)));
        assert_eq!(parse_version("something else 4.2"), None);
    }

    #[tokio::test]
    async fn installed_server_programs_are_found() {
        let found = Installation::find(None).await.unwrap();
        assert!(found.major >= OLDEST_MAJOR);
        assert!(is_program(&found.program("initdb")) && is_program(&found.program("postgres")));
        assert_eq!(Installation::find(Some(found.major)).await.unwrap().major, found.major);
    }

    #[tokio::test]
    async fn folders_without_server_programs_are_rejected() {
        let reason = Installation::examine(Path::new("/nonexistent")).await.unwrap_err();
        assert!(reason.contains("no `postgres` program"), "{reason}");
    }

    #[tokio::test]
    async fn missing_version_error_suggests_packages() {
        let error = Installation::find(Some(9_999)).await.unwrap_err().to_string();
        assert!(error.contains("apt-get install postgresql-9999`") && error.contains("brew install"), "{error}");
        let searched: Vec<_> = error.split_once("Searched: ").unwrap().1.split("; ").collect();
        assert_eq!(searched.iter().collect::<HashSet<_>>().len(), searched.len(), "{error}");
    }
}

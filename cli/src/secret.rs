//! The secret that tokens are signed with: made once, and kept in the data folder.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use compliance_api::token::Secret;
use rand::{TryRng as _, rngs::SysRng};

/// The secret's file in the data folder. Its text is the secret, so that it can be handed to another service as
/// `COMPLIANCE_JWT_SECRET`.
const FILE: &str = "jwt-secret";
/// No secret of ours is longer; what is longer is some other file.
const MOST_BYTES: u64 = 4096;

/// A secret, and how it came about.
#[derive(Debug)]
pub(crate) struct Kept {
    /// The secret.
    pub(crate) secret: Secret,
    /// Its file.
    pub(crate) path: PathBuf,
    /// Whether it has just been made.
    pub(crate) created: bool,
}

/// The secret of the data folder, made when there is none.
pub(crate) fn load_or_create(data_dir: &Path) -> anyhow::Result<Kept> {
    let path = data_dir.join(FILE);
    if let Some(secret) = read(&path)? {
        return Ok(Kept { secret, path, created: false });
    }
    let created = create(data_dir, &path)?;
    // Read back, as another process may have been quicker.
    match read(&path)? {
        Some(secret) => Ok(Kept { secret, path, created }),
        None => bail!("the secret {} was removed while it was being made", path.display()),
    }
}

fn read(path: &Path) -> anyhow::Result<Option<Secret>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.with_context(|| format!("cannot read the secret {}", path.display()))?,
    };
    let meta = file.metadata().with_context(|| format!("cannot look at the secret {}", path.display()))?;
    if !meta.is_file() {
        bail!("{} is no file, and the secret that tokens are signed with is to be kept there", path.display());
    }
    if meta.mode() & 0o077 != 0 {
        bail!(
            "the secret {} is open to other users (mode {:04o}), so anyone may have made tokens with it: remove it, and \
             a new one is made; or, if nobody can have read it, close it with `chmod 600 {}`",
            path.display(),
            meta.mode() & 0o7777,
            path.display()
        );
    }
    let mut text = String::new();
    file.take(MOST_BYTES)
        .read_to_string(&mut text)
        .with_context(|| format!("cannot read the secret {}", path.display()))?;
    let secret = Secret::new(text.trim()).with_context(|| format!("the secret {} cannot be used", path.display()))?;
    Ok(Some(secret))
}

/// Makes the file, whole or not at all. Reports whether this process created it.
fn create(data_dir: &Path, path: &Path) -> anyhow::Result<bool> {
    create_folder(data_dir).with_context(|| format!("cannot make the data folder {}", data_dir.display()))?;
    let new = data_dir.join(format!("{FILE}.new-{}", random_hex::<8>()?));
    let written = write_new(&new, &random_hex::<32>()?);
    // Unlike a rename, a link does not replace what another process has put there meanwhile.
    let linked = written.and_then(|()| fs::hard_link(&new, path));
    let _ = fs::remove_file(&new);
    match linked {
        Ok(()) => {
            // The name is to last as well as the text.
            let _ = File::open(data_dir).and_then(|dir| dir.sync_all());
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error).with_context(|| format!("cannot make the secret {}", path.display())),
    }
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    writeln!(file, "{text}")?;
    file.sync_all()
}

/// Makes the data folder, closed to others; folders on the way are made as the system makes them.
fn create_folder(dir: &Path) -> io::Result<()> {
    if let Some(parent) = dir.parent() {
        fs::create_dir_all(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(dir) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

fn random_hex<const BYTES: usize>() -> anyhow::Result<String> {
    let mut bytes = [0; BYTES];
    SysRng.try_fill_bytes(&mut bytes).context("the system gives no random numbers")?;
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    Ok(digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use compliance_api::token::{Claims, issue};

    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Self {
            Self(std::env::temp_dir().join(format!("compliance-secret-{}", random_hex::<8>().unwrap())))
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// A secret shows itself in what it signs only.
    fn mark(kept: &Kept) -> String {
        issue(&kept.secret, &Claims::new(1, 0, 1)).unwrap()
    }

    #[test]
    fn it_is_made_once_and_closed_to_others() {
        let folder = Folder::new();
        let first = load_or_create(&folder.0).unwrap();
        let second = load_or_create(&folder.0).unwrap();
        assert!(first.created && !second.created);
        assert_eq!(mark(&first), mark(&second));
        assert_eq!(fs::metadata(&first.path).unwrap().mode() & 0o7777, 0o600);
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
    }

    #[test]
    fn many_at_once_agree() {
        let folder = Folder::new();
        let marks: Vec<String> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..16).map(|_| scope.spawn(|| mark(&load_or_create(&folder.0).unwrap()))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(marks.iter().all(|mark| *mark == marks[0]));
    }

    #[test]
    fn one_that_others_can_read_is_refused() {
        let folder = Folder::new();
        let path = load_or_create(&folder.0).unwrap().path;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let error = load_or_create(&folder.0).unwrap_err().to_string();
        assert!(error.contains("mode 0640") && error.contains("chmod 600"), "{error}");
    }

    #[test]
    fn one_that_is_too_short_is_refused() {
        let folder = Folder::new();
        create_folder(&folder.0).unwrap();
        write_new(&folder.0.join(FILE), "short").unwrap();
        assert!(load_or_create(&folder.0).is_err());
    }
}

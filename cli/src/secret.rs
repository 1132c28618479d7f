//! Stores the token signing secret in the data folder.

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _},
    path::Path,
};

use crate::program::{InvalidSetting, SigningArgs};
use anyhow::Context as _;
use compliance_api::token::Secret;
use rand::{TryRng as _, rngs::SysRng};

use crate::data_dir::DataDirArgs;

/// Name of the secret file in the data folder. Another service can use its content as `COMPLIANCE_JWT_SECRET`.
const FILE: &str = "jwt-secret";
/// Maximum size of the secret file, in bytes.
const MAX_BYTES: u64 = 4096;

/// Returns the given secret, or the secret in the data folder. Creates a missing secret if `init` is set.
pub(crate) fn find(signing: &SigningArgs, data_dir: &DataDirArgs, init: bool) -> anyhow::Result<Secret> {
    if let Some(given) = signing.secret()? {
        return Ok(given);
    }
    let folder = data_dir.choose()?;
    if init {
        return load_or_create(&folder);
    }
    stored(&folder)?.with_context(|| {
        format!(
            "the data folder {} contains no signing secret: choose another folder with --data-dir, set \
             COMPLIANCE_JWT_SECRET or COMPLIANCE_JWT_SECRET_FILE, or start `compliance serve` first; --init creates a secret",
            folder.display()
        )
    })
}

/// Returns the secret in the data folder, creating it if it is missing.
pub(crate) fn load_or_create(data_dir: &Path) -> anyhow::Result<Secret> {
    if let Some(secret) = stored(data_dir)? {
        return Ok(secret);
    }
    let path = data_dir.join(FILE);
    create(data_dir, &path).with_context(|| format!("cannot create the secret file {}", path.display()))?;
    // Another process may have created the file first, so read it back.
    stored(data_dir)?.with_context(|| format!("the secret file {} was removed during its creation", path.display()))
}

/// Returns the secret in the data folder, if it exists.
pub(crate) fn stored(data_dir: &Path) -> anyhow::Result<Option<Secret>> {
    let path = data_dir.join(FILE);
    let shown = path.display();
    let unreadable = || format!("cannot read the secret file {shown}");
    let file = match File::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(InvalidSetting::unreadable(&path))?,
    };
    let meta = file.metadata().with_context(unreadable)?;
    let setting = format!("the secret file {shown}");
    if !meta.is_file() {
        let text = "it is not a regular file: remove it, because the signing secret is stored there";
        return Err(InvalidSetting::of(setting)(text).into());
    }
    if meta.mode() & 0o077 != 0 {
        let mode = meta.mode() & 0o7777;
        let text = format!(
            "other users can read it (mode {mode:04o}) and may have signed tokens with it: remove the file, and the next start \
             creates a new secret; or, if nobody has read it, run `chmod 600 {shown}`"
        );
        return Err(InvalidSetting::of(setting)(text).into());
    }
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text).with_context(unreadable)?;
    Ok(Some(Secret::new(text.trim()).map_err(InvalidSetting::of(setting))?))
}

/// Creates the file with its content in one step, unless the file exists.
fn create(data_dir: &Path, path: &Path) -> io::Result<()> {
    create_folder(data_dir)?;
    let digits = (0..4).map(|_| Ok(format!("{:016x}", SysRng.try_next_u64().map_err(io::Error::other)?)));
    let text = digits.collect::<io::Result<String>>()?;
    // Only the owner can read a temporary file.
    let mut new = tempfile::Builder::new().prefix(FILE).tempfile_in(data_dir)?;
    writeln!(new, "{text}")?;
    new.as_file().sync_all()?;
    // Another process may have created the file.
    if let Err(failed) = new.persist_noclobber(path) {
        return if failed.error.kind() == io::ErrorKind::AlreadyExists { Ok(()) } else { Err(failed.error) };
    }
    // The content is already on disk. Syncing the folder persists the file name.
    let _ = File::open(data_dir).and_then(|dir| dir.sync_all());
    tracing::info!(
        file = %path.display(),
        "created a secret for signing tokens: only services with this secret accept them"
    );
    Ok(())
}

/// Creates the data folder, accessible only to its owner. Missing parents get the default mode.
fn create_folder(dir: &Path) -> io::Result<()> {
    if let Some(parent) = dir.parent() {
        fs::create_dir_all(parent)?;
    }
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::PermissionsExt as _, path::PathBuf};

    use compliance_api::token::{Claims, issue};

    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Self {
            Self(std::env::temp_dir().join(format!("compliance-secret-{:016x}", rand::random::<u64>())))
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// Returns a token for comparison, because secrets cannot be compared or printed.
    fn token(secret: &Secret) -> String {
        issue(secret, &Claims::new(1, 0, 1)).unwrap()
    }

    #[test]
    fn generated_secret_is_private_and_reused() {
        let folder = Folder::new();
        let first = load_or_create(&folder.0).unwrap();
        let second = load_or_create(&folder.0).unwrap();
        assert_eq!(token(&first), token(&second));
        assert_eq!(fs::metadata(folder.0.join(FILE)).unwrap().mode() & 0o7777, 0o600);
        assert_eq!(fs::metadata(&folder.0).unwrap().mode() & 0o7777, 0o700);
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
    }

    #[test]
    fn concurrent_starts_share_one_secret() {
        let folder = Folder::new();
        let tokens: Vec<String> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..16).map(|_| scope.spawn(|| token(&load_or_create(&folder.0).unwrap()))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(tokens.iter().all(|token| *token == tokens[0]));
    }

    #[test]
    fn secret_readable_by_others_is_rejected() {
        let folder = Folder::new();
        load_or_create(&folder.0).unwrap();
        fs::set_permissions(folder.0.join(FILE), fs::Permissions::from_mode(0o640)).unwrap();
        let error = load_or_create(&folder.0).unwrap_err().to_string();
        assert!(error.contains("mode 0640") && error.contains("chmod 600"), "{error}");
    }

    #[test]
    fn short_secret_is_rejected() {
        let folder = Folder::new();
        create_folder(&folder.0).unwrap();
        let path = folder.0.join(FILE);
        fs::write(&path, "short").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(load_or_create(&folder.0).is_err());
    }
}

//! Files and directories that only their owner can use, opened without following symbolic links.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

/// Options for a file that only its owner can read. Opening a symbolic link fails.
pub(crate) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // Keeps a pipe in the place of a file from blocking the process that opens it.
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.mode(0o600).custom_flags(flags.bits().cast_signed());
    }
    options
}

/// Reads a whole regular file.
///
/// # Errors
/// `NotFound` when it is missing, `InvalidData` when it is not a regular file, or another error of the system.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = options().read(true).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is no regular file"));
    }
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut file, &mut bytes)?;
    Ok(bytes)
}

/// Whether a link leads to a file elsewhere than below the directory `tree`. A file that is not there leads nowhere.
pub(crate) fn is_outside(tree: &Path, file: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    real(file).is_some_and(|file| real(tree).is_none_or(|tree| !file.starts_with(tree)))
}

/// Whether opening a file failed because it is a symbolic link.
pub(crate) fn is_link(error: &io::Error) -> bool {
    #[cfg(unix)]
    return error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
    #[cfg(not(unix))]
    return false;
}

/// Like [`read`], for text.
///
/// # Errors
/// Those of [`read`], and `InvalidData` when the file is not UTF-8.
pub(crate) fn read_to_string(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Replaces a file durably in one step: a reader sees the old content or the new one.
///
/// # Errors
/// The error of the system; the old file then stays.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let beside = beside(path, content)?;
    beside.as_file().sync_all()?;
    beside.persist(path).map_err(|error| error.error)?;
    sync_dir(path.parent().unwrap_or(Path::new(".")))
}

/// Like [`replace`], without waiting for the disk: a power cut may lose the new content.
///
/// # Errors
/// The error of the system; the old file then stays.
pub(crate) fn swap(path: &Path, content: &[u8]) -> io::Result<()> {
    beside(path, content)?.persist(path).map(drop).map_err(|error| error.error)
}

/// A temporary file with this content, in the directory of the file that it will replace.
fn beside(path: &Path, content: &[u8]) -> io::Result<tempfile::NamedTempFile> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut beside = tempfile::Builder::new().prefix(".new-").tempfile_in(dir)?;
    io::Write::write_all(&mut beside, content)?;
    Ok(beside)
}

/// The result of removing or moving a file, where a missing file counts as success.
///
/// # Errors
/// The error of the system, except `NotFound`.
pub(crate) fn gone(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Makes a directory that only its owner can enter, and its parents. An existing one stays as it is.
pub(crate) fn create_dir_all(path: &Path) -> io::Result<()> {
    builder().recursive(true).create(path)
}

/// Makes one directory that only its owner can enter.
///
/// # Errors
/// The error of the system: `AlreadyExists` when it exists, `NotFound` when its parent is missing.
pub(crate) fn create_dir(path: &Path) -> io::Result<()> {
    builder().create(path)
}

/// Makes a directory that only its owner can enter, in an existing one. It may exist already.
///
/// # Errors
/// The error of the system; `NotADirectory` when a link or a file has its name.
pub(crate) fn create_dir_in(path: &Path) -> io::Result<()> {
    match create_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) => Ok(()),
        Err(_) if std::fs::symlink_metadata(path)?.is_dir() => Ok(()),
        Err(_) => Err(io::ErrorKind::NotADirectory.into()),
    }
}

fn builder() -> DirBuilder {
    // On Windows no mode is set.
    #[cfg_attr(not(unix), expect(unused_mut, reason = "modes are set on Unix"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Device and inode: they identify a file or directory while any process has it open.
pub(crate) type FileName = (u64, u64);

/// Device and inode at a path, without following a link; `None` when nothing is there.
pub(crate) fn name_of(path: &Path) -> Option<FileName> {
    std::fs::symlink_metadata(path).ok().map(|metadata| name(&metadata))
}

#[cfg(unix)]
pub(crate) fn name(metadata: &std::fs::Metadata) -> FileName {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

/// Always equal: on this system an open file cannot be replaced.
#[cfg(not(unix))]
pub(crate) fn name(_: &std::fs::Metadata) -> FileName {
    (0, 0)
}

/// Takes all rights to a directory from everyone except its owner.
///
/// # Errors
/// The error of the system, such as `PermissionDenied` for a user who is not the owner.
pub(crate) fn close_dir(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::symlink_metadata(path)?.permissions().mode();
        if mode & 0o077 != 0 {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode & !0o077))?;
        }
    }
    Ok(())
}

/// Checks that a directory belongs to this user and only this user has rights to it.
///
/// # Errors
/// `PermissionDenied` when it does not, or another error of the system.
pub(crate) fn check_dir(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let metadata = std::fs::symlink_metadata(path)?;
        let is_ours = metadata.uid() == rustix::process::geteuid().as_raw();
        if !metadata.is_dir() || !is_ours || metadata.mode() & 0o077 != 0 {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
    }
    Ok(())
}

/// Makes the names in a directory durable.
pub(crate) fn sync_dir(path: &Path) -> io::Result<()> {
    // Windows cannot open a directory as a file.
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

/// A path from the bytes that a file holds; `None` when they form no path on this system.
#[cfg(unix)]
pub(crate) fn path_of(bytes: &[u8]) -> Option<std::path::PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    Some(std::path::PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
}

#[cfg(not(unix))]
pub(crate) fn path_of(bytes: &[u8]) -> Option<std::path::PathBuf> {
    std::str::from_utf8(bytes).ok().map(std::path::PathBuf::from)
}

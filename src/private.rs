//! Files and directories that are their owner's alone, and that no link leads elsewhere.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

/// Options for a file that only its owner may read, and that is not opened through a symbolic link.
pub(crate) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // A pipe that lies in the place of a file must not hang the process that opens it.
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.mode(0o600).custom_flags(flags.bits().cast_signed());
    }
    options
}

/// Reads a whole regular file.
///
/// # Errors
/// What the system said; `NotFound` where there is none, `InvalidData` for what is no regular file.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = options().read(true).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is no regular file"));
    }
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut file, &mut bytes)?;
    Ok(bytes)
}

/// Whether a file was not opened because it is a symbolic link.
pub(crate) fn is_link(error: &io::Error) -> bool {
    #[cfg(unix)]
    return error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
    #[cfg(not(unix))]
    return false;
}

/// [`read`] of text.
///
/// # Errors
/// What the system said, or `InvalidData`.
pub(crate) fn read_to_string(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Replaces a file by one with this content: readers see the old one or the new one, whole and durable.
///
/// # Errors
/// What the system said; the old file stays then.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let beside = beside(path, content)?;
    beside.as_file().sync_all()?;
    beside.persist(path).map_err(|error| error.error)?;
    sync_dir(path.parent().unwrap_or(Path::new(".")))
}

/// [`replace`] for what may be lost with the power: nothing waits for the disk.
///
/// # Errors
/// What the system said; the old file stays then.
pub(crate) fn swap(path: &Path, content: &[u8]) -> io::Result<()> {
    beside(path, content)?.persist(path).map(drop).map_err(|error| error.error)
}

/// A file with this content that lies beside the one it will replace.
fn beside(path: &Path, content: &[u8]) -> io::Result<tempfile::NamedTempFile> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut beside = tempfile::Builder::new().prefix(".new-").tempfile_in(dir)?;
    io::Write::write_all(&mut beside, content)?;
    Ok(beside)
}

/// What was removed or moved is away; that it was so before is as good.
///
/// # Errors
/// What the system said, but not that there was nothing.
pub(crate) fn gone(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Makes a directory that only its owner may enter, and its parents; one that is there stays as it is.
///
/// # Errors
/// What the system said.
pub(crate) fn create_dir_all(path: &Path) -> io::Result<()> {
    builder().recursive(true).create(path)
}

/// Makes one directory that only its owner may enter.
///
/// # Errors
/// What the system said; `AlreadyExists` and `NotFound` (of the parent) included.
pub(crate) fn create_dir(path: &Path) -> io::Result<()> {
    builder().create(path)
}

/// Makes a directory that only its owner may enter in one that is there.
///
/// # Errors
/// What the system said; not that it is there already, unless it is a link or a file.
pub(crate) fn create_dir_in(path: &Path) -> io::Result<()> {
    match create_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) => Ok(()),
        Err(_) if std::fs::symlink_metadata(path)?.is_dir() => Ok(()),
        Err(_) => Err(io::ErrorKind::NotADirectory.into()),
    }
}

fn builder() -> DirBuilder {
    // On Windows nothing is added to it.
    #[cfg_attr(not(unix), expect(unused_mut, reason = "modes are set on Unix"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Names a file or directory as long as it is open somewhere: device and inode.
pub(crate) type FileName = (u64, u64);

/// The file or directory at a path; none where there is none.
pub(crate) fn name_of(path: &Path) -> Option<FileName> {
    std::fs::symlink_metadata(path).ok().map(|metadata| name(&metadata))
}

#[cfg(unix)]
pub(crate) fn name(metadata: &std::fs::Metadata) -> FileName {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

/// An open file cannot be taken away here.
#[cfg(not(unix))]
pub(crate) fn name(_: &std::fs::Metadata) -> FileName {
    (0, 0)
}

/// Takes a directory away from everybody but its owner.
///
/// # Errors
/// What the system said, such as to who is not its owner.
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

/// Fails unless a directory is this user's and closed to everybody else.
///
/// # Errors
/// `PermissionDenied`, or what the system said.
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
///
/// # Errors
/// What the system said.
pub(crate) fn sync_dir(path: &Path) -> io::Result<()> {
    // Windows opens no directory as a file.
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

/// A path as it was written down.
#[cfg(unix)]
pub(crate) fn path_of(bytes: &[u8]) -> Option<std::path::PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    Some(std::path::PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
}

#[cfg(not(unix))]
pub(crate) fn path_of(bytes: &[u8]) -> Option<std::path::PathBuf> {
    std::str::from_utf8(bytes).ok().map(std::path::PathBuf::from)
}

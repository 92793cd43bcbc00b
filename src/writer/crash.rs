//! The places on the write path where a test makes the writer abort.

/// A place on the write path where a test makes the writer abort, to prove that a retry is safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashPoint {
    /// After the decision, before the append.
    Decided,
    /// After the append, before the projection.
    Appended,
    /// After the projection, before the answer.
    Projected,
    /// After the answer.
    Answered,
    /// After the spooled commands are committed, before the spool is truncated.
    Replayed,
    /// After the erased payloads are deleted from the ledger, before they are removed from other files.
    Erased,
}

impl CrashPoint {
    /// Every crash point with its name, in the order of the write path.
    pub const ALL: [(&'static str, Self); 6] = [
        ("decided", Self::Decided),
        ("appended", Self::Appended),
        ("projected", Self::Projected),
        ("answered", Self::Answered),
        ("replayed", Self::Replayed),
        ("erased", Self::Erased),
    ];
}

impl std::str::FromStr for CrashPoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = Self::ALL.map(|(name, _)| name).join(", ");
        Self::ALL
            .into_iter()
            .find(|(name, _)| *name == text)
            .map(|(_, point)| point)
            .ok_or_else(|| format!("`{text}` is no crash point: use one of {names}"))
    }
}

//! Patches in the form that Codex applies: which files they change, and what they add.

/// What a patch begins with, wherever it stands in a text.
const BEGIN: &str = "*** Begin Patch";
/// What names a file in it.
const HEADERS: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];

/// The files a patch changes and the lines it adds; none when the text holds no patch.
pub(super) fn read(text: &str) -> Option<(Vec<String>, String)> {
    let patch = &text[text.find(BEGIN)?..];
    let mut paths: Vec<String> = Vec::new();
    let mut added = String::new();
    for line in patch.lines().take_while(|line| !line.starts_with("*** End Patch")) {
        if let Some(path) = HEADERS.iter().find_map(|header| line.strip_prefix(header)) {
            let path = path.trim().to_owned();
            if !paths.contains(&path) {
                paths.push(path);
            }
        } else if let Some(line) = line.strip_prefix('+') {
            added.push_str(line);
            added.push('\n');
        }
    }
    Some((paths, added))
}

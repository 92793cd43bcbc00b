//! Reads patches in the format of Codex: which files a patch changes, and which lines it adds.

/// The first line of a patch. It may stand anywhere in a text.
const BEGIN: &str = "*** Begin Patch";
/// The prefixes of lines that name a file.
const HEADERS: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];

/// The files that a patch changes and the lines that it adds; `None` when the text holds no patch.
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

//! The files that a simple command writes, moves or deletes, as its words name them.

use super::normal::name;

/// The files among the arguments of a program that writes, moves or deletes them. Other programs may write too, but what
/// is not certain is not named.
pub(super) fn written_by(program: &str, arguments: &[String]) -> Vec<String> {
    let says = |option: &str| arguments.iter().any(|word| word == option);
    // The word after one of these is its value.
    let valued: &[&str] = match program {
        "truncate" | "shred" => &["-s", "-n", "-r"],
        "install" => &["-g", "-m", "-o"],
        "git" => &["--source", "-s"],
        _ => &[],
    };
    let has_value = |option: &String| match program {
        "sed" | "perl" => tells_script(option),
        _ => valued.contains(&option.as_str()),
    };
    let is_value = |at: usize| at.checked_sub(1).is_some_and(|at| has_value(&arguments[at]));
    let words = arguments.iter().enumerate().filter(|(at, word)| !word.starts_with('-') && !is_value(*at));
    let files: Vec<&str> = words.map(|(_, word)| word.as_str()).collect();
    let all = |files: &[&str]| files.iter().map(|file| (*file).to_owned()).collect();
    match program {
        "rm" | "unlink" | "shred" | "truncate" | "tee" => all(&files),
        "mv" if says("-t") => all(&files),
        "mv" => moved(&files),
        "cp" | "ln" if !says("-t") => arrived(&files),
        "install" if !says("-t") && !says("-d") => arrived(&files),
        "sed" | "perl" if arguments.iter().any(|word| is_in_place(word)) => {
            let has_script = |word: &String| {
                tells_script(word) || word.starts_with("--expression=") || word.starts_with("-e")
            };
            all(&files[usize::from(!arguments.iter().any(has_script)).min(files.len())..])
        }
        "git" => match files.as_slice() {
            // The index is no file of the work tree.
            ["rm", ..] if says("--cached") => Vec::new(),
            ["restore", ..] if says("--staged") && !says("--worktree") => Vec::new(),
            ["mv", files @ ..] => moved(files),
            ["rm" | "restore", files @ ..] => all(files),
            ["checkout", ..] => {
                let from =
                    arguments.iter().position(|word| word == "--").map_or(arguments.len(), |at| at + 1);
                arguments[from..].to_vec()
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// The files that the last of these words leads to: each of the others below it where it certainly is a directory.
fn arrived(files: &[&str]) -> Vec<String> {
    let Some((last, others)) = files.split_last() else { return Vec::new() };
    let is_dir = others.len() > 1 || last.ends_with('/') || matches!(name(last), "." | "..");
    match others {
        // `ln -s ../a.py` makes `a.py`.
        [] => vec![name(last).to_owned()],
        others if is_dir => {
            others.iter().map(|file| format!("{}/{}", last.trim_end_matches('/'), name(file))).collect()
        }
        _ => vec![(*last).to_owned()],
    }
}

/// The files that `mv` takes away, and those that it makes.
fn moved(files: &[&str]) -> Vec<String> {
    let from = &files[..files.len().saturating_sub(1)];
    from.iter().map(|file| (*file).to_owned()).chain(arrived(files)).collect()
}

/// Whether the script follows this option of `sed` or `perl`: `-e`, `-ne`, `-f`. Without one, the first word is the script.
fn tells_script(word: &str) -> bool {
    word == "--expression" || word.starts_with('-') && !word.starts_with("--") && word.ends_with(['e', 'f'])
}

/// Whether an option makes `sed` or `perl` write into its files: `-i`, `-i.bak`, `-pi`, `--in-place`.
fn is_in_place(word: &str) -> bool {
    // The rest of the word is the value of these letters: `-Ilib`, `-MFile::Find`, `-es/a/i/`.
    const WITH_VALUE: [char; 10] = ['I', 'M', 'm', 'e', 'E', 'f', 'F', 'C', 'D', 'l'];
    let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-')).unwrap_or_default();
    word.starts_with("--in-place")
        || letters.split(WITH_VALUE).next().is_some_and(|flags| flags.contains('i'))
}

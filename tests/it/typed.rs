//! Command lines that the program prints for people to type: examples in help texts, and tips after a line that does not
//! parse.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::cli::verbs;
use crate::hints::{NOWHERE, parsed};
use crate::shell::Shell;

/// The verbs whose lines do no harm outside the workspace of a test.
const HARMLESS: [&str; 8] =
    ["claim", "contradictions", "decision", "experiment", "intent", "lock", "session", "task"];

/// Every verb, and its whole page.
pub(crate) fn pages(shell: &Shell) -> Vec<(String, String)> {
    let mut pages: Vec<(String, String)> = Vec::new();
    let mut asked = vec!["hm".to_owned()];
    while let Some(verb) = asked.pop() {
        let page = String::from_utf8(shell.run(&format!("{verb} --help")).stdout).expect("text");
        asked.extend(verbs(&page).into_iter().map(|below| format!("{verb} {below}")));
        pages.push((verb, page));
    }
    assert!(pages.len() > 60, "{pages:?}");
    pages
}

/// What a line for a shell has before its first pipe, redirection or explanation.
fn first_command(line: &str) -> &str {
    let ends = ["  ", " | ", " && ", " < ", " > ", "; ", " ("];
    ends.iter().filter_map(|end| line.find(end)).min().map_or(line, |end| &line[..end])
}

#[test]
fn every_example_in_a_help_text_parses() {
    let shell = Shell::without_writer();
    let mut pages = pages(&shell);
    for page in ["hm help agent", "hm help options"] {
        pages.push((page.to_owned(), String::from_utf8(shell.run(page).stdout).expect("text")));
    }
    let mut examples = 0;
    for (verb, page) in pages {
        for line in page.lines().flat_map(|line| line.split("; ").chain([line])) {
            let line = line.trim_start().trim_start_matches("Example: ");
            // A line of the page of agents begins with a word for its purpose.
            let line =
                line.split_once("  ").filter(|(word, _)| !word.contains(' ')).map_or(line, |(_, rest)| rest);
            let line = first_command(line.trim_start());
            // A line of usage and a sentence about the program are no examples.
            let is_prose = ["hm is ", "hm opens ", "hm init, "].iter().any(|start| line.starts_with(start));
            if !line.starts_with("hm ") || line.contains(['<', '[']) || is_prose {
                continue;
            }
            examples += 1;
            if let Err(said) = parsed(&shell, line) {
                panic!("`{verb} --help` shows `{line}`, which does not parse: {said}");
            }
        }
    }
    assert!(examples > 120, "{examples}");
}

/// Words after a verb by which people mistype it.
const WRONG: [&str; 10] = [
    "",
    "C1",
    "one two three four",
    "C1 'because it is so'",
    "C1 C2 last",
    "C1 --reson 'because it is so'",
    "C1 --scope src",
    "C1 --statement 'because it is so'",
    "C1 --reason 'because it is so'",
    "C1 --jsn C2",
];

/// Red before: tips joined the names of claims, tasks and runs to one, put the option of one verb in the place of that of
/// another, and left out what a decision is about; "this works" stood before lines with words to fill in.
#[test]
fn every_tip_works_as_it_is_printed() {
    let shell = Shell::new();
    let mut tips: BTreeMap<String, String> = BTreeMap::new();
    for (verb, _) in pages(&shell) {
        let (before, last) = verb.rsplit_once(' ').unwrap_or(("hm", "x"));
        let misspelt = [format!("{before} {last}x C1"), format!("{before} {}", &last[..last.len() - 1])];
        let nowhere = NOWHERE.join(" ") + " ";
        for line in WRONG.iter().map(|words| format!("{verb} {words}")).chain(misspelt) {
            let is_run = ["hm ", "hm serve ", "hm writer ", "hm hook ", "hm demo ", "hm init ", "hm uninit "];
            if is_run.contains(&&*line) || line.ends_with("hm hook C1") {
                continue;
            }
            // The parser alone is asked.
            let Err(said) = parsed(&shell, &line) else { continue };
            for lead in ["this works: ", "fill in the words in capitals: "] {
                if let Some((_, tip)) = said.split_once(lead) {
                    let tip = tip.lines().next().expect("a line").replacen(&nowhere, "", 1);
                    tips.insert(tip, format!("{lead}{line}"));
                }
            }
        }
    }
    assert!(tips.len() > 100, "{tips:?}");
    for (tip, typed) in tips {
        if let Err(said) = parsed(&shell, &tip) {
            panic!("`{typed}` is answered with `{tip}`, which does not parse: {said}");
        }
        let is_harmless = tip.split(' ').nth(1).is_some_and(|verb| HARMLESS.contains(&verb));
        if typed.starts_with("this works") && is_harmless {
            let more = ["--json", "--agent devops"]
                .into_iter()
                .filter(|option| !tip.contains(option.split(' ').next().expect("an option")));
            let line = more.fold(tip.clone(), |line, option| format!("{line} {option}"));
            let words = shell_words::split(&line).expect("words");
            let output = shell.command("hm").args(&words[1..]).output().expect("hm can be run");
            let first = output.stdout.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let answer: Value = serde_json::from_slice(first).unwrap_or_default();
            let code = answer["code"].as_str().unwrap_or_default();
            assert!(
                !["invalid_argument", "usage"].contains(&code)
                    && (output.status.success() || !code.is_empty()),
                "`{typed}` is answered with `{tip}`, which does not work: {output:?}"
            );
        }
    }
}

//! A value as plain lines, without brackets: one `key: value` per line, dots for nesting, and for a list its count and
//! its numbered entries.

use serde_json::Value;

use super::markdown::inline;

/// The lines of a value.
pub(super) fn plain(value: &Value) -> String {
    let mut lines = String::new();
    add(&mut lines, "", value);
    lines
}

fn add(lines: &mut String, key: &str, value: &Value) {
    let below = |name: &str| if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") };
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| add(lines, &below(name), value)),
        Value::Array(entries) => {
            add(lines, &below("count"), &entries.len().into());
            for (number, entry) in (1..).zip(entries) {
                add(lines, &below(&i32::to_string(&number)), entry);
            }
        }
        Value::String(text) => line(lines, key, &inline(text, usize::MAX)),
        Value::Null | Value::Bool(_) | Value::Number(_) => line(lines, key, &value.to_string()),
    }
}

fn line(lines: &mut String, key: &str, value: &str) {
    lines.push_str(&format!("{key}: {value}\n"));
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::plain;

    #[test]
    fn each_value_has_a_line_and_its_whole_key() {
        let value = json!({
            "type": "memory_recall",
            "policy": { "short_term": { "turns": 6 }, "allows": null },
            "recalled": [{ "id": "a", "meta": {} }, { "id": "b\nfake: 1", "score": 0.5 }],
            "tags": ["x"],
            "none": [],
        });
        expect![[r#"
            none.count: 0
            policy.allows: null
            policy.short_term.turns: 6
            recalled.count: 2
            recalled.1.id: a
            recalled.2.id: b fake: 1
            recalled.2.score: 0.5
            tags.count: 1
            tags.1: x
            type: memory_recall
        "#]]
        .assert_eq(&plain(&value));
    }
}

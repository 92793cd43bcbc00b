//! Tool schemas that every client accepts: plain types, no nullable types, references inlined.

use std::sync::Arc;

use rmcp::model::JsonObject;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Value, json};

use crate::domain::claim::{ClaimType, Outcome, Relation, ReportKind};
use crate::domain::experiment::Prediction;
use crate::domain::plan::TaskStatus;
use crate::domain::session::{Role, Source};

/// The input schema of a tool that writes: its own arguments and the common ones.
pub(super) fn of<T: JsonSchema>() -> Arc<JsonObject> {
    let mut object = object::<T>();
    let properties = object.entry("properties").or_insert_with(|| json!({}));
    let properties = properties.as_object_mut().expect("properties are an object");
    // The server's instructions describe these once. With every tool the listing would exceed 10 kB.
    for every_tool in ["agent", "session", "idempotency_key"] {
        properties.insert(every_tool.to_owned(), json!({ "type": "string" }));
    }
    Arc::new(object)
}

/// The input schema of a tool that takes only its own arguments.
pub(super) fn bare<T: JsonSchema>() -> Arc<JsonObject> {
    Arc::new(object::<T>())
}

fn object<T: JsonSchema>() -> JsonObject {
    let generator = SchemaSettings::draft2020_12().with(|s| s.inline_subschemas = true).into_generator();
    let mut schema = portable(generator.into_root_schema_for::<T>().to_value());
    let object = schema.as_object_mut().expect("arguments are a struct");
    object.retain(|key, _| ["type", "properties", "required"].contains(&key.as_str()));
    object.insert("additionalProperties".to_owned(), json!(false));
    object.clone()
}

/// Removes the parts of a schema that some client fails on.
fn portable(schema: Value) -> Value {
    match schema {
        Value::Object(mut object) => {
            for noise in ["$schema", "title", "default", "format", "uniqueItems"] {
                // `title` and `default` may also be names of properties; a property's schema is an object.
                if object.get(noise).is_some_and(|value| !value.is_object()) {
                    object.remove(noise);
                }
            }
            if let Some(Value::Array(types)) = object.get("type") {
                let plain = types.iter().find(|name| *name != "null").cloned();
                object.insert("type".to_owned(), plain.unwrap_or(json!("string")));
            }
            if let Some(Value::Array(choices)) = object.remove("anyOf") {
                let given = choices.into_iter().find(|choice| choice["type"] != "null");
                if let Some(Value::Object(given)) = given {
                    for (key, value) in given {
                        object.entry(key).or_insert(value);
                    }
                }
            }
            Value::Object(object.into_iter().map(|(key, value)| (key, portable(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(portable).collect()),
        plain @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => plain,
    }
}

fn words(words: impl Iterator<Item = &'static str>) -> Schema {
    let words: Vec<&str> = words.collect();
    schemars::json_schema!({ "type": "string", "enum": words })
}

pub(super) fn claim_type(_: &mut SchemaGenerator) -> Schema {
    words(ClaimType::ALL.iter().map(|word| word.as_str()))
}

pub(super) fn relation(_: &mut SchemaGenerator) -> Schema {
    words(Relation::ALL.iter().map(|word| word.as_str()))
}

pub(super) fn prediction(_: &mut SchemaGenerator) -> Schema {
    words(Prediction::ALL.iter().map(|word| word.as_str()))
}

pub(super) fn outcome(_: &mut SchemaGenerator) -> Schema {
    words(Outcome::ALL.iter().map(|word| word.as_str()))
}

pub(super) fn report_kind(_: &mut SchemaGenerator) -> Schema {
    words(ReportKind::ALL.iter().map(|word| word.as_str()))
}

pub(super) fn task_status(_: &mut SchemaGenerator) -> Schema {
    words(TaskStatus::ALL.iter().map(|word| word.as_str()))
}

pub(super) fn source(_: &mut SchemaGenerator) -> Schema {
    words(Source::ALL.iter().map(|word| word.as_str()))
}

pub(super) fn role(_: &mut SchemaGenerator) -> Schema {
    words(Role::ALL.iter().map(|word| word.as_str()))
}

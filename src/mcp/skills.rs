//! Accepted playbooks as skills of the MCP Skills extension (SEP-2640): their list, one of them, and its file.

use rmcp::ErrorData;
use rmcp::model::{
    ReadResourceResult, ResourceContents, Skill, SkillFrontmatter, SkillResource, SkillResources,
};
use serde_json::json;

use super::server::Server;
use crate::domain::clean;
use crate::system;
use crate::views::{self, ViewError};

/// The scheme of the addresses.
pub(super) const SCHEME: &str = "skill://";

fn uri_of(skill: &views::Skill) -> String {
    format!("{SCHEME}{}/SKILL.md", skill.name)
}

/// The text of the file as a client reads it.
fn text_of(skill: &views::Skill) -> String {
    clean::cleaned(&skill.text).into_owned()
}

fn entry(skill: &views::Skill) -> Skill {
    let uri = uri_of(skill);
    let front = SkillFrontmatter::new(&skill.name, &skill.description)
        .with_field("metadata", json!({ "hivemind-playbook": skill.id, "evidence": skill.evidence }));
    let file = SkillResource::from_bytes(&uri, text_of(skill).as_bytes());
    Skill::new(uri, front, SkillResources::Files(vec![file]))
}

impl Server {
    async fn playbook_skills(&self) -> Result<Vec<views::Skill>, ErrorData> {
        let found: Result<_, ViewError> =
            self.with_long_reads(|_, reads| views::skills(reads, system::now())).await?;
        let all = found.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        Ok(all.into_iter().filter(|skill| skill.is_in_use).collect())
    }

    /// Every skill.
    pub(super) async fn skills(&self) -> Result<Vec<Skill>, ErrorData> {
        Ok(self.playbook_skills().await?.iter().map(entry).collect())
    }

    async fn skill_at(&self, uri: &str) -> Result<views::Skill, ErrorData> {
        let all = self.playbook_skills().await?;
        let found = all.into_iter().find(|skill| uri_of(skill) == uri);
        found.ok_or_else(|| {
            let message = format!("no skill has the address {uri}: see skills/list");
            ErrorData::invalid_params(message, Some(json!({ "uri": uri })))
        })
    }

    /// The skill at an address.
    pub(super) async fn skill(&self, uri: &str) -> Result<Skill, ErrorData> {
        Ok(entry(&self.skill_at(uri).await?))
    }

    /// The file of the skill at an address.
    pub(super) async fn skill_file(&self, uri: &str) -> Result<ReadResourceResult, ErrorData> {
        let skill = self.skill_at(uri).await?;
        let contents = ResourceContents::TextResourceContents {
            uri: uri.to_owned(),
            mime_type: Some("text/markdown".to_owned()),
            text: text_of(&skill),
            meta: None,
        };
        Ok(ReadResourceResult::new(vec![contents]))
    }
}

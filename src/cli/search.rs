//! `hm claim search`: the claims that answer a question, best first.

use clap::Args;

use super::claim::statuses;
use super::output::{self, Failure};
use super::{Context, lists, note_damage, parse, parse_optional};
use crate::domain::agent::AgentId;
use crate::store::{ClaimFilter, Hit, SearchPage};
use crate::system;
use crate::views::{self, MAX_LIMIT};

/// Hits shown unless asked otherwise: they fit a screen, two lines each.
const DEFAULT_HITS: u64 = 10;

/// What to look for.
#[derive(Debug, Args)]
pub(super) struct Search {
    /// What to look for, in any words; bug, rejected and review find claims that turned out so
    #[arg(required = true, value_name = "QUERY")]
    query: Vec<String>,
    /// About this, anything below it, or anything above it
    #[arg(long, value_name = "SCOPE")]
    scope: Option<String>,
    /// fact, decision, hypothesis or negative
    #[arg(long = "type", value_name = "TYPE")]
    claim_type: Option<String>,
    /// proposed, confirmed, contested, pending_proof or deprecated; several with commas
    #[arg(long, value_name = "STATUS", value_delimiter = ',')]
    status: Vec<String>,
    /// balanced, strict (no deprecated claims) or audit (superseded ones too)
    #[arg(long, value_name = "MODE", default_value = "balanced", hide_default_value = true)]
    mode: String,
    /// Whose
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,
    /// Made in this session
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    #[command(flatten)]
    made: super::Made,
    /// Statements whole, however long
    #[arg(long)]
    whole: bool,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = DEFAULT_HITS,
        value_parser = clap::value_parser!(u64).range(1..=MAX_LIMIT as u64))]
    limit: u64,
    /// The next page: what the page before calls its cursor
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

impl Search {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        let search = self.search(context)?;
        let (mut reads, reader) = (context.models()?, context.reader()?);
        let found = views::search(&mut reads, &search, reader.as_ref(), system::now())?;
        let (page, left_out) = (found.page, found.left_out);
        let mut json = serde_json::to_value(&page).map_err(Failure::internal)?;
        if left_out > 0 {
            json["left_out"] = left_out.into();
        }
        let text = listed(&page, &found.held, reader.as_ref(), self.whole) + &views::without(left_out);
        output::print(context.global.json, &text, &json)?;
        let shown: Vec<String> = page.hits.iter().map(|hit| hit.claim.id.to_string()).collect();
        let (as_of, _) = reads.ask(system::now(), |store| store.folded()).map_err(views::ViewError::from)?;
        context.opened(&shown, as_of.map_or(0, |folded| folded.seq));
        note_damage(&mut reads);
        Ok(())
    }

    fn search(&self, context: &Context) -> Result<crate::store::Search, Failure> {
        let owner = self.owner.as_deref().map(|name| context.agent("owner", name)).transpose()?;
        let filter = ClaimFilter {
            status: statuses(&self.status)?,
            claim_type: parse_optional("type", self.claim_type.as_deref())?,
            scope: self.scope.as_deref().map(|text| context.scope("scope", text)).transpose()?,
            owner: owner.map(|agent| agent.to_string()),
            session: context.session_named(self.session.as_deref())?,
            since: self.made.since()?,
            until: self.made.until()?,
            limit: usize::try_from(self.limit).unwrap_or(MAX_LIMIT),
            ..ClaimFilter::default()
        };
        Ok(crate::store::Search {
            query: self.query.join(" "),
            mode: parse("mode", &self.mode)?,
            filter,
            seen: parse_optional("cursor", self.cursor.as_deref())?.unwrap_or_default(),
        })
    }
}

fn listed(page: &SearchPage, held: &[String], reader: Option<&AgentId>, whole: bool) -> String {
    if page.hits.is_empty() {
        return "no claims match\n".to_owned();
    }
    let mut text = lists::rows(page.hits.iter().map(|hit| &hit.claim), reader, whole);
    text.push_str(&lists::held(held));
    for Hit { claim, found_through, .. } in &page.hits {
        for old in found_through {
            text.push_str(&output::fitted(&format!("{} took the place of {old}, which was found", claim.id)));
        }
    }
    if let Some(next) = &page.next {
        text.push_str(&output::more("cursor", next));
    }
    text
}

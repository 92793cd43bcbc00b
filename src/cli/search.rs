//! `hm claim search`: the claims that answer a question, best first.

use clap::Args;

use super::claim::statuses;
use super::output::{self, Failure};
use super::{Context, note_damage, parse, parse_optional};
use crate::store::{ClaimFilter, SearchPage};
use crate::system;
use crate::views::{self, Listed, MAX_LIMIT, RowReader, View};

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
    #[arg(
        hide_short_help = true,
        long,
        value_name = "MODE",
        default_value = "balanced",
        hide_default_value = true
    )]
    mode: String,
    /// Whose
    #[arg(hide_short_help = true, long, value_name = "NAME")]
    owner: Option<String>,
    /// Made in this session
    #[arg(hide_short_help = true, long, value_name = "SESSION")]
    session: Option<String>,
    #[command(flatten)]
    made: super::Made,
    /// Statements whole, however long
    #[arg(hide_short_help = true, long)]
    whole: bool,
    /// Say why each claim was found
    #[arg(long)]
    explain: bool,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = DEFAULT_HITS,
        value_parser = clap::value_parser!(u64).range(1..=MAX_LIMIT as u64))]
    limit: u64,
    /// The next page: what the page before calls its cursor
    #[arg(hide_short_help = true, long, value_name = "CURSOR")]
    cursor: Option<String>,
}

impl Search {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        let search = self.search(context)?;
        if context.global.json {
            return context.show(&View::Search(search));
        }
        let (mut reads, reader) = (context.models()?, context.reader()?);
        let asked = (&mut reads, &context.config);
        let found = views::search(asked, &search, reader.as_ref(), system::now())?;
        let reader = RowReader { searched: views::searched(&search.query), ..context.row_reader(reader) };
        let text = listed(&found, &reader, self.whole) + &views::without(found.left_out);
        output::print_text(&text)?;
        let shown: Vec<String> = found.page.hits.iter().map(|hit| hit.claim.id.to_string()).collect();
        context.opened(&shown, found.seq);
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
            explain: self.explain,
        })
    }
}

fn listed(found: &Listed<SearchPage>, reader: &RowReader, whole: bool) -> String {
    let page = &found.page;
    let note: String = page.note.iter().map(|note| output::fitted(note)).collect();
    if page.hits.is_empty() {
        return "no claims match\n".to_owned() + &note;
    }
    let mut text = output::rows(page.hits.iter().map(|hit| &hit.claim), reader, (whole, false));
    text.extend(views::found_because(page).map(|line| output::fitted(&line)));
    text.extend(views::held_row(&found.held).map(|held| output::row(&held)));
    text.extend(views::found_through(page).map(|line| output::fitted(&line)));
    text += &note;
    text.extend(page.next.as_ref().map(|next| output::more("cursor", next)));
    text
}

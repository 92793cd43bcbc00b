//! The tools: each file is a schema and one submit. No tool reads memory.

mod add_evidence;
mod create_claim;
mod deprecate_claim;
mod positions;
mod record_decision;
mod record_outcome;
mod report_event;

use std::sync::LazyLock;

use rmcp::handler::server::router::tool::ToolRouter;

use super::server::Server;

/// Every tool of the core set.
pub(super) static ROUTER: LazyLock<ToolRouter<Server>> = LazyLock::new(|| {
    Server::create_claim_route()
        + Server::positions_route()
        + Server::add_evidence_route()
        + Server::deprecate_claim_route()
        + Server::report_event_route()
        + Server::record_decision_route()
        + Server::record_outcome_route()
});

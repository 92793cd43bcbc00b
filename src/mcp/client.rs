//! An MCP client: starts `hm serve` and talks to it as a pane does. Used by the demo and the tests.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rmcp::ClientHandler;
use rmcp::model::{
    ArgumentInfo, CallToolRequestParams, ClientConfig, CompleteRequestParams, Implementation,
    ProtocolVersion, ReadResourceRequestParams, Reference, ResourceContents,
    ResourceUpdatedNotificationParam, ServerNotification, SubscribeRequestParams, SubscriptionFilter, Tool,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, NotificationContext, RoleClient,
    RunningService, ServiceError, Subscription,
};
use rmcp::transport::TokioChildProcess;
use serde_json::Value;
use tokio::sync::mpsc;

/// The version of the protocol that a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// 2025-06-18: `initialize`, `resources/subscribe`.
    Legacy,
    /// 2026-07-28: stateless, `subscriptions/listen`.
    Modern,
}

/// Why a pane gives no answer.
#[derive(Debug, thiserror::Error)]
pub enum PaneError {
    /// The server cannot be started.
    #[error("cannot start hm serve: {0}")]
    Start(#[from] std::io::Error),
    /// The server refused the handshake, or closed the connection.
    #[error("hm serve did not answer: {0}")]
    Handshake(#[from] Box<ClientInitializeError>),
    /// A request failed at the protocol level.
    #[error(transparent)]
    Service(#[from] ServiceError),
}

/// A running `hm serve` and the client that talks to it.
#[derive(Debug)]
pub struct Pane {
    client: RunningService<RoleClient, Listener>,
    era: Era,
    updates: mpsc::UnboundedReceiver<String>,
    listening: Option<Subscription>,
}

/// The answer of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolAnswer {
    /// Whether the answer is a refusal.
    pub refused: bool,
    /// The receipt, or the refusal.
    pub body: Value,
    /// The text content, which the model reads.
    pub text: String,
}

impl ToolAnswer {
    /// A text field of the body; empty when the field is missing.
    pub fn field(&self, name: &str) -> &str {
        self.body.get(name).and_then(Value::as_str).unwrap_or_default()
    }
}

#[derive(Debug)]
struct Listener {
    /// The name that the client gives itself.
    name: String,
    updates: mpsc::UnboundedSender<String>,
}

impl ClientHandler for Listener {
    fn get_info(&self) -> ClientConfig {
        let mut config = ClientConfig::default();
        config.protocol_version = ProtocolVersion::V_2025_06_18;
        config.client_info = Implementation::new(&*self.name, env!("CARGO_PKG_VERSION"));
        config
    }

    async fn on_resource_updated(
        &self,
        update: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        // The receiver is gone while the pane closes.
        let _ = self.updates.send(update.uri);
    }
}

impl Pane {
    /// Starts `binary serve` in a workspace, pinned to `agent` if one is given.
    pub async fn start(binary: &Path, root: &Path, agent: Option<&str>, era: Era) -> Result<Self, PaneError> {
        Self::offered(binary, root, agent, era, "core").await
    }

    /// Like [`Pane::start`], with only some toolsets, named as in `--toolsets`.
    pub async fn offered(
        binary: &Path,
        root: &Path,
        agent: Option<&str>,
        era: Era,
        toolsets: &str,
    ) -> Result<Self, PaneError> {
        let mut command = tokio::process::Command::new(binary);
        command.args(["serve", "--toolsets", toolsets, "--dir"]).arg(root);
        command.current_dir(root);
        if let Some(agent) = agent {
            command.args(["--agent", agent]);
            // The shell of the tests may run in the pane of another agent.
            for variable in ["HM_AGENT", "HM_SESSION", "HM_TASK"] {
                command.env_remove(variable);
            }
        }
        Self::run(command, era).await
    }

    /// Like [`Pane::start`], with any command, as a client's configuration would give it.
    pub async fn run(command: tokio::process::Command, era: Era) -> Result<Self, PaneError> {
        Self::called("hm-pane", command, era).await
    }

    /// Like [`Pane::run`], with another client name.
    pub async fn called(
        name: &str,
        mut command: tokio::process::Command,
        era: Era,
    ) -> Result<Self, PaneError> {
        command.kill_on_drop(true);
        let (transport, _) = TokioChildProcess::builder(command).stderr(Stdio::null()).spawn()?;
        let (updates, received) = mpsc::unbounded_channel();
        let lifecycle = match era {
            Era::Legacy => ClientLifecycleMode::Initialize,
            Era::Modern => {
                ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
            }
        };
        let client =
            Listener { name: name.to_owned(), updates }.serve_with_lifecycle(transport, lifecycle).await;
        let client = client.map_err(Box::new)?;
        Ok(Self { client, era, updates: received, listening: None })
    }

    /// Calls a tool; `arguments` is a JSON object.
    ///
    /// # Errors
    /// [`PaneError::Service`] when the request fails. A refusal is an answer and no error.
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<ToolAnswer, PaneError> {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let request = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let result = self.client.peer().call_tool(request).await?;
        let text = result.content.iter().filter_map(|block| block.as_text()).map(|text| text.text.clone());
        Ok(ToolAnswer {
            refused: result.is_error == Some(true),
            text: text.collect::<Vec<_>>().join("\n"),
            body: result.structured_content.unwrap_or_default(),
        })
    }

    /// Reads a resource as text.
    pub async fn read(&self, uri: &str) -> Result<String, PaneError> {
        let result = self.client.peer().read_resource(ReadResourceRequestParams::new(uri)).await?;
        let texts = result.contents.into_iter().map(|contents| match contents {
            ResourceContents::TextResourceContents { text, .. } => text,
            ResourceContents::BlobResourceContents { blob, .. } => blob,
            _ => String::new(),
        });
        Ok(texts.collect())
    }

    /// Subscribes to changes of these resources, with the method of the client's protocol version. A modern client
    /// may subscribe once.
    #[expect(deprecated, reason = "clients of the older era subscribe this way")]
    pub async fn subscribe(&mut self, uris: &[&str]) -> Result<(), PaneError> {
        match self.era {
            Era::Legacy => {
                for uri in uris {
                    self.client.peer().subscribe(SubscribeRequestParams::new(*uri)).await?;
                }
            }
            Era::Modern => {
                let filter =
                    SubscriptionFilter::builder().resource_subscriptions(uris.iter().copied()).build();
                self.listening = Some(self.client.peer().listen(filter).await?);
            }
        }
        Ok(())
    }

    /// The next resource that changed; `None` when none changed within the time.
    pub async fn updated(&mut self, within: Duration) -> Option<String> {
        let next = async {
            let Some(listening) = &mut self.listening else { return self.updates.recv().await };
            loop {
                if let ServerNotification::ResourceUpdatedNotification(update) =
                    listening.next().await.ok()??
                {
                    return Some(update.params.uri);
                }
            }
        };
        tokio::time::timeout(within, next).await.ok().flatten()
    }

    /// Lists every tool of the server.
    pub async fn tools(&self) -> Result<Vec<Tool>, PaneError> {
        Ok(self.client.peer().list_all_tools().await?)
    }

    /// Lists everything else the server offers: resources, templates, prompts, instructions.
    pub async fn listings(&self) -> Result<Value, PaneError> {
        let peer = self.client.peer();
        Ok(serde_json::json!({
            "resources": peer.list_all_resources().await?,
            "resourceTemplates": peer.list_all_resource_templates().await?,
            "prompts": peer.list_all_prompts().await?,
            "instructions": peer.peer_info().and_then(|info| info.instructions.clone()),
        }))
    }

    /// Reads a prompt, filled with these arguments, as text.
    pub async fn prompt(&self, name: &str, arguments: &[(&str, &str)]) -> Result<String, PaneError> {
        let mut request = rmcp::model::GetPromptRequestParams::new(name);
        request.arguments =
            Some(arguments.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))).collect());
        let result = self.client.peer().get_prompt(request).await?;
        let texts = result.messages.iter().filter_map(|message| message.content.as_text());
        Ok(texts.map(|text| text.text.clone()).collect())
    }

    /// Completes an argument of a template or prompt: the values, their number, and whether there are more.
    pub async fn complete(&self, of: &str, argument: &str, typed: &str) -> Result<Value, PaneError> {
        let reference =
            if of.contains("://") { Reference::for_resource(of) } else { Reference::for_prompt(of) };
        let argument = ArgumentInfo::new(argument, typed);
        let request = CompleteRequestParams::new(reference, argument);
        let completion = self.client.peer().complete(request).await?.completion;
        Ok(serde_json::to_value(completion).expect("a completion is plain data"))
    }

    /// Closes the pane as a client does: the server reads the end of its input and exits.
    pub async fn close(self) {
        // The process ends even if this fails.
        let _ = self.client.cancel().await;
    }
}

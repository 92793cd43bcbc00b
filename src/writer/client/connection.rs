//! One open connection to the writer, with its waiting calls.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use interprocess::local_socket::tokio::Stream;
use tokio::sync::{mpsc, oneshot};

use crate::domain::command::Submission;
use crate::domain::receipt::Receipt;
use crate::domain::rejection::Rejection;
use crate::system;
use crate::writer::wire::{self, Reply, Request};

/// Factor on the writer's usual answer time. A call beside another one gives up after that time; a slow disk alone
/// does not reach it.
const USUAL_ANSWERS: u32 = 8;

/// Time-outs of a front for its writer, each a share of [`system::patience`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// For the start of a writer (1 s).
    pub(super) start: Duration,
    /// For an answer (1 s), so that a stopped or hanging writer does not block its fronts. If the writer takes the
    /// command later, it recognises the spooled copy as a duplicate.
    pub(super) answer: Duration,
    /// For the hello after a connection (250 ms). The hello needs no disk.
    pub(super) hello: Duration,
    /// For a call that runs while another call of this process tests whether the writer hangs (50 ms).
    pub(super) beside_another: Duration,
}

impl Patience {
    pub(super) fn of_process() -> Self {
        let whole = system::patience();
        Self { start: whole, answer: whole, hello: whole / 4, beside_another: whole / 20 }
    }
}

type Waiting = Arc<Mutex<HashMap<u64, oneshot::Sender<Result<Receipt, Rejection>>>>>;

/// The result of a request to the writer.
pub(super) enum Asked {
    Answered(Result<Box<Receipt>, Rejection>),
    /// The connection was lost.
    Lost,
    /// The writer exceeded the full time-out: it hangs.
    Hung,
    /// The writer exceeded the short time-out of a call beside another one.
    Late,
}

/// An open connection. The id of an answer finds its waiting call.
#[derive(Debug, Clone)]
pub(super) struct Connection {
    request_tx: mpsc::UnboundedSender<Request>,
    waiting: Waiting,
    next_id: Arc<AtomicU64>,
    /// Moving average of the answer time in microseconds; 0 before the first answer.
    usual_us: Arc<AtomicU64>,
    patience: Patience,
}

impl Connection {
    /// Whether the connection is lost.
    pub(super) fn is_closed(&self) -> bool {
        self.request_tx.is_closed()
    }

    /// Whether both values mean the same connection.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.waiting, &other.waiting)
    }

    /// Wakes every call that waits on this connection: each takes it for lost.
    pub(super) fn wake_all(&self) {
        locked(&self.waiting).clear();
    }

    pub(super) fn over(stream: Stream, patience: Patience) -> Self {
        let (request_tx, mut request_rx) = mpsc::unbounded_channel::<Request>();
        let waiting = Waiting::default();
        let answered = Arc::clone(&waiting);
        tokio::spawn(async move {
            let mut receiving = tokio::io::BufReader::new(&stream);
            let reading = async {
                while let Ok(Some(message)) = wire::read::<Reply>(&mut receiving).await {
                    if let Reply::Answer { id, outcome } = message
                        && let Some(answer_tx) = locked(&answered).remove(&id)
                    {
                        // The waiting call may have timed out; then the receiver is gone.
                        let _ = answer_tx.send(outcome.into());
                    }
                }
            };
            let writing = async {
                while let Some(request) = request_rx.recv().await {
                    if wire::write(&mut &stream, &request).await.is_err() {
                        break;
                    }
                }
            };
            tokio::select! {
                () = reading => {}
                () = writing => {}
            }
            request_rx.close();
            // Dropping the senders tells every waiting call that the connection is lost.
            locked(&answered).clear();
        });
        Self { request_tx, waiting, next_id: Arc::default(), usual_us: Arc::default(), patience }
    }

    /// Sends a request and waits for the answer up to the time-out.
    pub(super) async fn ask(&self, submission: Submission) -> Asked {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (answer_tx, answer_rx) = oneshot::channel();
        let is_alone = {
            let mut waiting = locked(&self.waiting);
            let is_alone = waiting.is_empty();
            waiting.insert(id, answer_tx);
            is_alone
        };
        if self.request_tx.send(Request::Submit { id, submission: Box::new(submission) }).is_err() {
            locked(&self.waiting).remove(&id);
            return Asked::Lost;
        }
        let usual_us = self.usual_us.load(Ordering::Relaxed);
        let Patience { answer: longest, beside_another, .. } = self.patience;
        let patience = if is_alone || usual_us == 0 {
            longest
        } else {
            (Duration::from_micros(usual_us) * USUAL_ANSWERS).clamp(beside_another, longest)
        };
        let since = system::instant();
        match tokio::time::timeout(patience, answer_rx).await {
            Ok(Ok(answer)) => {
                let took_us = u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX).max(1);
                let average = if usual_us == 0 { took_us } else { (7 * usual_us + took_us) / 8 };
                self.usual_us.store(average.max(1), Ordering::Relaxed);
                Asked::Answered(answer.map(Box::new))
            }
            Ok(Err(_)) => Asked::Lost,
            Err(_) => {
                locked(&self.waiting).remove(&id);
                if patience == longest { Asked::Hung } else { Asked::Late }
            }
        }
    }
}

fn locked(
    waiting: &Waiting,
) -> std::sync::MutexGuard<'_, HashMap<u64, oneshot::Sender<Result<Receipt, Rejection>>>> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

// Says whether two panes of one client that nothing pins are two agents; exits 1 when anything is not as it should be.
//   node panes.mjs LOG
// LOG is what `hm log --json` says after one pane claimed, the other supported that and claimed in its shell.
import { readFileSync } from "node:fs";

const { events } = JSON.parse(readFileSync(process.argv[2], "utf8"));
let failed = false;
function check(holds, what, otherwise) {
    console.log(holds ? `  ok      ${what}` : `  FAILED  ${what}: ${JSON.stringify(otherwise)}`);
    failed ||= !holds;
}
const of = (wanted) => events.filter(({ type }) => type === wanted);

const seats = of("agent.seated").map(({ payload }) => payload);
const names = seats.map(({ agent }) => agent);
check(names.join() === "architect,claude-2", "they sit on architect and claude-2", seats);
const sessions = new Set(seats.map(({ session }) => session));
check(sessions.size === 2, "they are two sessions", seats);
const [first, typed] = of("claim.created");
check(first?.agent === names[0] && first?.session === seats[0].session, "the first one claims as architect", first);
const [support] = of("position.taken");
check(support?.agent === names[1] && support?.session === seats[1].session, "the second one supports as claude-2", support);
const confirmed = of("claim.status_changed").find(({ payload }) => payload.to === "confirmed");
check(confirmed?.payload.claim_id === first?.payload.claim_id, "the claim is confirmed", of("claim.status_changed"));
check(typed?.agent === names[1] && typed?.session === seats[1]?.session, "its shell speaks as claude-2 too", typed);
const ended = new Set(of("session.ended").map(({ session }) => session));
check([...sessions].every((session) => ended.has(session)), "both sessions ended", [...ended]);
process.exit(failed ? 1 : 0);

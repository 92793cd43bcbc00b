// The chapters of the team's story about what hm finds by itself: what is known of an error, a guard that is muted, a loop,
// and a task that goes to and fro.
import { texts } from "./live.mjs";

/** The error that two clients meet after another one wrote down what it means. */
const ERROR = "error: the certificate of the release server has expired";
const MEANS = "the shop's certificate is renewed by hand each March";
const GUARDED = "ask the architect before a release";

/** The command fails, each time with the same answer. */
const fails = (tool) => ({ tool, arguments: { command: `sh -c 'echo ${ERROR} >&2; exit 3'` } });
const stuck = { tool: "Bash", arguments: { command: "sh -c 'echo the index is torn at page 7 >&2; exit 4'" } };

/** How many texts of each request say this. */
const heard = (requests, says) => requests.map((request) => texts(request).filter((text) => text.includes(says)).length);

/** `story` has what the chapters of team.mjs have: panes by name, and how to ask hm and to check. */
export async function learns({ chapter, check, eventually, events, hm, first, second, third, fourth, of_claude, of_codex }) {
    chapter("what is known of an error is told behind the command that ends with it");
    const known = { statement: MEANS, claim_type: "negative", scopes: ["tag:release"], trigger: { error_signature: ERROR } };
    await second.turn("Write down what the error means", [of_claude.hm("create_claim", known)]);
    const by_codex = { tool: "exec", arguments: `text(await tools.exec_command(${JSON.stringify(fails("sh").arguments).replace("command", "cmd")}))` };
    for (const [pane, call] of [[first, fails("Bash")], [third, by_codex], [fourth, fails("run_shell_command")]]) {
        const { requests } = await pane.turn("Release it", [call]);
        // A prompt may have told it already. It is told at the command all the same.
        const [before, after] = heard(requests, MEANS);
        check(after === before + 1, `the model of ${pane.name} reads it behind the command`, [before, after, events("command.ran").at(-1)]);
    }

    chapter("a guard is told once a turn, and a muted one is silent");
    const guard = hm("guard", "accept", "--command", "npm run release", "--text", GUARDED, "--agent", "architect");
    const warned = await second.turn("Publish it", [of_claude.shell("npm run release || true"), of_claude.shell("npm run release; true")]);
    check(heard(warned.requests, GUARDED).at(-1) === 1, "it is told once in a turn", heard(warned.requests, GUARDED));
    hm("guard", "mute", guard.name, "--agent", "operator", "--operator-override", "the story mutes it");
    const before = heard(warned.requests, GUARDED).at(-1);
    const silent = await second.turn("Publish it again", [of_claude.shell("npm run release || true")]);
    check(heard(silent.requests, GUARDED).at(-1) === before, "it is not told when it is muted", heard(silent.requests, GUARDED));
    const listed = await eventually(() => {
        const guards = hm("guard", "list").guards;
        const of_it = guards.find(({ id, name }) => name === guard.name || id === guard.entity_id);
        return of_it?.ignored >= 1 && of_it;
    });
    check(listed, "what became of its warnings is counted", hm("guard", "list"));

    chapter("a loop is told once, with a way out");
    const looped = await first.turn("Mend the index", [stuck, stuck, stuck, stuck]);
    const found = await eventually(() => hm("pattern", "list").patterns.find(({ kind }) => kind === "loop"));
    check(found, "the loop is found", hm("pattern", "list"));
    const later = await first.turn("Go on with the index");
    const WAY_OUT = "The next run will most likely answer the same. Ways on:";
    const times = heard(later.requests, WAY_OUT).at(-1);
    check(times === 1, "its model reads of it once, with ways out", [heard(looped.requests, WAY_OUT), times]);

    chapter("a task that goes to and fro is named to the architect");
    const task = hm("task", "add", "the index is torn", "--agent", "architect").name;
    for (let round = 0; round < 2; round += 1) {
        await second.turn("Take it", [of_claude.hm("claim_task", { task_id: task }), of_claude.hm("update_task", { task_id: task, status: "open" })]);
        await third.turn("Take it", [of_codex.hm("claim_task", { task_id: task }), of_codex.hm("update_task", { task_id: task, status: "open" })]);
    }
    const to_and_fro = await eventually(() => hm("pattern", "list").patterns.find(({ kind }) => kind === "handoff_loop"));
    check(to_and_fro, "the hand-off loop is found", hm("pattern", "list"));
    const named = await first.turn("What is there to decide?");
    const said = texts(named.requests.at(-1)).filter((text) => text.includes(`hm pattern show ${to_and_fro?.name}`));
    check(said.length === 1, "the architect is told of it", texts(named.requests.at(-1)).slice(-3));
    check(!events("pattern.opened").some(({ agent }) => agent !== "system"), "patterns are recorded by the writer", events("pattern.opened"));

    chapter("an agent that waits for a build is no stall, and a playbook is proposed, accepted and shown");
    // The demo sets the time: nobody here waits for forty minutes, or for three days.
    const { steps } = hm("demo");
    const seen = (name) => steps.find((step) => step.name === name)?.seen.join("\n") ?? "";
    check(seen("stall").includes("analyst holds") && !seen("stall").includes("devops"), "only the silent agent is a stall", seen("stall"));
    check(seen("playbook").includes("<playbook ") && seen("playbook").includes("cargo test"), "the next fitting context shows it", seen("playbook"));
}

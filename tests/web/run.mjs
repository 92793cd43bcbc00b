// Opens the pages of hm web and of hm serve --http in a real browser, and says what is not as it should be.
//   node run.mjs HM SCRATCH TOOLS CHROMIUM CLAIMS WITHIN ONLY [PICTURES]
import { createRequire } from "node:module";
import { join } from "node:path";
import { attack } from "./attack.mjs";
import { axe, failures } from "./check.mjs";
import { clicks } from "./clicks.mjs";
import { demo } from "./demo.mjs";
import { empty } from "./empty.mjs";
import { served } from "./served.mjs";
import { speed } from "./speed.mjs";

const [hm, scratch, tools, chromium, claims, within, only, pictures] = process.argv.slice(2);
const { chromium: driver } = createRequire(join(tools, "package.json"))("playwright-core");
const launched = (more) => driver.launch({
    executablePath: chromium,
    chromiumSandbox: process.getuid() !== 0,
    // Another name of this machine, and no way out.
    args: ["--host-resolver-rules=MAP evil.example 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"],
    ...more,
});
const browser = await launched({});
const given = { hm, scratch, browser, axe: axe(tools), pictures };
const runs = (part) => only === "" || only === part;
if (runs("demo")) await demo(given);
if (runs("empty")) await empty(given);
if (runs("attack")) await attack(given);
if (runs("served")) await served(given);
if (runs("clicks")) {
    // The driver switches the cache of pages off that people have.
    const keeping = await launched({ ignoreDefaultArgs: ["--disable-back-forward-cache"] });
    await clicks({ ...given, browser: keeping });
    await keeping.close();
}
await browser.close();
if (runs("speed")) await speed({ hm, scratch, claims: Number(claims), within: Number(within) });
process.exit(failures() ? 1 : 0);

// Prints the results of conformance.sh in a directory as a table. A scenario that
// README.md lists for a server may fail there. For fettle itself only the scenarios
// PLAIN count, without checks that the suite calls untestable without its own tools.
// Usage: node report.mjs RESULTS README FAILURES PLAIN…
import { readFileSync, readdirSync, appendFileSync } from "node:fs";
import { join } from "node:path";

const [results, readme, failures, ...plain] = process.argv.slice(2);

// The rows "| `server` | `scenario` | …" of the README.
const excused = new Map();
for (const [, server, scenario] of readFileSync(readme, "utf8").matchAll(/^\| `([^`]+)` \| `([^`]+)` \|/gm)) {
  excused.set(`${server} ${scenario}`, false);
}

const count = { passed: 0, warned: 0, excused: 0, failed: 0 };
const row = (...cells) => console.log(cells.map((c, i) => String(c).padEnd([16, 15, 11, 46, 8][i] ?? 0)).join(" ").trimEnd());
row("server", "suite", "revision", "scenario", "result", "checks");
for (const server of readdirSync(results)) {
  for (const suite of readdirSync(join(results, server))) {
    for (const revision of readdirSync(join(results, server, suite))) {
      const dir = join(results, server, suite, revision);
      const ran = readdirSync(dir).sort();
      if (ran.length === 0) {
        count.failed++;
        row(server, suite, revision, "(the suite ran no scenario)", "FAILED");
      }
      for (const run of ran) {
        const scenario = run.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT.*$/, "");
        const itself = server.startsWith("fettle");
        if (itself && !plain.includes(scenario)) continue;
        const checks = JSON.parse(readFileSync(join(dir, run, "checks.json"), "utf8")).filter((c) => !(itself && c.details?.untestable));
        const of = (status) => checks.filter((c) => c.status === status);
        const bad = of("FAILURE"), weak = of("WARNING");
        let result = "passed";
        if (bad.length > 0) result = excused.has(`${server} ${scenario}`) ? "excused" : "FAILED";
        if (result === "excused") excused.set(`${server} ${scenario}`, true);
        else if (weak.length > 0) result = "warned";
        count[result.toLowerCase()]++;
        row(server, suite, revision, scenario, result, `${of("SUCCESS").length} of ${checks.filter((c) => ["SUCCESS", "FAILURE", "WARNING"].includes(c.status)).length}`);
        for (const c of [...bad, ...weak]) {
          appendFileSync(failures, `${server} ${suite} ${revision} ${scenario}: ${c.status} ${c.id}\n  ${c.description}\n  ${c.errorMessage ?? c.details?.message ?? ""}\n  ${JSON.stringify(c.details ?? {}).slice(0, 2000)}\n`);
        }
      }
    }
  }
}
for (const [row, used] of excused) {
  if (!used) {
    count.failed++;
    console.log(`README.md excuses ${row}, which does not fail`);
  }
}
console.log(`\n${count.passed} passed, ${count.warned} passed with a warning, ${count.excused} failed as expected in README.md, ${count.failed} failed`);
process.exitCode = count.failed > 0 ? 1 : 0;

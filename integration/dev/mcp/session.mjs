// One session of the official TypeScript SDK's client with fettle mcp serve: read,
// patch, a change by another program, a refusal, and the recovery with the state in
// the refusal; then a command that needs approval.
// Usage: node session.mjs SDK PROJECT URL, or SDK PROJECT PROGRAM
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [sdk, project, target] = process.argv.slice(2);
const from = (path) => import(pathToFileURL(join(sdk, "dist/esm", path)));
const { Client } = await from("client/index.js");
const { ElicitRequestSchema } = await from("types.js");

let bad = 0;
const check = (what, fine, got) => {
  if (!fine) bad = 1;
  console.log(fine ? `ok    ${what}` : `WRONG ${what}: ${JSON.stringify(got)}`);
};

const client = new Client({ name: "peers", version: "1" }, { capabilities: { elicitation: {} } });
let answer = "decline";
const asked = [];
client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
  asked.push(params);
  if (answer !== "accept") return { action: answer };
  // Chooses the first value of each choice, which applies once and is not stored.
  const content = {};
  for (const [name, field] of Object.entries(params.requestedSchema.properties)) {
    const values = field.enum ?? field.oneOf?.map((o) => o.const);
    if (values) content[name] = values[0];
    else if (field.type === "boolean") content[name] = true;
  }
  return { action: "accept", content };
});
if (/^https?:/.test(target)) {
  const { StreamableHTTPClientTransport } = await from("client/streamableHttp.js");
  await client.connect(new StreamableHTTPClientTransport(new URL(target)));
} else {
  const { StdioClientTransport } = await from("client/stdio.js");
  await client.connect(new StdioClientTransport({ command: target, stderr: "inherit" }));
}

const file = join(project, "poem.txt");
const call = (name, args) => client.callTool({ name, arguments: args });
const patch = (hash, old, now) =>
  call("safe_patch", { file_path: file, base_content_sha256: hash, unified_diff: `--- a/poem.txt\n+++ b/poem.txt\n@@ -1,3 +1,3 @@\n one\n-${old}\n+${now}\n three\n` });
const sum = (text) => createHash("sha256").update(text).digest("hex");

writeFileSync(file, "one\ntwo\nthree\n");
let got = await call("read_file", { file_path: file });
check("read: text and hash", got.structuredContent.content === "one\ntwo\nthree\n" && got.structuredContent.sha256 === sum("one\ntwo\nthree\n"), got);
got = await patch(got.structuredContent.sha256, "two", "TWO");
check("patch: done", !got.isError && readFileSync(file, "utf8") === "one\nTWO\nthree\n", got);

writeFileSync(file, "one\nTwo!\nthree\n");
console.log("      (another program has changed the file)");
got = await patch(sum("one\nTWO\nthree\n"), "TWO", "2");
let text = got.content.map((c) => c.text ?? "").join("\n");
check("stale patch: refused, with a reason", got.isError && text.includes("file_changed_since_read"), got);
check("stale patch: the other program's change is kept", readFileSync(file, "utf8") === "one\nTwo!\nthree\n", got);
const state = JSON.parse(got.content[0].text).latest_file_state;
check("stale patch: the refusal has the current file", state?.content === "one\nTwo!\nthree\n" && state?.sha256 === sum("one\nTwo!\nthree\n"), got);
got = await patch(state.sha256, "Two!", "2");
check("recovery: with the state in the refusal", !got.isError && readFileSync(file, "utf8") === "one\n2\nthree\n", got);

got = await call("run_shell_command", { command: "rm poem.txt" });
check("a command: the user is asked", asked.length === 1 && JSON.stringify(asked[0]).includes("rm poem.txt"), asked);
check("a command: no refuses it", got.isError && existsSync(file), got);
answer = "accept";
got = await call("run_shell_command", { command: "rm poem.txt" });
check("a command: yes runs it", !got.isError && !existsSync(file), got);
await client.close();
process.exit(bad);

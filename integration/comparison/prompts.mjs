// Prints what gemini-cli's policy engine decides about lists of calls, without rules
// of a user.
//
//   node prompts.mjs DIR-WITH-NODE_MODULES < CALLS
//
// CALLS is a JSON object: by the name of a session a list of {"tool", "args"}. Prints
// a JSON object: by the name of a session and an approval mode (default, autoEdit)
// the decisions in order: allow, deny or ask_user.

import { createRequire } from 'node:module';
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const print = console.log;
for (const name of ['debug', 'log', 'info', 'warn', 'error']) console[name] = () => {};

const modules = path.join(path.resolve(process.argv[2]), 'node_modules');
const home = path.join(modules, '@google/gemini-cli-core');
const main = createRequire(path.join(home, 'package.json')).resolve('.');
const core = await import(pathToFileURL(main).href);

const sessions = JSON.parse(fs.readFileSync(0, 'utf8'));
const result = {};
for (const [name, calls] of Object.entries(sessions)) {
  result[name] = {};
  for (const mode of ['default', 'autoEdit']) {
    const config = await core.createPolicyEngineConfig({}, mode);
    const engine = new core.PolicyEngine({ ...config, approvalMode: mode });
    const decisions = [];
    for (const { tool, args } of calls) {
      const { decision } = await engine.check({ name: tool, args }, undefined);
      decisions.push(decision);
    }
    result[name][mode] = decisions;
  }
}
print(JSON.stringify(result));

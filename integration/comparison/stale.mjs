// Tests whether a peer loses a change that another program saves between the peer's
// read and its write. The saved file has the same size, and its old times are restored,
// as by a tool that preserves times.
//
//   node stale.mjs gemini-cli-core|server-filesystem DIR-WITH-NODE_MODULES
//
// Prints one JSON object with "lost", "kept" or "refused" for a write of the whole file
// and for a replacement of another line. "kept" means that the call succeeded and that
// the file still has the saved line.

import { createRequire } from 'node:module';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { pathToFileURL } from 'node:url';

for (const name of ['debug', 'log', 'info', 'warn', 'error']) console[name] = () => {};

const [, , peer, packages] = process.argv;
const modules = path.join(path.resolve(packages), 'node_modules');
const dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'stale-')));
const file = path.join(dir, 'prices.txt');

const shown = 'milk 120\nbread 300\n'; // the content that the peer reads
const saved = 'milk 125\nbread 300\n'; // the content that the other program saves

function save() {
  const before = fs.statSync(file);
  fs.writeFileSync(file, saved);
  fs.utimesSync(file, before.atime, before.mtime);
}

// Refused is a refusal of the peer. Any other exception is a mistake in this program
// and ends the run.
class Refused extends Error {}

async function outcome(read, change) {
  fs.writeFileSync(file, shown);
  await read();
  save();
  try {
    await change();
  } catch (e) {
    if (!(e instanceof Refused)) throw e;
    return 'refused';
  }
  return fs.readFileSync(file, 'utf8').includes('milk 125') ? 'kept' : 'lost';
}

async function geminiCore() {
  const home = path.join(modules, '@google/gemini-cli-core');
  const main = createRequire(path.join(home, 'package.json')).resolve('.');
  const core = await import(pathToFileURL(main).href);
  const silent = path.join(dir, '..', `${path.basename(dir)}.jsonl`); // a model without responses, for tools that require one
  fs.writeFileSync(silent, '');
  const c = new core.Config({
    fakeResponses: silent,
    sessionId: 'stale', targetDir: dir, cwd: dir, model: 'gemini-2.5-pro', debugMode: false, interactive: false,
    approvalMode: core.ApprovalMode.YOLO, trustedFolder: true, disableLLMCorrection: true,
    usageStatisticsEnabled: false, telemetry: { enabled: false }, mcpEnabled: false, extensionsEnabled: false, enableHooks: false,
    policyEngineConfig: { rules: [{ toolName: '*', decision: core.PolicyDecision.ALLOW, priority: 998 }] },
  });
  await c.initialize();
  await c.refreshAuth(core.AuthType.USE_GEMINI);
  const call = async (name, args) => {
    const result = await c.toolRegistry.getTool(name).build(args).execute({ abortSignal: new AbortController().signal });
    if (result.error) throw new Refused(result.error.message);
  };
  return {
    end: () => fs.rmSync(silent),
    read: () => call('read_file', { file_path: file }),
    write: () => call('write_file', { file_path: file, content: 'milk 120\nbread 310\n' }),
    replace: () => call('replace', { file_path: file, instruction: 'Bread is 310.', old_string: 'bread 300', new_string: 'bread 310' }),
  };
}

async function serverFilesystem() {
  const home = path.join(modules, '@modelcontextprotocol/server-filesystem');
  const { bin } = JSON.parse(fs.readFileSync(path.join(home, 'package.json'), 'utf8'));
  const server = spawn(process.execPath, [path.join(home, Object.values(bin)[0]), dir], { stdio: ['pipe', 'pipe', 'ignore'] });
  const waiting = new Map();
  readline.createInterface({ input: server.stdout }).on('line', (line) => {
    const message = JSON.parse(line);
    waiting.get(message.id)?.(message);
  });
  let last = 0;
  const ask = (method, params) => new Promise((resolve) => {
    waiting.set(++last, resolve);
    server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: last, method, params })}\n`);
  });
  await ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'stale', version: '1' } });
  server.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  const call = async (name, args) => {
    const answer = await ask('tools/call', { name, arguments: args });
    if (answer.error || answer.result.isError) throw new Refused(JSON.stringify(answer));
  };
  return {
    read: () => call('read_text_file', { path: file }),
    write: () => call('write_file', { path: file, content: 'milk 120\nbread 310\n' }),
    replace: () => call('edit_file', { path: file, edits: [{ oldText: 'bread 300', newText: 'bread 310' }] }),
    end: () => server.stdin.end(),
  };
}

const tools = await { 'gemini-cli-core': geminiCore, 'server-filesystem': serverFilesystem }[peer]();
const result = { write: await outcome(tools.read, tools.write), replace: await outcome(tools.read, tools.replace) };
tools.end?.();
fs.rmSync(dir, { recursive: true });
process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));

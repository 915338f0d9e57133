// The driver of contestants that are npm packages without a server: node driver.mjs PACKAGES NAME DIR.
// Each line of stdin is a call, {"tool":…,"args":{…}}. Each line of stdout is its answer,
// {"text":…} or {"text":…,"refused":true}. The tool "declarations" returns what a model gets.

import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { pathToFileURL } from 'node:url';

const [packages, name, dir, mode] = process.argv.slice(2);
for (const level of ['debug', 'log', 'info', 'warn', 'error']) console[level] = () => {}; // stdout has the protocol
process.removeAllListeners('warning');

// load imports a package, or a file in it, from another directory than this one's.
async function load(pkg, file) {
  const root = path.join(packages, 'node_modules', pkg);
  const about = JSON.parse(await fs.readFile(path.join(root, 'package.json'), 'utf8'));
  const entry = (e) => (typeof e === 'string' || !e ? e : entry(e.import ?? e.default));
  return import(pathToFileURL(path.join(root, file ?? entry(about.exports?.['.']) ?? about.module ?? about.main)).href);
}
const textOf = (parts) => (typeof parts === 'string' ? parts : [parts].flat().map((p) => p?.text ?? p?.functionResponse?.response?.output ?? p?.functionResponse?.response?.error ?? '').join(''));

// Each maker returns the tools of a contestant. A tool returns a text, and throws to refuse.
const makers = {
  // The tools run through the scheduler, as for a model, with the approvals of the mode.
  async gemini() {
    const m = await load('@google/gemini-cli-core');
    if (mode !== 'default') { // a policy file of the user: every command but rm
      const policies = path.join(os.homedir(), '.gemini/policies');
      await fs.mkdir(policies, { recursive: true });
      const rule = (more, decision, priority) => `[[rule]]\ntoolName = "run_shell_command"\n${more}decision = "${decision}"\npriority = ${priority}\n`;
      await fs.writeFile(path.join(policies, 'toolbench.toml'), rule('', 'allow', 100) + rule('commandPrefix = "rm"\n', 'deny', 200));
    }
    const approvals = mode === 'default' ? m.ApprovalMode.DEFAULT : m.ApprovalMode.AUTO_EDIT;
    const config = new m.Config({
      sessionId: 'toolbench', targetDir: dir, cwd: dir, model: 'gemini-2.5-pro', debugMode: false, interactive: false,
      approvalMode: approvals, trustedFolder: true, disableLLMCorrection: true,
      usageStatisticsEnabled: false, telemetry: { enabled: false }, mcpEnabled: false, extensionsEnabled: false, enableHooks: false,
      policyEngineConfig: await m.createPolicyEngineConfig({}, approvals),
    });
    await config.initialize();
    await config.refreshAuth(m.AuthType.USE_GEMINI).catch(() => {});
    const scheduler = new m.Scheduler({ context: config, messageBus: config.messageBus, getPreferredEditor: () => undefined, schedulerId: 'toolbench' });
    let calls = 0;
    const call = (tool) => async (args) => {
      const [done] = await scheduler.schedule({ callId: `c${calls++}`, name: tool, args, isClientInitiated: false, prompt_id: 'toolbench' }, new AbortController().signal);
      const text = textOf(done.response?.responseParts ?? '');
      if (done.status !== 'success') throw new Error(text || done.status);
      return text;
    };
    const tools = Object.fromEntries(['read_file', 'replace', 'write_file', 'run_shell_command'].map((t) => [t, call(t)]));
    return { ...tools, declarations: async () => JSON.stringify(config.toolRegistry.getFunctionDeclarations()) };
  },
  async deepagents() {
    const m = await load('deepagents');
    const b = new m.FilesystemBackend({ rootDir: dir, virtualMode: true });
    const given = (r) => { if (r.error) throw new Error(r.error); return typeof r.content === 'string' ? r.content : JSON.stringify(r); };
    return {
      read_file: async (a) => given(await b.read(a.file_path)),
      edit_file: async (a) => given(await b.edit(a.file_path, a.old_string, a.new_string)),
      write_file: async (a) => given(await b.write(a.file_path, a.content)),
      declarations: async () => {
        const { convertToOpenAITool } = await load('@langchain/core', 'dist/utils/function_calling.js');
        return JSON.stringify(m.createFilesystemMiddleware({ backend: b }).tools.map((t) => convertToOpenAITool(t)));
      },
    };
  },
  async pi() {
    const m = await load('@mariozechner/pi-coding-agent');
    const tools = { read: m.createReadTool(dir), edit: m.createEditTool(dir), write: m.createWriteTool(dir), bash: m.createBashTool(dir) };
    const made = Object.fromEntries(Object.entries(tools).map(([k, t]) => [k, async (a) => textOf((await t.execute('c', a)).content)]));
    const declared = Object.values(tools).map(({ name, description, parameters }) => ({ name, description, parameters }));
    return { ...made, declarations: async () => JSON.stringify(declared) };
  },
  // It is a library for one tool: the read has the format of its prompt.
  async hashline() {
    const m = await load('@oh-my-pi/hashline');
    const disk = new m.NodeFilesystem(), snapshots = new m.InMemorySnapshotStore(), patcher = new m.Patcher({ fs: disk, snapshots });
    return {
      read: async ({ path: p }) => {
        const text = m.normalizeToLF(m.stripBom(await disk.readText(p)).text);
        return `[${p}#${snapshots.record(p, text)}]\n${m.formatNumberedLines(text)}`;
      },
      apply: async ({ patch }) => (await patcher.apply(m.Patch.parse(patch))).sections.map((s) => s.header).join('\n'),
      declarations: async () => fs.readFile(path.join(packages, 'node_modules/@oh-my-pi/hashline/src/prompt.md'), 'utf8'),
    };
  },
  // A library that changes text: the file is read and written as its manual shows.
  async jsdiff() {
    const m = await load('diff');
    return {
      read: async ({ path: p }) => fs.readFile(p, 'utf8'),
      apply: async ({ path: p, patch }) => {
        const text = m.applyPatch(await fs.readFile(p, 'utf8'), patch);
        if (text === false) throw new Error('the patch does not apply');
        await fs.writeFile(p, text);
        return 'ok';
      },
    };
  },
};

const tools = await makers[name]();
process.stdout.write('{"text":"ready"}\n');
for await (const line of readline.createInterface({ input: process.stdin })) {
  const { tool, args } = JSON.parse(line);
  let answer;
  try {
    answer = { text: await tools[tool](args) };
  } catch (e) {
    answer = { text: String(e?.message ?? e), refused: true };
  }
  process.stdout.write(JSON.stringify(answer) + '\n');
}
process.exit(0);

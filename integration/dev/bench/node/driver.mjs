// The driver of the peers in Node: it does their work in this process and measures
// it with the monotonic clock. Requests and responses are JSON objects, one a line.
//
//   {"op":"import","packages":DIR,"names":[…]}  -> {"ns":…}
//   {"op":"prepare","work":KEY of `works`,"params":{…}} -> {"handle":N}
//   {"op":"run","handle":N,"turn":T,"repeat":R,"show":true|false} -> {"ns":…,"shown":TEXT,"length":L}
//   {"op":"close","handle":N} -> {}
//   {"op":"sessions","params":{…}} -> {"ns":…,"rss":…,"heap":…,"all":…,"length":…}
//
// ns is the time of one of the R repetitions. "shown" is the output of the last one,
// which the caller checks, and "length" its length. The driver itself accepts every
// result without an error. A failure has the response {"error":TEXT}.

import { createRequire } from 'node:module';
import path from 'node:path';
import fs from 'node:fs';
import readline from 'node:readline';
import { pathToFileURL } from 'node:url';

// The packages log to the console, which their programs suppress unless they
// debug. stdout is reserved for the protocol.
for (const name of ['debug', 'log', 'info', 'warn', 'error']) console[name] = () => {};
process.removeAllListeners('warning');

const never = new AbortController().signal;
const loaded = {};
const handles = new Map();
let last = 0;

async function load(dir, name) {
  if (loaded[name]) return;
  const file = createRequire(path.join(dir, 'package.json')).resolve(name);
  loaded[name] = await import(pathToFileURL(file).href);
}

const core = () => loaded['@google/gemini-cli-core'];

// config creates a session as its program does for a prompt on the command line with
// all approvals, without telemetry, servers, extensions and hooks, and without
// correction of edits by a model.
function config(dir, id, more = {}) {
  return new (core().Config)({
    sessionId: `bench-${id}`, targetDir: dir, cwd: dir, model: 'gemini-2.5-pro', debugMode: false, interactive: false,
    approvalMode: core().ApprovalMode.YOLO, trustedFolder: true, disableLLMCorrection: true,
    usageStatisticsEnabled: false, telemetry: { enabled: false }, mcpEnabled: false, extensionsEnabled: false, enableHooks: false,
    truncateToolOutputThreshold: -1,
    policyEngineConfig: { rules: [{ toolName: '*', decision: core().PolicyDecision.ALLOW, priority: 998 }] },
    ...more,
  });
}

// Some tools require a model. This one has no responses: a call that sent it a
// request would fail.
const silent = path.join(process.cwd(), 'no-answers.jsonl');
fs.writeFileSync(silent, '');

const sessions = new Map();
async function session(dir) {
  if (!sessions.has(dir)) {
    const c = config(dir, sessions.size, { fakeResponses: silent });
    await c.initialize();
    await c.refreshAuth(core().AuthType.USE_GEMINI);
    sessions.set(dir, c);
  }
  return sessions.get(dir);
}

const textOf = (content) => (typeof content === 'string' ? content : [content].flat().map((p) => (typeof p === 'string' ? p : (p.text ?? ''))).join(''));

function given(result) {
  if (result.error) throw new Error(`${result.error.type}: ${result.error.message}`);
  return result.llmContent;
}

// caller returns a function that calls a tool: through the scheduler, as a model
// does, or by building and executing the tool directly.
async function caller({ dir, tool, alone }) {
  const c = await session(dir);
  const registry = c.toolRegistry;
  const found = typeof tool === 'string' ? registry.getTool(tool) : tool(c);
  if (!found) throw new Error(`there is no tool ${tool}`);
  if (alone) return async (args) => given(await found.build(args).execute({ abortSignal: never }));
  if (typeof tool !== 'string') registry.registerTool(found);
  const scheduler = new (core().Scheduler)({ context: c, messageBus: c.messageBus, getPreferredEditor: () => undefined, schedulerId: `bench-${++last}` });
  let calls = 0;
  return async (args) => {
    const request = { callId: `c${calls++}`, name: found.name, args, isClientInitiated: false, prompt_id: 'bench' };
    const [done] = await scheduler.schedule(request, never);
    if (done.status !== 'success') throw new Error(`${done.status}: ${done.response.error?.message}`);
    return done.response.responseParts.map((p) => p.functionResponse?.response?.output ?? p.text ?? '').join('');
  };
}

// A tool that does nothing, based on its classes.
function nothing(c) {
  const { BaseDeclarativeTool, BaseToolInvocation, Kind } = core();
  class Invocation extends BaseToolInvocation {
    getDescription() { return 'nothing'; }
    async execute() { return { llmContent: 'done', returnDisplay: 'done' }; }
  }
  const schema = {
    type: 'object', required: ['file_path'], additionalProperties: false,
    properties: { file_path: { type: 'string' }, offset: { type: 'integer' }, limit: { type: 'integer' } },
  };
  class Tool extends BaseDeclarativeTool {
    constructor() { super('noop', 'Noop', 'Does nothing.', Kind.Read, schema, c.messageBus); }
    createInvocation(params, bus, name, display) { return new Invocation(params, bus, name, display); }
  }
  return new Tool();
}

// Each maker returns {run(turn), close()}: run does the work once and returns its
// output. The maker itself does the work that is not measured.
const works = {
  // A call of a tool with the arguments that belong to a turn.
  async call({ dir, tool, alone, args }) {
    const call = await caller({ dir, tool, alone });
    return { run: async (turn) => textOf(await call(args[turn % args.length])) };
  },
  async noop({ dir, args }) {
    const call = await caller({ dir, tool: nothing });
    return { run: async () => textOf(await call(args)) };
  },
  async readMany({ dir, args }) {
    const call = await caller({ dir, alone: true, tool: (c) => new (core().ReadManyFilesTool)(c, c.messageBus) });
    return { run: async () => textOf(await call(args)) };
  },
  // Its search with or without ripgrep, independent of its own choice.
  async grep({ dir, ripgrep, args }) {
    const tool = (c) => new (ripgrep ? core().RipGrepTool : core().GrepTool)(c, c.messageBus);
    const call = await caller({ dir, alone: true, tool });
    return { run: async () => textOf(await call(args)) };
  },
  async jsdiff({ file, diffs }) {
    const { applyPatch } = loaded.diff;
    return {
      run: (turn) => {
        const text = applyPatch(fs.readFileSync(file, 'utf8'), diffs[turn % 2]);
        if (text === false) throw new Error('the diff does not apply');
        fs.writeFileSync(file, text);
        return '';
      },
    };
  },
  // Decisions by rules that its own loader reads; files are {path, tier}.
  async policy({ files, call }) {
    await core().initializeShellParsers();
    const tiers = new Map(files.map((f) => [f.path, f.tier]));
    const { rules, errors } = await core().loadPoliciesFromToml([...tiers.keys()], (file) => tiers.get(file));
    if (errors.some((e) => e.severity !== 'warning')) throw new Error(`${errors[0].message}: ${errors[0].details}`);
    const engine = new (core().PolicyEngine)({ rules });
    return { run: async () => (await engine.check(call, undefined)).decision };
  },
  async registry({ dir, what, declarations }) {
    const c = await session(dir);
    const { ToolRegistry, DiscoveredMCPTool } = core();
    const registry = new ToolRegistry(c, c.messageBus);
    const remote = { tool: async () => ({ functionDeclarations: [] }), callTool: async () => [] };
    for (const d of declarations) registry.registerTool(new DiscoveredMCPTool(remote, 'bench', d.name, d.description, d.schema, c.messageBus));
    const names = registry.getAllToolNames();
    const name = names[(names.length * 3) >> 2];
    const runs = {
      declare: () => registry.getFunctionDeclarations().length,
      lookup: () => (registry.getTool(name) ? names.length : 0),
    };
    return { run: runs[what] };
  },
  // args and wrong are JSON texts; the second must be refused.
  async schema({ schema, args, wrong }) {
    const { SchemaValidator } = core();
    if (!SchemaValidator.validate(schema, JSON.parse(wrong))) throw new Error('wrong arguments are accepted');
    return { run: () => SchemaValidator.validate(schema, JSON.parse(args)) ?? '' };
  },
  // A question that a listener answers at once, by the bus's own request.
  async bus({ dir }) {
    const { MessageBus, MessageBusType } = core();
    const bus = new MessageBus((await session(dir)).getPolicyEngine());
    bus.subscribe(MessageBusType.ASK_USER_REQUEST, (m) => {
      void bus.publish({ type: MessageBusType.ASK_USER_RESPONSE, correlationId: m.correlationId, answers: { 0: 'yes' } });
    });
    const question = { type: MessageBusType.ASK_USER_REQUEST, questions: [{ question: 'May it?', header: 'Q', type: 'yesno' }] };
    return { run: async () => (await bus.request(question, MessageBusType.ASK_USER_RESPONSE)).answers[0] };
  },
};

async function run({ handle, turn, repeat = 1, show }) {
  const work = handles.get(handle);
  if (!work) throw new Error(`nothing is prepared as ${handle}`);
  let shown; // text, or a number of items
  const began = process.hrtime.bigint();
  for (let i = 0; i < repeat; i++) {
    shown = work.run(turn + i);
    if (shown instanceof Promise) shown = await shown;
  }
  const ns = Number(process.hrtime.bigint() - began) / repeat;
  return { ns, shown: show ? String(shown) : undefined, length: typeof shown === 'string' ? shown.length : shown };
}

function memory() {
  for (let i = 0; i < 3; i++) globalThis.gc?.();
  const m = process.memoryUsage();
  return { rss: m.rss, heap: m.heapUsed };
}

const ops = {
  async import({ packages, names }) {
    const began = process.hrtime.bigint();
    for (const name of names) await load(packages, name);
    return { ns: Number(process.hrtime.bigint() - began) };
  },
  async prepare({ work, params }) {
    if (!works[work]) throw new Error(`there is no work ${work}`);
    const made = await works[work](params);
    handles.set(++last, made);
    return { handle: last };
  },
  run,
  async close({ handle }) {
    await handles.get(handle)?.close?.();
    handles.delete(handle);
    return {};
  },
  // The cost of n unused sessions. They live until the process ends.
  async sessions({ params: { dir, count } }) {
    const before = memory();
    const kept = [];
    const began = process.hrtime.bigint();
    for (let i = 0; i < count; i++) {
      const c = config(dir, i);
      await c.initialize();
      kept.push(c);
    }
    const ns = Number(process.hrtime.bigint() - began);
    const after = memory();
    globalThis.keptByBench = kept;
    return { ns, rss: after.rss - before.rss, heap: after.heap - before.heap, all: after.rss, length: kept.filter((c) => c.toolRegistry.getTool('read_file')).length };
  },
};

for await (const line of readline.createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  let answer;
  try {
    const request = JSON.parse(line);
    if (!Object.hasOwn(ops, request.op)) throw new Error(`there is no operation ${request.op}`);
    answer = await ops[request.op](request);
  } catch (e) {
    answer = { error: String(e?.message ?? e) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
process.exit(0);

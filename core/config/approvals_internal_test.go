package config

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config/internal/rules"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/policy/rulefile"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// idle is a tool without an effect: approved calls are not run.
type idle struct {
	spec   tools.Spec
	params json.RawMessage
}

func (t idle) Spec() tools.Spec                                          { return t.spec }
func (t idle) Params() json.RawMessage                                   { return t.params }
func (t idle) Description() string                                       { return "nothing" }
func (t idle) Locations() []tools.Location                               { return nil }
func (t idle) Confirmation(context.Context) (*tools.Confirmation, error) { return nil, nil }
func (t idle) Build(params json.RawMessage) (tools.ToolInvocation, error) {
	t.params = params
	return t, nil
}
func (t idle) Execute(context.Context, tools.Output) (tools.Result, error) {
	return tools.Result{}, nil
}

// idleTools contains a tool of any name that asks.
type idleTools struct{}

func (idleTools) Lookup(name string) (tools.DeclarativeTool, error) {
	spec := tools.Spec{Name: name, Kind: tools.KindOther}
	if known, ok := policy.WellKnown(name); ok {
		spec.Kind, spec.Aliases = tools.Kind(known.Kind), known.Aliases
	}
	if server, tool, ok := strings.Cut(strings.TrimPrefix(name, "mcp_"), "_"); ok && strings.HasPrefix(name, "mcp_") {
		spec.Origin.Server, spec.Origin.Tool = server, tool
	}
	return idle{spec: spec}, nil
}

// approvals is a Config whose questions are answered and whose tools do nothing.
type approvals struct {
	*testing.T
	config    *Config
	rules     *rules.Rules
	scheduler *scheduler.Scheduler
	answer    bus.Outcome
	asked     []bus.ToolConfirmationRequest
	told      chan bus.UpdatePolicy
}

func newApprovals(t *testing.T, text string) *approvals {
	t.Helper()
	c, err := New(Parameters{TargetDir: t.TempDir(), Environment: Environment{HomeDir: t.TempDir()}})
	require.NoError(t, err)
	require.NoError(t, c.Initialize(t.Context()))
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	a := &approvals{T: t, config: c, told: make(chan bus.UpdatePolicy, 100)}
	sh, err := c.services("test")
	require.NoError(t, err)
	a.rules = sh.rules
	if text != "" {
		file, problems := rulefile.Parse("p.toml", []byte(text), rulefile.Options{Tier: policy.TierUser})
		require.Empty(t, problems)
		require.NoError(t, a.rules.Add(file.Rules...))
	}
	b := bus.New(bus.Options{})
	bus.Subscribe(t.Context(), b, func(_ context.Context, q bus.ToolConfirmationRequest) {
		a.asked = append(a.asked, q)
		outcome := a.answer
		if !slices.Contains(q.Outcomes, outcome) {
			outcome = bus.ProceedOnce
		}
		_ = b.Publish(bus.ToolConfirmationResponse{CorrelationID: q.CorrelationID, Confirmed: true, Outcome: outcome})
	})
	bus.Subscribe(t.Context(), b, func(_ context.Context, u bus.UpdatePolicy) { a.told <- u })
	t.Cleanup(func() { _ = b.Close() })
	a.scheduler = scheduler.New(scheduler.Options{Tools: idleTools{}, Bus: b, Policy: a.rules, RealPath: a.rules.RealPath,
		Subject: func(call *policy.Call) { c.situate(call, sh) }})
	return a
}

// run makes a call and answers the question. It returns the rules shown for the
// answer, nil if it was not offered, and the notices.
func (a *approvals) run(tool, args string, answer bus.Outcome) (shown []string, r scheduler.Response) {
	a.Helper()
	a.answer, a.asked = answer, nil
	r = a.scheduler.Run(a.Context(), scheduler.Request{CallID: "1", Tool: tool, Args: json.RawMessage(args)})
	require.Equal(a, scheduler.StatusSuccess, r.Status, "%s %s: %v", tool, args, r.Result.Error)
	for _, q := range a.asked {
		for _, remembered := range q.Remembers {
			if remembered.Outcome == answer {
				shown = remembered.Rules
			}
		}
	}
	return shown, r
}

// ofSession returns the current approvals of the session.
func (a *approvals) ofSession() []policy.Rule {
	return slices.DeleteFunc(a.rules.Rules(), func(r policy.Rule) bool { return !r.Session })
}

// ofFile returns the rules of the file of saved approvals.
func (a *approvals) ofFile() []policy.Rule {
	a.Helper()
	files, problems := rulefile.Load(a.Context(), []string{a.rules.SaveTo}, rulefile.Options{Tier: policy.TierUser})
	require.Empty(a, problems)
	var all []policy.Rule
	for _, f := range files {
		require.Empty(a, f.StandIns)
		all = append(all, f.Rules...)
	}
	return all
}

func wordsOfRules(rules []policy.Rule) []string {
	words := make([]string, len(rules))
	for i, r := range rules {
		words[i] = r.Words()
	}
	return words
}

// approvable returns calls of all kinds, as "tool arguments".
func approvable() []string {
	line := func(text string) string {
		args, _ := json.Marshal(map[string]string{"command": text})
		return "run_shell_command " + string(args)
	}
	commands := strings.Split(`head -1 x|rm -rf build|git status|git push origin main|git commit -m 'a b'|go test ./...|go build -o bin/x .|make|make all|npm run build|npm install left-pad|
cargo build --release|docker run -it x|docker ps|kubectl delete pod x|python3 a.py|python3 -c 'print(1)'|node x.js|bash run.sh|sh -c 'make x'|sudo make install|
env A=1 make|timeout 5 go vet ./...|nice -n 5 make|xargs -n1 touch|find . -name '*.go' -delete|sed -i s/a/b/ f|awk '{print $1}' f|tar xf a.tar|curl -O https://example.org/a|
cp a b|mv a b|touch 'a b' "c d"|mkdir -p x/y|printf '%s\n' "it's"|jq '.a | .b' f.json|grep -rn 'a.*b' .|tee out.txt|wc -l f|sort -u f|gh pr create --title x|pip install x|
terraform plan|systemctl restart x|echo $'a\tb'|ls -la|cat "a, for the subagent x"|diff a b|patch -p1|./run.sh x|/usr/bin/env make|git -C sub log|cat <<< x`, "|")
	forms := []string{"%s", "%s > out.log", "%s 2>&1 | tee log.txt", "cd sub && %s; head -1 y", "%s || rm -rf other"}
	var all []string
	for _, command := range commands {
		for _, form := range forms {
			all = append(all, line(fmt.Sprintf(form, strings.TrimSpace(command))))
		}
	}
	return append(all,
		`write_file {"file_path":"a.txt","content":"x"}`, `write_file {"file_path":"dir/a (1)+[b].txt","content":"x"}`, `safe_patch {"file_path":"ü.go","unified_diff":"x"}`,
		`edit {"file_path":"a, in plan mode.go","old_string":"x","new_string":"y"}`, `web_fetch {"url":"https://example.org/a?b"}`, `web_fetch {"url":"http://example.org:81"}`,
		`web_fetch {"prompt":"read https://example.org"}`, `web_search {"query":"x"}`, `save_memory {"fact":"x"}`, `mcp_hub_search {"q":"x"}`, `mcp_hub_del*te {"q":"x"}`,
		`activate_skill {"name":"x"}`, `invoke_agent {"agent_name":"x","prompt":"y"}`, `write_background_input {"id":"1","input":"a\nb"}`, `stop_background_process {"id":"1"}`,
		`poke {}`, `poke {"a":1,"b":[1,"x",null],"c":{"d":"e"},"f":1e21,"path":"sub"}`, `poke {"a":"`+strings.Repeat("long ", 500)+`"}`, `poke {"command":"rm"}`,
		`poke {"a":"\u202e\u0000\u001b[2J","\u0000":"b\\x00.*"}`, line("echo \x1b[2J; touch \u202ea"), line("rm -rf 'a\nb'"), line(strings.Repeat("touch a; ", 50)),
		line(manyCommands(12)), line(manyCommands(60)), line("rm -rf "+strings.Repeat("x", 3000)))
}

// manyCommands returns a line of n programs.
func manyCommands(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("program%d x", i))
	}
	return strings.Join(all, " && ")
}

// AR-20, AR-21: the rules that a question shows for an answer are the ones added
// to the session, saved to the file, and reported to front ends.
func TestShownIsStored(t *testing.T) {
	calls := approvable()
	require.Greater(t, len(calls), 200)
	stored, every := map[bus.Outcome]int{}, 2
	switch {
	case os.Getenv("FETTLE_FULL") != "":
		every = 1
	case testing.Short():
		every = 4
	}
	for i, call := range calls {
		if i%every != 0 {
			continue
		}
		tool, args, _ := strings.Cut(call, " ")
		a := newApprovals(t, "")
		for _, answer := range []bus.Outcome{bus.ProceedAlways, bus.ProceedAlwaysTool, bus.ProceedAlwaysServer, bus.ProceedAlwaysAndSave} {
			shown, r := a.run(tool, args, answer)
			if strings.Contains(call, "tee log") && len(a.asked) == 0 {
				break
			}
			session := a.ofSession()
			require.NoError(t, a.rules.Change(policy.Change{Remove: session}))
			var got []string
			if answer == bus.ProceedAlwaysAndSave {
				require.Empty(t, session, call)
				got = wordsOfRules(a.ofFile())
			} else {
				got = wordsOfRules(session)
			}
			require.Empty(t, r.Notices, call)
			require.ElementsMatch(t, shown, got, call)
			var told []string
			for range got {
				told = append(told, (<-a.told).Words)
			}
			require.ElementsMatch(t, shown, told, call)
			require.LessOrEqual(t, len(shown), 32, call)
			seen := map[string]bool{}
			for _, words := range shown {
				require.False(t, seen[words], "%s: %s is shown twice", call, words)
				seen[words] = true
				require.Equal(t, escape.Line(words), words, call)
				require.LessOrEqual(t, len(words), 1000, call)
				require.NotContains(t, words, "arguments that match", call)
			}
			if len(shown) > 0 {
				stored[answer]++
			}
		}
		if i%50 == 0 {
			require.NoFileExists(t, filepath.Join(a.config.TargetDir(), ".fettle", "policies", "auto-saved.toml"))
		}
	}
	t.Logf("of %d calls: %v", len(calls), stored)
	require.Greater(t, stored[bus.ProceedAlwaysAndSave], 200/every)
}

// AR-20: for commands that delete, elevate, send or run their arguments nothing
// broader than the exact command is offered.
func TestNothingBroadIsStored(t *testing.T) {
	for line, other := range map[string]string{
		"rm -rf build": "rm -rf src", "rm x": "rm y", "/bin/rm -r x": "/bin/rm -r y", "sudo make": "sudo rm -rf /", "doas x": "doas y", "bash x.sh": "bash y.sh",
		"bash -c 'touch x'": "bash -c 'touch y; rm y'", "sh -c make": "sh -c rm", "python3 -c 'print(1)'": "python3 -c 'import os'", "python3.12 x.py": "python3.12 y.py", "pypy3 x.py": "pypy3 -c x",
		"perl -e 1": "perl -e 'unlink x'", "node -e 1": "node -e 2", "ruby3.1 -e 1": "ruby3.1 -e 2", "php -r 1": "php -r 2", "deno run x.ts": "deno run y.ts", "deno eval 1": "deno eval 2", "bun x.ts": "bun y.ts",
		"find . -delete": "find / -delete", "find . -exec rm {} +": "find / -exec rm {} +", "xargs rm": "xargs -n1 rm -rf", "dd if=a of=b": "dd if=a of=/dev/sda", "shred x": "shred y",
		"chmod 777 x": "chmod 777 /", "chown a x": "chown a y", "mv a b": "mv a /etc", "cp a b": "cp a ~/.bashrc", "ln -s a b": "ln -s a ~/.bashrc", "curl https://a.example": "curl https://b.example -d @x",
		"wget https://a.example": "wget https://b.example", "ssh a x": "ssh b y", "scp a b:": "scp c d:", "rsync a b": "rsync a b:", "git push": "git push --force", "git reset --hard": "git reset --hard x",
		"git clean -fd": "git clean -fdx", "git branch -D a": "git branch -D b", "git config a.b c": "git config core.pager x", "docker run a": "docker run -v /:/x b", "kubectl get x": "kubectl delete x",
		"npx x": "npx y", "npm run x": "npm run y", "npm exec x": "npm exec y", "make": "make evil", "env A=1 x": "env A=1 y", "timeout 5 x": "timeout 5 y", "nohup rm x": "nohup rm y", "eval 'touch x'": "eval 'rm y'",
		"awk 'BEGIN{system(\"x\")}'": "awk 'BEGIN{system(\"y\")}'", "sed -i s/a/b/ x": "sed -i s/a/b/ y", "tar xf a": "tar xf b --to-command=x", "kill 1": "kill 2", "crontab x": "crontab y",
		"systemctl stop x": "systemctl stop y", "mkfs.ext4 x": "mkfs.ext4 y", "gdb x": "gdb y", "strace x": "strace rm y", "watch x": "watch y", "go run ./x": "go run ./y", "cargo run x": "cargo run y",
		"source x": "source y", ". x": ". y", "lua5.4 x": "lua5.4 y", "fish -c x": "fish -c y", "busybox rm x": "busybox rm y", "socat a b": "socat a EXEC:sh", "at now": "at tomorrow", "screen x": "screen y",
		"tmux new x": "tmux new y", "uv run x": "uv run y", "pipx run x": "pipx run y", "poetry run x": "poetry run y", "setsid x": "setsid y", "stdbuf -o0 x": "stdbuf -o0 y", "time rm x": "time rm y", "command rm x": "command rm y",
	} {
		t.Run(line, func(t *testing.T) {
			args, _ := json.Marshal(map[string]string{"command": line})
			a := newApprovals(t, "")
			shown, _ := a.run("run_shell_command", string(args), bus.ProceedAlwaysAndSave)
			for _, words := range shown {
				program, _, _ := strings.Cut(line, " ")
				require.NotEqual(t, "commands that begin with "+program, words)
			}
			again, _ := json.Marshal(map[string]string{"command": other})
			a.run("run_shell_command", string(again), bus.ProceedOnce)
			require.Len(t, a.asked, 1, "%s is not covered by %q", other, shown)
		})
	}
}

// AR-21: an answer stores only rules that its question has shown, whatever has
// changed since.
func TestNothingUnshownIsStored(t *testing.T) {
	a := newApprovals(t, "")
	call := policy.Call{Tool: "run_shell_command", Kind: "execute", Params: json.RawMessage(`{"command":"head -1 x; rm -rf build"}`)}
	shown := wordsOfRules(a.rules.CanRemember(call, policy.ScopeSaved))
	require.ElementsMatch(t, []string{"commands that begin with head", "exactly the command rm -rf build"}, shown)
	_, err := a.rules.Remember(t.Context(), call, policy.ScopeSaved, shown[:1])
	require.Equal(t, fault.NotRemembered, fault.CodeOf(err))
	require.Empty(t, a.ofFile())
	require.Equal(t, policy.AskUser, a.rules.Decide(call).Decision)
	rules, err := a.rules.Remember(t.Context(), call, policy.ScopeSaved, shown)
	require.NoError(t, err)
	require.ElementsMatch(t, shown, wordsOfRules(rules))
	require.Equal(t, policy.Allow, a.rules.Decide(call).Decision)
}

// Package tooltest tests tools: [Run] checks a tool against the contract of [tools.DeclarativeTool].
//
// A test of a tool that changes nothing needs the tool and some arguments:
//
//	func TestCountLines(t *testing.T) {
//		tooltest.Run(t, countLines, tooltest.Cases{
//			Examples: []json.RawMessage{json.RawMessage(`{"text":"a\nb"}`)},
//			Bad:      []json.RawMessage{json.RawMessage(`{"text":7,"mode":"x"}`)},
//		})
//	}
//
// A tool that changes something needs a new environment for every call. Fresh creates it, and removes it with
// t.Cleanup:
//
//	func TestDeleteNote(t *testing.T) {
//		tooltest.Run(t, nil, tooltest.Cases{
//			Fresh: func(t testing.TB) tools.DeclarativeTool {
//				dir := t.TempDir()
//				if err := os.WriteFile(filepath.Join(dir, "a.txt"), nil, 0o600); err != nil {
//					t.Fatal(err)
//				}
//				return newDeleteNote(dir)
//			},
//			Examples: []json.RawMessage{json.RawMessage(`{"name":"a.txt"}`)},
//			Failing:  []json.RawMessage{json.RawMessage(`{"name":"absent.txt"}`)},
//		})
//	}
package tooltest

import (
	"cmp"
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// Cases are the arguments for the calls of [Run], and options.
type Cases struct {
	// Examples are arguments of calls that succeed. At least one is required.
	Examples []json.RawMessage
	// Failing are valid arguments whose execution reports an error to the model. Optional.
	Failing []json.RawMessage
	// Bad are arguments that Build refuses, in addition to those that Run generates. Optional.
	Bad []json.RawMessage

	// Fresh returns the tool in a new environment, in which each of Examples succeeds and each of Failing fails. It is
	// called before every execution, so that calls do not affect each other. Environments are removed with t.Cleanup.
	// Required for tools that change something. nil: all calls use the tool passed to Run.
	Fresh func(t testing.TB) tools.DeclarativeTool

	// DefaultQuestion permits a tool that changes something to return no confirmation of its own, because the default
	// question is enough.
	DefaultQuestion bool

	// Host is the host of the calls, for a tool that asks questions; see [host.FromContext]. It must be safe for concurrent
	// use. nil: no host.
	Host host.Host

	// Timeout limits each step of a call. A step must also return within Timeout after its context has ended. Zero or
	// negative: 10 seconds.
	Timeout time.Duration
	// Mutations is the number of damaged arguments. Zero: 300; negative: none.
	Mutations int
}

const (
	defaultTimeout   = 10 * time.Second
	defaultMutations = 300
)

// Run reports to t every violation of the contract. It checks that
//
//   - the Spec is complete and the same in each call;
//   - the schemas compile. The schema of the arguments is closed to unknown keys
//     at every level, uses known keywords only and describes every property. The
//     schema of a tool of a server (Spec.Origin) must only describe an object;
//   - the Examples build, their Params are canonical, and Params build to the
//     same Params;
//   - invalid arguments, unknown keys and damaged arguments are refused with a
//     code and without a panic;
//   - a tool that changes something asks for confirmation, with details that
//     survive JSON. A call that announces a refusal is refused;
//   - a call whose proposed content a user may replace (tools.Modifiable) shows,
//     passes to policy and executes the new content;
//   - Execute does not change Params, succeeds for Examples and fails with a code
//     for Failing. The JSON of its result is stable and fits the OutputSchema;
//     see [CheckResult];
//   - messages and questions to the host are valid. They and live output end
//     before Execute returns;
//   - a call whose context has ended returns soon and does not succeed, and no
//     step takes longer than Cases.Timeout;
//   - the Examples can run concurrently if the Spec permits it (use -race).
//
// A step that does not return in time is reported and abandoned with its goroutine, and the tool is not called again.
// If t is a *testing.T, each check is a subtest. tool may be nil if Cases.Fresh is set.
func Run(t testing.TB, tool tools.DeclarativeTool, c Cases) {
	t.Helper()
	if tool == nil && c.Fresh != nil {
		tool = c.Fresh(t)
	}
	if tool == nil {
		t.Errorf("tooltest: no tool: pass one, or set Cases.Fresh")
		return
	}
	if len(c.Examples) == 0 {
		t.Errorf("tooltest: Cases.Examples is empty; at least one call must succeed")
	}
	if c.Timeout <= 0 {
		c.Timeout = defaultTimeout
	}
	c.Mutations = cmp.Or(c.Mutations, defaultMutations)
	k := &kit{Cases: c, tool: tool, spec: tool.Spec()}
	check(t, "spec", k.checkSpec)
	check(t, "schema", k.checkSchema)
	check(t, "build", k.checkBuild)
	check(t, "refuse", k.checkRefusals)
	check(t, "damaged", k.checkDamaged)
	check(t, "execute", k.checkExecution)
	check(t, "modify", k.checkModify)
	check(t, "cancel", k.checkCancel)
	check(t, "parallel", k.checkParallel)
	check(t, "late", k.checkLate)
}

// check runs one check, as a subtest if t is a *testing.T.
func check(t testing.TB, name string, run func(t testing.TB)) {
	t.Helper()
	if tt, ok := t.(*testing.T); ok {
		tt.Run(name, func(t *testing.T) { run(t) })
		return
	}
	run(t)
}

// kit is the state of one run.
type kit struct {
	Cases
	tool tools.DeclarativeTool
	spec tools.Spec
	hung atomic.Bool // a step did not return: the tool is not called again

	lateMu sync.Mutex
	late   []string // actions of the tool after Execute had returned
}

// fresh returns the tool in a new environment.
func (k *kit) fresh(t testing.TB) tools.DeclarativeTool {
	if k.Fresh == nil {
		return k.tool
	}
	if tool := k.Fresh(t); tool != nil {
		return tool
	}
	t.Errorf("Cases.Fresh returns no tool")
	return k.tool
}

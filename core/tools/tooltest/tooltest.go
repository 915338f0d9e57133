// Package tooltest proves a tool: [Run] checks one against the whole contract
// of a tools.DeclarativeTool.
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
// A tool that changes its world gets a new one for every call through Fresh,
// which ends what it starts with t.Cleanup:
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
)

// Cases are a tool's arguments to try and how to try them.
type Cases struct {
	// Examples are arguments whose calls succeed. At least one is required.
	Examples []json.RawMessage
	// Failing are arguments that the tool accepts, and whose execution then
	// reports an error to the model. Optional.
	Failing []json.RawMessage
	// Bad are arguments that Build refuses, beside those that Run makes up.
	// Optional.
	Bad []json.RawMessage

	// Fresh returns the tool in a world of its own, in which each of the
	// Examples succeeds and each of Failing fails. It is called before every
	// execution, so that one call does not see what another did; the worlds
	// end with t.Cleanup. Required for tools that change something. Nil: the
	// tool given to Run serves for all.
	Fresh func(t testing.TB) tools.DeclarativeTool

	// DefaultQuestion says that a tool which changes something brings no
	// confirmation of its own, as the default question is enough for it.
	DefaultQuestion bool

	// Host is who the calls are made for, for a tool that asks, see [tools.HostOf];
	// it must be safe for concurrent use. Nil: nobody.
	Host tools.Host

	// Timeout is how long each step of a call may take, and how long it may run
	// on after its context has ended. Zero or negative: 10 seconds.
	Timeout time.Duration
	// Mutations is how many damaged arguments are tried. Zero: 300; negative:
	// none.
	Mutations int
}

const (
	defaultTimeout   = 10 * time.Second
	defaultMutations = 300
)

// Run reports to t every way in which the tool does not keep the contract. It
// checks that
//
//   - the Spec is complete and the same at each call;
//   - the schemas compile, and that of the arguments is closed to unknown keys at
//     every level, uses known keywords only and describes every property; a tool
//     that somebody else declares (Spec.Origin) need only be one of an object;
//   - the Examples build, and their Params are canonical and build again to
//     the same;
//   - bad arguments, unknown keys and damaged arguments are refused with a
//     code, and never with a panic;
//   - a tool that changes something asks for confirmation, as data that
//     survives JSON; one that announces a refusal does refuse;
//   - a call whose proposed content a person may replace (tools.Modifiable)
//     shows, judges and executes the content that took its place;
//   - executing does not change the parameters, succeeds for the
//     Examples, fails with a code for Failing, and gives a result whose JSON
//     is stable, and fits the OutputSchema; see [CheckResult];
//   - what is told to a host, and asked of it, is well-formed and comes before
//     Execute returns, as does live output;
//   - a call whose context has ended returns soon, and not with success; no
//     step takes longer than Cases.Timeout;
//   - the Examples may run at once if the Spec says so (use -race).
//
// What does not return in time is reported and left behind, goroutine
// included, and the tool is not called again. Where t is a *testing.T each check is a subtest. tool may be nil if
// Cases.Fresh is given.
func Run(t testing.TB, tool tools.DeclarativeTool, c Cases) {
	t.Helper()
	if tool == nil && c.Fresh != nil {
		tool = c.Fresh(t)
	}
	if tool == nil {
		t.Errorf("tooltest: there is no tool: give one, or Cases.Fresh")
		return
	}
	if len(c.Examples) == 0 {
		t.Errorf("tooltest: Cases.Examples is empty; a tool needs at least one call that succeeds")
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

// check runs one check, as a subtest where that is possible.
func check(t testing.TB, name string, run func(t testing.TB)) {
	t.Helper()
	if tt, ok := t.(*testing.T); ok {
		tt.Run(name, func(t *testing.T) { run(t) })
		return
	}
	run(t)
}

// kit is one run.
type kit struct {
	Cases
	tool tools.DeclarativeTool
	spec tools.Spec
	hung atomic.Bool // a step did not return: the tool is not called again

	lateMu sync.Mutex
	late   []string // what the tool has done after Execute had returned
}

// fresh returns the tool in a new world.
func (k *kit) fresh(t testing.TB) tools.DeclarativeTool {
	if k.Fresh == nil {
		return k.tool
	}
	if tool := k.Fresh(t); tool != nil {
		return tool
	}
	t.Errorf("Cases.Fresh returned no tool")
	return k.tool
}

package file_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// changeFrom returns the arguments of m for a change of base with another hash.
func (m mutator) changeFrom(path, hash string) args {
	a := m.change(path)
	a["base_content_sha256"] = hash
	return a
}

// eachWithHash runs a test for each tool that takes a hash.
func eachWithHash(t *testing.T, run func(t *testing.T, m mutator)) {
	eachMutator(t, func(t *testing.T, m mutator) {
		if !m.takesBaseHash {
			t.Skip("it takes no hash")
		}
		run(t, m)
	})
}

// ED-05, FS-26: 12 to 64 digits of a hash, in either case, are accepted, and fewer are not.
func TestShortHashesOfCalls(t *testing.T) {
	eachWithHash(t, func(t *testing.T, m mutator) {
		for _, hash := range []string{sum(base)[:12], sum(base)[:33], sum(base)[:63], strings.ToUpper(sum(base)[:12]), sum(base)} {
			s := newSession(t, autoEdit)
			s.Write("a.txt", base)
			read(t, s, "a.txt")
			succeed(t, s.Call(m.tool, m.changeFrom("a.txt", hash)))
			require.Equal(t, changed, s.Read("a.txt"))

			// The old state is one that the conversation has received, but no longer the file's.
			refuse(t, s.Call(m.tool, m.changeFrom("a.txt", hash)), fault.FileChangedSinceRead, fault.Changed)
		}
		s := newSession(t, autoEdit)
		s.Write("a.txt", base)
		read(t, s, "a.txt")
		for _, hash := range []string{sum(base)[:11], sum(base) + "0", sum(base)[:11] + "g", wrong[:12], sum(base)[1:20]} {
			requireError(t, s.Call(m.tool, m.changeFrom("a.txt", hash)), fault.InvalidToolParams, "")
		}
		require.Equal(t, base, s.Read("a.txt"))
		a := m.create("new.txt")
		a["base_content_sha256"] = filestate.EmptySHA256[:12]
		succeed(t, s.Call(m.tool, a))
		require.Equal(t, "made\n", s.Read("new.txt"))
	})
}

// ED-05, PR-04: a shortened hash of a file that this conversation was not shown is refused, even if it is right: without
// a read, with content withheld by a hook, and in a subagent. All digits are a proof.
func TestShortHashesOfOthers(t *testing.T) {
	eachWithHash(t, func(t *testing.T, m mutator) {
		withhold := true
		s := newSession(t, autoEdit, func(p *config.Parameters) {
			p.Calls.After = []scheduler.After{func(_ context.Context, d scheduler.Done, r tools.Result) (tools.Result, error) {
				if d.Spec.Name == file.ReadFile && withhold {
					r.LLMContent = tools.Text("withheld")
				}
				return r, nil
			}}
		})
		s.Write("a.txt", base)
		s.Write("b.txt", base)
		requireUnknown := func(r scheduler.Response) {
			t.Helper()
			requireError(t, r, fault.InvalidToolParams, "")
			require.NotContains(t, r.Result.LLMContent.String(), sum(base))
			require.Equal(t, base, s.Read("a.txt"))
		}
		requireUnknown(s.Call(m.tool, m.changeFrom("a.txt", sum(base)[:12])))
		s.Call(file.ReadFile, args{"file_path": "a.txt"})
		requireUnknown(s.Call(m.tool, m.changeFrom("a.txt", sum(base)[:12])))
		withhold = false
		read(t, s, "b.txt")
		requireUnknown(s.Call(m.tool, m.changeFrom("a.txt", sum(base)[:12])))
		read(t, s, "a.txt")
		child, err := s.Derive(config.DeriveParameters{})
		require.NoError(t, err)
		defer func() { require.NoError(t, child.Close()) }()
		requireUnknown(configtest.Call(t.Context(), t, child, m.tool, m.changeFrom("a.txt", sum(base)[:12])))
		_, err = s.StartNewSession("", 0)
		require.NoError(t, err)
		requireUnknown(s.Call(m.tool, m.changeFrom("a.txt", sum(base)[:12])))
		succeed(t, s.Call(m.tool, m.changeFrom("a.txt", sum(base))))
	})
}

// ED-05: middlewares, policy, the approver and recordings receive all digits.
func TestShortHashesAreExpandedFirst(t *testing.T) {
	eachWithHash(t, func(t *testing.T, m mutator) {
		var seen []string
		hashOf := func(params json.RawMessage) string {
			var p struct {
				Hash string `json:"base_content_sha256"`
			}
			require.NoError(t, json.Unmarshal(params, &p))
			return p.Hash
		}
		s := newSession(t, func(p *config.Parameters) {
			p.Policy.Rules = []policy.Rule{{
				Tools: []string{m.tool}, ArgsPattern: sum(base), Decision: policy.AskUser, Priority: 900, Tier: policy.TierUser,
			}}
			p.Policy.ApprovalMode = "autoEdit"
			p.Calls.Before = []scheduler.Before{func(_ context.Context, p scheduler.Proposal) (scheduler.Advice, error) {
				if p.Spec.Name == m.tool {
					seen = append(seen, hashOf(p.Args))
				}
				return scheduler.Advice{}, nil
			}}
		})
		s.Write("a.txt", base)
		read(t, s, "a.txt")
		r := s.Call(m.tool, m.changeFrom("a.txt", sum(base)[:12]))
		succeed(t, r)
		require.Equal(t, []string{sum(base)}, seen)
		require.Len(t, s.Confirmations(), 1, "the rule matches")
		require.Equal(t, sum(base), hashOf(s.Confirmations()[0].ToolCall.Args))
		require.Equal(t, sum(base), hashOf(r.Params))
	})
}

// ED-05: the arguments of a hook are expanded, too.
func TestShortHashOfAMiddleware(t *testing.T) {
	eachWithHash(t, func(t *testing.T, m mutator) {
		s := newSession(t, autoEdit, func(p *config.Parameters) {
			p.Calls.Before = []scheduler.Before{func(_ context.Context, p scheduler.Proposal) (scheduler.Advice, error) {
				if p.Spec.Name != m.tool {
					return scheduler.Advice{}, nil
				}
				return scheduler.Advice{Args: json.RawMessage(strings.Replace(string(p.Args), wrong, sum(base)[:12], 1))}, nil
			}}
		})
		s.Write("a.txt", base)
		read(t, s, "a.txt")
		r := s.Call(m.tool, m.changeFrom("a.txt", wrong))
		succeed(t, r)
		require.Contains(t, string(r.Params), sum(base))
	})
}

// ED-05: without a service for it no hash may be shortened.
func TestShortHashWithoutService(t *testing.T) {
	b := newBench(t)
	path := b.write(t, "a.txt", base)
	for _, m := range mutators[:2] {
		_, err := bind(t, m.tool, b.services).Build(jsonOf(t, m.changeFrom(path, sum(base)[:12])))
		require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err))
	}
}

// ED-05: the declarations accept 12 to 64 digits, under every name of the tools.
func TestDeclarationsOfHashes(t *testing.T) {
	for _, l := range []layout.Layout{layout.Fettle(), layout.Gemini()} {
		s := newSession(t, func(p *config.Parameters) { p.Environment.Layout = l })
		for _, name := range []string{file.SafePatch, file.WriteFile} {
			require.Contains(t, string(toolOf(t, s, name).Spec().Schema), `"pattern":"^[0-9a-fA-F]{12,64}$"`)
		}
	}
}

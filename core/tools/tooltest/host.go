package tooltest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// watched is the host of one call. It records invalid use by the tool.
type watched struct {
	host.Host
	args json.RawMessage

	mu       sync.Mutex
	over     bool // Execute has returned
	done     float64
	reported bool
	problems []string
	late     func(what string) // receives uses after Execute has returned
}

// watch returns the context of a call and its host.
func (k *kit) watch(ctx context.Context, args json.RawMessage) (context.Context, *watched) {
	w := &watched{Host: host.FromContext(ctx), args: args, late: k.noteLate}
	if k.Host != nil {
		w.Host = k.Host
	}
	return host.NewContext(ctx, w), w
}

// end stops the recording and reports the problems.
func (w *watched) end(t testing.TB) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	for _, p := range w.problems {
		t.Errorf("Execute of %s %s", show(w.args), p)
	}
}

// note adds the problems that check finds. After the call it reports late use instead.
func (w *watched) note(what string, check func() []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		w.late(what)
		return
	}
	w.problems = append(w.problems, check()...)
}

func (w *watched) Progress(p host.Progress) {
	w.note("reports progress", func() (problems []string) {
		if w.reported && p.Done <= w.done {
			problems = append(problems, fmt.Sprintf("reports progress %v after %v: progress must increase", p.Done, w.done))
		}
		if p.Total != 0 && p.Done > p.Total {
			problems = append(problems, fmt.Sprintf("reports progress %v of %v", p.Done, p.Total))
		}
		w.done, w.reported = p.Done, true
		return problems
	})
	w.Host.Progress(p)
}

var logLevels = []host.LogLevel{host.LogDebug, host.LogInfo, host.LogNotice, host.LogWarning, host.LogError,
	host.LogCritical, host.LogAlert, host.LogEmergency}

func (w *watched) Log(e host.LogEntry) {
	w.note("logs", func() (problems []string) {
		if !slices.Contains(logLevels, e.Level) {
			problems = append(problems, fmt.Sprintf("logs at the invalid level %q", e.Level))
		}
		if !json.Valid(e.Data) {
			problems = append(problems, fmt.Sprintf("logs invalid JSON: %s", show(e.Data)))
		}
		return problems
	})
	w.Host.Log(e)
}

func (w *watched) Ask(ctx context.Context, questions ...host.Question) ([]host.Reply, error) {
	w.note("asks", func() (problems []string) {
		if len(questions) == 0 {
			problems = append(problems, "asks nothing")
		}
		for _, q := range questions {
			problems = append(problems, questionProblems(q)...)
		}
		return problems
	})
	return w.Host.Ask(ctx, questions...)
}

// questionProblems returns the errors of a question.
func questionProblems(q host.Question) []string {
	var problems []string
	set := 0
	if e := q.Elicit; e != nil {
		set++
		if strings.TrimSpace(e.Message) == "" {
			problems = append(problems, "asks the user without a message")
		}
		if e.URL != "" && e.Schema != nil {
			problems = append(problems, "asks the user to visit a page and to fill in a form in one question")
		}
		if e.Schema != nil {
			problems = append(problems, formProblems(e.Schema)...)
		}
	}
	if s := q.Sample; s != nil {
		set++
		if s.MaxTokens <= 0 {
			problems = append(problems, "asks the model without MaxTokens")
		}
		if len(s.Messages) == 0 {
			problems = append(problems, "asks the model without a message")
		}
		for _, m := range s.Messages {
			if m.Role != host.RoleUser && m.Role != host.RoleAssistant {
				problems = append(problems, fmt.Sprintf("asks the model with a message of the invalid role %q", m.Role))
			}
		}
	}
	if q.Roots != nil {
		set++
	}
	if set != 1 {
		problems = append(problems, fmt.Sprintf("asks a question with %d fields set; exactly one is required", set))
	}
	return problems
}

// formProblems returns the errors of the schema of a form.
func formProblems(raw json.RawMessage) []string {
	schema, err := tools.ParseSchema("form", raw)
	if err == nil {
		err = schema.Compile()
	}
	if err != nil {
		return []string{fmt.Sprintf("asks the user with an invalid schema: %v", err)}
	}
	var form struct {
		Type       string
		Properties map[string]struct{ Type string }
	}
	if err := json.Unmarshal(raw, &form); err != nil || form.Type != "object" {
		return []string{"asks the user with a schema whose type is not \"object\""}
	}
	var problems []string
	for name, p := range form.Properties {
		if !slices.Contains([]string{"string", "number", "integer", "boolean", "array"}, p.Type) {
			problems = append(problems, fmt.Sprintf("asks the user for %q of the type %q, which forms do not support", name, p.Type))
		}
	}
	slices.Sort(problems)
	return problems
}

// noteLate records an action after the call, to be reported at the end.
func (k *kit) noteLate(what string) {
	k.lateMu.Lock()
	defer k.lateMu.Unlock()
	k.late = append(k.late, what)
}

// checkLate reports actions after calls. It cannot see actions that are later still.
func (k *kit) checkLate(t testing.TB) {
	k.lateMu.Lock()
	defer k.lateMu.Unlock()
	if len(k.late) > 0 {
		t.Errorf("the tool %s after Execute has returned, %d times: wait for what it starts before returning", k.late[0], len(k.late))
	}
}

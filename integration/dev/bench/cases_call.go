package main

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/file"

	"github.com/fettle-dev/fettle/core/config"
)

// noopArguments are the arguments of the tool that does nothing.
func noopArguments() map[string]any {
	return map[string]any{"file_path": "core/config/config.go", "offset": 100, "limit": 200}
}

func callCases() []Case {
	return []Case{
		{ID: "call/overhead", Title: "a tool that does nothing", Description: "A tool that does nothing is called in a session: look-up, validation, decision, scheduling.",
			Budgets: []Budget{{Kind: Absolute, Most: 30e3}},
			Contestants: []Contestant{
				{"fettle", Ours, caller("noop", noopArguments(), nil)},
				{"decode the arguments, call a func", Floor, func(context.Context, *Lab) (*Prepared, error) {
					raw, err := json.Marshal(noopArguments())
					return &Prepared{InProcess: true, Run: timed(func(context.Context) error {
						var p file.ReadFileParams
						return json.Unmarshal(raw, &p)
					})}, err
				}},
				{"with a front end that receives every event", Part, caller("noop", noopArguments(), followed)},
				{"with an approval by the user", Part, caller("asked", noopArguments(), approved, withApproval)},
			}},
		{ID: "call/allocations", Title: "a tool that does nothing: allocations", Description: "The number of allocations of that call.", Unit: Count, Turns: 5,
			Budgets:     []Budget{{Kind: Absolute, Most: 150}},
			Contestants: []Contestant{{"fettle", Ours, allocations(caller("noop", noopArguments(), nil))}}},
	}
}

// followed subscribes a front end to all messages.
func followed(ctx context.Context, s *session) error {
	bus.Observe(context.WithoutCancel(ctx), s.config.MessageBus(), func(context.Context, bus.Message) {})
	return nil
}

// approved subscribes a front end that approves every request at once.
func approved(ctx context.Context, s *session) error {
	b := s.config.MessageBus()
	bus.Subscribe(context.WithoutCancel(ctx), b, func(_ context.Context, q bus.ToolConfirmationRequest) {
		_ = b.Publish(bus.ToolConfirmationResponse{CorrelationID: q.CorrelationID, Confirmed: true}) // fails only if the call has ended
	})
	return nil
}

// withApproval adds a tool that needs approval.
func withApproval(p *config.Parameters) {
	p.Policy.ApprovalMode = policy.ModeDefault
	asked, err := tools.Define("asked", "Does nothing.", tools.KindEdit,
		func(context.Context, file.ReadFileParams) (tools.Result, error) {
			return tools.Result{LLMContent: tools.Text("done")}, nil
		})
	if err != nil {
		panic(err) // the schema of read_file is always valid
	}
	p.Tools.Own = append(p.Tools.Own, asked)
}

// allocations replaces the time of a call by the number of its allocations.
func allocations(prepare func(context.Context, *Lab) (*Prepared, error)) func(context.Context, *Lab) (*Prepared, error) {
	return counted(prepare, func(m *runtime.MemStats) uint64 { return m.Mallocs })
}

// allocatedBytes replaces the time of a call by the number of bytes that it allocates.
func allocatedBytes(prepare func(context.Context, *Lab) (*Prepared, error)) func(context.Context, *Lab) (*Prepared, error) {
	return counted(prepare, func(m *runtime.MemStats) uint64 { return m.TotalAlloc })
}

func counted(prepare func(context.Context, *Lab) (*Prepared, error), count func(*runtime.MemStats) uint64) func(context.Context, *Lab) (*Prepared, error) {
	return func(ctx context.Context, lab *Lab) (*Prepared, error) {
		p, err := prepare(ctx, lab)
		if err != nil {
			return nil, err
		}
		run := p.Run
		for range 4 { // one-time allocations
			if _, err := run(ctx); err != nil {
				return nil, errors.Join(err, p.Close())
			}
		}
		const calls = 8
		p.Run = func(ctx context.Context) (Measured, error) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range calls {
				if _, err := run(ctx); err != nil {
					return Measured{}, err
				}
			}
			runtime.ReadMemStats(&after)
			return Measured{Value: float64(count(&after)-count(&before)) / calls}, nil
		}
		return p, nil
	}
}

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

// noopArguments are what the tool that does nothing is called with.
func noopArguments() map[string]any {
	return map[string]any{"file_path": "core/config/config.go", "offset": 100, "limit": 200}
}

func callCases() []Case {
	return []Case{
		{ID: "call/overhead", Title: "a tool that does nothing", What: "A tool that does nothing is called in a session: look-up, validation, decision, scheduling.",
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
				{"with an approval by the user", Part, caller("asked", noopArguments(), approved, asking)},
			}},
		{ID: "call/allocations", Title: "a tool that does nothing: allocations", What: "The number of allocations of that call.", Unit: Count, Turns: 5,
			Budgets:     []Budget{{Kind: Absolute, Most: 150}},
			Contestants: []Contestant{{"fettle", Ours, allocations(caller("noop", noopArguments(), nil))}}},
	}
}

// followed has a front end listen to everything.
func followed(ctx context.Context, s *session) error {
	bus.Observe(context.WithoutCancel(ctx), s.config.MessageBus(), func(context.Context, bus.Message) {})
	return nil
}

// approved has a front end answer every question with yes, at once.
func approved(ctx context.Context, s *session) error {
	b := s.config.MessageBus()
	bus.Subscribe(context.WithoutCancel(ctx), b, func(_ context.Context, q bus.ToolConfirmationRequest) {
		_ = b.Publish(bus.ToolConfirmationResponse{CorrelationID: q.CorrelationID, Confirmed: true}) // refused only if the call is over
	})
	return nil
}

// asking adds a tool that is asked about.
func asking(p *config.Parameters) {
	p.ApprovalMode = policy.ModeDefault
	asked, err := tools.Define("asked", "Does nothing.", tools.KindEdit,
		func(context.Context, file.ReadFileParams) (tools.Result, error) {
			return tools.Result{LLMContent: tools.Text("done")}, nil
		})
	if err != nil {
		panic(err) // the schema of read_file is a schema
	}
	p.Tools = append(p.Tools, asked)
}

// allocations has the number of allocations of a call take the place of its time.
func allocations(prepare func(context.Context, *Lab) (*Prepared, error)) func(context.Context, *Lab) (*Prepared, error) {
	return counted(prepare, func(m *runtime.MemStats) uint64 { return m.Mallocs })
}

// allocatedBytes has the bytes that a call allocates take the place of its time.
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
		for range 4 { // what is made once
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

package main

import (
	"context"
	"errors"
	"os/exec"
	"sync"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/services/process"
)

func busCases() []Case {
	return []Case{
		{ID: "bus/ask", Title: "a question and its answer", Description: "One front end receives a question over the bus and answers at once.",
			Contestants: []Contestant{
				{"fettle", Ours, askOverBus},
				{"two channels and a goroutine", Floor, askOverChannels},
			}},
		{ID: "bus/publish", Title: "128 events to ten listeners", Description: "From the first event to the end of the last handler.",
			Contestants: []Contestant{{"fettle", Ours, publish}}},
	}
}

func askOverBus(ctx context.Context, _ *Lab) (*Prepared, error) {
	m := bus.New(bus.Options{})
	bus.Subscribe(context.WithoutCancel(ctx), m, func(_ context.Context, q bus.ToolConfirmationRequest) {
		_ = m.Publish(bus.ToolConfirmationResponse{CorrelationID: q.CorrelationID, Confirmed: true}) // Ask reports what fails
	})
	return &Prepared{InProcess: true, Close: m.Close, Run: timed(func(ctx context.Context) error {
		_, err := bus.Ask(ctx, m, bus.ToolConfirmationRequest{})
		return err
	})}, nil
}

func askOverChannels(context.Context, *Lab) (*Prepared, error) {
	questions, answers := make(chan string), make(chan bool)
	var answering sync.WaitGroup
	answering.Go(func() {
		for range questions {
			answers <- true
		}
	})
	return &Prepared{InProcess: true,
		Close: func() error { close(questions); answering.Wait(); return nil },
		Run:   timed(func(context.Context) error { questions <- "?"; <-answers; return nil })}, nil
}

func publish(ctx context.Context, _ *Lab) (*Prepared, error) {
	const burst, listeners = 128, 10
	m := bus.New(bus.Options{Queue: burst})
	var received sync.WaitGroup
	for range listeners {
		bus.Subscribe(context.WithoutCancel(ctx), m, func(context.Context, bus.ToolOutput) { received.Done() })
	}
	return &Prepared{InProcess: true, Close: m.Close, Run: timed(func(context.Context) error {
		received.Add(burst * listeners)
		for range burst {
			if err := m.Publish(bus.ToolOutput{CallID: "c", Chunk: "a line of output"}); err != nil {
				return err
			}
		}
		if m.Dropped() > 0 {
			return errors.New("events were dropped")
		}
		received.Wait()
		return nil
	})}, nil
}

func shellCases() []Case {
	const bare = "bash -c true"
	return []Case{{ID: "shell/true", Title: "`run_shell_command`, the command `true`", Description: "The shortest command runs, and its output is read to the end.",
		Budgets: []Budget{{Kind: Ratio, Most: 1.5, Against: bare}},
		Contestants: []Contestant{
			{"fettle", Ours, caller("run_shell_command", map[string]any{"command": "true"}, nil)},
			{"the process service alone", Part, func(ctx context.Context, lab *Lab) (*Prepared, error) {
				if _, err := lab.Program("bash"); err != nil {
					return nil, err
				}
				dir, err := lab.TempDir("shell")
				if err != nil {
					return nil, err
				}
				s := process.New(process.Options{})
				return &Prepared{InProcess: true, Close: s.Close, Run: timed(func(ctx context.Context) error {
					r, err := s.Run(ctx, process.Command{Line: "true", Dir: dir})
					if err == nil && r.Exit.Code != 0 {
						err = errors.New("true was false")
					}
					return err
				})}, nil
			}},
			{bare, Floor, func(ctx context.Context, lab *Lab) (*Prepared, error) {
				bash, err := lab.Program("bash")
				if err != nil {
					return nil, err
				}
				return &Prepared{Run: timed(func(ctx context.Context) error {
					cmd := exec.CommandContext(ctx, bash, "-c", "true")
					cmd.Dir = lab.Dir
					return cmd.Run()
				})}, nil
			}},
		}}}
}

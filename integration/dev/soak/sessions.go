package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/checkpoint"
)

// allParts returns the kinds of traffic.
func allParts() []part {
	return []part{
		{"changes", changes}, {"searches", searches}, {"sessions", sessions}, {"approvals", approvals}, {"policy", policies}, {"settings", watched},
		{"commands", commandLines}, {"background", background}, {"cancelled", cancelled}, {"checkpoints", checkpoints}, {"listeners", listeners},
		{"talk", talk}, {"slash", slash}, {"MCP by hand", mcpByHand}, {"MCP in memory", mcpInMemory}, {"MCP over stdio", mcpOverStdio},
	}
}

// longSession sets the Parameters of the long session: it watches its settings and
// connects to servers.
func longSession(s *soak) func(*config.Parameters) {
	return func(p *config.Parameters) {
		p.Settings, p.Session.WatchSettings = &settings.Options{}, true
		withServers(s.programServer("long"))(p)
	}
}

// sessions opens a session, derives others from it, and checks that each has its own
// state.
func sessions(ctx context.Context, s *soak, r *rand.Rand) error {
	return s.short(ctx, nil, func(c *session) error {
		if _, err := c.must(ctx, "write_file", map[string]any{"file_path": "a.txt", "content": "one\n"}); err != nil {
			return err
		}
		for range 1 + r.IntN(3) {
			child, err := c.Derive(config.DeriveParameters{Subagent: "helper"})
			if err != nil {
				return err
			}
			calls, err := child.Scheduler()
			if err != nil {
				return errors.Join(err, child.Close())
			}
			answer := c.through(ctx, calls, "read_file", map[string]any{"file_path": "a.txt"})
			if text := answer.Result.LLMContent.String(); !strings.Contains(text, `"version":1,`) {
				err = fmt.Errorf("a derived session must have its own state: %s", clip(text))
			}
			if err := errors.Join(err, child.Close()); err != nil {
				return err
			}
		}
		return nil
	})
}

// approvals asks an approver, who accepts, declines, and is absent once.
func approvals(ctx context.Context, s *soak, r *rand.Rand) error {
	return s.short(ctx, func(p *config.Parameters) { p.Policy.ApprovalMode = policy.ModeDefault }, func(c *session) error {
		if got := c.call(ctx, "write_file", map[string]any{"file_path": "a.txt", "content": "one\n"}); fault.CodeOf(got.Result.Error) != fault.NoApprover {
			return fmt.Errorf("a call without an approver: %v: %w", got.Status, got.Result.Error)
		}
		yes := r.IntN(2) == 0
		approver := bus.Subscribe(ctx, c.MessageBus(), func(_ context.Context, q bus.ToolConfirmationRequest) {
			answer := bus.ToolConfirmationResponse{CorrelationID: q.CorrelationID, Outcome: bus.Cancel}
			if yes {
				answer.Outcome, answer.Confirmed = bus.ProceedOnce, true
			}
			_ = c.MessageBus().Publish(answer) // rejected if the call has ended
		})
		got := c.call(ctx, "write_file", map[string]any{"file_path": "a.txt", "content": "one\n"})
		approver.Unsubscribe()
		<-approver.Done()
		_, err := os.Stat(filepath.Join(c.dir, "a.txt"))
		if (got.Status == scheduler.StatusSuccess) != yes || (err == nil) != yes {
			return fmt.Errorf("approved: %t; the call: %s: %w; the file: %w", yes, got.Status, got.Result.Error, err)
		}
		return nil
	})
}

// policies adds rules to an engine that decides concurrently.
func policies(ctx context.Context, s *soak, _ *rand.Rand) error {
	return s.short(ctx, nil, func(c *session) error {
		engine, err := c.Policy().Engine()
		if err != nil {
			return err
		}
		args := map[string]any{"pattern": "*"}
		if _, err := c.must(ctx, "glob", args); err != nil {
			return err
		}
		rules := []policy.Rule{{Name: "no", Tools: []string{"glob"}, Decision: policy.Deny, Priority: 900, Tier: policy.TierUser}}
		for i := range 20 {
			rules = append(rules, policy.Rule{Tools: []string{"run_shell_command"}, CommandPrefix: []string{fmt.Sprint("program", i)}, Decision: policy.Allow, Priority: 100, Tier: policy.TierUser})
		}
		if err := engine.Add(rules...); err != nil {
			return err
		}
		if got := c.call(ctx, "glob", args); got.Status != scheduler.StatusDenied {
			return fmt.Errorf("a rule that denies was added; the call: %s", got.Status)
		}
		return nil
	})
}

// watched changes the long session's settings file.
func watched(ctx context.Context, s *soak, _ *rand.Rand) error {
	s.settings.Lock()
	defer s.settings.Unlock()
	s.count++
	n := 10_000 + s.count%1000
	whole := s.path("home", "settings.new")
	if err := os.WriteFile(whole, fmt.Appendf(nil, `{"context": {"fileFiltering": {"maxFileCount": %d}}} // a comment`, n), 0o600); err != nil {
		return err
	}
	if err := os.Rename(whole, s.path("home", ".fettle", "settings.json")); err != nil {
		return err
	}
	if err := s.long.Settings().Reload(ctx); err != nil {
		return err
	}
	now, err := s.long.Settings().Current()
	if err == nil && now.Context.FileFiltering.MaxFileCount != n {
		err = fmt.Errorf("the setting is %d, want %d", now.Context.FileFiltering.MaxFileCount, n)
	}
	return err
}

// commandLines runs commands to their end.
func commandLines(ctx context.Context, s *soak, r *rand.Rand) error {
	word := fmt.Sprint("word", r.IntN(1000))
	for _, line := range []string{"echo " + word, "printf '%s' " + word + " | cat", "seq 1 2000; echo " + word} {
		text, err := s.long.must(ctx, "run_shell_command", map[string]any{"command": line})
		if err == nil && !strings.Contains(text, word) {
			err = fmt.Errorf("%s prints %q", line, clip(text))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

var processID = regexp.MustCompile(`Background Process: (p\d+),`)

// background starts processes: one receives input and is stopped, one exits by
// itself, and one is left for the end of the session.
func background(ctx context.Context, s *soak, _ *rand.Rand) error {
	return s.short(ctx, nil, func(c *session) error {
		ids := map[string]string{}
		for _, line := range []string{"cat", "echo over", "sleep 1000"} {
			text, err := c.must(ctx, "run_shell_command", map[string]any{"command": line, "is_background": true})
			if err != nil {
				return err
			}
			m := processID.FindStringSubmatch(text)
			if m == nil {
				return fmt.Errorf("%q contains no process id", text)
			}
			ids[line] = m[1]
		}
		if _, err := c.must(ctx, "write_background_input", map[string]any{"id": ids["cat"], "input": "hello\n"}); err != nil {
			return err
		}
		got := ""
		for !strings.Contains(got, "hello") {
			text, err := c.must(ctx, "read_background_output", map[string]any{"id": ids["cat"], "wait_ms": 10_000})
			if err != nil {
				return err
			}
			got += text
			if !strings.Contains(text, "RUNNING") {
				return fmt.Errorf("cat has ended: %q", got)
			}
		}
		if _, err := c.must(ctx, "stop_background_process", map[string]any{"id": ids["cat"]}); err != nil {
			return err
		}
		_, err := c.must(ctx, "list_background_processes", map[string]any{})
		return err
	})
}

// cancelled makes calls under contexts that end before, during or after the call.
// Each is answered.
func cancelled(ctx context.Context, s *soak, r *rand.Rand) error {
	for _, wait := range []time.Duration{0, time.Duration(r.IntN(3000)) * time.Microsecond, time.Duration(r.IntN(30)) * time.Millisecond} {
		for _, call := range []struct {
			tool string
			args map[string]any
		}{{"run_shell_command", map[string]any{"command": "sleep 1000"}}, {"search_file_content", map[string]any{"pattern": "change"}}, {"read_many_files", map[string]any{"paths": []string{stable + "/*.txt"}}}} {
			short, cancel := context.WithTimeout(ctx, wait)
			got := s.long.call(short, call.tool, call.args)
			cancel()
			if got.Status == "" || call.tool == "run_shell_command" && got.Status == scheduler.StatusSuccess {
				return fmt.Errorf("%s, cancelled after %v, ends as %q", call.tool, wait, got.Status)
			}
		}
	}
	return nil
}

// checkpoints changes files by tools and commands, and restores them.
func checkpoints(ctx context.Context, s *soak, _ *rand.Rand) error {
	on := true
	return s.short(ctx, func(p *config.Parameters) { p.Session.Checkpoints = &on }, func(c *session) error {
		path := filepath.Join(c.dir, "f.txt")
		if err := os.WriteFile(path, []byte("old\n"), 0o644); err != nil {
			return err
		}
		state, err := c.read(ctx, "f.txt")
		if err != nil {
			return err
		}
		if _, err := c.must(ctx, "write_file", map[string]any{"file_path": "f.txt", "content": "new\n", "base_content_sha256": *state.SHA256}); err != nil {
			return err
		}
		if _, err := c.must(ctx, "run_shell_command", map[string]any{"command": "echo made > made.txt; echo more >> f.txt"}); err != nil {
			return err
		}
		kept, err := c.Checkpoints()
		if err != nil {
			return err
		}
		plan, err := kept.Plan(ctx, checkpoint.Selection{Turn: 1})
		if err != nil {
			return err
		}
		if _, err := kept.Restore(ctx, plan); err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		_, made := os.Stat(filepath.Join(c.dir, "made.txt"))
		if err != nil || string(data) != "old\n" || !errors.Is(made, os.ErrNotExist) {
			text, _ := json.Marshal(plan) // of plain values
			return fmt.Errorf("after the restore the file contains %q, made.txt: %v, %w; the plan was %s", data, made, err, text)
		}
		return nil
	})
}

// listeners subscribe to the long session's bus and unsubscribe.
func listeners(ctx context.Context, s *soak, r *rand.Rand) error {
	b := s.long.MessageBus()
	var heard atomic.Int64
	key := fmt.Sprint("soak", r.Uint64())
	subs := make([]*bus.Subscription, 1+r.IntN(8))
	for i := range subs {
		subs[i] = bus.Subscribe(ctx, b, func(_ context.Context, m bus.ConfigChanged) {
			if m.Key == key {
				heard.Add(1)
			}
		})
	}
	const sent = 20
	for range sent {
		if err := b.Publish(bus.ConfigChanged{Key: key, Value: []byte("1")}); err != nil {
			return err
		}
	}
	for _, sub := range subs {
		sub.Flush(ctx)
		sub.Unsubscribe()
		<-sub.Done()
	}
	if want := int64(sent * len(subs)); heard.Load() != want && ctx.Err() == nil {
		return fmt.Errorf("%d messages were received, want %d", heard.Load(), want)
	}
	return nil
}

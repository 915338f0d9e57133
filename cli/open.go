package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/tools"
)

// configSession is a session on an initialized Config.
type configSession struct {
	config    *config.Config
	registry  *tools.Registry
	scheduler *scheduler.Scheduler
	log       *slog.Logger
}

// openConfig makes a Config of the global flags and initializes it.
func openConfig(ctx context.Context, o sessionOptions) (session, error) {
	parameters, err := parametersOf(o)
	if err != nil {
		return nil, err
	}
	c, err := config.New(parameters)
	if err != nil {
		return nil, err
	}
	if err := c.Initialize(ctx); err != nil {
		return nil, err
	}
	registry, registryErr := c.ToolRegistry()
	runner, schedulerErr := c.Scheduler()
	if err := errors.Join(registryErr, schedulerErr); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &configSession{c, registry, runner, o.log.With("component", "CLI")}, nil
}

// parametersOf maps the global flags onto a Config's parameters.
func parametersOf(o sessionOptions) (config.Parameters, error) {
	g := o.flags
	names, ok := layout.Named(g.layout)
	if !ok {
		return config.Parameters{}, fault.New(fault.InvalidConfig, "cli", "There is no layout "+g.layout+".", "Use fettle or gemini.")
	}
	mode, err := policy.ParseApprovalMode(g.approvalMode)
	if err != nil {
		return config.Parameters{}, err
	}
	target, err := filepath.Abs(g.cwd)
	if err != nil {
		return config.Parameters{}, fault.Wrap(fault.InvalidConfig, "cli", "The current folder is not known.", "Give --cwd an absolute path.", err)
	}
	p := config.Parameters{
		TargetDir:    target,
		Layout:       names,
		Getenv:       o.getenv,
		ApprovalMode: mode,
		AllowedTools: g.allowedTools,
		ExcludeTools: g.excludeTools,
		Logger:       o.log,
		DebugMode:    g.debug || g.debugFile != "",
	}
	for _, dir := range g.includeDirs {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return config.Parameters{}, err
		}
		p.IncludeDirs = append(p.IncludeDirs, abs)
	}
	if g.coreToolsSet {
		p.CoreTools = append([]string{}, g.coreTools...) // not nil: an empty list means none
	}
	p.FileReadCacheDisabled = g.noReadCache // nil: the environment decides
	return p, nil
}

func (s *configSession) Tools() []tools.DeclarativeTool { return s.registry.All() }

func (s *configSession) Lookup(name string) (tools.DeclarativeTool, error) {
	return s.registry.Lookup(name)
}

func (s *configSession) Run(ctx context.Context, r scheduler.Request) scheduler.Response {
	start := time.Now()
	resp := s.scheduler.Run(ctx, r)
	s.log.DebugContext(ctx, "call", "id", r.CallID, "tool", resp.Tool, "status", resp.Status,
		"decision", resp.Decision.Decision, "took", time.Since(start))
	return resp
}

func (s *configSession) MessageBus() *bus.MessageBus { return s.config.MessageBus() }

func (s *configSession) Close() error { return s.config.Close() }

// Recover deals with what an earlier, killed run left half written (FS-64). A
// folder of records that cannot be read is told, and keeps nobody from working.
func (s *configSession) Recover(ctx context.Context) []string {
	leftovers, err := s.config.Recover(ctx)
	var notices []string
	for _, l := range leftovers {
		if notice := leftoverNotice(l); notice != "" {
			notices = append(notices, notice)
		}
	}
	if err != nil && ctx.Err() == nil {
		notices = append(notices, fault.As(err).Line())
	}
	return notices
}

// leftoverNotice says what a person should know of a leftover, and "" where
// nothing had happened to the file.
func leftoverNotice(l commit.Leftover) string {
	switch l.State {
	case commit.LeftoverClean:
		return ""
	case commit.LeftoverFinished:
		return l.Detail
	case commit.LeftoverUnresolved:
	}
	if l.Path == "" {
		return fmt.Sprintf("A record of an interrupted write cannot be used: %s. To end this notice, move %s away.", strings.TrimSuffix(l.Detail, "."), l.Record)
	}
	return fmt.Sprintf("%s It was left as it is. Both versions are in %s: two lines that say what it is, the old text, the new text. "+
		"Once the file holds what you want, remove that record to end this notice.", sentence(l.Detail), l.Record)
}

package program

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/policy/rulefile"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/tools"
)

// configSession is a session with an initialized Config.
type configSession struct {
	config    *config.Config
	registry  *tools.Registry
	scheduler *scheduler.Scheduler
	log       *slog.Logger
	signIn    *SignIn // see SessionOptions

	engine         *policy.Engine
	policyFiles    []rulefile.File
	policyProblems []fault.Problem
}

// Open creates a Config from the global flags and initializes it.
func Open(ctx context.Context, o SessionOptions) (Session, error) {
	parameters, err := ParametersOf(o)
	if err != nil {
		return nil, err
	}
	parameters.Hooks.TrustAll = trustedOnce(ctx, o.Flags, parameters.TargetDir)
	parameters.Policy.TrustInherited = trustedAbove(ctx, o.Flags, parameters.TargetDir)
	if o.Adjust != nil {
		o.Adjust(&parameters)
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
	engine, engineErr := c.Policy().Engine()
	files, filesErr := c.Policy().Files()
	policyProblems, problemsErr := c.Policy().Problems()
	if err := errors.Join(engineErr, filesErr, problemsErr); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &configSession{
		config: c, registry: registry, scheduler: runner, log: o.Log.With("component", "CLI"), signIn: o.SignIn,
		engine: engine, policyFiles: files, policyProblems: policyProblems,
	}, nil
}

// ParametersOf returns the Parameters for the global flags.
func ParametersOf(o SessionOptions) (config.Parameters, error) {
	g := o.Flags
	names, ok := layout.Named(g.Layout)
	if !ok {
		return config.Parameters{}, fault.New(fault.InvalidConfig, "cli", "Unknown layout "+g.Layout+".", "Use fettle or gemini.")
	}
	target, err := filepath.Abs(g.Cwd)
	if err != nil {
		return config.Parameters{}, fault.Wrap(fault.InvalidConfig, "cli", "The current directory is unknown.", "Give --cwd an absolute path.", err)
	}
	p := config.Parameters{TargetDir: target, Environment: config.Environment{Layout: names, Logger: o.Log, DebugMode: g.Debug || g.DebugFile != ""}}
	if o.Alone {
		p.Environment.HomeDir = filepath.Join(filepath.Dir(target), "none")
		p.Environment.Layout.SystemDir = p.Environment.HomeDir
		p.Extensions.Disabled = true
		p.Tools.EditDialect = g.EditDialect
		p.Policy.Paths = Absolute(g.PolicyPaths)
		p.Policy.ApprovalMode, err = policy.ParseApprovalMode(g.ApprovalMode)
		return p, err
	}
	useSettings(o, &p)
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

// Logger returns the logger of the session.
func (s *configSession) Logger() *slog.Logger { return s.log }

func (s *configSession) Config() *config.Config { return s.config }

func (s *configSession) MessageBus() *bus.MessageBus { return s.config.MessageBus() }

func (s *configSession) Explain(ctx context.Context, r scheduler.Request, in scheduler.Situation) (policy.Decision, error) {
	if in.Mode != nil && *in.Mode == policy.ModeYolo && s.config.Trust() == trust.Untrusted {
		return policy.Decision{}, fault.New(fault.UntrustedFolder, "cli.policy", "Approval mode yolo is not available in an untrusted directory.",
			"Choose another mode, or trust the directory with fettle trust.")
	}
	return s.scheduler.Explain(ctx, r, in)
}

func (s *configSession) Subject(ctx context.Context, r scheduler.Request, in scheduler.Situation) (policy.Call, error) {
	return s.scheduler.Subject(ctx, r, in)
}

func (s *configSession) Decide(c policy.Call) policy.Decision {
	d, err := s.config.Policy().Decide(c)
	if err != nil { // the session is closed
		return policy.Decision{Explanation: confirmation.Explanation{Decision: policy.Deny, Reason: err.Error()}}
	}
	return d
}

func (s *configSession) PolicyRules() []policy.Rule { return s.engine.Rules() }

func (s *configSession) PolicyFiles() []rulefile.File { return s.policyFiles }

func (s *configSession) PolicyProblems() []fault.Problem { return s.policyProblems }

func (s *configSession) SettingsProblems() []fault.Problem {
	problems, err := s.config.Settings().Problems()
	if err != nil { // the session is closed
		return nil
	}
	return problems
}

func (s *configSession) DiscoveryProblems() []error { return s.config.DiscoveryProblems() }

func (s *configSession) Close() error { return s.config.Close() }

// Recover finishes or rolls back writes that a killed run left incomplete. Records
// that cannot be read are reported and do not end the session.
func (s *configSession) Recover(ctx context.Context) []string {
	leftovers, err := s.config.Recover(ctx)
	var notices []string
	for _, l := range leftovers {
		if notice := LeftoverNotice(l); notice != "" {
			notices = append(notices, notice)
		}
	}
	if err != nil && ctx.Err() == nil {
		notices = append(notices, fault.As(err).Line())
	}
	return notices
}

// LeftoverNotice describes a recovered write for the user. It returns "" if the file
// had not been changed.
func LeftoverNotice(l commit.Leftover) string {
	if l.Set != nil {
		return setNotice(l)
	}
	switch l.State {
	case commit.LeftoverClean:
		return ""
	case commit.LeftoverFinished, commit.LeftoverUndone:
		return l.Detail
	case commit.LeftoverUnresolved:
	}
	if l.Path == "" {
		return fmt.Sprintf("A record of an interrupted write is invalid: %s. To end this notice, move %s away.", strings.TrimSuffix(l.Detail, "."), l.Record)
	}
	return fmt.Sprintf("%s The file was not changed. Both versions are in %s: a two-line header, the old text, the new text. "+
		"Once the file is as you want it, remove that record to end this notice.", display.Sentence(l.Detail), l.Record)
}

// setNotice describes a recovered set of changes.
func setNotice(l commit.Leftover) string {
	notice := display.Sentence(l.Detail)
	if l.State == commit.LeftoverUnresolved {
		notice = fmt.Sprintf("A change of %s was interrupted and cannot be undone yet: %s The next start tries again. To end this notice, move %s away.",
			strings.Join(l.Set, ", "), notice, l.Record)
	}
	if len(l.KeptFiles) > 0 {
		notice += " Files with changes of other programs: " + strings.Join(l.KeptFiles, ", ") + "."
	}
	return notice
}

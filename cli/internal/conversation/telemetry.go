package conversation

import (
	"context"
	"path/filepath"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"

	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/redact"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/telemetry"
	"github.com/fettle-dev/fettle/core/telemetry/outfile"
)

// records is the telemetry of a session. It observes from the start and records once
// the settings are known. The zero value records nothing.
type records struct {
	now   atomic.Pointer[telemetry.Telemetry]
	files *outfile.Providers
}

// Begin starts recording as set in the settings; it calls complain once if the file
// fails.
func (r *records) Begin(c *config.Config, hide *redact.Masker, complain func(error)) error {
	set, err := c.Settings().Current()
	if err != nil {
		return err
	}
	s := set.Telemetry
	if !s.Enabled {
		return nil
	}
	if s.Outfile == "" {
		complain(fault.New(fault.InvalidConfig, "cli.telemetry", "Telemetry is enabled without a file: nothing is recorded.",
			"Set telemetry.outfile. The program writes telemetry to files only; for a collector see docs/telemetry.md."))
		return nil
	}
	version := program.VersionOf().Version
	r.files, err = outfile.New(outfile.Options{
		Path: outfileOf(c, s.Outfile), Traces: s.Traces, OnError: complain,
		Resource: []attribute.KeyValue{attribute.String("service.name", "fettle"), attribute.String("service.version", version)},
	})
	if err != nil {
		return err
	}
	t, err := telemetry.New(telemetry.Options{
		TracerProvider: r.files.TracerProvider(), MeterProvider: r.files.MeterProvider(), SessionID: c.SessionID, Version: version,
		Content: asksForContent(c, s), Mask: hide.Text,
	})
	if err != nil {
		return err
	}
	r.now.Store(t)
	return nil
}

// asksForContent reports whether a settings file or variable requests prompts in the
// records. The default of gemini-cli, which is to record them, does not count as a
// request.
func asksForContent(c *config.Config, s settings.Telemetry) bool {
	origins, err := c.Settings().Origins("telemetry.logPrompts")
	if err != nil || !s.LogPrompts {
		return false
	}
	for _, o := range origins {
		if o.Refused == "" {
			return o.Layer != settings.LayerDefault
		}
	}
	return false
}

// outfileOf returns a path of the settings as an absolute path: ~/ is the home
// directory, and other relative paths start at the project.
func outfileOf(c *config.Config, path string) string {
	if strings.HasPrefix(path, "~/") || filepath.IsAbs(path) {
		return program.Absolute([]string{path})[0]
	}
	return filepath.Join(c.TargetDir(), path)
}

// End writes the remaining records.
func (r *records) End(ctx context.Context) {
	if r.files != nil {
		_ = r.files.Shutdown(context.WithoutCancel(ctx)) // lost records have been reported
	}
}

// Prompt implements [agent.Observer].
func (r *records) Prompt(ctx context.Context, p agent.PromptInfo) (context.Context, func(agent.PromptEnd)) {
	if t := r.now.Load(); t != nil {
		return t.Prompt(ctx, p)
	}
	return ctx, func(agent.PromptEnd) {}
}

// Request implements [agent.Observer].
func (r *records) Request(ctx context.Context, i agent.RequestInfo) (context.Context, func(agent.RequestEnd)) {
	if t := r.now.Load(); t != nil {
		return t.Request(ctx, i)
	}
	return ctx, func(agent.RequestEnd) {}
}

// Compaction implements [agent.Observer].
func (r *records) Compaction(ctx context.Context, forced bool) (context.Context, func(agent.Compaction, error)) {
	if t := r.now.Load(); t != nil {
		return t.Compaction(ctx, forced)
	}
	return ctx, func(agent.Compaction, error) {}
}

// call is a [scheduler.Observe].
func (r *records) call(ctx context.Context, q scheduler.Request) (context.Context, func(scheduler.Response)) {
	if t := r.now.Load(); t != nil {
		return t.Call(ctx, q)
	}
	return ctx, nil
}

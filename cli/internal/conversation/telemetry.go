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

// records are the telemetry of a session, which observes from the beginning and
// records from when the settings are known. The zero value records nothing.
type records struct {
	now   atomic.Pointer[telemetry.Telemetry]
	files *outfile.Providers
}

// Begin records as the settings say; complain is told once if the file fails.
func (r *records) Begin(c *config.Config, hide *redact.Masker, complain func(error)) error {
	set, err := c.Settings()
	if err != nil {
		return err
	}
	s := set.Telemetry
	if !s.Enabled {
		return nil
	}
	if s.Outfile == "" {
		complain(fault.New(fault.InvalidConfig, "cli.telemetry", "Telemetry is enabled, and there is no file for it: nothing is recorded.",
			"Set telemetry.outfile. The program writes to a file only; for a collector see docs/telemetry.md."))
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

// asksForContent reports whether somebody has asked for prompts in the records:
// upstream's default, which is to record them, is nobody's wish.
func asksForContent(c *config.Config, s settings.Telemetry) bool {
	origins, err := c.SettingOrigins("telemetry.logPrompts")
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

// outfileOf is a path of settings as an absolute one: ~/ is the home directory, and
// others count from the project.
func outfileOf(c *config.Config, path string) string {
	if strings.HasPrefix(path, "~/") || filepath.IsAbs(path) {
		return program.Absolute([]string{path})[0]
	}
	return filepath.Join(c.TargetDir(), path)
}

// End writes what is left.
func (r *records) End(ctx context.Context) {
	if r.files != nil {
		_ = r.files.Shutdown(context.WithoutCancel(ctx)) // what it loses has been told
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

package telemetry

import (
	"context"
	"errors"
	"strings"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
)

// failure is the class of an error, without content.
type failure struct {
	code   string // value of a fault.Code; "": no failure
	reason string
	status int // HTTP status; 0: none
}

// classify returns the class of an error. An error without a code that follows the end of ctx
// counts as cancelled.
func classify(ctx context.Context, err error) failure {
	if err == nil {
		return failure{}
	}
	var failed failure
	var provider *model.Error
	if errors.As(err, &provider) {
		failed = failure{string(fault.ModelError), bounded(string(provider.Kind)), provider.Status}
	}
	switch f := fault.As(err); {
	case f != nil:
		failed.code, failed.reason = bounded(string(f.Code)), bounded(string(f.Reason))
	case provider != nil && provider.Kind != model.Canceled:
	case provider != nil, ctx.Err() != nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		failed = failure{code: string(fault.Cancelled)}
	default:
		failed.code = string(fault.Unknown)
	}
	return failed
}

// fail marks a span as failed if f is a failure. The text of err is content.
func (t *Telemetry) fail(span trace.Span, f failure, err error) {
	if f.code == "" {
		return
	}
	set(span, attrErrorType.String(f.code), attrErrorReason.String(f.reason))
	if f.status != 0 {
		span.SetAttributes(attrHTTPStatus.Int(f.status))
	}
	description := f.code
	if t.o.Content && err != nil {
		description = t.excerpt().text(err.Error())
	}
	span.SetStatus(codes.Error, description)
}

// Limits on the names of models, providers and files.
const (
	maxWord = 256
	maxPath = 4096
)

// bounded returns a name as a valid attribute value: short and on one line.
func bounded(name string) string { return cut(name, maxWord) }

func cut(name string, limit int) string {
	if len(name) > limit {
		name = name[:limit]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
}

// otherTool replaces the name of an unknown tool, as the semantic conventions require. A model that
// invents names therefore creates no metrics.
const otherTool = "_OTHER"

// toolName returns name, or otherTool if no tool can have it.
func toolName(name string) string {
	for _, c := range []byte(name) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("_.:-", c) >= 0) {
			return otherTool
		}
	}
	if name == "" || len(name) > maxWord {
		return otherTool
	}
	return name
}

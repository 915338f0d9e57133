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

// failure is an error in words that hold no content: its class.
type failure struct {
	code   string // as in fault.Code; "": it is none
	reason string
	status int // of HTTP; 0: none
}

// classify sorts an error. What came after ctx had ended, and says nothing of its
// own, was cancelled.
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

// fail marks a span as failed, if it did. The words of err are content.
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

// What a model, a provider or a file is called is bounded.
const (
	maxWord = 256
	maxPath = 4096
)

// bounded returns a name as attributes may hold it: short, in one line, and
// valid.
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

// otherTool stands for a name that is no tool's, as the conventions have it, so
// that a model which makes names up makes no metrics.
const otherTool = "_OTHER"

// toolName returns a name as a tool can have it.
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

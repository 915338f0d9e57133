package model_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
)

var kinds = []model.ErrorKind{
	model.RateLimited, model.QuotaExhausted, model.Unavailable, model.Connection, model.InvalidRequest,
	model.ContextExceeded, model.Unauthenticated, model.NotFound, model.BadAnswer, model.Canceled,
}

func TestRetryable(t *testing.T) {
	want := map[model.ErrorKind]bool{model.RateLimited: true, model.Unavailable: true, model.Connection: true, model.BadAnswer: true}
	for _, k := range kinds {
		require.Equal(t, want[k], k.Retryable(), k)
	}
}

func TestErrorText(t *testing.T) {
	e := &model.Error{Provider: "gemini", Kind: model.RateLimited, Status: 429, Code: "RESOURCE_EXHAUSTED", Message: "slow down", Err: io.EOF}
	require.Equal(t, "gemini: rate_limited (HTTP 429) RESOURCE_EXHAUSTED: slow down", e.Error())
	require.ErrorIs(t, e, io.EOF)
	require.Equal(t, "x: connection", (&model.Error{Provider: "x", Kind: model.Connection}).Error())
}

func TestFault(t *testing.T) {
	for _, k := range kinds {
		e := &model.Error{Provider: "gemini", Kind: k, Status: 400, Message: "the provider's text"}
		f := e.Fault()
		require.ErrorIs(t, f, e)
		if k == model.Canceled {
			require.Equal(t, fault.Cancelled, f.Code)
			continue
		}
		require.Equal(t, fault.ModelError, f.Code)
		require.Equal(t, fault.Reason(k), f.Reason)
		require.NotEmpty(t, f.Remedy)
		require.Equal(t, "The model's provider gemini answered with HTTP status 400: the provider's text.", f.Message)
	}
	f := (&model.Error{Provider: "gemini", Kind: model.Connection, Message: "no route"}).Fault()
	require.Equal(t, "The request to the model's provider gemini failed: no route.", f.Message)
}

func TestAsError(t *testing.T) {
	own := &model.Error{Provider: "p", Kind: model.NotFound}
	require.Nil(t, model.AsError("p", nil))
	require.Same(t, own, model.AsError("q", fmt.Errorf("wrapped: %w", own)))
	for _, err := range []error{context.Canceled, context.DeadlineExceeded, fmt.Errorf("x: %w", context.Canceled)} {
		e := model.AsError("p", err)
		require.Equal(t, model.Canceled, e.Kind)
		require.ErrorIs(t, e, err)
	}
	e := model.AsError("p", errors.New("broken pipe"))
	require.Equal(t, model.Connection, e.Kind)
	require.Equal(t, "p", e.Provider)
}

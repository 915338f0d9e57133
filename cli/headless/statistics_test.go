package headless

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/internal/conversation"
	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/model"
)

// Cached tokens count as prompt tokens and not as input tokens; the roles add up to
// their model.
func TestStatistics(t *testing.T) {
	s := conversation.NewStatistics()
	for _, purpose := range []model.Purpose{"", model.PurposeSubagent} {
		_, end := s.Request(t.Context(), agent.RequestInfo{Request: &model.Request{Model: "m", Purpose: purpose}})
		end(agent.RequestEnd{Response: &model.Response{Usage: model.Usage{Input: 10, Cached: 4, Output: 3, Thoughts: 2}}})
	}
	_, end := s.Request(t.Context(), agent.RequestInfo{Request: &model.Request{Model: "m"}})
	end(agent.RequestEnd{Err: &model.Error{Kind: model.RateLimited}})
	m := s.Models["m"]
	require.Equal(t, conversation.TokenStatistics{Input: 12, Prompt: 20, Candidates: 6, Total: 30, Cached: 8, Thoughts: 4}, m.Tokens)
	require.Equal(t, 3, m.API.Requests)
	require.Equal(t, 2, m.Roles["main"].Requests)
	require.Equal(t, 1, m.Roles["main"].Errors)
	require.Equal(t, 15, m.Roles["subagent"].Tokens.Total)
	require.Equal(t, streamTokens{Total: 30, Prompt: 20, Output: 6, Cached: 8, Input: 12}, streamOf(s).streamTokens)
}

// Tool declarations of requests: the maximum of one request, and the bytes of all.
func TestDeclarationStatistics(t *testing.T) {
	s := conversation.NewStatistics()
	one := model.Tool{Name: "a", Description: "bc", Parameters: []byte("{}")} // 5 bytes
	for _, r := range []*model.Request{{Tools: []model.Tool{one}, Deferred: 9}, {Tools: []model.Tool{one, one}, Deferred: 8}, {}} {
		_, end := s.Request(t.Context(), agent.RequestInfo{Request: r})
		end(agent.RequestEnd{Err: &model.Error{Kind: model.RateLimited}})
	}
	require.Equal(t, conversation.DeclarationStatistics{MaxTools: 2, MaxBytes: 10, TotalBytes: 15, MaxDeferred: 9}, s.Tools.Declarations)
	require.Equal(t, 15, streamOf(s).Declared)
	require.Equal(t, 9, streamOf(s).Deferred)
}

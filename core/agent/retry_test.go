package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
)

// waits runs a prompt and returns its retries; it checks the actual waits.
func waits(t *testing.T, g *fake, retry agent.Retry) (list []agent.RetryInfo, end agent.Event) {
	t.Helper()
	c := newClient(t, g, func(o *agent.Options) { o.Retry = retry })
	begun, slept := time.Now(), time.Duration(0)
	for e := range c.Run(t.Context(), model.TextPart("Do it.")) {
		require.Equal(t, slept, time.Since(begun))
		if e.Type == agent.EventRetry {
			list = append(list, *e.Retry)
			slept += e.Retry.Wait
		}
		end = e
	}
	checkClient(t, c)
	return list, end
}

func failing(err *model.Error, times int) *fake {
	return &fake{answer: func(n int, _ *model.Request) stream {
		if n < times {
			return stream{err: err}
		}
		return says("Done.")
	}}
}

func TestRetry(t *testing.T) {
	rate := &model.Error{Kind: model.RateLimited, Status: 429}
	disconnected := &model.Error{Kind: model.Connection}
	rateLimited := func(d time.Duration) *model.Error {
		return &model.Error{Kind: model.RateLimited, Status: 429, RetryAfter: d}
	}
	s := time.Second
	tests := map[string]struct {
		model       *fake
		retry       agent.Retry
		want        []time.Duration // before jitter
		least, most float64         // of jitter
		end         agent.EventType
	}{
		"once":              {failing(rate, 1), agent.Retry{}, []time.Duration{5 * s}, 0.7, 1.3, agent.EventDone},
		"for ever":          {failing(rate, 99), agent.Retry{}, []time.Duration{5 * s, 10 * s, 20 * s, 30 * s, 30 * s, 30 * s, 30 * s, 30 * s, 30 * s}, 0.7, 1.3, agent.EventError},
		"set":               {failing(rate, 99), agent.Retry{Attempts: 4, First: s, Longest: 3 * s}, []time.Duration{s, 2 * s, 3 * s}, 0.7, 1.3, agent.EventError},
		"never":             {failing(rate, 99), agent.Retry{Attempts: 1}, nil, 1, 1, agent.EventError},
		"the provider asks": {failing(rateLimited(50*s), 2), agent.Retry{}, []time.Duration{50 * s, 50 * s}, 1, 1.2, agent.EventDone},
		"it asks for less":  {failing(rateLimited(s), 1), agent.Retry{}, []time.Duration{5 * s}, 1, 1.2, agent.EventDone},
		"it asks too much":  {failing(rateLimited(301*s), 1), agent.Retry{}, nil, 1, 1, agent.EventError},
		"a lost connection": {failing(disconnected, 1), agent.Retry{}, []time.Duration{5 * s}, 0.7, 1.3, agent.EventDone},
		"only a status":     {failing(disconnected, 1), agent.Retry{OnlyStatus: true}, nil, 1, 1, agent.EventError},
		"a status":          {failing(rate, 1), agent.Retry{OnlyStatus: true}, []time.Duration{5 * s}, 0.7, 1.3, agent.EventDone},
		"quota":             {failing(&model.Error{Kind: model.QuotaExhausted, Status: 429}, 1), agent.Retry{}, nil, 1, 1, agent.EventError},
		"wrong request":     {failing(&model.Error{Kind: model.InvalidRequest, Status: 400}, 1), agent.Retry{}, nil, 1, 1, agent.EventError},
		"its own timeout":   {failing(&model.Error{Kind: model.Canceled, Err: context.DeadlineExceeded}, 1), agent.Retry{}, []time.Duration{5 * s}, 0.7, 1.3, agent.EventDone},
		"429, 500, well": {
			inOrder(fails(model.RateLimited, 429), fails(model.Unavailable, 500)), agent.Retry{},
			[]time.Duration{5 * s, 10 * s}, 0.7, 1.3, agent.EventDone,
		},
		"broken streams": {
			&fake{answer: func(int, *model.Request) stream { return fails(model.Connection, 0, "half") }}, agent.Retry{},
			[]time.Duration{s, 2 * s, 4 * s}, 0.7, 1.3, agent.EventError,
		},
		"empty answers": {
			&fake{answer: func(int, *model.Request) stream { return says() }}, agent.Retry{StreamAttempts: 3, StreamFirst: 3 * s},
			[]time.Duration{3 * s, 6 * s}, 0.7, 1.3, agent.EventInvalidStream,
		},
		"first refused, then broken": {
			inOrder(fails(model.Unavailable, 503), fails(model.Connection, 0, "half"), fails(model.Unavailable, 503)), agent.Retry{},
			[]time.Duration{5 * s, s, 5 * s}, 0.7, 1.3, agent.EventDone,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				list, end := waits(t, tt.model, tt.retry)
				require.Equal(t, tt.end, end.Type)
				require.Len(t, list, len(tt.want))
				for i, r := range list {
					require.Equal(t, i+1, r.Attempt)
					require.NotNil(t, r.Reason)
					require.GreaterOrEqual(t, float64(r.Wait), tt.least*float64(tt.want[i])-1)
					require.LessOrEqual(t, float64(r.Wait), tt.most*float64(tt.want[i])+1)
				}
			})
		})
	}
}

// Waits differ, so that clients that were refused together do not return together.
func TestRetryJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := make(map[time.Duration]bool)
		for range 20 {
			list, _ := waits(t, failing(&model.Error{Kind: model.RateLimited, Status: 429}, 1), agent.Retry{})
			seen[list[0].Wait] = true
		}
		require.Greater(t, len(seen), 10)
	})
}

// A stream that is cut after any of its chunks is requested again. The first answer is discarded,
// and only the call of the complete answer is run, once.
func TestCutStream(t *testing.T) {
	whole := asks(call("1", "change", `{"text":"a"}`), call("2", "change", `{"text":"b"}`))
	for cut := range len(whole.chunks) {
		t.Run(fmt.Sprint(cut), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, ran := realTools(t, nil)
				c := newClient(t, inOrder(stream{chunks: whole.chunks[:cut], err: &model.Error{Kind: model.Connection}}, whole),
					func(o *agent.Options) { o.Scheduler = s })
				events := run(t.Context(), c, "Do it.")
				checkEvents(t, events)
				require.Equal(t, agent.EventDone, last(events).Type)
				require.Equal(t, []string{"change a", "change b"}, ran())
				require.Equal(t, []string{"user: Do it.", "model: I look. 1! 2!", "user: 1= 2=", "model: Done."}, outline(c.History()))
				require.Equal(t, "I look.Done.", shown(events))
			})
		})
	}
}

// shown is the text of a prompt that a front end finally shows.
func shown(events []agent.Event) string {
	var done, now string
	for _, e := range events {
		switch e.Type {
		case agent.EventText:
			now += e.Text
		case agent.EventRetry:
			now = ""
		case agent.EventFinished:
			done, now = done+now, ""
		}
	}
	return done
}

func TestAnswersThatCannotBeUsed(t *testing.T) {
	thought := model.Chunk{Parts: []model.Part{{Text: "hm", Thought: true}}}
	word := model.Chunk{Parts: []model.Part{text("word")}}
	end := func(f model.FinishReason) model.Chunk { return model.Chunk{Finish: f} }
	tests := map[string]struct {
		chunks     []model.Chunk
		afterCalls bool
		want       fault.Reason
	}{
		"text":                          {[]model.Chunk{word, end(model.FinishStop)}, false, ""},
		"cut text":                      {[]model.Chunk{word, end(model.FinishMaxTokens)}, false, ""},
		"data":                          {[]model.Chunk{{Parts: []model.Part{{Data: &model.Data{MIMEType: "image/png"}}}}, end(model.FinishStop)}, false, ""},
		"an open comment":               {[]model.Chunk{{Parts: []model.Part{text("<!-- x")}}, end(model.FinishStop)}, false, ""},
		"a comment":                     {[]model.Chunk{{Parts: []model.Part{text("<!-- x --> <!--y-->")}}, end(model.FinishStop)}, false, "no_response_text"},
		"text without reason":           {[]model.Chunk{word}, false, "no_finish_reason"},
		"text without reason, after":    {[]model.Chunk{word}, true, ""},
		"a call without reason":         {[]model.Chunk{{Parts: []model.Part{callPart("9")}}}, false, ""},
		"malformed":                     {[]model.Chunk{word, end(model.FinishMalformedCall)}, false, "malformed_function_call"},
		"malformed, after":              {[]model.Chunk{end(model.FinishMalformedCall)}, true, "malformed_function_call"},
		"unexpected":                    {[]model.Chunk{end(model.FinishUnexpected)}, false, "unexpected_tool_call"},
		"empty, cut":                    {[]model.Chunk{end(model.FinishMaxTokens)}, false, "max_tokens_exceeded"},
		"empty, safety":                 {[]model.Chunk{end(model.FinishSafety)}, true, "safety_blocked"},
		"empty, recitation":             {[]model.Chunk{end(model.FinishRecitation)}, false, "recitation_blocked"},
		"empty, other":                  {[]model.Chunk{end(model.FinishOther)}, false, "other_blocked"},
		"thoughts":                      {[]model.Chunk{thought, end(model.FinishStop)}, false, "thinking_only_response"},
		"thoughts, after":               {[]model.Chunk{thought, end(model.FinishStop)}, true, "thinking_only_response"},
		"nothing, with a reason":        {[]model.Chunk{end(model.FinishStop)}, false, "no_response_text"},
		"nothing, with a reason, after": {[]model.Chunk{end(model.FinishStop)}, true, ""},
		"nothing":                       {nil, false, "no_finish_reason"},
		"nothing, after":                {nil, true, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &fake{}
				g.answer = func(_ int, r *model.Request) stream {
					if tt.afterCalls && len(r.Contents) == 1 {
						return asks(call("1", "tool", ""))
					}
					if len(r.Contents) > 3 || !tt.afterCalls && len(r.Contents) > 1 {
						return says("Done.")
					}
					return stream{chunks: tt.chunks}
				}
				c := newClient(t, g, func(o *agent.Options) {
					o.System = func(context.Context) (string, error) { return "Be brief.", nil }
				})
				end := last(run(t.Context(), c, "Do it."))
				checkClient(t, c)
				if tt.want == "" {
					require.Equal(t, agent.EventDone, end.Type)
					return
				}
				require.Equal(t, agent.EventInvalidStream, end.Type)
				require.Equal(t, fault.InvalidStream, end.Err.Code)
				require.Equal(t, tt.want, end.Err.Reason)
			})
		})
	}
}

// After an empty answer the next attempt, and only that one, has the nudge.
func TestNudge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := inOrder(says(), fails(model.Unavailable, 500, "x"), says("Done."))
		c := newClient(t, g, func(o *agent.Options) {
			o.System = func(context.Context) (string, error) { return "Be brief.", nil }
		})
		require.Equal(t, agent.EventDone, last(run(t.Context(), c, "Do it.")).Type)
		run(t.Context(), c, "And now?")
		require.Equal(t, "Be brief.", g.requests[0].System)
		require.True(t, strings.HasPrefix(g.requests[1].System, "Be brief.\n\n["))
		require.Equal(t, "Be brief.", g.requests[2].System)
		require.Equal(t, "Be brief.", g.requests[3].System)
	})
}

package agent_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/model"
)

// callsInOrder requests one call in each answer, by its arguments, and then ends.
func callsInOrder(args ...string) *fake {
	var streams []stream
	for i, a := range args {
		streams = append(streams, asks(call(fmt.Sprint(i), "look", a)))
	}
	return inOrder(streams...)
}

func repeated(times int, args ...string) []string {
	return slices.Repeat(args, times)
}

func TestRepeatedCalls(t *testing.T) {
	a, b, c := `{"text":"a"}`, `{"text":"b"}`, `{"text":"c"}`
	many := []string{`1`, `2`, `3`, `4`, `5`, `6`}
	tests := map[string]struct {
		args []string
		at   int // number of the first call that is not run, counted from 1; 0: none
	}{
		"one, five times":                 {repeated(5, a), 5},
		"one, four times":                 {repeated(4, a), 0},
		"the same, formatted differently": {append(repeated(4, a), `{ "text" : "a" }`), 5},
		"no JSON":                         {repeated(5, `{"text`), 5},
		"one, after others":               {append([]string{b, c}, repeated(5, a)...), 7},
		"interrupted":                     {append(append(repeated(4, a), b), repeated(4, a)...), 0},
		"two":                             {repeated(5, a, b), 10},
		"two, nearly":                     {repeated(5, a, b)[:9], 0},
		"three":                           {repeated(5, a, b, c), 15},
		"four":                            {repeated(5, a, b, c, b), 20},
		"five":                            {repeated(5, many[:5]...), 25},
		"six are no loop":                 {repeated(6, many...), 0},
		"a cycle with a run in it":        {repeated(5, a, a, b), 15},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := &runner{}
			cl := newClient(t, callsInOrder(tt.args...), func(o *agent.Options) { o.Scheduler = s })
			events := run(t.Context(), cl, "Do it.")
			require.Equal(t, agent.EventDone, last(events).Type)
			checkEvents(t, events)
			checkClient(t, cl)
			warned := slices.Index(types(events), agent.EventWarning)
			if tt.at == 0 {
				require.Equal(t, -1, warned)
				require.Len(t, s.ran, len(tt.args))
				return
			}
			require.EqualValues(t, "consecutive_identical_tool_calls", events[warned].Err.Reason)
			require.Equal(t, tt.at, len(s.ran)+1)
			require.Contains(t, fmt.Sprint(outline(cl.History())), "[The same tool calls were repeated")
		})
	}
}

// Equal calls of one answer count once, because the model makes them before it sees a result.
// Repeated answers are still a loop.
func TestEqualCallsAtOnce(t *testing.T) {
	a, b, c := `{"text":"a"}`, `{"text":"b"}`, `{ "text" : "b" }`
	tests := map[string]struct {
		answers [][]string
		at      int // number of the first answer whose calls are not run, counted from 1; 0: none
	}{
		"ten":                          {[][]string{repeated(10, a)}, 0},
		"ten, in four answers":         {slices.Repeat([][]string{repeated(10, a)}, 4), 0},
		"ten, in five answers":         {slices.Repeat([][]string{repeated(10, a)}, 5), 5},
		"two in turn, five times":      {[][]string{repeated(5, a, b)}, 0},
		"two in turn, in five answers": {slices.Repeat([][]string{repeated(5, a, b, c)}, 5), 5},
		"after four alone":             {append(slices.Repeat([][]string{{a}}, 3), repeated(10, a), []string{b}), 0},
		"ten as the fifth":             {append(slices.Repeat([][]string{{a}}, 4), repeated(10, a)), 5},
		"another call in between":      {[][]string{{a}, {a}, {a}, {b, a, a, a, a, a}, {a}, {a}}, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var streams []stream
			runs := 0
			for i, answer := range tt.answers {
				var calls []model.FunctionCall
				for j, args := range answer {
					calls = append(calls, call(fmt.Sprint(i, "-", j), "look", args))
				}
				streams = append(streams, asks(calls...))
				if tt.at == 0 || i+1 < tt.at {
					runs += len(answer)
				}
			}
			s := &runner{}
			cl := newClient(t, inOrder(streams...), func(o *agent.Options) { o.Scheduler = s })
			events := run(t.Context(), cl, "Do it.")
			require.Equal(t, agent.EventDone, last(events).Type)
			checkEvents(t, events)
			checkClient(t, cl)
			require.Len(t, s.ran, runs)
			require.Equal(t, tt.at != 0, slices.Contains(types(events), agent.EventWarning))
		})
	}
}

// After the feedback the count starts again, and a second loop ends the prompt. The next prompt has
// a new count.
func TestRepeatedCallsTwice(t *testing.T) {
	s := &runner{}
	g := &fake{answer: func(n int, _ *model.Request) stream { return asks(call(fmt.Sprint(n), "look", "{}")) }}
	c := newClient(t, g, func(o *agent.Options) { o.Scheduler = s })
	for n := 1; n <= 2; n++ {
		events := run(t.Context(), c, "Do it.")
		require.Equal(t, agent.EventLoop, last(events).Type)
		require.Len(t, s.ran, 8*n)
		checkClient(t, c)
	}
	s.ran = nil
	off := newClient(t, g, func(o *agent.Options) { o.Scheduler, o.NoLoopDetection, o.Limits.PromptTurns = s, true, 20 })
	require.Equal(t, agent.EventLimit, last(run(t.Context(), off, "Do it.")).Type)
	require.Len(t, s.ran, 20)
}

func TestRepeatedText(t *testing.T) {
	sentence := "I will now read the file and then think about it once more. "
	lines := func(format string) (pieces []string) {
		for i := range 60 {
			pieces = append(pieces, fmt.Sprintf(format, i%3)+"\n")
		}
		return pieces
	}
	tests := map[string]struct {
		pieces []string
		loops  bool
	}{
		"a sentence":              {repeated(12, sentence), true},
		"a sentence, by letters":  {strings.Split(strings.Repeat(sentence, 12), ""), true},
		"a sentence, rarely":      {repeated(8, sentence), false},
		"two sentences":           {repeated(12, sentence, "Then I will write it, I think, as I have said. "), true},
		"a short word":            {repeated(200, "wait "), true},
		"far apart":               {repeated(12, sentence, strings.Repeat("0123456789", 1)+numbers(60)), false},
		"different texts between": {between(sentence, 12), false},
		"numbers":                 {[]string{numbers(2000)}, false},
		"code":                    {append(append([]string{"```\n"}, repeated(50, "x = x + 1; y = y + 1; z = z + 1; w = w + 1;\n")...), "```\n"), false},
		"after code":              {append([]string{"```\ncode\n```\n"}, repeated(12, sentence)...), true},
		"a table":                 {lines("| a cell that is the same | another cell that is the same | %d |"), false},
		"a list":                  {lines("- an item that reads the same as the others in this list, number %d"), false},
		"a numbered list":         {lines("%d. an item that reads the same as the others in this list"), false},
		"headings":                {lines("## A heading that reads the same as the others in this text, number %d"), false},
		"quotes":                  {lines("> a quote that reads the same as the others in this text, number %d"), false},
		"a divider":               {[]string{strings.Repeat("-", 400) + "\n" + strings.Repeat("=-", 200)}, false},
		"a line within text":      {[]string{"Here is a line " + strings.Repeat("-", 200) + " and " + strings.Repeat(".", 300)}, false},
		"no letters, forever":     {[]string{"x" + strings.Repeat("!", 2000)}, true},
		"long":                    {append([]string{numbers(9000)}, repeated(12, sentence)...), true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, inOrder(says(tt.pieces...)))
			events := run(t.Context(), c, "Do it.")
			require.Equal(t, agent.EventDone, last(events).Type)
			checkClient(t, c)
			require.Equal(t, tt.loops, slices.Contains(types(events), agent.EventWarning))
			if tt.loops {
				require.Len(t, c.History(), 4)
				require.Less(t, len(c.History()[1].Text()), len(strings.Join(tt.pieces, ""))+1)
				require.Contains(t, c.History()[2].Text(), "repeated the same text")
			}
		})
	}
}

// Text before a lost connection does not count, and a call of a cut answer is not run.
func TestRepeatedTextAndOtherThings(t *testing.T) {
	sentence := "I will now read the file and then think about it once more. "
	part := says(repeated(8, sentence)...)
	broken := stream{chunks: part.chunks[:8], err: &model.Error{Kind: model.Connection}}
	c := newClient(t, inOrder(broken, part), func(o *agent.Options) { o.Retry.StreamFirst = time.Microsecond })
	require.NotContains(t, types(run(t.Context(), c, "Do it.")), agent.EventWarning)

	chanting := says(repeated(20, sentence)...)
	chanting.chunks = slices.Insert(chanting.chunks, 0, model.Chunk{Parts: []model.Part{callPart("1")}})
	s := &runner{}
	c = newClient(t, inOrder(chanting), func(o *agent.Options) { o.Scheduler = s })
	events := run(t.Context(), c, "Do it.")
	require.Contains(t, types(events), agent.EventWarning)
	require.NotContains(t, types(events), agent.EventToolCall)
	require.Empty(t, s.ran)
	checkClient(t, c)
}

// numbers is text of n words without repetition.
func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d ", i*7919)
	}
	return b.String()
}

func between(sentence string, times int) (pieces []string) {
	for i := range times {
		pieces = append(pieces, sentence, fmt.Sprintf("It is step %d of them. ", i))
	}
	return pieces
}

package adaptertest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/integration/adaptertest"
)

// The story succeeds with the real tools, and only with their results.
func TestStory(t *testing.T) {
	s := configtest.New(t, func(p *config.Parameters) { p.Policy.ApprovalMode = "autoEdit" })
	story := adaptertest.Story{Dir: s.Dir}
	require.NoError(t, story.Begin())
	var answers []string
	for {
		call, text, err := story.Next(answers)
		require.NoError(t, err)
		if call == nil {
			require.Equal(t, "done, version 1; file_changed_since_read, version 2; done, version 3", text)
			break
		}
		require.Less(t, len(answers), 5)
		got, _, err := s.RunCalls(t.Context(), []model.FunctionCall{{ID: call.ID, Name: call.Name, Args: call.Args}})
		require.NoError(t, err)
		answers = append(answers, string(got[0].Response))
	}
	file, err := story.File()
	require.NoError(t, err)
	require.Equal(t, "Good evening\nworld\nand you\n", file)

	_, _, err = story.Next([]string{`{"output": "nothing"}`})
	require.ErrorContains(t, err, "no hash")
}

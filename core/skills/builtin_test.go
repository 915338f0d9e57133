package skills_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/skills"
)

// A session cannot change the skills of another one, although the built-in skills are
// shared in the process.
func TestListsOfSkillsAreTheCallersOwn(t *testing.T) {
	own, err := skills.BuiltIn()
	require.NoError(t, err)
	require.NotEmpty(t, own)
	var first, second skills.SkillManager
	for _, m := range []*skills.SkillManager{&first, &second} {
		require.NoError(t, m.Discover(t.Context(), own, nil))
	}
	name := own[0].Name
	for _, list := range [][]skills.Skill{first.All(), first.Enabled()} {
		list[0] = skills.Skill{Name: "other", Body: "Do as I say."}
	}
	for _, m := range []*skills.SkillManager{&first, &second} {
		require.Equal(t, name, m.All()[0].Name)
		require.Equal(t, name, m.Enabled()[0].Name)
	}
}

package skills

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// UI-07: a restriction that is not supported refuses the skill, in any spelling, also if the
// front matter is not valid YAML; reserving a skill for the user holds in both cases.
func TestRestrictions(t *testing.T) {
	parse := func(front string) (Skill, bool) {
		s := Skill{Path: "/s/SKILL.md"}
		_, ok := s.parse([]byte("---\nname: a\ndescription: b\n" + front + "\n---\nx"))
		return s, ok
	}
	for _, front := range []string{"disallowed-tools: Bash", "disallowed_tools: [Bash]", "disallowedTools: Bash", "Permission_Mode: plan", "permissions: {deny: [Bash]}",
		"denied-tools: Bash", "hooks: {}", "agent: Explore", "isolation: worktree", "allowed_tools: {a: b}",
		"disallowed-tools: Bash\nlist: [x", "hint: [a\n\"disallowed_tools\": Bash", "description: Use: it: when [\nhooks:\n  PreToolUse: x\nbad: [", "\tpermissionMode: plan"} {
		_, ok := parse(front)
		require.False(t, ok, front)
	}
	for _, front := range []string{"disallowed-tools: ''", "permission_mode: inherit", "allowed-tools: Bash", "list: [x", "user-invocable: false"} {
		s, ok := parse(front)
		require.True(t, ok, front)
		require.False(t, s.userOnly(), front)
	}
	for _, front := range []string{"disable-model-invocation: true", "Disable_Model_Invocation: true", "disable-model-invocation: true\nlist: [x"} {
		s, ok := parse(front)
		require.True(t, ok, front)
		require.True(t, s.userOnly(), front)
	}
	s, ok := parse("disable-model-invocation: false\nlist: [x")
	require.True(t, ok)
	require.False(t, s.userOnly())
}

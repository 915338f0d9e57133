package a2a

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/stretchr/testify/require"
)

func update(id, text string) *a2a.TaskArtifactUpdateEvent {
	return &a2a.TaskArtifactUpdateEvent{Append: true, Artifact: &a2a.Artifact{ID: a2a.ArtifactID(id), Parts: a2a.ContentParts{a2a.TextPart{Text: text}}}}
}

func piece(id, text string, more bool) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"kind":"artifact-update","taskId":"t","contextId":"c","append":%t,"artifact":{"artifactId":%q,"parts":[{"kind":"text","text":%q}]}}`, more, id, text))
}

// Artifacts grow and are replaced; those listed in the task take precedence.
func TestArtifacts(t *testing.T) {
	a := new(answer)
	for _, raw := range []json.RawMessage{piece("one", "a", false), piece("two", "x", true), piece("one", "b", true), piece("two", "y", false), piece("two", "z", true)} {
		_, ok := a.take(raw)
		require.True(t, ok)
	}
	require.Equal(t, "ab\n\nyz", a.text())
	_, ok := a.take(json.RawMessage(`{"kind":"task","id":"t","contextId":"c","status":{"state":"working"},"artifacts":[{"artifactId":"two","parts":[{"kind":"text","text":"new"}]}]}`))
	require.True(t, ok)
	_, ok = a.take(piece("two", "er", true))
	require.True(t, ok)
	require.Equal(t, "newer", a.text())
}

// The kept text is limited, however much an agent sends; replaced text frees room.
func TestArtifactsAreBounded(t *testing.T) {
	a := new(answer)
	mebibyte := strings.Repeat("x", 1<<20)
	for range 20 {
		a.artifacts.update(update("one", mebibyte))
	}
	a.take(piece("two", "lost", true))
	require.Less(t, len(a.text()), maxAnswer)
	require.Equal(t, 20<<20+4, len(a.text())+a.artifacts.omitted)
	a.take(piece("one", "short", false))
	a.take(piece("two", "kept", true))
	require.Equal(t, "short\n\nkept", a.text())

	a = new(answer)
	for i := range 200_000 {
		a.artifacts.update(update(fmt.Sprint(i), ""))
	}
	require.Less(t, len(a.artifacts.all), maxAnswer/artifactSize)

	a = new(answer) // copying all earlier pieces for each piece would take minutes
	for range 200_000 {
		a.artifacts.update(update("one", "0123456789"))
	}
	require.Len(t, a.text(), 2_000_000)
}

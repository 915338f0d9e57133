package a2a

import (
	"strings"

	"github.com/a2aproject/a2a-go/a2a"
)

// artifacts are the artifacts of an agent as text, in the order in which they began. Together they
// keep at most maxAnswer bytes, whatever the length of the stream.
type artifacts struct {
	all     []*artifact
	by      map[a2a.ArtifactID]*artifact
	kept    int // bytes kept, including the overhead of each artifact
	omitted int // bytes of text above the limit
}

type artifact struct{ text strings.Builder }

// artifactSize is the overhead of an artifact in bytes, apart from its name and text.
const artifactSize = 128

// add adds an artifact.
func (a *artifacts) add(from *a2a.Artifact) {
	text := joined(from.Parts)
	size := artifactSize + len(from.ID)
	if a.kept+size > maxAnswer {
		a.omitted += len(text)
		return
	}
	a.kept += size
	added := new(artifact)
	if a.by == nil {
		a.by = make(map[a2a.ArtifactID]*artifact)
	}
	a.all, a.by[from.ID] = append(a.all, added), added
	a.lengthen(added, text)
}

// update adds, replaces or extends an artifact.
func (a *artifacts) update(e *a2a.TaskArtifactUpdateEvent) {
	known := a.by[e.Artifact.ID]
	if known == nil {
		a.add(e.Artifact)
		return
	}
	if !e.Append {
		a.kept -= known.text.Len()
		known.text.Reset()
	}
	a.lengthen(known, joined(e.Artifact.Parts))
}

func (a *artifacts) lengthen(known *artifact, text string) {
	fits := min(len(text), maxAnswer-a.kept)
	known.text.WriteString(text[:fits])
	a.kept, a.omitted = a.kept+fits, a.omitted+len(text)-fits
}

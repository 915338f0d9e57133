// Package docs embeds fettle's documentation, so that the program can show it
// wherever it runs.
package docs

import (
	"embed"
	"io/fs"
	"slices"
)

//go:embed changes/*.md *.md reference/*.md tools/*.md
var files embed.FS

//go:embed settings.schema.json
var schema []byte

// SettingsSchema returns a copy of the JSON schema of settings files, whose properties
// have descriptions.
func SettingsSchema() []byte { return slices.Clone(schema) }

// Files returns the documents under their paths in this directory, as policy.md
// and tools/read_file.md.
func Files() fs.FS { return files }
